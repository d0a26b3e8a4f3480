import t from 'tap'
import {
  KEPT_ARTIFACT_BYTES,
  KEPT_ARTIFACT_BYTES_PER_SENDER,
  KEPT_ARTIFACTS,
} from '../../../src/defense/handoffs/limits.ts'
import {
  type HandoffRecord,
  readHandoffLine,
  sentLine,
  takenLine,
} from '../../../src/session/standing/handoff-record.ts'
import { createHandoffs } from '../../../src/session/standing/handoffs.ts'
import { stageClock, stageCopies, stageLineFile } from '../stage.ts'

const own = (name: string, scope = 'a key') => ({ name, scope })
const DAY_MS = 24 * 3_600_000
const id = (number: number): string => number.toString(16).padStart(32, '0')

function record(number: number, change: Partial<HandoffRecord> = {}): HandoffRecord {
  return {
    ...{ id: id(number), from: 'ci-1', sender: 'ci', session: 's', to: 'helper', digest: 'd', sealed: 'x' },
    ...{ task: 'task', taskId: undefined, previous: undefined, persistent: ['b'], criticality: 2 },
    ...{ classification: 0, depth: 1, injection: 0, hidden: 0, sentAtMs: stageClock().wallMs() },
    artifacts: [],
    ...change,
  }
}

function stage(file = stageLineFile(), clock = stageClock(), copies = stageCopies()) {
  const damaged: number[] = []
  const handoffs = createHandoffs({ file, copies, clock, damaged: (lines) => damaged.push(lines) })
  return { file, copies, clock, damaged, handoffs }
}

t.test('a line comes back as it was written, and nothing else is one', async (t) => {
  const artifacts = [
    { path: 'a b', size: 3, sha256: 'f'.repeat(64), why: '' },
    { path: 'logs', size: 0, sha256: '', why: 'It is a directory.' },
  ]
  for (const change of [
    {},
    { taskId: 'T', previous: id(9), persistent: [] },
    { artifacts },
    { recipient: 'k' },
    { artifacts, recipient: 'k' },
  ]) {
    const one = record(1, change)
    t.strictSame(readHandoffLine(sentLine(one, '{"a":1}')), { kind: 'sent', record: one, content: '{"a":1}' })
  }
  t.strictSame(readHandoffLine(takenLine(id(1))), { kind: 'taken', id: id(1) })
  const values: unknown[] = JSON.parse(sentLine(record(1), ''))
  const broken = [
    '',
    '{}',
    '[]',
    '["taken"]',
    '["taken",1]',
    '["gone","a"]',
    JSON.stringify(values.slice(0, -1)),
    JSON.stringify([...values, 1]),
    JSON.stringify([...values, [1]]),
    JSON.stringify([...values, [['a', 1, '']]]),
    JSON.stringify([...values, [['a', 1, '', '', '']]]),
    JSON.stringify([...values, [['a', -1, '', '']]]),
    JSON.stringify([...values, [['a', 1, '', null]]]),
    JSON.stringify([...values, [], []]),
    JSON.stringify([...values, [], 'k', 'k']),
    ...values.map((_value, at) => JSON.stringify(values.with(at, null))),
    JSON.stringify(values.with(12, -1)),
    JSON.stringify(values.with(17, [1])),
  ]
  for (const line of broken) t.equal(readHandoffLine(line), undefined, line)
})

t.test(
  'rounds are those of one pair and one task: by its name, else by its text within an hour (JF-R40)',
  async (t) => {
    const { handoffs, clock, file } = stage()
    handoffs.add(record(1), '')
    handoffs.add(record(2, { taskId: 'T-1', task: 'in other words' }), '')
    handoffs.add(record(3, { taskId: 'T-1' }), '')
    handoffs.add(record(4, { taskId: 'T-2' }), '')
    handoffs.add(record(5, { to: 'other', taskId: 'T-1' }), '')
    handoffs.add(record(6, { sender: 'other', taskId: 'T-1' }), '')
    const rounds = (of: typeof handoffs) => [
      of.rounds('ci', 'helper', 'T-1', 'task'),
      of.rounds('ci', 'helper', 'T-3', 'task'),
      of.rounds('ci', 'helper', undefined, 'task'),
      of.rounds('ci', 'helper', undefined, 'another'),
    ]
    t.strictSame(rounds(handoffs), [3, 1, 3, 0])
    clock.pass(3_600_000)
    t.strictSame(rounds(handoffs), [2, 0, 0, 0], 'what has a name stays')
    t.strictSame(rounds(stage(file, clock).handoffs), [2, 0, 0, 0], 'and after a restart all the same')
    clock.pass(DAY_MS)
    t.strictSame(rounds(handoffs), [0, 0, 0, 0])
  },
)

