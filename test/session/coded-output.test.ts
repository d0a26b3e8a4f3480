/**
 * Compressed output on its way to a client, with the real compressor: one frame for both sources, within the credit of
 * what is sent, complete before the exit; and nothing of it for a client that did not say that it reads it.
 * @module
 */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createFrameReader } from '../../src/client/link/zstd-frames.node.ts'
import { createOutputCoders } from '../../src/edge/host/zstd.node.ts'
import { CODED_UNARY_BYTES, INITIAL_WINDOW_BYTES } from '../../src/limits.ts'
import { executeRequest } from '../../src/wire/messages.ts'
import { enter, type Heard, type StagedChild, stageRooms } from './stage.ts'

const ID = new Uint8Array(16).fill(5)
const line = (index: number) => `drwxr-xr-x 2 root root 4096 Jan  1 00:00 directory-${index}\n`
const text = (lines: number) => Array.from({ length: lines }, (_, index) => line(index)).join('')
const bytes = (content: string) => Buffer.from(content, 'latin1')

type Change = { window?: number; unary?: boolean; accept?: number; free?: number }

function run({ window, unary = false, accept = 1, free }: Change = {}) {
  const stage = stageRooms({ coders: createOutputCoders(free) })
  const client = enter(stage, window === undefined ? {} : { window })
  const ask = (change = {}) =>
    client.open(
      unary ? 'Execute' : 'ExecuteStream',
      executeRequest.encode({ command: 'ls', execution_id: ID, accept, ...change }),
      false,
    )
  const stream = ask()
  const child = stage.spawner.children[0] as StagedChild
  return { ...stage, client, ask, stream, child, heard: (of = stream) => client.on(of) }
}

/** Lets the thread pool come back until it holds. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1))
}

const isEnded = (heard: readonly Heard[]) => heard.at(-1)?.kind === 'ended'

/** What a client makes of it: both sources, by offset. Throws where offsets do not fit. */
async function readAll(heard: readonly Heard[], start: readonly [number, number] = [0, 0]) {
  const reader = createFrameReader()
  const sources: [Buffer[], Buffer[]] = [[], []]
  const at = [...start] as [number, number]
  let coded = 0
  let sent = 0
  for (const { value } of heard) {
    if (value?.['data'] === undefined) continue
    const source = value['source'] as 0 | 1
    const data = bytes(value['data'] as string)
    if (value['offset'] !== at[source]) throw new Error(`offset ${value['offset']} after ${at[source]}`)
    const plain = value['encoding'] === 1 ? await reader.read(data) : data
    if (value['encoding'] === 1) coded++
    sent += data.length
    at[source] += plain.length
    sources[source].push(Buffer.from(plain))
  }
  reader.close()
  const [stdout, stderr] = sources.map((pieces) => Buffer.concat(pieces).toString('latin1'))
  return { stdout, stderr, coded, sent }
}

t.test(
  'both sources are one frame in the order of their messages, and the exit comes after them',
  async (t) => {
    const { child, heard } = run()
    child.events.spawned(1)
    child.events.output(0, bytes(text(500)))
    child.events.output(1, bytes(text(100)))
    child.events.output(0, bytes('$ '))
    child.events.exited({ kind: 'exited', code: 3 })
    await until(() => isEnded(heard()))
    t.match(heard().at(-1), { value: { exit_code: 3 } })
    const { stdout, stderr, coded, sent } = await readAll(heard())
    t.equal(stdout, `${text(500)}$ `)
    t.equal(stderr, text(100))
    t.ok(coded >= 2)
    t.ok(sent < text(600).length / 4, `${sent} bytes`)
  },
)

t.test('a keystroke’s echo is as short as without', async (t) => {
  const { child, heard } = run()
  child.events.spawned(1)
  child.events.output(0, bytes('l'))
  t.strictSame(heard().at(-1)?.value?.['data'], 'l', 'and as soon')
  t.equal(heard().at(-1)?.value?.['encoding'], 0)
})

