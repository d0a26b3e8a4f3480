/**
 * A daemon that is told to end while commands run and wait, and the next one over the same state: everybody gets the
 * exit of what they asked for, nothing runs twice, and the record says what happened. Also where it is killed meanwhile.
 * @module
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  auditEvents,
  changeConfig,
  type Daemon,
  install,
  ON_REAL_FILES,
  type Result,
  sassEdge,
  sleep,
  startDaemon,
  until,
} from './daemon.node.ts'

/** Two at a time; the rest waits in line. */
const PLACES = 2

async function begin(t: Test, seconds: number, more: object = {}): Promise<Daemon> {
  const change = {
    ...ON_REAL_FILES,
    execution: { drain_seconds: seconds, max_concurrent: PLACES },
    session: { max_per_agent: null },
    ...more,
  }
  const directory = await install(t, change)
  const daemon = await startDaemon(t, directory)
  // The next one is where its clients look for it.
  changeConfig(directory, { listen: { port: daemon.port } })
  return daemon
}

const idOf = (number: number): string => (0xa0 + number).toString(16).repeat(16)

/** Says that it began, runs so long, and ends with a code of its own. */
function ask(daemon: Daemon, number: number, seconds: number, more: readonly string[] = []): Promise<Result> {
  const script = `echo ${number} >>ran; echo begun ${number}; sleep ${seconds}; echo over ${number}; exit ${10 + number}`
  return daemon.cli(['exec', '--id', idOf(number), ...more, '--', 'sh', '-c', script], { timeoutMs: 60_000 })
}

const ran = (daemon: Daemon): number[] => {
  const path = join(daemon.workspace, 'ran')
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean).map(Number).sort() : []
}

async function stands(daemon: Daemon, running: number, queued: number): Promise<void> {
  await until(`${running} that run`, () => ran(daemon).length === running)
  await until(
    `${queued} that wait`,
    () => daemon.audit().filter(({ response }) => response === 'R3').length === queued,
  )
}

const draining = (directory: string) => auditEvents(directory).filter(({ what }) => what === 'draining')

async function isWhole(t: Test, directory: string): Promise<void> {
  for (const words of [
    ['audit', 'verify'],
    ['audit', 'replay'],
  ])
    t.equal((await sassEdge(words, { cwd: directory })).code, 0, words.join(' '))
}

for (const how of ['SIGTERM', 'sass-edge drain'])
  t.test(
    `${how}: what runs ends, what waits runs in the next daemon, everybody has the right code`,
    async (t) => {
      const daemon = await begin(t, 20)
      const all = [ask(daemon, 0, 9), ask(daemon, 1, 10)]
      await stands(daemon, PLACES, 0)
      all.push(ask(daemon, 2, 0), ask(daemon, 3, 0), ask(daemon, 4, 0))
      const refused = ask(daemon, 5, 0, ['--reconnect', '0'])
      await stands(daemon, PLACES, 4)
      const drained = how === 'SIGTERM' ? undefined : daemon.cli(['drain'])
      if (drained === undefined) daemon.signal('SIGTERM')
      t.match(await refused, { code: 255, stderr: /^sass-edge: .*going down; nothing was done/m })
      t.same(await daemon.ended, { code: 0, signal: null })
      if (drained !== undefined)
        t.match(await drained, {
          code: 0,
          stderr: /takes nothing new, and 2 that run may end: .* within 24 seconds/,
        })
      t.same(ran(daemon), [0, 1], 'nothing new began')
      const by = how === 'SIGTERM' ? 'SIGTERM' : 'admin'
      t.match(draining(daemon.directory), [{ by, running: 2, queued: 4 }])
      t.match(auditEvents(daemon.directory).at(-1), { type: 'daemon', what: 'stopped' })
      const next = await startDaemon(t, daemon.directory)
      for (const [number, result] of (await Promise.all(all)).entries()) {
        t.equal(result.code, 10 + number, result.stderr)
        t.equal(result.stdout.toString(), `begun ${number}\nover ${number}\n`)
        t.match(result.stderr, /^sass-edge: the device goes down within 24 s; what runs there may end$/m)
      }
      t.same(ran(next), [0, 1, 2, 3, 4], 'each once')
      t.equal((await next.cli(['attach', idOf(0)])).code, 10, 'results outlive the daemon')
      await isWhole(t, daemon.directory)
    },
  )

t.test('what does not end in time is ended, and its result is that', async (t) => {
  const daemon = await begin(t, 1)
  const gentle = daemon.cli([
    'exec',
    '--id',
    idOf(0),
    '--',
    'sh',
    '-c',
    'trap "exit 33" TERM; echo 0 >>ran; while :; do sleep 0.1; done',
  ])
  const deaf = daemon.cli([
    'exec',
    '--id',
    idOf(1),
    '--',
    'sh',
    '-c',
    'trap "" TERM; echo 1 >>ran; while :; do sleep 0.1; done',
  ])
  await stands(daemon, PLACES, 0)
  daemon.signal('SIGTERM')
  t.same(await daemon.ended, { code: 0, signal: null })
  const next = await startDaemon(t, daemon.directory)
  t.equal((await gentle).code, 33)
  t.match(await deaf, { code: 128 + 9, stderr: /device went down, and ended what still ran after 1 seconds/ })
  t.equal((await next.cli(['attach', idOf(1)])).code, 128 + 9)
  t.same(ran(next), [0, 1])
  await isWhole(t, daemon.directory)
})

t.test('a second signal ends it at once, and the next daemon knows what it does not know', async (t) => {
  const daemon = await begin(t, 60)
  const running = ask(daemon, 0, 50)
  await stands(daemon, 1, 0)
  daemon.signal('SIGTERM')
  await until('the drain', () => draining(daemon.directory).length === 1)
  daemon.signal('SIGTERM')
  t.same(await daemon.ended, { code: null, signal: 'SIGKILL' })
  const next = await startDaemon(t, daemon.directory)
  t.equal((await running).code, 254)
  t.same(ran(next), [0])
  await isWhole(t, daemon.directory)
})

t.test(
  'killed in the middle of a drain, again and again: nothing runs twice',
  { timeout: 240_000 },
  async (t) => {
    const daemon = await begin(t, 10)
    let current = daemon
    let number = 0
    const codes: Promise<[number, Result]>[] = []
    const start = (seconds: number) => {
      const mine = number++
      codes.push(ask(daemon, mine, seconds).then((result) => [mine, result]))
    }
    for (let round = 0; round < 4; round++) {
      for (const seconds of [0.5, 1, 0.3]) start(seconds)
      await sleep(700)
      current.signal('SIGTERM')
      await sleep(50 + round * 300)
      current.signal('SIGKILL')
      await current.ended
      current = await startDaemon(t, daemon.directory)
    }
    const results = await Promise.all(codes)
    for (const [mine, { code, stderr }] of results)
      t.ok(code === 10 + mine || code === 254 || code === 255, `${mine} ended with ${code}: ${stderr}`)
    t.same([...new Set(ran(current))].length, ran(current).length, `nothing ran twice: ${ran(current)}`)
    for (const [mine, { code }] of results) {
      const again = await current.cli(['attach', idOf(mine)])
      if (code === 10 + mine) t.equal(again.code, code, `${mine} is known`)
      if (code === 254) t.equal(again.code, 254, `${mine} has no outcome`)
    }
    await isWhole(t, daemon.directory)
  },
)
