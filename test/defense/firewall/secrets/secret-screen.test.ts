/** The firewall of one stream: what goes on, in which order, and what is remembered. */
import fc from 'fast-check'
import t from 'tap'
import {
  CONTROL_STRING_BYTES,
  CONTROLS_KEPT,
  CONTROLS_KEPT_BYTES,
  SECRETS_REMEMBERED,
} from '../../../../src/defense/firewall/limits.ts'
import {
  createSecretScreens,
  type SecretScreen,
} from '../../../../src/defense/firewall/secrets/secret-screen.ts'
import { knownTables, TABLES } from './screened.ts'

const screens = createSecretScreens(TABLES)
const KNOWN = knownTables('nobody knows it at all')
const TOKEN = `ghp_${'Zq4LmW9xT2cVbN7yRk3PsD8fGh1JtU6aQwEr'}`

function through(input: string, cut = input.length, screen: SecretScreen = screens.open()): string {
  const out: Buffer[] = []
  const emit = (bytes: Uint8Array) => void out.push(Buffer.from(bytes))
  const bytes = Buffer.from(input, 'latin1')
  for (let at = 0; at < bytes.length; at += cut) screen.push(bytes.subarray(at, at + cut), emit)
  screen.finish(emit)
  return Buffer.concat(out).toString('latin1')
}

t.test('colours in a secret do not save it, and stand behind what stands for it', (t) => {
  const coloured = `a\x1b[1m ghp_\x1b[31m${TOKEN.slice(4, 20)}\x1b[7m${TOKEN.slice(20)}\x1b[0m b\n`
  const expected = 'a\x1b[1m [redacted:github-token]\x1b[31m\x1b[7m\x1b[0m b\n'
  t.equal(through(coloured), expected)
  for (const cut of [1, 2, 5, 9]) t.equal(through(coloured, cut), expected, `by ${cut}`)
  t.end()
})

t.test('so many colours in a secret that they are not kept stand before it, wherever it is cut', (t) => {
  for (const count of [CONTROLS_KEPT - 1, CONTROLS_KEPT, 2 * CONTROLS_KEPT + 6]) {
    const input = `a \x1b[m${TOKEN.slice(0, 30)}${'\x1b[m'.repeat(count)}${TOKEN.slice(30)} b\n`
    const whole = through(input)
    t.equal(whole.replaceAll('\x1b[m', ''), 'a [redacted:github-token] b\n', `${count}`)
    t.equal(whole.length, input.length - TOKEN.length + '[redacted:github-token]'.length)
    for (const cut of [1, 7, 64, 1_000, 3_000]) t.ok(through(input, cut) === whole, `${count} by ${cut}`)
  }
  t.end()
})

t.test(
  'sequences that wait for a token that waits are kept up to a bound, and nothing of it goes on for them',
  (t) => {
    for (const sequence of ['\x1b[m', `\x1b]0;${'x'.repeat(1_000)}\x07`]) {
      const screen = screens.open()
      const out: Buffer[] = []
      const text = `a ${TOKEN.slice(0, 30)}${sequence.repeat(4 * CONTROLS_KEPT)}`
      screen.push(Buffer.from(text, 'latin1'), (bytes) => void out.push(Buffer.from(bytes)))
      const gone = Buffer.concat(out).toString('latin1')
      t.equal(gone.replaceAll(sequence, ''), 'a ')
      const kept = text.length - gone.length - 30
      t.ok(kept <= 2 * CONTROLS_KEPT_BYTES + 2 * CONTROL_STRING_BYTES, `${kept} bytes`)
      t.ok(kept <= 2 * CONTROLS_KEPT * sequence.length, `${kept} bytes`)
    }
    t.end()
  },
)

t.test('links and titles do not take a secret apart, and hide none', (t) => {
  const link = (to: string) => `\x1b]8;;${to}\x1b\\`
  const split = `a ${TOKEN.slice(0, 9)}${link('http://h/x')}${TOKEN.slice(9)}${link('')} b\n`
  const titled = `\x1b]0;is ${TOKEN}\x07$ ls\n${link(`https://bob:s3cr3tpw@h/${TOKEN}`)}name${link('')}\n`
  const block = `\x1b]0;-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0\x07\x1b]0;MII is a title\x07.\n`
  const cases: [string, string][] = [
    [split, `a [redacted:github-token]${link('http://h/x')}${link('')} b\n`],
    [
      titled,
      `\x1b]0;is [redacted:github-token]\x07$ ls\n${link('https://bob:[redacted:url-password]@h/[redacted:github-token]')}name${link('')}\n`,
    ],
    [block, '\x1b]0;[redacted:private-key]\x07\x1b]0;MII is a title\x07.\n'],
  ]
  for (const [input, expected] of cases)
    for (const cut of [1, 3, 50, 1_000]) t.equal(through(input, cut), expected, `by ${cut}`)
  const screen = screens.open()
  through(`\x1b]0;${TOKEN}\x07`, 1, screen)
  t.match(screen.findings, { count: 1, late: 0, secrets: [{ kind: 'github-token', offset: 0 }] })
  t.end()
})

