/**
 * Node opens a port for its debugger when it is sent SIGUSR1, and whoever reaches that port runs what he likes as the
 * daemon. Ours opens none, and goes on.
 * @module
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import t from 'tap'
import { attempt } from '../../src/base/attempt.ts'
import { startNew, until } from './daemon.node.ts'

const LISTENS = '0A'

/** The local addresses of TCP at which a process listens, as the kernel writes them: proc_pid_net(5). */
function listening(pid: number): string[] {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => attempt(() => readlinkSync(`/proc/${pid}/fd/${fd}`), '')),
  )
  return ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'latin1')
      .split('\n')
      .map((line) => line.trim().split(/ +/))
      .filter((words) => words[3] === LISTENS && sockets.has(`socket:[${words[9]}]`))
      .map((words) => words[1] ?? ''),
  )
}

for (const signal of ['SIGUSR1', 'SIGUSR2'] as const)
  t.test(`${signal} opens no port for a debugger, and ends nothing`, async (t) => {
    const daemon = await startNew(t)
    const before = listening(daemon.pid)
    t.equal(before.length, 1, 'the port of the protocol')
    daemon.signal(signal)
    const told = () => daemon.log().some((line) => line.includes(`${signal} does nothing here`))
    await until('word of it', told)
    t.equal((await daemon.cli(['exec', '--', 'true'])).code, 0)
    t.strictSame(listening(daemon.pid), before)
  })
