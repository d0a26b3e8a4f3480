/** Secrets of a stream: hidden as their kinds, the same wherever it is cut, with little kept back and little work. */
import fc from 'fast-check'
import t from 'tap'
import { createSecretPass, type Pause } from '../../../../src/defense/firewall/secrets/pass.ts'
import { passed, TABLES } from './screened.ts'

/** Put together here, so that nobody finds them in this file. */
const GITHUB = `ghp_${'Zq4LmW9xT2cVbN7yRk3PsD8fGh1JtU6aQwEr'}`
const AWS = `AKIA${'Q3EGRTYUIOPASDF7'}`
const HEX = '9f86d081884c7d659a2feaa0c55ad015'
const KEY_BODY = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n'.repeat(20)
const KEY = `-----BEGIN PRIVATE KEY-----\n${KEY_BODY}-----END PRIVATE KEY-----`
const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U'
const SECRET_YAML = `apiVersion: v1\ndata:\n  tls.key: ${'QWxhZGRpbjpvcGVuIHNlc2FtZQ=='}\nkind: Secret\nmetadata:\n  name: a\n`

const CASES: readonly [string, string, readonly string[]][] = [
  [`a ${GITHUB} b`, 'a [redacted:github-token] b', [GITHUB]],
  [`${AWS}\n`, '[redacted:aws-access-key]\n', [AWS]],
  [`password = "hunter2"`, 'password = "[redacted:password]"', ['hunter2']],
  [`{"api_key":"${HEX}","a":1}`, '{"api_key":"[redacted:token]","a":1}', [HEX]],
  [
    'datadog_thing: ppddo3u60jdbx3kg14n4blrlvuxvh04wwe3k2027',
    'datadog_thing: [redacted:datadog-access-token]',
    ['ppddo3u60jdbx3kg14n4blrlvuxvh04wwe3k2027'],
  ],
  [`x\n${KEY}\ny`, 'x\n[redacted:private-key]\ny', [KEY]],
  [JWT, '[redacted:jwt]', [JWT]],
  ['GET https://bob:s3cr3t@host/x', 'GET https://bob:[redacted:url-password]@host/x', ['s3cr3t']],
  ['curl -s -u bob:s3cr3tpw https://h', 'curl -s -u bob:[redacted:curl-password] https://h', ['s3cr3tpw']],
  [`if ("hunter2x" == password) {`, 'if ("[redacted:token]" == password) {', ['hunter2x']],
  [
    SECRET_YAML,
    SECRET_YAML.replace('QWxhZGRpbjpvcGVuIHNlc2FtZQ==', '[redacted:kubernetes-secret]'),
    ['QWxhZGRpbjpvcGVuIHNlc2FtZQ=='],
  ],
  [
    'say 123456789:AAHdqTcvCH1vGWJxfSe1ofSAs0K5PALDsaw',
    'say [redacted:telegram-bot-token]',
    ['123456789:AAHdqTcvCH1vGWJxfSe1ofSAs0K5PALDsaw'],
  ],
]
const CLEAN = [
  'total 12\n-rw-r--r-- 1 root root 5 Nov 28 18:49 token.txt\n',
  'const token = readToken(path)\nif (token === undefined) return\n',
  `PASSWORD=\${PASSWORD}\npassword: changeme\n`,
  'sk-learn, AKIA and ghp_ are words; https://host:8080/x@y\n',
  `commit ${HEX}deadbeef\n`,
  `{"public_key":"UH4LEhlKYBb4eptFoEzoKZjmb9T_laU3w_QZDT_dDpQ","key_id":"${HEX}"}\n`,
  '-----BEGIN PRIVATE KEY----- is how it begins; { }\n',
]

t.test('each as its kind, and nothing else is touched (JF-043, JF-R17)', (t) => {
  for (const [text, expected, secrets] of CASES) {
    const { text: out, secrets: found } = passed(text)
    t.equal(out, expected)
    t.strictSame(found, secrets)
  }
  for (const text of CLEAN) t.equal(passed(text).text, text)
  t.end()
})

