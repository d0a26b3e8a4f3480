/** Values without a shape: what is a secret by its name and its making, and what only looks like one. */
import t from 'tap'
import { VALUE_BYTES } from '../../../../src/defense/firewall/limits.ts'
import {
  isSecretValue,
  milliBits,
  type NameStrength,
} from '../../../../src/defense/firewall/secrets/value.ts'

function isSecret(text: string, strength: NameStrength, isQuoted = false, after = -1): boolean {
  const bytes = Buffer.from(text)
  return isSecretValue(
    bytes,
    { nameEnd: 0, start: 0, end: bytes.length, quote: isQuoted ? 0x22 : 0, after },
    strength,
  )
}

t.test('randomness in thousandths of a bit, the same on every machine', (t) => {
  const bits = (text: string) => milliBits(Buffer.from(text), 0, text.length)
  t.strictSame(['', 'aaaa', 'abab', 'abcd', '0123456789abcdef'].map(bits), [0, 0, 1_000, 2_000, 4_000])
  t.end()
})

t.test('passwords that people choose', (t) => {
  for (const text of ['hunter2', 'c0rrect-h0rse', 'Tr0ub4dor&3', 'a!b"c#d$e']) {
    t.ok(isSecret(text, 'password'), text)
    t.ok(isSecret(text, 'password', true), text)
  }
  t.notOk(isSecret('hunter2', 'token'), 'no token is so short')
  t.end()
})

t.test('bytes that are no text are no password: those of an archive', (t) => {
  const of = (bytes: Uint8Array) =>
    isSecretValue(bytes, { nameEnd: 0, start: 0, end: bytes.length, quote: 0x22, after: -1 }, 'password')
  for (const text of ['pässw0rd', 'ключ7ключ', '密码x1密码', 'tab\tw0rd9']) t.ok(of(Buffer.from(text)), text)
  for (const bytes of [
    [0xf7, 0xd5, 0x6b, 0xed, 0x39, 0x4b, 0xda, 0x61],
    [0x68, 0x32, 0x10, 0x33, 0x6b, 0x21, 0x39, 0x71],
  ])
    t.notOk(of(Uint8Array.from(bytes)))
  // One that goes on behind what is looked at ends within a character.
  const letters = Array.from({ length: VALUE_BYTES }, (_, at) => String.fromCharCode(0xc0 + ((at * 37) % 60)))
  for (const before of ['x7', 'x72'])
    t.ok(of(Buffer.from(before + letters.join('')).subarray(0, VALUE_BYTES)), before)
  t.end()
})

t.test('what machines make', (t) => {
  const hex = '9f86d081884c7d659a2feaa0c55ad015'
  t.ok(isSecret(hex, 'token') && isSecret(hex, 'key'))
  t.ok(isSecret('wJalrXUtnFEMI/K7MDENG', 'token'))
  t.notOk(isSecret('a1b2c3d4e5', 'key'), 'to a name that says little it is too short')
  t.end()
})

t.test('places for a value, words that stand for one, code, paths and addresses', (t) => {
  for (const text of [
    ...['${TOKEN_1}', '$TOKEN1', '<token1>', '{{ .Values.token1 }}', '%s1token', '[TOKEN1234]'],
    ...['your-token-123', 'xxxxxxxx1234', 'example-1234', 'changeme123', 'process.env.TOKEN1', '12345678'],
    ...[
      'self.token1(2)',
      'tokens[0]a1',
      'config.token1',
      'Foo::bar1',
      '0x1234abcd',
      '/etc/token1.conf',
      'https://a1.b/c',
    ],
  ])
    t.notOk(isSecret(text, 'token'), text)
  for (const text of [
    'password',
    'null',
    'get_password()',
    '$PASS1',
    '${PASS}',
    'true',
    'abcdef',
    'a b 1 c d',
  ])
    t.notOk(isSecret(text, 'password'), text)
  t.notOk(isSecret('m{{x}o)p$y', 'password', false, 0x3b), 'a statement of a program ends so')
  t.end()
})
