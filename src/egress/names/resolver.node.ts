/**
 * Looks names up for the gate: /etc/hosts first, then the servers of /etc/resolv.conf, both families at once. The C
 * library's own look-up is not used: it holds a thread of the few that read files, for as long as a server is silent.
 * Answers are kept for some seconds, and who asks for the same waits for the same. What cannot be found is an empty list.
 * @module
 */

import { Resolver } from 'node:dns/promises'
import { open } from 'node:fs/promises'
import { type IpAddress, parseIpAddress } from '../../base/ip-address.ts'
import type { Clock } from '../../ports.ts'
import { HOSTS_FILE_BYTES, RESOLVE_MS, RESOLVE_TRY_MS, RESOLVED_KEPT_MS, RESOLVED_MAX } from '../limits.ts'
import { addressesInHosts } from './hosts-file.ts'

export interface EgressResolver {
  /** @param name in normal form. IPv4 first; empty where nothing was found. Never rejects. */
  resolve(name: string): Promise<readonly IpAddress[]>
}

export interface ResolverPlaces {
  readonly hostsFile: string
  /** `ADDRESS` or `ADDRESS:PORT`; undefined: those of /etc/resolv.conf, as it is when a name is looked up. */
  readonly servers: readonly string[] | undefined
}

export const DEVICE_PLACES: ResolverPlaces = Object.freeze({ hostsFile: '/etc/hosts', servers: undefined })

async function hostsText(path: string): Promise<string> {
  try {
    await using file = await open(path)
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(HOSTS_FILE_BYTES) })
    return buffer.toString('latin1', 0, bytesRead)
  } catch {
    // There is none, or it cannot be read: the servers know.
    return ''
  }
}

export function createResolver(clock: Clock, { hostsFile, servers }: ResolverPlaces): EgressResolver {
  type Kept = { readonly untilMs: number; readonly answer: Promise<readonly IpAddress[]> }
  const kept = new Map<string, Kept>()

  async function fromServers(name: string): Promise<readonly IpAddress[]> {
    // A new one each time: it reads /etc/resolv.conf, which changes with the network.
    const resolver = new Resolver({ timeout: RESOLVE_TRY_MS, tries: 2 })
    if (servers !== undefined) resolver.setServers(servers)
    const cancel = clock.after(RESOLVE_MS, () => resolver.cancel())
    const both = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    cancel()
    return both.flatMap((one) =>
      one.status === 'fulfilled' ? one.value.flatMap((text) => parseIpAddress(text) ?? []) : [],
    )
  }

  async function find(name: string): Promise<readonly IpAddress[]> {
    const local = addressesInHosts(await hostsText(hostsFile), name)
    return local.length > 0 ? local : fromServers(name)
  }

  return {
    resolve(name) {
      const nowMs = clock.monotonicMs()
      const known = kept.get(name)
      if (known !== undefined && nowMs < known.untilMs) return known.answer
      kept.delete(name)
      const [oldest] = kept.keys()
      if (oldest !== undefined && kept.size >= RESOLVED_MAX) kept.delete(oldest)
      const answer = find(name).then((addresses) => {
        // What was not found may be there in a moment.
        if (addresses.length === 0 && kept.get(name)?.answer === answer) kept.delete(name)
        return addresses
      })
      kept.set(name, { untilMs: nowMs + RESOLVE_MS + RESOLVED_KEPT_MS, answer })
      void answer.then(() => {
        if (kept.get(name)?.answer === answer)
          kept.set(name, { untilMs: clock.monotonicMs() + RESOLVED_KEPT_MS, answer })
      })
      return answer
    },
  }
}
