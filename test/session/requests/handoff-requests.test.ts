/**
 * Handoffs through the engine of a connection, where the disk is full or has changed what was kept, and where there is
 * no room for more.
 */
import t from 'tap'
import { publicKeyOf } from '../../../src/base/crypto/ed25519.node.ts'
import { decodeHex } from '../../../src/base/encoding/hex.ts'
import { SassError } from '../../../src/errors.ts'
import { HANDOFF_BYTES } from '../../../src/limits.ts'
import { readHandoffLine } from '../../../src/session/standing/handoff-record.ts'
import { type Client, enter, seedOf, stageLineFile, stageRooms } from '../stage.ts'

const MESSAGE = {
  to_agent: 'other',
  task: 'Summarise',
  success_criteria: ['report.md exists'],
  artifacts: [],
  key_findings: ['a', 'b', 'c'],
  blockers: [],
  confidence: 0.8,
  criticality: 'C2',
}

function ask(
  client: Client,
  method: 'SendHandoff' | 'ListHandoffs' | 'TakeHandoff',
  request = new Map<number, Uint8Array>(),
) {
  return client.on(client.open(method, request)).at(-1)
}

const send = (client: Client, change: object = {}) =>
  ask(client, 'SendHandoff', new Map([[1, Buffer.from(JSON.stringify({ ...MESSAGE, ...change }))]]))

function stage(options: Parameters<typeof stageRooms>[0] = {}) {
  const file = stageLineFile()
  const staged = stageRooms({ ...options, sent: file })
  return { ...staged, file, agent: enter(staged), other: enter(staged, { name: 'other', seed: 2 }) }
}

/** The id of the handoff that was kept last. */
function lastId(lines: readonly string[]): Uint8Array {
  const read = readHandoffLine(lines.at(-1) ?? '')
  return decodeHex(read?.kind === 'sent' ? read.record.id : '') ?? new Uint8Array(0)
}

t.test('what cannot be kept is not done, and the record says so', async (t) => {
  const { agent, file, audit } = stage()
  file.isFull = true
  t.match(send(agent), { kind: 'status', code: 101 })
  t.match(audit.events.at(-1), { type: 'not_done', action: 'handoff' })
  file.isFull = false
  t.match(send(agent), { kind: 'ended' })
  t.match(audit.events.at(-1), {
    type: 'handoff',
    what: 'sent',
    declared: { confidence: 800, prior_score: null },
  })
})

t.test('a text that the disk has changed is not given out', async (t) => {
  const { agent, other, file, audit } = stage()
  send(agent)
  const id = lastId(file.lines)
  file.lines = file.lines.map((line) => line.replace('Summarise', 'Remove it'))
  t.match(ask(other, 'TakeHandoff', new Map([[1, id]])), { kind: 'status', code: 56 })
  t.match(audit.events.at(-1), {
    type: 'handoff',
    what: 'rejected',
    rule: 'handoff.digest',
    is_critical: true,
  })
})

t.test('nor one of which the disk has changed what no chain is held against', async (t) => {
  const { agent, other, file, audit } = stage()
  send(agent)
  const id = lastId(file.lines)
  const before = file.lines
  file.lines = file.lines.map((line) => line.replace('\\"a\\"', '\\"z\\"'))
  t.not(file.lines, before)
  t.match(ask(other, 'TakeHandoff', new Map([[1, id]])), { kind: 'status', code: 56 })
  t.match(audit.events.at(-1), { type: 'handoff', what: 'rejected', rule: 'handoff.digest' })
})