t.test('whoever has a name that was another one’s has nothing of it', async (t) => {
  const { handoffs } = stage()
  handoffs.add(record(1, { recipient: 'old', taskId: 'T' }), 'one')
  const ids = (scope: string) => handoffs.listFor(own('helper', scope)).map((one) => one.id)
  t.strictSame([ids('old'), ids('new')], [[id(1)], []])
  t.match(handoffs.received(own('helper', 'old'), 'T', 'task'), { id: id(1) })
  t.equal(handoffs.received(own('helper', 'new'), 'T', 'task'), undefined)
})

t.test('what was sent is there for its recipient, is taken once and can be taken again', async (t) => {
  const { handoffs, file } = stage()
  handoffs.add(record(1), 'one')
  handoffs.add(record(2, { to: 'other' }), 'two')
  handoffs.add(record(3), 'three')
  t.strictSame(
    handoffs.listFor(own('helper')).map((one) => one.id),
    [id(3), id(1)],
    'the latest first',
  )
  t.equal(handoffs.listFor(undefined).length, 3)
  t.equal(handoffs.take(id(1)), 'one')
  t.equal(handoffs.take(id(1)), 'one')
  t.equal(file.lines.length, 4, 'that it was taken is written once')
  t.match(handoffs.find(id(1)), { isTaken: true })
  t.match(handoffs.find(id(3)), { isTaken: false })
  t.equal(handoffs.find(id(4)), undefined)
  t.throws(() => handoffs.take(id(4)), { code: 'INTERNAL' })
})

t.test('a daemon that comes after knows what the one before has kept', async (t) => {
  const first = stage()
  first.handoffs.add(record(1), 'one')
  first.handoffs.add(record(2), 'two')
  first.handoffs.take(id(2))
  const { handoffs, damaged } = stage(stageLineFile(first.file.lines))
  t.strictSame(
    handoffs.listFor(own('helper')).map((one) => [one.id, one.isTaken]),
    [
      [id(2), true],
      [id(1), false],
    ],
  )
  t.equal(handoffs.take(id(2)), 'two')
  t.strictSame(damaged, [])
  const broken = stage(stageLineFile([...first.file.lines, 'no line']))
  t.equal(broken.handoffs.listFor(own('helper')).length, 2)
  t.strictSame(broken.damaged, [1])
  t.equal(broken.file.lines.length, 3, 'and it is not kept')
})

t.test('a day later it is forgotten, taken or not, by whatever clock', async (t) => {
  const clock = stageClock()
  const { handoffs, file } = stage(stageLineFile(), clock)
  handoffs.add(record(1, { sentAtMs: clock.wallMs() }), 'one')
  clock.pass(DAY_MS - 1)
  t.equal(handoffs.listFor(own('helper')).length, 1)
  const lines = [...file.lines]
  clock.pass(1)
  t.strictSame(handoffs.listFor(own('helper')), [])
  t.strictSame(handoffs.counts('ci', 'helper'), { waiting: 0, tried: 0, ofSender: 0, kept: 0 })
  const later = stage(stageLineFile(lines), clock)
  t.strictSame(later.handoffs.listFor(own('helper')), [], 'nor does a daemon that comes after have it')
})

t.test('what is kept, waits and was tried is counted for the decision', async (t) => {
  const { handoffs, clock } = stage()
  handoffs.add(record(1), '')
  handoffs.add(record(2, { sender: 'x' }), '')
  handoffs.add(record(3, { to: 'other' }), '')
  handoffs.take(id(1))
  t.strictSame(handoffs.counts('ci', 'helper'), { waiting: 1, tried: 0, ofSender: 2, kept: 3 })
  const tries = Array.from({ length: 17 }, () => handoffs.tried('ci'))
  t.strictSame([tries.lastIndexOf(true), tries.indexOf(false)], [15, 16])
  t.equal(handoffs.counts('ci', 'helper').tried, 17)
  t.equal(handoffs.counts('x', 'helper').tried, 0, 'of each by itself')
  clock.pass(60_000)
  t.equal(handoffs.counts('ci', 'helper').tried, 0)
  t.ok(handoffs.tried('ci'))
})

