import { constants, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { encodeCbor } from '../../src/base/encoding/cbor.ts'
import { createZstdDecoder } from '../../src/edge/host/zstd-decoder.node.ts'
import {
  ARGUMENT_BYTES,
  ARGUMENTS_MAX,
  FRAME_BYTES,
  PAYLOAD_DECODE_MS,
  PAYLOAD_PLAIN_BYTES,
} from '../../src/limits.ts'
import { openPayload } from '../../src/wire/payload-gate.ts'

const decoder = createZstdDecoder()
const open = (text: string | Uint8Array) => openPayload(text, decoder)

function pack(plain: Uint8Array): string {
  return zstdCompressSync(plain, { params: { [constants.ZSTD_c_compressionLevel]: 3 } }).toString('base64')
}

const packJson = (value: unknown) => pack(Buffer.from(JSON.stringify(value)))
const packCbor = (argv: readonly string[]) => pack(encodeCbor(argv))

t.test(
  'opens Base64(Zstd(CBOR or JSON array)) to the argv as it was sent, as text and as bytes (SS-21)',
  async (t) => {
    const argvs = [
      ['true'],
      ['ls', '-l', '/tmp/a b'],
      ['printf', '%s\n', '', 'ünï😀', '$(reboot)', '`id`', '; rm -rf /', '"\'\\', 'a\nb'],
      ['x', ...Array.from({ length: 300 }, (_, index) => `argument ${index}`)],
    ]
    for (const argv of argvs) {
      for (const text of [packCbor(argv), packJson(argv)]) {
        t.same(await open(text), { ok: true, argv })
        t.same(await open(new Uint8Array(Buffer.from(text))), { ok: true, argv })
      }
    }
    const opened = await open(packJson(['ls']))
    t.ok(opened.ok && Object.isFrozen(opened.argv))
  },
)

t.test('gives back any argv that it was given, in both encodings (SS-21)', async () => {
  const argument = fc.string({ unit: 'grapheme', maxLength: 40 }).filter((text) => !text.includes('\0'))
  const argv = fc
    .tuple(
      argument.filter((text) => text !== ''),
      fc.array(argument, { maxLength: 10 }),
    )
    .map(([first, rest]) => [first, ...rest])
  await fc.assert(
    fc.asyncProperty(argv, async (argv) => {
      const opened = await Promise.all([packCbor(argv), packJson(argv)].map(open))
      return opened.every((one) => one.ok && JSON.stringify(one.argv) === JSON.stringify(argv))
    }),
    { numRuns: 150 },
  )
})

t.test('refuses a payload that expands over 5 MiB with the code that severs (SS-22)', async (t) => {
  const refusal = { ok: false, code: 'DECOMPRESSION_LIMIT_EXCEEDED' }
  t.match(await open(pack(new Uint8Array(PAYLOAD_PLAIN_BYTES + 1))), refusal)
  const bomb = pack(new Uint8Array(40 * 1_048_576))
  t.ok(bomb.length < 6_000, `${bomb.length} characters for 40 MiB`)
  t.match(await open(bomb), refusal)
  // Exactly 5 MiB is not over: it is refused for what is in it.
  t.match(await open(pack(new Uint8Array(PAYLOAD_PLAIN_BYTES))), {
    ok: false,
    code: 'FRAME_MALFORMED',
  })
  const half = 'a'.repeat(ARGUMENT_BYTES)
  const argv = ['echo', ...Array.from({ length: 39 }, () => half)]
  t.match(await open(packCbor(argv)), { ok: true })
})

t.test('refuses with the code that severs what takes more than 50 ms to decode (SS-23)', async (t) => {
  const text = packJson(['ls', ...Array.from({ length: 200 }, (_, index) => `a${index * 7}`)])
  t.match(await openPayload(text, createZstdDecoder(0)), {
    ok: false,
    code: 'DECOMPRESSION_LIMIT_EXCEEDED',
    problem: `the payload is refused: decoding it took more than ${PAYLOAD_DECODE_MS} ms`,
  })
  t.match(await open(text), { ok: true })
})

t.test('refuses every array that is not an argv', async (t) => {
  const refused: [unknown, RegExp][] = [
    [[], /no array with a command/],
    [[''], /the command is empty/],
    [['', 'x'], /the command is empty/],
    [['ls', 1], /argument 1 is not text/],
    [[null], /argument 0 is not text/],
    [['ls', true], /argument 1 is not text/],
    [['ls', ['-l']], /nested deeper/],
    [['ls', {}], /nested deeper/],
    [['ls', 'a\0b'], /argument 1 has a NUL/],
    [['l\0s'], /argument 0 has a NUL/],
    [{ command: 'ls' }, /neither a CBOR nor a JSON array/],
    ['ls', /neither a CBOR nor a JSON array/],
    [7, /neither a CBOR nor a JSON array/],
  ]
  for (const [value, problem] of refused) {
    t.match(
      await open(packJson(value)),
      { ok: false, code: 'FRAME_MALFORMED', problem },
      JSON.stringify(value),
    )
  }
})

t.test('refuses CBOR that is not one deterministic array of text', async (t) => {
  const refused: [string, string][] = [
    ['80', 'empty'],
    ['8101', 'a number'],
    ['81426c73', 'bytes'],
    ['9f626c73ff', 'indefinite length'],
    ['81780261 62'.replace(' ', ''), 'a head that is not the shortest'],
    ['980161 61'.replace(' ', ''), 'an array head that is not the shortest'],
    ['81626c73 00'.replace(' ', ''), 'something behind it'],
    ['82626c73', 'cut'],
    ['8161ff', 'not UTF-8'],
    ['81c1616c', 'a tag'],
    ['818161 6c'.replace(' ', ''), 'nested'],
    ['a1616c6173', 'a map'],
    ['626c73', 'text alone'],
    ['9b00000001000000006161', 'a length of 2^32'],
    ['9bffffffffffffffff', 'a length of 2^64 - 1'],
    ['8162 6c00'.replace(' ', ''), 'a NUL'],
    ['', 'nothing'],
  ]
  for (const [hex, what] of refused) {
    t.match(await open(pack(Buffer.from(hex, 'hex'))), { ok: false, code: 'FRAME_MALFORMED' }, what)
  }
})

t.test('refuses JSON that strict readers do not agree on', async (t) => {
  for (const text of [
    '["ls"] x',
    '["ls",]',
    '["ls"',
    "['ls']",
    '["\\ud800"]',
    '["a\tb"]',
    ' ["ls"]',
    '\ufeff["ls"]',
    '[["ls"]]',
  ]) {
    t.match(await open(pack(Buffer.from(text))), { ok: false, code: 'FRAME_MALFORMED' }, JSON.stringify(text))
  }
  t.match(await open(pack(Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]))), { ok: false })
  t.match(await open(pack(Buffer.from('["ls"]\n '))), { ok: true, argv: ['ls'] })
})

