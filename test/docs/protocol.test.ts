import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { allMessages, fallbackText, fieldsOf } from '../../build/cddl.ts'
import { CODES, mayTellAgent } from '../../src/errors.ts'
import * as limits from '../../src/limits.ts'
import { encodeFrame, KIND, type KindName, readFrame } from '../../src/wire/frame.ts'
import { authRequest, pingResponse } from '../../src/wire/messages.ts'
import { METHODS } from '../../src/wire/methods.ts'
import { PHASES } from '../../src/wire/phases.ts'
import { readMessage } from '../../src/wire/schema.ts'
import { fromHex } from '../base/cbor-values.ts'

const ROOT = join(import.meta.dirname, '../..')
const page = readFileSync(join(ROOT, 'docs/protocol.md'), 'utf8')

/** The text below a heading, up to the next of the same or a higher level. */
function section(heading: string): string {
  const level = heading.match(/^#+/)?.[0].length ?? 1
  const at = page.indexOf(`\n${heading}\n`)
  if (at === -1) throw new Error(`docs/protocol.md has no ${heading}`)
  const rest = page.slice(at + heading.length + 2)
  const end = rest.search(new RegExp(`^#{1,${level}} `, 'm'))
  return end === -1 ? rest : rest.slice(0, end)
}

/** The rows of the first table below `text` that has that first column, as cells. */
function table(text: string, firstColumn: string): string[][] {
  const lines = text.split('\n')
  const head = lines.findIndex((line) => line.startsWith(`| ${firstColumn} |`))
  if (head === -1) return []
  const rows: string[][] = []
  for (const line of lines.slice(head + 2)) {
    if (!line.startsWith('|')) break
    rows.push(
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    )
  }
  return rows
}

const numberOf = (text = '') => Number(text.replaceAll(',', ''))

t.test('the sections have the numbers that the code refers to', async (t) => {
  const headings = [...page.matchAll(/^## (\d+)\. (.+)$/gm)].map(([, number, name]) => `${number} ${name}`)
  t.strictSame(headings, [
    '1 Connection',
    '2 Framing',
    '3 Messages',
    '4 Authentication',
    '5 Cognitive challenge',
    '6 Reconnect',
    '7 Codes',
    '8 What the responses look like',
    '9 Exit codes of the command line',
    '10 Numbers',
  ])
})

t.test('the page has every kind, and who takes it when', async (t) => {
  const framing = section('## 2. Framing')
  t.strictSame(
    table(framing, 'kind').map(([number, name]) => [Number(number), name]),
    Object.entries(KIND).map(([name, number]) => [number, name]),
  )
  const rows = table(framing, 'receiver')
  const kindsIn = (cell = '') => (cell.match(/\b[A-Z]{3,}\b/g) ?? []).sort()
  for (const role of ['daemon', 'client'] as const) {
    const [, silent, open, draining] = rows.find(([name]) => name === role) ?? []
    const taken = (phase: 'silent' | 'open' | 'draining') => Object.keys(PHASES[role][phase]).sort()
    t.strictSame(kindsIn(silent), taken('silent'), `${role}, before authentication`)
    t.strictSame(kindsIn(open), taken('open'), `${role}, authenticated`)
    t.match(draining, /^the same/)
    t.strictSame(taken('draining'), taken('open'))
  }
})

t.test('the page has every method with its messages', async (t) => {
  t.strictSame(
    table(section('### Methods'), 'number'),
    METHODS.map(({ number, name, request, requestMore, responseMore, response }) => [
      String(number),
      name,
      request.name,
      requestMore?.name ?? '-',
      responseMore?.name ?? '-',
      response.name,
    ]),
  )
})

t.test('the page has every message with its fields, and no other', async (t) => {
  const names = [...page.matchAll(/^#### (\w+)$/gm)].map(([, name]) => name).sort()
  t.strictSame(
    names,
    allMessages().map(({ name }) => name),
  )
  for (const message of allMessages()) {
    const rows = table(section(`#### ${message.name}`), 'key')
    t.strictSame(
      rows.map((cells) => cells.slice(0, 4)),
      fieldsOf(message).map(([name, { key, type, presence, fallback }]) => [
        String(key),
        `\`${name}\``,
        `\`${type.cddl}\``,
        presence === 'defaulted' ? `default ${fallbackText(fallback)}` : presence,
      ]),
      message.name,
    )
    for (const [key, , , , meaning = ''] of rows)
      t.ok(meaning.length > 3, `${message.name} ${key} is explained`)
  }
})

t.test('the page has every code that travels, with its number and who is told (SS-49)', async (t) => {
  t.strictSame(
    table(section('## 7. Codes'), 'code').map((cells) => cells.slice(0, 3)),
    Object.entries(CODES)
      .filter(([, { audience }]) => audience !== 'local')
      .map(([name, { number }]) => [
        String(number),
        name,
        mayTellAgent(name as keyof typeof CODES) ? 'anyone' : 'operator',
      ]),
  )
})

t.test('a code is raised somewhere, or the page says that it is reserved', async (t) => {
  // What a client makes of a code that it is told raises none.
  const code = globSync('src/**/*.ts', { cwd: ROOT })
    .filter((path) => !/^src\/(errors|cli\/words\/exit-codes|cli\/mcp\/tool-errors)\.ts$/.test(path))
    .map((path) => readFileSync(join(ROOT, path), 'utf8'))
    .join('\n')
  const isRaised = (name: string) => new RegExp(`'${name}'|CODES\\.${name}\\b`).test(code)
  for (const [, name = '', , meaning = ''] of table(section('## 7. Codes'), 'code'))
    t.equal(isRaised(name), !meaning.startsWith('reserved: '), `${name}: ${meaning}`)
  for (const [name, { audience }] of Object.entries(CODES))
    if (audience === 'local') t.ok(isRaised(name), name)
})

t.test('the numbers are those of the code', async (t) => {
  const rows = table(section('## 10. Numbers'), 'name')
  const known: Readonly<Record<string, unknown>> = limits
  t.ok(rows.length >= 35, `${rows.length} limits`)
  for (const [name = '', value = ''] of rows) {
    const limit = known[name.replaceAll('`', '')]
    t.equal(typeof limit === 'number' ? numberOf(value) : value.replaceAll('`', ''), limit, name)
  }
})

t.test('so are the numbers that the text names', async (t) => {
  const said: readonly [heading: string, pattern: RegExp, limit: number][] = [
    ['## 1. Connection', /TCP, port ([\d,]+)/, limits.DEFAULT_PORT],
    ['## 1. Connection', /has ([\d,]+) ms to authenticate/, limits.LOGIN_GRACE_MS],
    ['## 1. Connection', /a frame may have ([\d,]+) bytes/, limits.UNAUTHENTICATED_FRAME_BYTES],
    ['## 1. Connection', /received together ([\d,]+);/, limits.UNAUTHENTICATED_TOTAL_BYTES],
    ['## 2. Framing', /nest at most ([\d,]+) deep/, limits.CBOR_DEPTH],
    ['## 2. Framing', /at most ([\d,]+) items/, limits.CBOR_ITEMS],
    ['## 2. Framing', /at most ([\d,]+) bytes of body/, limits.FRAME_BYTES],
    ['## 2. Framing', /At most ([\d,]+) streams/, limits.STREAMS_PER_CONNECTION],
    ['## 2. Framing', /\(([\d,]+) where the client names none/, limits.INITIAL_WINDOW_BYTES],
    ['## 2. Framing', /from ([\d,]+) to [\d,]+ bytes/, limits.MIN_WINDOW_BYTES],
    ['## 2. Framing', /from [\d,]+ to ([\d,]+) bytes/, limits.MAX_WINDOW_BYTES],
    ['## 2. Framing', /after ([\d,]+) ms of silence/, limits.KEEPALIVE_MS],
    ['## 3. Messages', /keeps at most ([\d,]+) bytes of each output/, limits.UNARY_OUTPUT_BYTES],
    ['## 3. Messages', /more than ([\d,]+) plain bytes/, limits.PAYLOAD_PLAIN_BYTES],
    ['## 3. Messages', /at most ([\d,]+) blocks/, limits.ZSTD_BLOCKS],
    ['## 4. Authentication', /nonce of ([\d,]+) bytes/, limits.AUTH_NONCE_BYTES],
    ['## 4. Authentication', /empty context, ([\d,]+) bytes/, limits.CHANNEL_BINDING_BYTES],
    ['## 6. Reconnect', /two rings, ([\d,]+) bytes/, limits.RING_BYTES],
    ['## 8. What the responses look like', /After ([\d,]+) s/, limits.VI_SWAP_HOLD_SECONDS],
    ['## 8. What the responses look like', /([\d,]+) bytes of noise/, limits.TARPIT_CHUNK_BYTES],
    ['## 8. What the responses look like', /noise every ([\d,]+) ms/, limits.TARPIT_DELAY_MS],
    ['## 8. What the responses look like', /ms, ([\d,]+) times/, limits.TARPIT_CHUNKS],
  ]
  for (const [heading, pattern, limit] of said)
    t.equal(numberOf(pattern.exec(section(heading))?.[1]), limit, String(pattern))
  t.match(page, limits.ALPN_PROTOCOL)
  t.match(section('## 4. Authentication'), limits.AUTH_CONTEXT)
  t.match(section('## 4. Authentication'), limits.CHANNEL_BINDING_LABEL)
  for (const suite of limits.TLS_CIPHERS.split(':')) t.match(section('## 1. Connection'), suite)
})

t.test('the bytes of its first exchange are those of the code', async (t) => {
  const example = page.match(/```text\nclient {2}OPEN[\s\S]*?```/)?.[0] ?? ''
  const lines = example.split('\n').slice(1, -1)
  const bytesOf = (line = '') =>
    fromHex(
      line
        .slice(14)
        .replace('<key>', '00'.repeat(32))
        .replace('<signature>', '00'.repeat(64))
        .replace('<nonce>', '00'.repeat(16))
        .replaceAll(' ', ''),
    )
  const [auth, , ask, answer] = lines
  const request = authRequest.encode({
    agent_name: 'ci',
    public_key: new Uint8Array(32),
    signature: new Uint8Array(64),
    nonce: new Uint8Array(16),
  })
  t.strictSame(bytesOf(auth), encodeFrame(1, 'OPEN', request, 8))
  t.strictSame(bytesOf(ask), encodeFrame(3, 'OPEN', new Map(), 11))
  const read = readFrame(bytesOf(answer).subarray(2))
  t.match(read, { ok: true, frame: { stream: 3, kind: 'END' satisfies KindName } })
  t.match(readMessage(pingResponse, read.ok ? read.frame.payload : undefined, 'strict'), {
    ok: true,
    value: { daemon_version: '0.1.0', uptime_seconds: 7, os: 'linux arm64' },
  })
})