t.test(
  'the one before is found by the name of the task, else by its digest, the latest of them',
  async (t) => {
    const { handoffs } = stage()
    handoffs.add(record(1, { taskId: 'T' }), '')
    handoffs.add(record(2, { task: 'other' }), '')
    handoffs.add(record(3), '')
    handoffs.add(record(4, { to: 'ci', taskId: 'T' }), '')
    t.equal(handoffs.received(own('helper'), 'T', 'its own'), undefined, 'nobody has read what was not taken')
    for (const number of [1, 4]) handoffs.take(id(number))
    t.equal(handoffs.received(own('helper'), 'T', 'other')?.id, id(1))
    t.equal(handoffs.received(own('helper'), undefined, 'task')?.id, id(3))
    t.equal(handoffs.received(own('helper'), 'U', 'other')?.id, id(2))
    t.equal(handoffs.received(own('nobody'), 'T', 'task'), undefined)
  },
)

t.test('a purge erases what a session has sent, and a full disk keeps nothing', async (t) => {
  const { handoffs, file } = stage()
  handoffs.add(record(1), 'secret words')
  handoffs.add(record(2, { session: 'other' }), 'two')
  t.equal(handoffs.purge('s'), 1)
  t.equal(handoffs.purge('s'), 0)
  t.notMatch(file.lines.join('\n'), 'secret words')
  t.strictSame(
    handoffs.listFor(own('helper')).map((one) => one.id),
    [id(2)],
  )
  t.equal(handoffs.take(id(2)), 'two', 'what was moved is where it is')
  file.isFull = true
  t.throws(() => handoffs.add(record(3), ''), { code: 'STATE_UNWRITABLE' })
  t.equal(handoffs.find(id(3)), undefined)
})

const brings = (...sizes: readonly number[]) => ({
  artifacts: sizes.map((size, index) => ({ path: `${index}`, size, sha256: 'f'.repeat(64), why: '' })),
})

t.test(
  'what it has brought goes with it: when it is over, purged, or named by none that is kept',
  async (t) => {
    const clock = stageClock()
    const file = stageLineFile()
    const names = [`${id(1)}-0`, `${id(1)}-1`, `${id(2)}-0`, `${id(3)}-0`]
    const first = stage(file, clock, stageCopies(...names, 'left-by-a-crash'))
    first.handoffs.tick()
    t.strictSame(first.copies.names, [], 'nothing is kept yet')
    first.copies.names = [...names]
    first.handoffs.add(record(1, brings(1, 2)), '')
    first.handoffs.add(record(2, { ...brings(4), session: 'other' }), '')
    clock.pass(DAY_MS - 1)
    first.handoffs.add(record(3, { ...brings(8), sentAtMs: clock.wallMs() }), '')
    const { handoffs, copies } = stage(
      stageLineFile(file.lines),
      clock,
      stageCopies(...names, 'left-by-a-crash'),
    )
    handoffs.tick()
    t.strictSame(copies.names, names, 'a daemon that comes after removes what a crash has left')
    t.equal(handoffs.purge('other'), 1)
    t.strictSame([copies.erased, copies.names], [[names[2]], [names[0], names[1], names[3]]])
    clock.pass(1)
    handoffs.tick()
    t.strictSame([copies.erased.length, copies.names], [1, [names[3]]])
  },
)

t.test('room for files is counted over all, of each sender, and with what is being made ready', async (t) => {
  const { handoffs } = stage()
  const whole = { files: KEPT_ARTIFACTS, bytes: KEPT_ARTIFACT_BYTES_PER_SENDER }
  t.strictSame(handoffs.roomOf('ci'), whole)
  handoffs.add(record(1, brings(10, 20)), '')
  t.strictSame(handoffs.roomOf('ci'), { files: whole.files - 2, bytes: whole.bytes - 30 })
  t.strictSame(handoffs.roomOf('x'), { files: whole.files - 2, bytes: whole.bytes })
  const coming = { sender: 'x', to: 'helper', files: 1, bytes: KEPT_ARTIFACT_BYTES - 100 }
  const done = handoffs.prepare(coming)
  t.strictSame(handoffs.roomOf('ci'), { files: whole.files - 3, bytes: 70 })
  t.strictSame(handoffs.counts('x', 'helper'), { waiting: 2, tried: 0, ofSender: 1, kept: 2 })
  done()
  t.strictSame(handoffs.counts('x', 'helper'), { waiting: 1, tried: 0, ofSender: 0, kept: 1 })
})
