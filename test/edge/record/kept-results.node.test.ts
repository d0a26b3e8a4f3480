/**
 * Ids and results of executions in their real file: what a crash at any byte, a disk that alters it, an operator and a
 * day leave of them. No id that was written down is ever free again before its time, and no result is made up.
 * @module
 */
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  type KeptFile,
  type KeptFileOptions,
  openKeptFile,
} from '../../../src/edge/record/kept-results.node.ts'
import { createFileLock } from '../../../src/edge/state/file-lock.node.ts'
import {
  KEPT_FILE_BYTES,
  KEPT_RESULT_MS,
  KEPT_RESULTS_BYTES,
  KEPT_RESULTS_PER_KEY,
  KEPT_RESULTS_SLACK_BYTES,
} from '../../../src/limits.ts'
import type { Execution, ExecutionKey, StartRecord } from '../../../src/session/executions/execution.ts'
import { createKeptResults, type KeptResults } from '../../../src/session/executions/kept-results.ts'

const idOf = (number: number): string => number.toString(16).padStart(32, '0')
const KEY = 'k'.repeat(43)

function start(number: number, change: Partial<StartRecord> = {}): StartRecord {
  return {
    ...{ id: idOf(number), scope: KEY, owner: 'bot', instance: 'bot-1', sessionId: '5e'.repeat(16) },
    ...{ command: 'make', startedAtMs: 1_900_000_000_000 + number, isolation: 'overlay', warrantId: 'w' },
    ...change,
  }
}

type Result = Pick<Execution, 'state' | 'exit'> & Partial<Execution>

function ended(of: StartRecord, result: Result, endedAtMs = 1_900_000_000_000): Execution {
  return {
    ...{ ...of, idBytes: new Uint8Array(16), keepsHead: false, child: undefined, rings: undefined },
    ...{ watcher: undefined, errno: 0, endedAtMs, timedOut: false, why: undefined, lastOutputAtMs: 0 },
    ...{ acceptBytes: [0, 0], discardedBytes: 0, outputBytes: [0, 0], paused: [false, false] },
    ...{ withheld: [false, false] },
    ...{
      stdinBytes: 0,
      signalIds: [],
      isTerminal: false,
      toldAtMs: undefined,
      begunMs: 0,
      screened: undefined,
    },
    ...result,
  }
}

const exit = (code: number, more: Partial<Execution> = {}): Result => ({
  ...{ state: 'finished', exit: { kind: 'exited', code } },
  ...more,
})

type Opened = {
  readonly file: KeptFile
  readonly results: KeptResults
  readonly lost: string[]
  readonly damaged: number[]
  /** Both clocks, or the wall clock alone. */
  pass(ms: number): void
  set(ms: number): void
}

function open(directory: string, change: Partial<KeptFileOptions> = {}, wallMs = 1_900_000_000_000): Opened {
  let [passed, wall] = [0, wallMs]
  const file = openKeptFile({
    directory,
    lock: createFileLock(),
    durability: 'interval',
    monotonicMs: () => passed,
    after: (ms, callback) => void setTimeout(callback, ms).unref(),
    ...change,
  })
  const lost: string[] = []
  const damaged: number[] = []
  const clock = { monotonicMs: () => passed, wallMs: () => wall, after: () => () => {} }
  const results = createKeptResults({
    file,
    clock,
    lost: ({ id }) => lost.push(id),
    damaged: (lines) => damaged.push(lines),
  })
  const pass = (ms: number) => {
    passed += ms
    wall += ms
  }
  return { file, results, lost, damaged, pass, set: (ms) => (wall = ms) }
}

const place = (t: Test) => join(t.testdir(), 'executions')
const key = (number: number, scope = KEY): ExecutionKey => ({ id: idOf(number), scope })
/** The next daemon, after that one was killed: nothing of it was written any more. */
const killed = ({ file }: Opened) => file.close()
const pathIn = (directory: string) => join(directory, 'results')
const soon = () => new Promise((resolve) => setTimeout(resolve, 2))
/** It is not being written anew any more. */
async function isAnew(directory: string): Promise<void> {
  while (existsSync(join(directory, 'results.new'))) await soon()
}