t.test('holds the number of arguments and the length of each to their limits', async (t) => {
  const many = (count: number) => Array.from({ length: count }, () => 'a')
  for (const packed of [packJson, packCbor]) {
    t.ok((await open(packed(many(ARGUMENTS_MAX)))).ok)
    t.match(await open(packed(many(ARGUMENTS_MAX + 1))), { ok: false, code: 'FRAME_MALFORMED' })
    t.match(await open(packed(many(1_000_000))), { ok: false, code: 'FRAME_MALFORMED' })
    t.ok((await open(packed(['echo', 'é'.repeat(ARGUMENT_BYTES / 2)]))).ok)
    t.match(await open(packed(['echo', `${'é'.repeat(ARGUMENT_BYTES / 2)}x`])), {
      ok: false,
      code: 'FRAME_MALFORMED',
    })
  }
})

t.test('refuses text that is not base64, or longer than a frame, before it decodes any of it', async (t) => {
  const good = packJson(['ls', '-l'])
  const refused = [
    '',
    `${good}\n`,
    ` ${good}`,
    good.slice(0, -1),
    good.replace(/.$/, '!'),
    Buffer.from(good, 'base64')
      .toString('base64url')
      .padEnd(good.length + 1, '_'),
    'A'.repeat(FRAME_BYTES + 4),
  ]
  for (const text of refused) {
    t.match(await open(text), { ok: false, code: 'FRAME_MALFORMED' }, text.slice(0, 20))
    t.match(await open(new Uint8Array(Buffer.from(text))), { ok: false, code: 'FRAME_MALFORMED' })
  }
})

t.test(
  'refuses every beginning of a payload, and any one character replaced changes the argv or is refused',
  async (t) => {
    const argv = ['systemctl', 'status', 'sass-edge.service']
    const text = packCbor(argv)
    for (let end = 0; end < text.length; end += 1) {
      if ((await open(text.slice(0, end))).ok) t.fail(`passed with ${end} characters`)
    }
    const same: number[] = []
    for (let at = 0; at < text.length; at += 1) {
      for (const other of 'AZaz09+/=') {
        if (other === text[at]) continue
        const opened = await open(text.slice(0, at) + other + text.slice(at + 1))
        if (opened.ok && JSON.stringify(opened.argv) === JSON.stringify(argv)) same.push(at)
      }
    }
    t.same(same, [])
  },
)