t.test('the same to the byte wherever it is cut', (t) => {
  const whole = [...CASES.map(([text]) => text), ...CLEAN].join('\n')
  const expected = passed(whole)
  for (let cut = 1; cut < whole.length; cut++) {
    const { text, kinds } = passed(whole, [cut, whole.length])
    if (text !== expected.text) return void t.equal(text, expected.text, `cut at ${cut}`)
    if (kinds.length !== expected.kinds.length)
      return void t.strictSame(kinds, expected.kinds, `cut at ${cut}`)
  }
  for (const size of [1, 2, 3, 7, 64, 1_000]) t.equal(passed(whole, [size]).text, expected.text, `by ${size}`)
  t.end()
})

t.test('any pieces of any such text', (t) => {
  const pieces = [
    ...CASES.map(([text]) => text),
    ...CLEAN,
    ' ',
    '\n',
    '"',
    '=',
    ':',
    'token',
    'key',
    '://',
    '-----END ',
    'data:\n ',
    '\x00\xff',
  ]
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...pieces), { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 }),
      (texts, cuts) => {
        const text = texts.join('')
        return passed(text, cuts).text === passed(text).text
      },
    ),
    { numRuns: 400 },
  )
  t.end()
})

t.test('what goes on without secrets is what came, whatever it is', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), fc.integer({ min: 1, max: 50 }), (bytes, cut) => {
      const { text, kinds } = passed(bytes, [cut])
      return kinds.length > 0 || text === Buffer.from(bytes).toString('latin1')
    }),
  )
  t.end()
})

t.test(
  'a key block goes as it comes: it is not kept, it ends where it is none, and nothing swallows what follows',
  (t) => {
    const { keptBytes } = passed(KEY.replace(KEY_BODY, KEY_BODY.repeat(20)), [100])
    t.ok(keptBytes < 400, `${keptBytes} bytes`)
    t.equal(
      passed(`-----BEGIN PRIVATE KEY-----\n${KEY_BODY}{ "a": 1 }`).text,
      '[redacted:private-key]{ "a": 1 }',
    )
    const endless = passed(`-----BEGIN PRIVATE KEY-----\n${'A'.repeat(40_000)}`).text
    t.ok(
      endless.startsWith('[redacted:private-key]AAAA') && endless.length < 8_000,
      `${endless.length} bytes follow`,
    )
    t.end()
  },
)

t.test(
  'a key block whose lines begin with something, as numbers, searches, patches and answers show it',
  (t) => {
    const lines = ['-----BEGIN PRIVATE KEY-----', ...KEY_BODY.trim().split('\n'), '-----END PRIVATE KEY-----']
    const shown = (before: (number: number) => string, end = '\n') =>
      lines.map((line, index) => before(index + 1) + line).join(end)
    const path = `a_dir/${'deep/'.repeat(15)}key.pem`
    const ways: [string, string][] = [
      ['     1\t', shown((number) => `     ${number}\t`)],
      [`${path}:9:`, shown((number) => `${path}${number === 1 ? ':9:' : `-${number + 8}-`}`)],
      ['-', shown(() => '-')],
      [' ', shown((number) => (number === 1 || number === lines.length ? ' ' : number % 2 ? '-' : '+'))],
      ['> > ', shown(() => '> > ', '\r\n')],
      ['# ', shown(() => '# ')],
      ['web_1  | ', shown(() => 'web_1  | ')],
    ]
    for (const [before, text] of ways) {
      const whole = `first line\n${text}\n{ last }\n`
      const expected = `first line\n${before}[redacted:private-key]${text.endsWith('\r') ? '\r' : ''}\n{ last }\n`
      for (const cuts of [[], [1], [7], [40, 3]])
        t.equal(passed(whole, cuts).text, expected, `${before} by ${cuts}`)
    }
    for (const text of [
      '> -----BEGIN PRIVATE KEY-----\n| MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw\n',
      '> -----BEGIN PRIVATE KEY-----\n> it is how a key begins, and this none\n',
      '1: -----BEGIN PRIVATE KEY-----\n22 { }\n',
    ])
      t.equal(passed(text).text, text)
    const another = passed(`> ${lines[0]}\n> ${lines[1]}\n| not of it\n`).text
    t.equal(another, '> [redacted:private-key]| not of it\n', 'it ends where a line begins otherwise')
    t.end()
  },
)

