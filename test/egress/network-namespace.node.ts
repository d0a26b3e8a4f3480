/**
 * A network namespace of a test, in a thread that stays in it: every address is local there, and the listeners of a gate
 * are in it. Needs root and the program `ip`.
 */

import { execFileSync } from 'node:child_process'
import { readlinkSync } from 'node:fs'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { GateDescriptors } from '../../src/egress/gate-port.ts'
import { loadSyscalls, O_CLOEXEC, O_NONBLOCK } from '../../src/sandbox/kernel/syscalls.node.ts'

const CLONE_NEWNET = 0x4000_0000
const AF_INET = 2
const AF_INET6 = 10
const SOCK_STREAM = 1
const SOCK_DGRAM = 2
const SOL_SOCKET = 1
const SO_REUSEADDR = 2
const IPPROTO_IPV6 = 41
const IPV6_V6ONLY = 26

export interface TestNamespace {
  readonly descriptors: GateDescriptors
  /** What nsenter(1) takes for --net. */
  readonly path: string
  close(): Promise<void>
}

/** Undefined, with the reason for `skipped`, where this machine does not let. */
export function openNamespace(
  ports: readonly number[],
  skipped: (reason: string) => void,
): Promise<TestNamespace | undefined> {
  if (process.getuid?.() !== 0) {
    skipped('skipped: only root makes a network namespace')
    return Promise.resolve(undefined)
  }
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { ports },
    execArgv: ['--no-warnings'],
    trackUnmanagedFds: false,
  })
  return new Promise((resolve) => {
    worker.on('error', (error: Error) => {
      skipped(`skipped: ${error.message}`)
      resolve(undefined)
    })
    worker.on('message', (made: Omit<TestNamespace, 'close'>) => {
      resolve({ ...made, close: async () => void (await worker.terminate()) })
    })
  })
}

function main(ports: readonly number[]): void {
  const { libc, checked } = loadSyscalls()
  const must = (result: number, step: string): number => {
    if (checked(result) < 0) throw new Error(`${step} is refused here`)
    return result
  }
  must(libc.unshare(CLONE_NEWNET), 'unshare(CLONE_NEWNET)')
  const path = `/proc/${process.pid}/task/${readlinkSync('/proc/thread-self').split('/').at(-1)}/ns/net`
  const inside = (...args: string[]) => execFileSync('nsenter', [`--net=${path}`, ...args])
  inside('ip', 'link', 'set', 'lo', 'up')
  inside('ip', 'route', 'add', 'local', 'default', 'dev', 'lo')
  inside('ip', '-6', 'route', 'add', 'local', 'default', 'dev', 'lo')

  function bound(family: number, type: number, port: number, host: readonly number[]): number {
    const fd = must(libc.socket(family, type | O_NONBLOCK | O_CLOEXEC, 0), 'socket')
    const on = new Int32Array([1])
    must(libc.setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, on, 4), 'SO_REUSEADDR')
    if (family === AF_INET6) must(libc.setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, on, 4), 'IPV6_V6ONLY')
    const address = new Uint8Array(new ArrayBuffer(family === AF_INET6 ? 28 : 16))
    address.set([family, 0, port >> 8, port & 0xff, ...host])
    must(libc.bind(fd, address, address.length), `bind to port ${port}`)
    return fd
  }
  const listeners = ports.flatMap((port) =>
    [AF_INET, AF_INET6].map((family) => {
      const fd = bound(family, SOCK_STREAM, port, [])
      return { fd, port }
    }),
  )
  const dns = bound(AF_INET, SOCK_DGRAM, 53, [127, 0, 0, 1])
  parentPort?.postMessage({ descriptors: { listeners, dns, datagrams: [] }, path })
  setInterval(() => {}, 2 ** 30)
}

if (!isMainThread && workerData?.ports !== undefined) main(workerData.ports as readonly number[])