t.test('a string without an end waits for it no longer than a token does', (t) => {
  const screen = screens.open()
  let out = ''
  const emit = (bytes: Uint8Array) => {
    out += Buffer.from(bytes).toString('latin1')
  }
  screen.push(Buffer.from('\x1b]R and then'), emit)
  for (const pause of ['moment', 'while'] as const) screen.pause(pause, emit)
  t.equal(out, '')
  screen.pause('long', emit)
  t.equal(out, '\x1b]R and then')
  t.notOk(screen.isKeeping)
  t.end()
})

t.test('without a secret everything is as it was, wherever it is cut', (t) => {
  const pieces = [
    'ls\n',
    '\x1b[0m',
    '\x1b',
    ' tok',
    'en = ',
    '\x1b]0;title\x07',
    'token=\x1b\\',
    'x',
    '\r\n',
    '\x1b[K',
    'naïve',
  ]
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...pieces), { maxLength: 20 }),
      fc.integer({ min: 1, max: 9 }),
      (parts, cut) => {
        const input = parts.join('')
        return through(input, cut) === input
      },
    ),
  )
  // With quotes and strings that do not end some of these say what a secret says: then it is hidden by every cut.
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...pieces, '"', '\x1b]8;;'), { maxLength: 20 }),
      fc.integer({ min: 1, max: 9 }),
      (parts, cut) => through(parts.join(''), cut) === through(parts.join('')),
    ),
  )
  t.end()
})

t.test('behind, between and before many bytes that are one', (t) => {
  const run = (byte: string) => byte.repeat(1_500)
  for (const byte of ['\0', ' ', '\n', '=', 'p', '"', '\xff']) {
    const parts = [run(byte), '\n', `${TOKEN}\n`, run(byte), '\npassword=', 'hunter2\n', run(byte)]
    const whole = through(parts.join(''), 7)
    t.match(whole, /\n\[redacted:github-token\]\n/)
    for (const cut of [64, 300, 1_500, 1_501, 4_096])
      t.ok(through(parts.join(''), cut) === whole, `by ${cut}`)
    const screen = screens.open()
    const out: Buffer[] = []
    const emit = (bytes: Uint8Array) => void out.push(Buffer.from(bytes))
    for (const part of parts) screen.push(Buffer.from(part, 'latin1'), emit)
    screen.finish(emit)
    t.ok(Buffer.concat(out).toString('latin1') === whole, 'and part by part')
  }
  t.end()
})

t.test('a flood of sequences before a word that has not ended is not kept', (t) => {
  const screen = screens.open()
  let bytes = 0
  const input = Buffer.from(`tok\x1b[1m${'\x1b[1me'.repeat(3 * CONTROLS_KEPT)}`)
  screen.push(input, (piece) => {
    bytes += piece.length
  })
  t.ok(input.length - bytes < 8 * CONTROLS_KEPT, `${input.length - bytes} bytes are kept`)
  t.end()
})

t.test('what was found is counted, and the first of it remembered', (t) => {
  const screen = screens.open()
  t.equal(screen.findings, undefined)
  through(`${TOKEN}\npassword=hunter2\n`.repeat(20), undefined, screen)
  const { findings } = screen
  t.equal(findings?.count, 40)
  t.strictSame(
    [...(findings?.kinds ?? [])],
    [
      ['github-token', 20],
      ['password', 20],
    ],
  )
  t.equal(findings?.secrets.length, SECRETS_REMEMBERED)
  const [first, second] = findings?.secrets ?? []
  t.match(first, { kind: 'github-token', offset: 0 })
  t.match(second, { kind: 'password', offset: TOKEN.length + 10 })
  t.equal(Buffer.from(second?.secret ?? []).toString(), 'hunter2')
  t.end()
})

t.test('whether something is kept back', (t) => {
  const screen = screens.open()
  const emit = () => {}
  screen.push(Buffer.from('a line\n'), emit)
  t.notOk(screen.isKeeping)
  screen.push(Buffer.from('a wor'), emit)
  t.ok(screen.isKeeping)
  screen.pause('moment', emit)
  t.notOk(screen.isKeeping)
  screen.push(Buffer.from('\x1b'), emit)
  t.ok(screen.isKeeping, 'a sequence that has begun')
  t.end()
})

t.test(
  'a secret whose beginning had gone on when it was known to be one is counted as late (JF-089)',
  (t) => {
    const screen = createSecretScreens(KNOWN).open()
    const out: Buffer[] = []
    const emit = (bytes: Uint8Array) => void out.push(Buffer.from(bytes))
    screen.push(Buffer.from('it is nobody knows'), emit)
    for (const pause of ['moment', 'while', 'long'] as const) screen.pause(pause, emit)
    screen.push(Buffer.from(' it at all\n'), emit)
    screen.finish(emit)
    t.match(screen.findings, { count: 1, late: 1 })
    t.match(Buffer.concat(out).toString(), /^it is nobody.*\[redacted:known-secret\]\n$/)
    const whole = createSecretScreens(KNOWN).open()
    whole.push(Buffer.from('it is nobody knows it at all\n'), emit)
    whole.finish(emit)
    t.match(whole.findings, { count: 1, late: 0 })
    t.end()
  },
)