t.test('what was put in the place of a file after it was decided about is not brought', async (t) => {
  /** The views of the session that are asked for until the file is read, and what was read then. */
  const bring = async (isSwappedAt: number) => {
    let views = 0
    const read: string[] = []
    const staged = stage({ capability: { max_file_size_bytes: 1_000 } })
    const { rooms } = staged
    const look = () => ({
      real: views < isSwappedAt ? '/srv/work/in.txt' : '/srv/work/other',
      kind: 'file',
      size: 3,
    })
    const viewOf = async () => {
      views++
      return {}
    }
    const files = {
      ...rooms.files,
      look,
      async read(_view: unknown, real: string) {
        read.push(real)
        throw new SassError('FILE_IO', 'There is no disk here.')
      },
    }
    Object.assign(rooms, { viewOf, files })
    const stream = staged.agent.open(
      'SendHandoff',
      new Map([[1, Buffer.from(JSON.stringify({ ...MESSAGE, artifacts: ['in.txt'] }))]]),
    )
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    return { views, read, told: staged.agent.on(stream).at(-1) }
  }
  const still = await bring(1_000)
  t.strictSame(still.read, ['/srv/work/in.txt'])
  const swapped = await bring(still.views)
  t.equal(swapped.views, still.views)
  t.strictSame(swapped.read, [])
  t.match(swapped.told, { kind: 'ended' })
})

t.test('a message that is too long, empty or no handoff is refused by its form', async (t) => {
  const { agent, file } = stage()
  for (const content of [new Uint8Array(0), new Uint8Array(HANDOFF_BYTES + 1), Buffer.from('{}')])
    t.match(ask(agent, 'SendHandoff', new Map([[1, content]])), { kind: 'status', code: 106 })
  t.match(ask(agent, 'SendHandoff'), { kind: 'status', code: 106 })
  t.match(ask(agent, 'TakeHandoff'), { kind: 'status', code: 106 })
  t.strictSame(file.lines, [])
})

t.test('whatever a message says of itself, the sentence that refuses it fits', async (t) => {
  const unknown = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`\u0001`.repeat(80) + at, 1]))
  for (const text of [JSON.stringify(unknown), `{${'k'.repeat(4_000)}: 1}`, `{"a": ${'k'.repeat(4_000)}}`])
    t.match(ask(stage().agent, 'SendHandoff', new Map([[1, Buffer.from(text)]])), {
      kind: 'status',
      code: 106,
    })
})

t.test('a name of a task that holds a secret is refused: it goes as it is', (t) => {
  const { agent, file, rooms } = stage()
  const hide = (text: string) => ({ text, hidden: text.includes('ghp_') ? 1 : 0 })
  Object.assign(rooms, { readText: { hide, assess: () => 0 } })
  t.match(send(agent, { task_id: 'ghp_1' }), { kind: 'status', code: 106 })
  t.strictSame(file.lines, [])
  t.match(send(agent, { task_id: 'T-1' }), { kind: 'ended' })
  t.end()
})

t.test('a name that another key gets does not get what was given to it before', (t) => {
  const staged = stage()
  send(staged.agent)
  const id = lastId(staged.file.lines)
  const { identities } = staged.rooms
  const find = (name: string) => {
    const found = identities.find(name)
    return name === 'other' && found !== undefined ? { ...found, publicKey: publicKeyOf(seedOf(9)) } : found
  }
  Object.assign(staged.rooms, { identities: { ...identities, find } })
  const later = enter(staged, { name: 'other', seed: 9 })
  t.match(ask(later, 'TakeHandoff', new Map([[1, id]])), { kind: 'status', code: 13 })
  t.match(ask(later, 'ListHandoffs')?.value, { total: 0 })
  t.match(ask(staged.other, 'TakeHandoff', new Map([[1, id]])), { kind: 'ended' })
  t.end()
})

t.test('an inbox has 32 places, and those that are taken count no more', async (t) => {
  const { agent, other, file, clock } = stage()
  const outcomes: unknown[] = []
  for (let count = 0; count < 40; count++) {
    if (count % 10 === 0) clock.pass(60_000)
    outcomes.push(send(agent, { task: `Task ${count}` })?.kind)
  }
  t.equal(outcomes.filter((kind) => kind === 'ended').length, 32)
  clock.pass(60_000)
  const id = lastId(file.lines)
  t.match(ask(other, 'TakeHandoff', new Map([[1, id]])), { kind: 'ended' })
  t.match(send(agent, { task: 'One more' }), { kind: 'ended' })
  t.match(send(agent, { task: 'Two more' }), { kind: 'status', code: 101 })
})