t.test('what was begun and how it ended is known to the next daemon, in every detail', async (t) => {
  const directory = place(t)
  const first = open(directory)
  t.equal(first.results.find(key(1)), undefined)
  const all: readonly Result[] = [
    exit(0),
    exit(255, { outputBytes: [2 ** 40, 3], discardedBytes: 7, why: 'The kernel killed “it”.' }),
    { state: 'finished', exit: { kind: 'signalled', signal: 9 }, timedOut: true },
    { state: 'not_started', exit: undefined, errno: 2 },
    exit(0, { findings: [1, 70_000].map((offset) => ({ kind: 'injection:model', offset, length: 9 })) }),
  ]
  for (const [number, result] of all.entries()) {
    first.results.begin(start(number))
    t.equal(first.results.end(ended(start(number), result)), true)
  }
  first.results.begin(start(9, { command: 'sleep', isolation: undefined }))
  killed(first)
  t.equal(statSync(pathIn(directory)).mode & 0o777, 0o600)
  for (let restart = 0; restart < 3; restart++) {
    const next = open(directory)
    for (const [number, result] of all.entries())
      t.match(next.results.find(key(number)), { ...result, command: 'make', owner: 'bot', rings: undefined })
    const unknown = { state: 'unknown', exit: undefined, command: 'sleep', why: /was interrupted/ }
    t.match(next.results.find(key(9)), unknown)
    t.strictSame(next.lost, restart === 0 ? [idOf(9)] : [], 'it is told once')
    t.strictSame(next.damaged, [])
    t.strictSame(
      [next.results.countOf(KEY), next.results.countOf('another'), next.results.find(key(1, 'another'))],
      [6, 0, undefined],
      'and nobody else has any',
    )
    t.equal(next.results.findAnywhere(idOf(1))?.scope, KEY)
    t.equal(next.results.newest(KEY, 2).length, 2)
    killed(next)
  }
})

t.test(
  'what did not start may be tried again; what came to nothing is as if it had never been',
  async (t) => {
    const directory = place(t)
    const { results, file } = open(directory)
    results.begin(start(1))
    results.end(ended(start(1), { state: 'not_started', exit: undefined, errno: 2 }))
    results.begin(start(1))
    results.end(ended(start(1), exit(4)))
    results.begin(start(2))
    results.undo(key(2))
    const over = results.announce(start(3))
    over()
    const [first, second] = [results.announce(start(4)), results.announce(start(4))]
    first()
    results.begin(start(4))
    second()
    // One whose first request has run and ended while a second one waited.
    const [late, later] = [results.announce(start(5)), results.announce(start(5))]
    results.begin(start(5))
    late()
    results.end(ended(start(5), exit(5)))
    results.announce(start(5))()
    later()
    file.close()
    const next = open(directory)
    t.match(next.results.find(key(1)), { exit: { code: 4 } })
    t.strictSame([next.results.find(key(2)), next.results.find(key(3))], [undefined, undefined])
    t.match(next.results.find(key(4)), { state: 'unknown' })
    t.match(next.results.find(key(5)), { exit: { code: 5 } })
    killed(next)
  },
)

t.test(
  'a file that ends at any byte: what is whole is known, and what had only begun is unknown',
  async (t) => {
    const directory = place(t)
    const whole = open(directory)
    for (const number of [1, 2, 3]) {
      whole.results.begin(start(number))
      whole.results.end(ended(start(number), exit(number)))
    }
    killed(whole)
    const bytes = readFileSync(pathIn(directory))
    const ends = [...bytes].flatMap((byte, at) => (byte === 10 ? [at + 1] : []))
    // Every byte of a start and an end, and where the lines before them end.
    const cuts = [...ends.flatMap((end) => [end - 1, end, end + 1]), ...Array(bytes.length + 1).keys()]
    for (const length of new Set(cuts.filter((cut) => cut >= (ends[3] ?? 0) || cut % 97 < 2))) {
      writeFileSync(pathIn(directory), bytes.subarray(0, length))
      const { results, file, lost, damaged } = open(directory)
      const lines = ends.filter((end) => end <= length).length
      for (const number of [1, 2, 3]) {
        const found = results.find(key(number))
        const has = lines >= 2 * number ? 'finished' : lines === 2 * number - 1 ? 'unknown' : undefined
        if (found?.state !== has) t.fail(`${number} is ${found?.state} at ${length}, not ${has}`)
      }
      if (lost.length !== lines % 2 || damaged.length > 0) t.fail(`${lost.length} lost at ${length}`)
      results.begin(start(9))
      file.close()
      const next = open(directory)
      if (next.results.find(key(9))?.state !== 'unknown') t.fail(`what follows is not read at ${length}`)
      killed(next)
    }
    t.equal(ends.length, 6)
  },
)

