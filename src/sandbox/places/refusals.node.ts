/**
 * Takes what a session's network has refused since it was asked last, without waiting for anything: a command's last
 * message tells its caller why a connection did not come about.
 * Source: packet(7).
 * @module
 */

import type { Syscalls } from '../kernel/syscalls.node.ts'
import { REFUSALS_READ } from '../limits.ts'
import { KEPT_BYTES, type RefusedPacket, readRefused } from '../namespaces/refused-packets.ts'

/**
 * What one look at a session's network gives, each place once, in the order that they came.
 * `descriptor`: of GateDescriptors; it stays the caller's. What has waited too long has been dropped by the kernel.
 */
export function createRefusals({ libc }: Syscalls, descriptor: number): () => readonly RefusedPacket[] {
  const packet = new Uint8Array(new ArrayBuffer(KEPT_BYTES))
  return () => {
    const found = new Map<string, RefusedPacket>()
    for (let reads = 0; reads < REFUSALS_READ; reads++) {
      const length = Number(libc.read(descriptor, packet, BigInt(packet.length)))
      if (length <= 0) break
      const refused = readRefused(packet.subarray(0, length))
      if (refused === undefined) continue
      const key = `${refused.protocol} ${refused.address} ${refused.port}`
      if (!found.has(key)) found.set(key, refused)
    }
    return [...found.values()]
  }
}
