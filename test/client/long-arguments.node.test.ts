import { randomBytes } from 'node:crypto'
import { zstdDecompressSync } from 'node:zlib'
import t from 'tap'
import { openCbor } from '../../src/base/encoding/cbor.ts'
import { requestWords } from '../../src/client/long-arguments.node.ts'
import { createZstdDecoder } from '../../src/edge/host/zstd-decoder.node.ts'
import { openPayload } from '../../src/wire/payload-gate.ts'

const LIMITS = { depth: 2, items: 8_192 }

function unpacked(raw: string | undefined): unknown {
  const opened = openCbor(zstdDecompressSync(Buffer.from(raw ?? '', 'base64')), LIMITS)
  return opened.ok ? opened.value : opened.problem
}

t.test('what a frame holds is sent as it is', (t) => {
  t.same(requestWords('ls', ['-l']), { command: 'ls', args: ['-l'] })
  const many = Array.from({ length: 3_000 }, () => 'a')
  t.same(requestWords('ls', many), { command: 'ls', args: many })
  t.end()
})

t.test('what it does not hold is packed, word for word', (t) => {
  for (const args of [
    Array.from({ length: 4_000 }, (_, at) => `word ${at}`),
    ['-c', 'é'.repeat(40_000)],
    Array.from({ length: 20 }, (_, at) => String(at).repeat(5_000)),
  ]) {
    const words = requestWords('sh', args)
    t.equal(words.command, undefined)
    t.same(unpacked(words.raw_payload), ['sh', ...args])
  }
  t.end()
})

t.test('what no request holds is told before anything is sent', (t) => {
  const many = Array.from({ length: 4_096 }, () => 'a')
  t.throws(() => requestWords('ls', many), { code: 'USAGE', message: /4096 arguments.*takes 4095/ })
  const noise = randomBytes(90_000).toString('base64')
  t.throws(() => requestWords('ls', [noise]), { code: 'USAGE', message: /packed they still take/ })
  t.end()
})

t.test('a word that begins with U+FEFF is packed as JSON, since no message holds it', async (t) => {
  for (const [command, ...args] of [
    ['printf', '%s', '\ufeffa'],
    ['\ufeffprogram', 'a'],
    ['printf', '%s', '\ufeff'],
  ] as const) {
    const words = requestWords(command, args)
    t.strictSame(Object.keys(words), ['raw_payload'])
    const opened = await openPayload(words.raw_payload ?? '', createZstdDecoder())
    t.strictSame(opened, { ok: true, argv: [command, ...args] })
  }
  t.strictSame(requestWords('printf', ['a\ufeff']), { command: 'printf', args: ['a\ufeff'] })
})