t.test('a line that the disk has altered is no record, is told, and goes with the next file', async (t) => {
  const directory = place(t)
  const whole = open(directory)
  for (const number of [1, 2]) {
    whole.results.begin(start(number))
    whole.results.end(ended(start(number), exit(number)))
  }
  killed(whole)
  const bytes = readFileSync(pathIn(directory))
  for (let at = 0; at < bytes.length - 1; at += 3) {
    const altered = Buffer.from(bytes)
    altered[at] = (altered[at] ?? 0) ^ (1 << (at % 8))
    writeFileSync(pathIn(directory), altered)
    const { results, file, damaged } = open(directory)
    for (const number of [1, 2]) {
      const found = results.find(key(number))
      const isRight =
        found === undefined ||
        found.state === 'unknown' ||
        (found.exit?.kind === 'exited' && found.exit.code === number)
      if (!isRight) t.fail(`made up at ${at}`)
    }
    if (damaged.length !== 1) t.fail(`not told at ${at}`)
    file.close()
  }
  for (const garbage of [Buffer.alloc(5_000), Buffer.from('\n\n{}\nnull\n')]) {
    writeFileSync(pathIn(directory), Buffer.concat([bytes, garbage, Buffer.from('\n'), bytes]))
    const { results, file } = open(directory)
    t.match(results.find(key(2)), { exit: { code: 2 } }, 'what is whole behind it is read')
    await isAnew(directory)
    file.close()
    t.strictSame(
      readFileSync(pathIn(directory), 'utf8')
        .match(/"\w+"/g)
        ?.filter((word) => /start|end/.test(word)),
      ['"end"', '"end"'],
      'and what is not goes',
    )
  }
})

t.test('of a file that cannot be one of ours only so much is read as one of ours can have', async (t) => {
  const directory = place(t)
  const { results, file } = open(directory)
  results.begin(start(1))
  file.close()
  const line = readFileSync(pathIn(directory))
  writeFileSync(pathIn(directory), 'x')
  truncateSync(pathIn(directory), 3 * KEPT_FILE_BYTES)
  appendFileSync(pathIn(directory), Buffer.concat([Buffer.from('\n'), line]))
  const next = open(directory)
  t.match(next.results.find(key(1)), { state: 'unknown' })
  t.equal(next.damaged.length, 1)
  while (next.file.sizeBytes > KEPT_FILE_BYTES) await soon()
  t.equal(statSync(pathIn(directory)).size, next.file.sizeBytes)
  killed(next)
})

