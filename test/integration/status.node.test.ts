/**
 * `sass-edge status`, once and watched: on a terminal of its own, which is left as it was found, and as one object a line.
 * @module
 */
import { spawn } from 'node:child_process'
import t from 'tap'
import { createSpawner } from '../../src/sandbox/launcher/spawner.node.ts'
import { planFor, start } from '../sandbox/run-child.node.ts'
import {
  type Daemon,
  environment,
  type Json,
  ON_REAL_FILES,
  PROGRAM,
  runProgram,
  sassEdge,
  sleep,
  startNew,
  until,
} from './daemon.node.ts'

const ENTER = '\u001b[?1049h\u001b[?25l'
const LEAVE = '\u001b[?25h\u001b[?1049l'
const HOME = '\u001b[H'
const ERASE_LINE = '\u001b[K'
const ERASE_SCREEN = '\u001b[J'

const spawner = await createSpawner()
t.teardown(() => spawner.close())
const daemon = await startNew(t, ON_REAL_FILES)

function watched(at: Daemon, args: readonly string[] = [], rows = 24, columns = 80) {
  const variables = Object.entries(environment(at.directory, { TERM: 'xterm' }))
  const { child, outcome, text } = start(
    spawner,
    planFor([PROGRAM, 'status', '--watch', ...args], {
      environment: variables.map(([name, value]) => `${name}=${value}`),
      cwd: at.directory,
      terminal: { rows, columns },
    }),
  )
  return {
    child,
    outcome,
    text,
    /** The last screen that was drawn whole, without what erases. */
    screen(): string[] {
      const drawn = text().split(HOME).at(-2) ?? ''
      return drawn.replaceAll(ERASE_LINE, '').replaceAll(ERASE_SCREEN, '').split(/\r+\n/)
    },
    type: (keys: string) => child.writeStdin(new Uint8Array(Buffer.from(keys))),
  }
}

t.test('everything is told, once and to programs too', async (t) => {
  const job = spawn(PROGRAM, ['exec', '--', 'sleep', '30'], {
    cwd: daemon.directory,
    env: environment(daemon.directory),
    stdio: 'ignore',
  })
  t.teardown(() => job.kill())
  const told = async (): Promise<Json> =>
    JSON.parse((await daemon.cli(['status', '--json'])).stdout.toString())
  await until('it runs', async () => (await told())['active_processes'] === 1)
  const status = await told()
  t.match(status, {
    level: 'NORMAL',
    active_sessions: 2,
    active_tarpits: 0,
    active_penalties: 0,
    responses: { R1: Number, R6: 0 },
    device: {
      running: 1,
      stalled: 0,
      queued: 0,
      rings_used: 1,
      confirmations: 0,
      transfers: 0,
      connections: 2,
      strangers: 0,
      tarpit_bytes: 0,
      tarpit_seconds: 0,
      rss_bytes: Number,
      anonymous_bytes: Number,
      free_bytes: Number,
      started_at: /^20\d\d-/,
    },
    jobs: [{ agent: 'agent', command: 'sleep', output_bytes: 0, attached: true, id: /^[0-9a-f]{32}$/ }],
    link: { today: { received_bytes: Number } },
  })
  const text = (await daemon.cli(['status'])).stdout.toString()
  for (const line of [
    /^level {6}NORMAL$/m,
    /^commands {3}1 running, /m,
    /^memory {5}\d/m,
    /^waiting {4}0 questions/m,
  ])
    t.match(text, line)
  t.equal(status['signed_work'], null, 'nothing signed is taken in here')
  t.notMatch(text, /^signed /m)
  // An agent is told nothing of this.
  const result = await daemon.cli(['status', '--json', '--agent', 'agent'])
  t.equal(result.code, 0)
  const own = JSON.parse(result.stdout.toString())
  t.match(own, { level: null, device: null, jobs: [{ agent: 'agent' }] }, 'but of its own command')
})

t.test('on a terminal it fills the screen, follows its size, and gives it back', async (t) => {
  for (const [keys, name] of [
    ['q', 'q'],
    ['\u0003', '^C'],
    ['\u0004', '^D'],
  ] as const) {
    const person = watched(daemon)
    await until('two screens', () => person.text().split('daemon     sass-edge').length > 3)
    const screen = person.screen()
    t.equal(screen.length, 24)
    t.match(screen[0], /^daemon {5}sass-edge \d/)
    t.match(screen[23], /^20\S+Z {2}q ends this\.$/)
    t.ok(screen.every((line) => line.length < 80))
    t.ok(person.text().startsWith(ENTER))
    person.child.resize(8, 40)
    await until('a smaller one', () => person.screen().length === 8)
    const small = person.screen()
    t.ok(small.every((line) => line.length < 40))
    t.match(small[6], /^\(\d+ more lines\)$/)
    person.child.resize(50, 200)
    await until('a larger one', () => person.screen().length === 50)
    t.match(person.screen().join('\n'), /^link {7}received/m)
    person.type(keys)
    t.same((await person.outcome).status, { kind: 'exited', code: 0 }, name)
    t.ok(person.text().endsWith(LEAVE), 'the terminal is what it was')
    t.equal(person.text().split(LEAVE).length, 2, 'once')
  }
})

t.test('a screen of one line, and of none, is no reason to fail', async (t) => {
  const person = watched(daemon, [], 1, 1)
  await sleep(1_500)
  person.type('q')
  t.same((await person.outcome).status, { kind: 'exited', code: 0 })
})

t.test('a signal and a daemon that goes away give the terminal back too', async (t) => {
  const other = await startNew(t)
  const told = watched(other)
  await until('a screen', () => told.text().includes('daemon     sass-edge'))
  told.child.signal(15)
  t.same((await told.outcome).status, { kind: 'exited', code: 143 })
  t.ok(told.text().endsWith(LEAVE))
  const left = watched(other)
  await until('a screen', () => left.text().includes('daemon     sass-edge'))
  other.signal('SIGKILL')
  t.match((await left.outcome).status, { kind: 'exited', code: /^[1-9]/ })
  const after = left.text().split(LEAVE)
  t.equal(after.length, 2)
  t.match(after[1], /sass-edge: .+/, 'why is told on the terminal that was')
})

t.test('in a pipe it is one object a line, or an error that says how', async (t) => {
  const { code, stderr, stdout } = await daemon.cli(['status', '--watch'])
  t.equal(code, 125)
  t.equal(stdout.length, 0)
  t.match(stderr, /draws on a terminal, and this is none: add --json/)
  const result = await sassEdge(['status', '--watch', '--json'], { cwd: daemon.directory, timeoutMs: 4_000 })
  const lines = result.stdout.toString().trimEnd().split('\n')
  t.ok(lines.length >= 2, `${lines.length} objects`)
  t.notOk(result.stdout.includes(0x1b))
  for (const line of lines) t.match(JSON.parse(line), { level: 'NORMAL', device: { rings: 32 } })
  // It ends where its reader has gone: else the shell would be ended for its time.
  const piped = ['-c', '("$0" status --watch --json; echo "ended $?" >&2) | head -1', PROGRAM]
  const read = await runProgram('sh', piped, {
    cwd: daemon.directory,
    env: environment(daemon.directory),
    timeoutMs: 20_000,
  })
  t.match(read, { code: 0, stderr: 'ended 0\n' })
})
