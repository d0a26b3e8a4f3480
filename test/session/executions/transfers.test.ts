import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { zstdCompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import type { FileReader, FileReceiver, FileWork } from '../../../src/ports.ts'
import { createFileWork } from '../../../src/sandbox/files/file-work.node.ts'
import { createTransfers } from '../../../src/session/executions/transfers.ts'
import { fileChunk, fileDownloadRequest } from '../../../src/wire/file-messages.ts'
import { stageView } from '../../sandbox/files/view.node.ts'
import { type Client, enter, type Heard, type Stage, type StageOptions, stageRooms } from '../stage.ts'

const CAPABILITY = {
  allowed_paths: ['/work'],
  denied_paths: ['/work/denied'],
  max_file_size_bytes: 1_000_000,
}
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()

type Ground = { readonly stage: Stage; readonly work: string; readonly outside: string }

function ground(t: Test, options: StageOptions = {}): Ground {
  const { view, work, outside } = stageView(t)
  const stage = stageRooms({ files: createFileWork(), view, capability: CAPABILITY, ...options })
  return { stage, work, outside }
}

type Metadata = Parameters<typeof fileChunk.encode>[0]['metadata'] & object

function metadataOf(path: string, bytes: Uint8Array, change: Partial<Metadata> = {}): Metadata {
  const whole = { remote_path: path, total_size: bytes.length, offset: 0, kind: 0, sha256: sha256(bytes) }
  return { ...whole, ...change }
}

function begin(client: Client, metadata: Metadata, method: 'FileUpload' | 'RawFileTransfer' = 'FileUpload') {
  return client.open(method, fileChunk.encode({ metadata }), true)
}

function send(client: Client, stream: number, data: Uint8Array): void {
  client.connection.message(stream, fileChunk.encode({ data }), data.length)
}

/** File work is done by the system's own threads: waits until the stream has heard so much. */
async function heard(
  client: Client,
  stream: number,
  is: (last: Heard | undefined) => boolean,
): Promise<Heard[]> {
  for (let turn = 0; turn < 60_000 && !is(client.on(stream).at(-1)); turn++)
    await new Promise((resolve) => setTimeout(resolve, 1))
  return client.on(stream)
}

const over = ({ kind }: Heard = { kind: '' }) => kind === 'ended' || kind === 'status' || kind === 'reset'
const told = ({ value }: Heard = { kind: '' }) => value?.['offset'] !== undefined
const settle = () => new Promise((resolve) => setTimeout(resolve, 30))

async function until(what: string, is: () => boolean): Promise<void> {
  for (let turn = 0; turn < 60_000; turn++) {
    if (is()) return
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  throw new Error(`never came: ${what}`)
}

async function upload(client: Client, metadata: Metadata, bytes: Uint8Array): Promise<Heard | undefined> {
  const stream = begin(client, metadata)
  send(client, stream, bytes)
  client.connection.end(stream)
  return (await heard(client, stream, over)).at(-1)
}

t.test('an upload is decided, told where it begins, written, and recorded without its name', async (t) => {
  const { stage, work } = ground(t)
  const client = enter(stage)
  const bytes = randomBytes(1_000)
  const stream = begin(client, metadataOf('/work/name-of-it', bytes, { mode: 0o4755 }))
  const [first] = await heard(client, stream, told)
  t.match(first, { kind: 'message', value: { source: 2, offset: 0 } })
  t.equal(first?.value?.['sha256'], sha256(new Uint8Array(0)).toString('latin1'))
  send(client, stream, bytes)
  client.connection.end(stream)
  const last = (await heard(client, stream, over)).at(-1)
  t.match(last, { kind: 'ended', value: { success: true, bytes_written: 1_000 } })
  t.ok(readFileSync(join(work, 'name-of-it')).equals(bytes))
  await settle()
  const [decision] = stage.audit.events.filter(({ action }) => action === 'upload')
  t.match(decision, { type: 'decision', response: 'R1', method: 'FileUpload' })
  const ended = stage.audit.events.find(({ type }) => type === 'transfer_ended')
  t.match(ended, {
    what: 'upload',
    agent: 'bot',
    warrant: decision?.['warrant'],
    outcome: 'done',
    bytes: 1_000,
    sha256: encodeHex(sha256(bytes)),
    path_digest: encodeHex(sha256(Buffer.from('/work/name-of-it'))),
  })
  t.notMatch(JSON.stringify(stage.audit.events), 'name-of-it')
  t.equal(stage.rooms.transfers.countOf('bot'), 0)
})

t.test(
  'a path that nothing allows is refused with a sentence: nothing is opened, granted or written',
  async (t) => {
    for (const path of ['/etc/motd', '/work/../etc/new']) {
      const { stage, work } = ground(t)
      const client = enter(stage)
      const stream = begin(client, metadataOf(path, randomBytes(70_000)))
      const back = client.open('FileDownload', fileDownloadRequest.encode({ remote_path: path }))
      await settle()
      for (const asked of [stream, back])
        t.match(
          client.on(asked),
          [{ kind: 'status', code: 51, text: /not allowed by capability default/ }],
          path,
        )
      t.equal(client.connection.credit(stream), 0, 'no credit')
      t.equal(stage.rooms.viHolds.get('bot') ?? 0, 0)
      t.strictSame(readdirSync(work), [])
    }
  },
)

t.test('a path that is denied stalls: nothing is told, opened, granted or written', async (t) => {
  for (const path of ['/work/denied/x', '/work/../work/denied/new']) {
    const { stage, work } = ground(t)
    const client = enter(stage)
    const bytes = randomBytes(70_000)
    const stream = begin(client, metadataOf(path, bytes))
    for (let at = 0; at < 65_536; at += 16_384) send(client, stream, bytes.subarray(at, at + 16_384))
    const back = client.open('FileDownload', fileDownloadRequest.encode({ remote_path: path }))
    await settle()
    t.strictSame(client.on(stream), [], path)
    t.strictSame(client.on(back), [], path)
    t.equal(client.connection.credit(stream), 0, 'no credit')
    t.equal(stage.rooms.viHolds.get('bot'), 2)
    t.strictSame(readdirSync(work), [])
    const decisions = stage.audit.events.filter(({ action }) => action === 'upload' || action === 'download')
    t.match(decisions, [{ response: 'R4', code: 'CAPABILITY_PATH_DENIED' }, { response: 'R4' }], path)
    stage.clock.pass(stage.rooms.settings.viHoldMs)
    t.match(client.on(stream).at(-1), { kind: 'status', code: 102 })
  }
})

t.test('a link does not lead past what is denied, nor out of what is seen', async (t) => {
  const { stage, work, outside } = ground(t)
  const { symlinkSync, mkdirSync } = await import('node:fs')
  mkdirSync(join(work, 'denied'))
  writeFileSync(join(work, 'denied/key'), 'secret')
  symlinkSync('denied', join(work, 'a'))
  symlinkSync(outside, join(work, 'out'))
  const client = enter(stage)
  const stalled = client.open('FileDownload', fileDownloadRequest.encode({ remote_path: '/work/a/key' }))
  await settle()
  t.strictSame(client.on(stalled), [])
  const gone = client.open('FileDownload', fileDownloadRequest.encode({ remote_path: '/work/out/secret' }))
  t.match((await heard(client, gone, over)).at(-1), { kind: 'status', code: 21 })
})

t.test('mistakes of the caller are said plainly (OS-04)', async (t) => {
  const { stage } = ground(t)
  const client = enter(stage)
  const x = Buffer.from('x')
  const cases: readonly (readonly [string, Metadata, number])[] = [
    ['up above the root', metadataOf('/../x', x), 106],
    ['a drive', metadataOf('C:\\Windows\\System32', x), 106],
    ['another host', metadataOf('\\\\host\\x', x), 106],
    ['empty', metadataOf('', x), 106],
    ['too long', metadataOf(`/work/${'n'.repeat(256)}`, x), 106],
    ['a link to nothing', metadataOf('/work/l', new Uint8Array(0), { kind: 2 }), 106],
    ['a directory with a size', metadataOf('/work/d', x, { kind: 1 }), 106],
    ['beyond the end', metadataOf('/work/x', x, { offset: 2 }), 24],
    ['too large', metadataOf('/work/x', x, { total_size: 1_000_001 }), 27],
    ['no directory', metadataOf('/work/no/x', x), 25],
    ['a wrong digest', metadataOf('/work/x', x, { sha256: sha256(Buffer.from('y')) }), 26],
  ]
  for (const [name, metadata, code] of cases)
    t.match(await upload(client, metadata, x), { kind: 'status', code }, name)
  const bare = client.open('FileUpload', fileChunk.encode({ data: x }), true)
  t.match((await heard(client, bare, over)).at(-1), { kind: 'status', code: 23 })
  t.match(
    await upload(client, metadataOf('/work/x', x, { total_size: 2 }), x),
    { kind: 'status', code: 22 },
    'cut',
  )
  t.match(
    await upload(client, metadataOf('/work/x', x, { total_size: 0 }), x),
    { kind: 'status', code: 22 },
    'more',
  )
  t.equal(stage.rooms.viHolds.size, 0)
})

t.test('without a branch both ways say so', async (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  t.match(await upload(client, metadataOf('/srv/work/x', Buffer.from('x')), Buffer.from('x')), {
    kind: 'status',
    code: 17,
  })
  const stream = client.open('FileDownload', fileDownloadRequest.encode({ remote_path: 'x' }))
  t.match((await heard(client, stream, over)).at(-1), { kind: 'status', code: 17 })
})

t.test('what a link cut off is gone on with; what a client takes back is gone', async (t) => {
  const { stage, work } = ground(t)
  const bytes = randomBytes(60_000)
  let client = enter(stage)
  let stream = begin(client, metadataOf('/work/f', bytes))
  send(client, stream, bytes.subarray(0, 20_000))
  await until('a partial', () => readdirSync(work).length === 1)
  await settle()
  client.events.closed()
  await until('the end of it', () => stage.rooms.transfers.countOf('bot') === 0)
  t.equal(readdirSync(work).length, 1)

  client = enter(stage)
  stream = begin(client, metadataOf('/work/f', bytes, { offset: 60_000 }))
  const [first] = await heard(client, stream, told)
  t.equal(first?.value?.['offset'], 20_000)
  t.equal(first?.value?.['sha256'], sha256(bytes.subarray(0, 20_000)).toString('latin1'))
  send(client, stream, bytes.subarray(20_000))
  client.connection.end(stream)
  t.match((await heard(client, stream, over)).at(-1), { kind: 'ended', value: { bytes_written: 40_000 } })
  t.ok(readFileSync(join(work, 'f')).equals(bytes))

  stream = begin(client, metadataOf('/work/g', bytes))
  send(client, stream, bytes.subarray(0, 20_000))
  await until('a partial', () => readdirSync(work).length === 2)
  client.connection.reset(stream)
  await until('nothing of it', () => readdirSync(work).length === 1)
})

t.test(
  'of two uploads of one file the later goes on; two of different files end whole, one of them last',
  async (t) => {
    const { stage, work } = ground(t)
    const client = enter(stage)
    const bytes = randomBytes(50_000)
    const first = begin(client, metadataOf('/work/f', bytes))
    send(client, first, bytes.subarray(0, 10_000))
    await until('a partial', () => readdirSync(work).length === 1)
    await settle()
    const second = begin(client, metadataOf('/work/f', bytes, { offset: 50_000 }))
    t.match((await heard(client, first, over)).at(-1), { kind: 'reset' })
    const [answer] = await heard(client, second, told)
    t.equal(answer?.value?.['offset'], 10_000)
    send(client, second, bytes.subarray(10_000))
    client.connection.end(second)
    t.match((await heard(client, second, over)).at(-1), { kind: 'ended' })

    const [a, b] = [randomBytes(30_000), randomBytes(30_000)]
    const [one, two] = [begin(client, metadataOf('/work/g', a)), begin(client, metadataOf('/work/g', b))]
    send(client, one, a)
    send(client, two, b)
    client.connection.end(two)
    await heard(client, two, over)
    t.ok(readFileSync(join(work, 'g')).equals(b))
    client.connection.end(one)
    await heard(client, one, over)
    t.ok(readFileSync(join(work, 'g')).equals(a))
    t.strictSame(readdirSync(work).sort(), ['f', 'g'])
  },
)

t.test('a caller has a few at once', async (t) => {
  const { stage } = ground(t)
  const client = enter(stage)
  const bytes = randomBytes(10)
  const streams = ['a', 'b', 'c', 'd'].map((name) => begin(client, metadataOf(`/work/${name}`, bytes)))
  for (const stream of streams) await heard(client, stream, told)
  t.match(await upload(client, metadataOf('/work/e', bytes), bytes), { kind: 'status', code: 101 })
  const [stream = 0] = streams
  send(client, stream, bytes)
  client.connection.end(stream)
  await heard(client, stream, over)
  await settle()
  t.match(await upload(client, metadataOf('/work/e', bytes), bytes), { kind: 'ended' })
})

t.test('RawFileTransfer opens each piece by itself, and a bomb ends the connection', async (t) => {
  const { stage, work } = ground(t)
  const client = enter(stage)
  const bytes = Buffer.concat([Buffer.alloc(100_000, 'a'), randomBytes(10_000)])
  const pack = (part: Uint8Array) => Buffer.from(zstdCompressSync(part).toString('base64'))
  const stream = begin(client, metadataOf('/work/f', bytes), 'RawFileTransfer')
  send(client, stream, pack(bytes.subarray(0, 100_000)))
  send(client, stream, pack(bytes.subarray(100_000)))
  client.connection.end(stream)
  t.match((await heard(client, stream, over)).at(-1), { kind: 'ended', value: { bytes_written: 110_000 } })
  t.ok(readFileSync(join(work, 'f')).equals(bytes))

  for (const bad of [Buffer.from('*'), pack(bytes).subarray(0, 100)]) {
    const odd = begin(client, metadataOf('/work/g', bytes), 'RawFileTransfer')
    send(client, odd, bad)
    t.match((await heard(client, odd, over)).at(-1), { kind: 'status', code: 106 })
  }
  const bomb = begin(client, metadataOf('/work/h', bytes), 'RawFileTransfer')
  send(client, bomb, pack(Buffer.alloc(6_000_000)))
  t.match((await heard(client, bomb, over)).at(-1), { kind: 'status', code: 55 })
  t.ok(client.transport.deeds.includes('end'))
  await settle()
  t.notOk(existsSync(join(work, 'h')))
})

t.test('under a level of alarm an upload holds still, and goes on when it is over', async (t) => {
  const { stage, work } = ground(t)
  const client = enter(stage)
  const bytes = randomBytes(1_000)
  const stream = begin(client, metadataOf('/work/f', bytes))
  await heard(client, stream, told)
  stage.rooms.levels.set('agent', 'bot', 'RESTRICT', 'test', 'test')
  send(client, stream, bytes)
  client.connection.end(stream)
  await settle()
  t.notOk(existsSync(join(work, 'f')))
  stage.rooms.levels.set('agent', 'bot', 'NORMAL', 'test', 'test')
  stage.peers.tick()
  t.match((await heard(client, stream, over)).at(-1), { kind: 'ended' })
})

t.test('what a human allows at a checkpoint is written, with what was sent meanwhile', async (t) => {
  const { stage, work } = ground(t)
  const client = enter(stage)
  const bytes = randomBytes(1_000)
  stage.rooms.levels.set('agent', 'bot', 'CHECKPOINT', 'test', 'test')
  const stream = begin(client, metadataOf('/work/f', bytes))
  send(client, stream, bytes)
  client.connection.end(stream)
  await heard(client, stream, (last) => last?.value?.['is_queued'] === true)
  const [pending] = stage.rooms.confirmations.list()
  t.match(pending?.shownText, '"path":"/work/f"')
  stage.rooms.confirmations.answer(
    pending?.id ?? '',
    encodeHex(pending?.digest ?? new Uint8Array(0)),
    true,
    'boss',
  )
  t.match((await heard(client, stream, over)).at(-1), { kind: 'ended', value: { bytes_written: 1_000 } })
  t.ok(readFileSync(join(work, 'f')).equals(bytes))

  const down = client.open('FileDownload', fileDownloadRequest.encode({ remote_path: '/work/f' }))
  t.match(
    (await heard(client, down, over)).at(-1),
    { kind: 'status', code: 101 },
    'a download cannot tell that it waits',
  )
})

/** Work that does what it is told, when it is told. */
function stagedReceiver() {
  const writes: { readonly bytes: number; done(): void }[] = []
  const receiver: FileReceiver = {
    offset: 0,
    sha256: new Uint8Array(32),
    write: ({ length: bytes }) => new Promise((resolve) => writes.push({ bytes, done: resolve })),
    finish: async () => new Uint8Array(32),
    stop: async () => {},
  }
  const files: Partial<FileWork> = {
    look: (_view, path) => ({ real: path, kind: 'missing', size: 0 }),
    receive: async () => receiver,
  }
  return { files, writes }
}

t.test('no more is granted than was written: the rest is held back', async (t) => {
  const { files, writes } = stagedReceiver()
  const { stage } = ground(t, { files })
  const client = enter(stage)
  const stream = begin(client, metadataOf('/work/f', new Uint8Array(200_000)))
  await heard(client, stream, told)
  for (let piece = 0; piece < 4; piece++) send(client, stream, new Uint8Array(16_384))
  await settle()
  t.equal(writes.length, 1, 'one write at a time')
  t.equal(client.connection.credit(stream), 0)
  writes[0]?.done()
  await until('the next', () => writes.length === 2)
  writes[1]?.done()
  await until('credit', () => client.connection.credit(stream) > 0)
  t.equal(client.connection.credit(stream), 32_768)
  client.connection.reset(stream)
  writes[2]?.done()
})

t.test('no more is read than may be sent', async (t) => {
  let read = 0
  const reader: FileReader = {
    kind: 'file',
    size: 1_000_000,
    mode: 0o644,
    offset: 0,
    async read(target) {
      read += target.length
      return target.length
    },
    finish: async () => new Uint8Array(32),
    close: () => {},
  }
  const { stage } = ground(t, {
    files: {
      look: (_view, path) => ({ real: path, kind: 'file', size: 1_000_000 }),
      read: async () => reader,
    },
  })
  const client = enter(stage)
  const stream = client.open('FileDownload', fileDownloadRequest.encode({ remote_path: '/work/f' }))
  await until('the window', () => read >= 65_536)
  await settle()
  t.equal(read, 65_536)
  client.connection.grant(stream, 10_000)
  await until('the credit', () => read >= 75_536)
  await settle()
  t.equal(read, 75_536)
  stage.rooms.levels.set('agent', 'bot', 'CONTAIN', 'test', 'test')
  client.connection.grant(stream, 10_000)
  await settle()
  t.equal(read, 75_536, 'held under alarm')
  client.connection.reset(stream)
  await until('the end', () => stage.rooms.transfers.countOf('bot') === 0)
})

t.test('a download begins where the client goes on, and a directory is a list', async (t) => {
  const { stage, work } = ground(t)
  const client = enter(stage)
  const bytes = randomBytes(40_000)
  writeFileSync(join(work, 'f'), bytes)
  const ask = async (request: Parameters<typeof fileDownloadRequest.encode>[0]) => {
    const stream = client.open('FileDownload', fileDownloadRequest.encode(request))
    return heard(client, stream, over)
  }
  const part = { remote_path: '/work/f', offset: 30_000 }
  const whole = await ask({ ...part, sha256: sha256(bytes.subarray(0, 30_000)) })
  t.match(whole[0]?.value?.['metadata'], { total_size: 40_000, offset: 30_000 })
  t.equal(whole[1]?.value?.['data'], bytes.subarray(30_000).toString('latin1'))
  t.match(whole.at(-1)?.value, { total_size: 40_000, sha256: sha256(bytes).toString('latin1') })
  const other = await ask({ ...part, sha256: sha256(bytes) })
  t.match(other[0]?.value?.['metadata'], { offset: 0 })
  t.match(await ask({ remote_path: '/work/f', offset: 40_001 }), [{ kind: 'status', code: 24 }])
  t.match(await ask({ remote_path: '/work/none' }), [
    { kind: 'status', code: 20, details: new Map([[1, 2]]) },
  ])
  t.match((await ask({ remote_path: '/work' }))[0]?.value?.['metadata'], { kind: 1 })
  t.equal(client.welcome.success, true)
})

t.test('whoever comes third waits for both before', async (t) => {
  const transfers = createTransfers()
  const told: string[] = []
  const begin = (name: string, key: string | undefined = 'k', owner = 'a') =>
    transfers.begin({ owner, branch: 'b', key, stop: (why) => told.push(`${name} ${why}`) })
  const [one, two, three] = [begin('one'), begin('two'), begin('three')]
  t.strictSame(told, ['one replaced', 'two replaced'])
  let isReady = false
  three.ready.then(() => {
    isReady = true
  })
  two.end()
  await settle()
  t.notOk(isReady)
  one.end()
  one.end()
  await settle()
  t.ok(isReady)
  let isEmpty = false
  const emptied = transfers.endIn('b').then(() => {
    isEmpty = true
  })
  t.equal(told.at(-1), 'three withdrawn')
  await transfers.endIn('other')
  t.notOk(isEmpty)
  three.end()
  await emptied
  t.equal(transfers.countOf('a'), 0)
  const many = Array.from({ length: 32 }, (_, index) => begin('', undefined, `c${index}`))
  t.notOk(transfers.isFree('a'), 'and all together have a bound')
  for (const place of many) place.end()
  t.ok(transfers.isFree('a'))
})

t.test('a branch that is worked on gets its transfers to end, and nothing of them is lost', async (t) => {
  const { stage, work } = ground(t)
  const client = enter(stage)
  const bytes = randomBytes(10_000)
  const stream = begin(client, metadataOf('/work/f', bytes))
  send(client, stream, bytes.subarray(0, 5_000))
  await until('a partial', () => readdirSync(work).length === 1)
  await settle()
  await stage.rooms.transfers.endIn(encodeHex(client.sessionId))
  t.match(client.on(stream).at(-1), { kind: 'status', code: 101 })
  t.equal(readdirSync(work).length, 1)
  const again = begin(client, metadataOf('/work/f', bytes, { offset: 10_000 }))
  t.equal((await heard(client, again, told))[0]?.value?.['offset'], 5_000)
  client.connection.reset(again)
  await until('nothing', () => readdirSync(work).length === 0)
})

t.test('whoever takes a branch out of use never waits for one that waits for the branch', async (t) => {
  const { stage, work } = ground(t)
  const { viewOf } = stage.rooms
  let isOut = false
  const rooms = stage.rooms as { viewOf: typeof viewOf }
  rooms.viewOf = (session) => (isOut ? new Promise(() => {}) : viewOf(session))
  const client = enter(stage)
  const bytes = randomBytes(1_000)
  const stream = begin(client, metadataOf('/work/f', bytes))
  await heard(client, stream, told)
  isOut = true
  send(client, stream, bytes)
  client.connection.end(stream)
  await settle()
  await stage.rooms.transfers.endIn(encodeHex(client.sessionId))
  t.match(client.on(stream).at(-1), { kind: 'status', code: 101 })
  t.strictSame(
    readdirSync(work).filter((name) => name === 'f'),
    [],
  )
})

t.test('what was decided about another place is not done', async (t) => {
  const { view } = stageView(t)
  let real = '/work/f'
  const files: Partial<FileWork> = {
    look: () => {
      const found = { real, kind: 'missing', size: 0 } as const
      real = '/work/elsewhere'
      return found
    },
  }
  const stage = stageRooms({ files, view, capability: CAPABILITY })
  const client = enter(stage)
  const x = Buffer.from('x')
  t.match(await upload(client, metadataOf('/work/f', x), x), { kind: 'status', code: 22 })
  real = '/work/f'
  const stream = client.open('FileDownload', fileDownloadRequest.encode({ remote_path: '/work/f' }))
  t.match((await heard(client, stream, over)).at(-1), { kind: 'status', code: 22 })
})