t.test('a thousand results of a key are kept, for a day on the clock that nobody sets', async (t) => {
  const directory = place(t)
  const one = open(directory, { durability: 'never' })
  const run = (number: number, change: Partial<StartRecord> = {}) => {
    one.results.begin(start(number, change))
    one.results.end(ended(start(number, change), exit(0)))
  }
  run(0, { scope: 'other' })
  one.results.begin(start(100_000))
  for (let number = 0; number <= KEPT_RESULTS_PER_KEY; number++) run(number)
  t.equal(one.results.countOf(KEY), KEPT_RESULTS_PER_KEY)
  t.equal(one.results.has(key(0)), false, 'the oldest one went')
  t.ok(one.results.has(key(1)))
  t.ok(one.results.has(key(0, 'other')), 'nobody is pushed out by another')
  one.set(1_900_000_000_000)
  one.results.tick()
  t.equal(one.results.countOf(KEY), KEPT_RESULTS_PER_KEY, 'whatever the wall clock says')
  one.set(1_900_000_000_000)
  one.pass(KEPT_RESULT_MS - 1)
  one.results.tick()
  t.equal(one.results.countOf(undefined), KEPT_RESULTS_PER_KEY + 1)
  killed(one)
  const later = open(directory, {}, 1_900_000_000_000 + KEPT_RESULT_MS - 1)
  later.results.tick()
  t.equal(later.results.countOf(undefined), KEPT_RESULTS_PER_KEY + 1, 'and what had only begun')
  later.pass(1_000)
  later.results.tick()
  t.equal(later.results.countOf(undefined), 1, 'its day begins when that is known')
  killed(later)
  const muchLater = open(directory, {}, 1_900_000_000_000 + 3 * KEPT_RESULT_MS)
  t.equal(muchLater.results.countOf(undefined), 0)
  killed(muchLater)
  const before = open(directory, {}, 0)
  t.ok(before.results.countOf(undefined) > 0, 'a clock that was set back forgets nothing')
  before.pass(KEPT_RESULT_MS)
  before.results.tick()
  t.equal(before.results.countOf(undefined), 0, 'and keeps nothing for longer')
  killed(before)
})

t.test('all of them together have a bound, and so has their file', async (t) => {
  const directory = place(t)
  const { results, file } = open(directory, { durability: 'never' })
  const why = 'because '.repeat(120)
  let most = 0
  for (let number = 0; number < 20_000; number++) {
    const one = start(number, { scope: `${number % 60}` })
    results.begin(one)
    results.end(ended(one, exit(0, { why })))
    most = Math.max(most, file.sizeBytes)
    if (number % 200 > 0) continue
    results.tick()
    await isAnew(directory)
  }
  const left = results.countOf(undefined)
  t.ok(left * 1_000 < KEPT_RESULTS_BYTES && left * 1_400 > KEPT_RESULTS_BYTES, `${left}`)
  t.ok(results.has(key(19_999, `${19_999 % 60}`)))
  t.notOk(results.has(key(0, '0')), 'the oldest of all went first')
  t.ok(most < 2 * KEPT_RESULTS_BYTES + 2 * KEPT_RESULTS_SLACK_BYTES, `${most}`)
  file.close()
  const next = open(directory)
  t.equal(next.results.countOf(undefined), left, 'the next daemon knows the same')
  killed(next)
})