t.test('credit is of what is sent; the process is held back and let go', async (t) => {
  const { child, heard, client, stream } = run({ window: 4_096 })
  const noise = randomBytes(20_000)
  child.events.spawned(1)
  child.events.output(0, noise)
  const sent = () => heard().reduce((sum, { value }) => sum + String(value?.['data'] ?? '').length, 0)
  await until(() => client.connection.credit(stream) !== undefined && sent() > 3_900)
  t.strictSame(child.deeds, ['pause 0', 'pause 1'])
  t.ok(sent() <= 4_096, `${sent()} bytes`)
  child.events.exited({ kind: 'exited', code: 0 })
  for (let granted = 4_096; !isEnded(heard()); granted += 1_000) {
    await new Promise((resolve) => setTimeout(resolve, 2))
    t.ok(sent() <= granted, `${sent()} of ${granted} bytes`)
    client.connection.grant(stream, 1_000)
  }
  t.equal((await readAll(heard())).stdout, noise.toString('latin1'))
})

t.test('a client that does not say that it reads them gets none', async (t) => {
  for (const accept of [0, 2]) {
    const { child, heard } = run({ accept })
    child.events.spawned(1)
    child.events.output(0, bytes(text(100)))
    t.equal(heard().at(-1)?.value?.['data'], text(100))
    t.equal(heard().at(-1)?.value?.['encoding'], 0)
  }
})

t.test('without a place for another frame the output is as it is', async (t) => {
  const { child, heard } = run({ free: 0 })
  child.events.spawned(1)
  child.events.output(0, bytes(text(100)))
  t.equal(heard().at(-1)?.value?.['data'], text(100))
})

t.test('an attach begins a frame of its own, where it was told to', async (t) => {
  const { child, ask, heard, client } = run({ free: 1 })
  child.events.spawned(1)
  child.events.output(0, bytes(text(300)))
  await until(() => heard().length > 1)
  const again = ask({ is_reattach: true, resume_offset: 100 })
  const onAgain = () => client.on(again)
  child.events.output(0, bytes(text(10)))
  child.events.exited({ kind: 'exited', code: 0 })
  await until(() => isEnded(onAgain()))
  const { stdout, coded } = await readAll(onAgain(), [100, 0])
  t.equal(stdout, `${text(300).slice(100)}${text(10)}`)
  t.ok(coded > 0, 'the one that was replaced has given its place back')
})

t.test('a stream that is left while a piece is compressed hears nothing more', async (t) => {
  const { child, heard, client, stream, ask } = run()
  child.events.spawned(1)
  child.events.output(0, bytes(text(1_000)))
  client.connection.reset(stream)
  const before = heard().length
  const again = ask({ is_reattach: true })
  await until(() => client.on(again).some(({ value }) => value?.['data'] !== undefined))
  t.equal(heard().length, before)
  child.events.exited({ kind: 'exited', code: 0 })
  await until(() => isEnded(client.on(again)))
  t.equal((await readAll(client.on(again))).stdout, text(1_000))
})

t.test('a unary answer of some size is compressed ahead of its end', async (t) => {
  const { child, heard } = run({ unary: true })
  child.events.spawned(1)
  child.events.output(0, bytes(text(300)))
  child.events.output(1, bytes(text(30)))
  child.events.exited({ kind: 'exited', code: 0 })
  await until(() => isEnded(heard()))
  const { stdout, stderr, sent } = await readAll(heard())
  t.equal(stdout, text(300))
  t.equal(stderr, text(30))
  t.ok(sent < INITIAL_WINDOW_BYTES / 10)
  const small = run({ unary: true })
  small.child.events.output(0, Buffer.alloc(CODED_UNARY_BYTES, 'a'))
  small.child.events.exited({ kind: 'exited', code: 0 })
  t.equal(small.heard().length, 1, 'a small one is one frame')
})