t.test('an option of curl is one as far as its command reaches', (t) => {
  const line = (words: number) => `curl ${'-x y '.repeat(words)}-u bob:s3cr3tpw https://h`
  for (const cuts of [[], [1], [100]]) {
    t.match(passed(line(90), cuts).text, /-u bob:\[redacted:curl-password\] https/)
    t.equal(passed(line(110), cuts).text, line(110))
  }
  t.end()
})

t.test('what is kept back is bounded, whatever comes', (t) => {
  for (const text of [
    'password="',
    'eyJ',
    'ghp_',
    '-----BEGIN ',
    '://',
    'curl -u ',
    'token',
    'apiVersion: v1\ndata:\n a: ',
    '" ==',
  ])
    for (const filling of ['a', '=', 'A1', '"', text]) {
      const { keptBytes } = passed(text + filling.repeat(20_000 / filling.length), [64])
      t.ok(keptBytes <= 8_192, `${JSON.stringify(text)} and ${JSON.stringify(filling)}: ${keptBytes}`)
    }
  t.end()
})

t.test(
  'nothing comes for a moment: what may only begin goes on; a value waits a while; a token until it is one or none',
  (t) => {
    const shown = (first: string, how: Pause, rest: string): [string, string] => {
      const pass = createSecretPass(TABLES, new Uint8Array(65_536))
      let out = ''
      const emit = (bytes: Uint8Array) => {
        out += Buffer.from(bytes).toString('latin1')
      }
      pass.push(Buffer.from(first), emit)
      pass.pause(how, emit)
      const before = out
      pass.push(Buffer.from(rest), emit)
      pass.finish(emit)
      return [before, out]
    }
    t.strictSame(shown('Password: ', 'moment', 'x\n'), ['Password: ', 'Password: x\n'])
    t.strictSame(shown('ls to', 'moment', 'ken\n'), ['ls to', 'ls token\n'])
    t.strictSame(shown('pw password=hun', 'moment', 'ter2\n'), [
      'pw password=',
      'pw password=[redacted:password]\n',
    ])
    t.strictSame(shown('pw password=hun', 'while', 'ter2\n'), [
      'pw password=hun',
      'pw password=hun[redacted:password]\n',
    ])
    t.strictSame(shown(`x ${GITHUB.slice(0, 20)}`, 'while', `${GITHUB.slice(20)}\n`), [
      'x ',
      'x [redacted:github-token]\n',
    ])
    t.strictSame(shown('x ghp_abc', 'while', '-d\n'), ['x ', 'x ghp_abc-d\n'])
    t.strictSame(shown('x ghp_abc', 'long', '-d\n'), ['x ghp_abc', 'x ghp_abc-d\n'], 'who waits gets it')
    t.end()
  },
)

t.test('pushes that are longer than the work space', (t) => {
  const pass = createSecretPass(TABLES, new Uint8Array(8_192))
  let out = ''
  const emit = (bytes: Uint8Array) => {
    out += Buffer.from(bytes).toString('latin1')
  }
  const text = `${'a line of nothing\n'.repeat(1_000)}${GITHUB}\n`
  pass.push(Buffer.from(text.repeat(3)), emit)
  pass.finish(emit)
  t.equal(out, text.replace(GITHUB, '[redacted:github-token]').repeat(3))
  t.end()
})