t.test(
  'while the file is written anew nothing that comes is lost, and a crash leaves one of both',
  async (t) => {
    const directory = place(t)
    const one = open(directory)
    for (let number = 0; number < 500; number++) {
      one.results.begin(start(number))
      one.results.end(ended(start(number), exit(number % 256)))
    }
    one.results.begin(start(900))
    const before = one.file.sizeBytes
    const isKnown = ({ results }: Opened) => {
      for (let number = 0; number < 500; number++) {
        const code = results.find(key(number))?.exit
        if (code?.kind !== 'exited' || code.code !== number % 256) return `${number}`
      }
      return 'all'
    }
    const places: { at: number; readonly bytes: number }[] = []
    const gather = (line: string, { at, bytes }: { at: number; bytes: number }) => {
      if (/"end"|\[\s*"start","0{29}384"/.test(line)) places.push({ at, bytes })
    }
    one.file.read(gather)
    t.equal(places.length, 501)
    one.file.keepOnlySoon(() => places)
    t.ok(existsSync(join(directory, 'results.new')), 'it is under way')
    const late = one.file.append('["late"]')
    places.push(late)
    const half = readFileSync(pathIn(directory))
    t.equal(half.length, one.file.sizeBytes)
    await isAnew(directory)
    t.ok(one.file.sizeBytes < before)
    t.equal(one.file.line(late), '["late"]', 'its place has moved with it')
    t.equal(one.file.sizeBytes, statSync(pathIn(directory)).size)
    one.file.append('["after"]')
    one.file.close()
    const next = open(directory)
    t.equal(isKnown(next), 'all')
    t.match(next.results.find(key(900)), { state: 'unknown' })
    killed(next)
    writeFileSync(pathIn(directory), half)
    writeFileSync(join(directory, 'results.new'), half.subarray(0, 999))
    const crashed = open(directory)
    t.strictSame(readdirSync(directory), ['results'])
    t.equal(isKnown(crashed), 'all')
    killed(crashed)
  },
)

t.test('what an operator erases is nowhere in the file, and its ids stay taken', async (t) => {
  const directory = place(t)
  const one = open(directory)
  const secret = { sessionId: 'ab'.repeat(16), command: 'canary-7151' }
  for (const number of [1, 2, 3]) {
    const which = number === 2 ? {} : secret
    one.results.begin(start(number, which))
    one.results.end(ended(start(number, which), exit(number, { why: 'canary' })))
  }
  one.results.begin(start(4))
  t.equal(one.results.purge('cd'.repeat(16)), 0)
  // One that is being written anew at this moment must not bring it back.
  one.file.keepOnlySoon(() => [])
  const before = openSync(pathIn(directory), 'r')
  t.equal(one.results.purge(secret.sessionId), 2)
  t.match(readFileSync(before, 'latin1'), /^\0+$/, 'the blocks that it had are overwritten')
  closeSync(before)
  await soon()
  const text = () => readdirSync(directory).map((name) => readFileSync(join(directory, name), 'latin1'))
  t.notMatch(text().join(), /canary-7151|abababab/)
  t.equal(one.results.purge(secret.sessionId), 0)
  killed(one)
  const next = open(directory)
  for (const number of [1, 3])
    t.match(next.results.find(key(number)), { state: 'unknown', command: '', why: /operator has erased/ })
  t.match(next.results.find(key(2)), { state: 'finished' })
  t.match(next.results.find(key(4)), { state: 'unknown', why: /interrupted/ })
  t.strictSame(next.lost, [idOf(4)])
  killed(next)
})

t.test('whoever has to wait for the disk is called back when it has what was written by then', async (t) => {
  const directory = place(t)
  const one = open(directory, { durability: 'always' })
  const over = one.results.announce(start(1))
  let synced = false
  const kept = new Promise<Error | undefined>((resolve) =>
    one.results.whenKept?.((problem) => {
      synced = true
      resolve(problem)
    }),
  )
  t.notOk(synced)
  t.equal(await kept, undefined)
  over()
  one.file.keepOnlySoon(() => [])
  t.equal(
    await new Promise<Error | undefined>((resolve) => one.results.whenKept?.(resolve)),
    undefined,
    'also while it is written anew',
  )
  const refused = new Promise<Error | undefined>((resolve) => one.results.whenKept?.(resolve))
  one.file.append('[]')
  one.file.close()
  t.match(await refused, { code: 'STATE_UNWRITABLE' })
  t.equal(open(place(t)).results.whenKept, undefined, 'otherwise nobody waits')
})

t.test(
  'one daemon has the file; what is no file, or cannot be written, is refused with a remedy',
  async (t) => {
    const directory = place(t)
    const one = open(directory)
    t.throws(() => open(directory), {
      code: 'ADDRESS_IN_USE',
      message: /would start a command twice; stop that/,
    })
    one.file.close()
    t.throws(() => one.file.append('[]'), { code: 'STATE_UNWRITABLE' })
    const other = join(t.testdir(), 'other')
    mkdirSync(join(other, 'results'), { recursive: true })
    t.throws(() => open(other), {
      code: 'STATE_UNWRITABLE',
      message: /since it is a directory, so nothing was done/,
    })
  },
)

t.test('whatever is done in whatever order, the next daemon knows what this one knew', async (t) => {
  const deed = fc.oneof(
    fc.record({ kind: fc.constant('begin' as const), number: fc.nat(6) }),
    fc.record({ kind: fc.constant('end' as const), number: fc.nat(6), code: fc.nat(255) }),
    fc.record({ kind: fc.constant('undo' as const), number: fc.nat(6) }),
    fc.record({ kind: fc.constant('fail' as const), number: fc.nat(6) }),
    fc.record({ kind: fc.constant('restart' as const), cut: fc.nat(40) }),
    fc.record({ kind: fc.constant('anew' as const) }),
  )
  const root = t.testdir()
  let count = 0
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { maxLength: 40 }), async (deeds) => {
      const directory = join(root, `p${count++}`)
      mkdirSync(directory, { recursive: true })
      let one = open(directory)
      const model = new Map<number, string>()
      for (const step of deeds) {
        if (step.kind === 'anew') {
          one.results.purge('nobody')
          continue
        }
        if (step.kind === 'restart') {
          killed(one)
          // A line that a crash cut short, and was therefore not acted upon.
          appendFileSync(pathIn(directory), '5a5a5a5a ["start","00000000000000000000"'.slice(0, step.cut))
          one = open(directory)
          for (const [number, state] of model) if (state === 'begun') model.set(number, 'unknown')
          continue
        }
        const is = model.get(step.number)
        if (step.kind === 'begin' && (is === undefined || is === 'failed')) {
          one.results.begin(start(step.number))
          model.set(step.number, 'begun')
        } else if (is === 'begun' && step.kind === 'end') {
          one.results.end(ended(start(step.number), exit(step.code)))
          model.set(step.number, `${step.code}`)
        } else if (is === 'begun' && step.kind === 'fail') {
          one.results.end(ended(start(step.number), { state: 'not_started', exit: undefined, errno: 2 }))
          model.set(step.number, 'failed')
        } else if (is === 'begun' && step.kind === 'undo') {
          one.results.undo(key(step.number))
          model.delete(step.number)
        }
      }
      killed(one)
      const last = open(directory)
      for (let number = 0; number <= 6; number++) {
        const found = last.results.find(key(number))
        const is = model.get(number)
        const said =
          found?.exit?.kind === 'exited'
            ? `${found.exit.code}`
            : found?.state === 'not_started'
              ? 'failed'
              : found?.state
        if (said !== (is === 'begun' ? 'unknown' : is)) throw new Error(`${number}: ${said}, not ${is}`)
      }
      killed(last)
    }),
    { numRuns: 100 },
  )
  t.ok(count >= 100)
})

