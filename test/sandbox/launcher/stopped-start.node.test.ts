/**
 * Programs that somebody has stopped before they became another one: real children that are what this process is.
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { loadSyscalls } from '../../../src/sandbox/kernel/syscalls.node.ts'
import { freeStart } from '../../../src/sandbox/launcher/stopped-start.node.ts'
import { LAUNCH_CONTINUES, LAUNCH_LOOKS_MAX } from '../../../src/sandbox/limits.ts'
import { isAlive, until } from '../../integration/daemon.node.ts'

const syscalls = loadSyscalls()

async function child(
  t: Test,
  command: string,
  args: readonly string[],
): Promise<ChildProcess & { pid: number }> {
  const started = spawn(command, args, { stdio: 'ignore' })
  t.teardown(() => started.kill('SIGKILL'))
  await once(started, 'spawn')
  const { pid } = started
  if (pid === undefined) throw new Error('it was not started')
  return Object.assign(started, { pid })
}

const state = (pid: number): string => {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  return text.slice(text.lastIndexOf(')') + 2)[0] ?? ''
}
const itself = (t: Test) => child(t, process.execPath, ['-e', 'setInterval(() => undefined, 1_000)'])
const look = (looks: number, initPid?: number) => freeStart(syscalls, process.pid, looks, initPid)

async function stop({ pid }: { readonly pid: number }): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  await until('a stop', () => state(pid) === 'T')
}

t.test('it is continued, and its session goes on', async (t) => {
  const [start, init] = [await itself(t), await child(t, 'sleep', ['60'])]
  t.equal(look(1, init.pid), false)
  await stop(start)
  t.equal(look(LAUNCH_CONTINUES, init.pid), false)
  await until('its going on', () => state(start.pid) !== 'T')
  t.ok(isAlive(init.pid))
})

t.test('where that does not help it ends with its session', async (t) => {
  const [start, init] = [await itself(t), await child(t, 'sleep', ['60'])]
  await stop(start)
  t.equal(look(LAUNCH_CONTINUES + 1, init.pid), true)
  await until('their end', () => !isAlive(start.pid) && !isAlive(init.pid))
  t.pass('both have ended')
})

t.test('without a session of its own it ends alone, and nothing that is no process is told', async (t) => {
  const start = await itself(t)
  await stop(start)
  t.equal(look(LAUNCH_CONTINUES + 1, -1), true)
  await until('its end', () => !isAlive(start.pid))
  t.equal(look(LAUNCH_CONTINUES + 1), false, 'nothing is left to end')
})

t.test('what has become another program is left alone, stopped or not', async (t) => {
  const other = await child(t, 'sleep', ['60'])
  await stop(other)
  t.equal(look(LAUNCH_CONTINUES + 1, undefined), false)
  t.equal(look(LAUNCH_LOOKS_MAX + 1, undefined), false)
  t.equal(state(other.pid), 'T')
})

t.test('what waits for something else is given up at last', async (t) => {
  const start = await itself(t)
  t.equal(look(LAUNCH_LOOKS_MAX), false)
  t.ok(isAlive(start.pid))
  t.equal(look(LAUNCH_LOOKS_MAX + 1), false)
  await until('its end', () => !isAlive(start.pid))
})