const HOUR_MS = 3_600_000

t.test('a clock that is set makes no result go earlier, nor stay longer than the day', (t) => {
  for (const byMs of [10 * KEPT_RESULT_MS, 30 * HOUR_MS, -10 * KEPT_RESULT_MS]) {
    const directory = place(t)
    const before = 1_900_000_000_000
    const first = open(directory, {}, before)
    first.results.begin(start(1))
    first.results.end(ended(start(1), exit(1), before))
    first.pass(4 * HOUR_MS)
    first.set(before + 4 * HOUR_MS + byMs)
    first.results.clockSet()
    first.results.begin(start(2))
    first.results.end(ended(start(2), exit(2), before + 4 * HOUR_MS + byMs))
    first.pass(HOUR_MS)
    killed(first)
    const next = open(directory, {}, before + 5 * HOUR_MS + byMs)
    t.match(next.results.find(key(1)), { exit: { code: 1 } }, `${byMs}`)
    t.match(next.results.find(key(2)), { exit: { code: 2 } })
    next.pass(18 * HOUR_MS)
    next.results.tick()
    t.match(next.results.find(key(1)), { exit: { code: 1 } })
    // One that seems to have ended later than it is now has the whole day from here.
    next.pass(byMs < 0 ? 6 * HOUR_MS : HOUR_MS + 2_000)
    next.results.tick()
    t.equal(next.results.find(key(1)), undefined)
    killed(next)
  }
  t.end()
})

t.test('what ended under a clock that was never set is known for a day, whatever time it is by now', (t) => {
  const directory = place(t)
  const first = open(directory, {}, 5_000)
  first.results.begin(start(1))
  first.results.end(ended(start(1), exit(1), 5_000))
  killed(first)
  const next = open(directory, {}, 1_900_000_000_000)
  t.match(next.results.find(key(1)), { exit: { code: 1 } })
  next.pass(KEPT_RESULT_MS + 1_000)
  next.results.tick()
  t.equal(next.results.find(key(1)), undefined)
  killed(next)
  t.end()
})
