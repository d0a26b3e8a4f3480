/** Secrets that the device knows: found in every way that they are written, and only there. */
import fc from 'fast-check'
import t from 'tap'
import { KNOWN_KEY_BYTES, KNOWN_SECRETS, SCREEN_WORK_BYTES } from '../../../../src/defense/firewall/limits.ts'
import { readSecretTables } from '../../../../src/defense/firewall/secrets/kinds.ts'
import { isTelling, literalKeys } from '../../../../src/defense/firewall/secrets/known.ts'
import { createSecretPass } from '../../../../src/defense/firewall/secrets/pass.ts'

const NAMES = { password: ['password'], token: ['token'], key: ['_key'], plain: [] }

/** The text as it goes on where these values are known. */
function passed(
  values: readonly (string | Uint8Array)[],
  text: string | Uint8Array,
  cut = 1_000_000,
): string {
  const tables = readSecretTables(
    { version: 1, kinds: [], names: NAMES },
    values.map((value) => ({ kind: 'known-secret' as const, bytes: Buffer.from(value) })),
  )
  if ('problems' in tables) throw new Error(tables.problems.join(' '))
  const pass = createSecretPass(tables, new Uint8Array(SCREEN_WORK_BYTES))
  const bytes = Buffer.from(text)
  let out = ''
  const emit = (piece: Uint8Array) => {
    out += Buffer.from(piece).toString('latin1')
  }
  for (let at = 0; at < bytes.length; at += cut) pass.push(bytes.subarray(at, at + cut), emit)
  pass.finish(emit)
  return out
}

const SECRET = 'correct horse/battery+staple?'
const GONE = '[redacted:known-secret]'

t.test(
  'in plain, in Base64 at any place of its groups, in hexadecimal, in an address, in JSON (JF-R17)',
  (t) => {
    t.equal(passed([SECRET], `a ${SECRET} b${SECRET}c`), `a ${GONE} b${GONE}c`)
    for (const before of ['', 'x', 'xy', 'xyz'])
      for (const alphabet of ['base64', 'base64url'] as const) {
        const coded = Buffer.from(`${before}${SECRET}, and more`).toString(alphabet)
        const out = passed([SECRET], `say ${coded}.`)
        t.ok(out.includes(GONE) && out.length < coded.length, `${before} ${alphabet}: ${out}`)
      }
    t.equal(passed([SECRET], Buffer.from(SECRET).toString('hex')), GONE)
    t.equal(passed([SECRET], Buffer.from(SECRET).toString('hex').toUpperCase()), GONE)
    t.equal(passed([SECRET], `?p=${encodeURIComponent(SECRET)}&x`), `?p=${GONE}&x`)
    t.equal(passed(['a"b\\c1\u00e9 1234'], JSON.stringify({ a: 'a"b\\c1\u00e9 1234' })), `{"a":"${GONE}"}`)
    t.end()
  },
)

t.test('in addresses and in JSON whatever a program escapes, and in hexadecimal of either case', (t) => {
  const first = 'p@ss!word*(1)/&x~Kq7"\u00e9\ud83d\ude00'
  const second = 'Zx9/Qw+Er7&Ty 5Ui3Op1'
  const small = (text: string) => text.replace(/%../g, (escaped) => escaped.toLowerCase())
  const ascii = (text: string) =>
    text.replace(/[\u0080-\uffff]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
  for (const secret of [first, second]) {
    const address = encodeURIComponent(secret)
    const strict = address.replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    const json = JSON.stringify(secret).slice(1, -1)
    const go = json.replaceAll('&', '\\u0026')
    for (const form of [
      ...[address, small(address), strict, small(strict), strict.replaceAll('%2F', '/')],
      ...[strict.replaceAll('%20', '+'), strict.replaceAll('~', '%7E')],
      ...[json, go, ascii(json), ascii(go), ascii(json.replaceAll('/', '\\/'))],
      Buffer.from(secret)
        .toString('hex')
        .replace(/[a-f]/, (letter) => letter.toUpperCase()),
    ])
      for (const cut of [1, 7, 1_000])
        t.equal(passed([secret], `a "${form}" b`, cut), `a "${GONE}" b`, `${form} by ${cut}`)
    for (const other of [
      ...[
        small(address).slice(0, -2),
        `${address.slice(0, -1)}%zz`,
        json.slice(0, -1),
        `${json.slice(0, -1)}\\u00zz`,
      ],
      `${json.slice(0, -1)}\\`,
    ])
      t.notOk(passed([secret], `a "${other}`).includes(GONE), other)
  }
  t.end()
})

t.test('what neighbours decide of Base64 is all that is left of it', (t) => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 7 }),
      fc.uint8Array({ minLength: 12, maxLength: 60 }),
      fc.uint8Array({ maxLength: 7 }),
      (before, secret, after) => {
        if (!isTelling(secret)) return true
        const coded = Buffer.from([...before, ...secret, ...after]).toString('base64')
        return passed([secret], coded).includes(GONE)
      },
    ),
  )
  t.end()
})

t.test('where lines are cut, at any place', (t) => {
  const coded = Buffer.from(`some settings before it ${SECRET} and some behind it`).toString('base64')
  for (let width = 20; width <= 76; width++) {
    const wrapped = coded.replace(new RegExp(`.{${width}}`, 'g'), '$&\n')
    for (const cut of [1, 13, 1_000]) {
      const out = passed([SECRET], wrapped, cut)
      t.ok(out.includes(GONE), `${width} by ${cut}`)
      const left = Buffer.from(out.replace(GONE, '').replaceAll('\n', ''), 'base64').toString('latin1')
      for (let at = 0; at + KNOWN_KEY_BYTES <= SECRET.length; at++)
        if (left.includes(SECRET.slice(at, at + KNOWN_KEY_BYTES))) t.fail(`${width} by ${cut}: ${left}`)
    }
  }
  t.end()
})

t.test('the same wherever it is cut', (t) => {
  const text = `x ${SECRET} ${Buffer.from(SECRET).toString('base64')} correct horse ${Buffer.from(SECRET).toString('hex')} correct horse/batter`
  const whole = passed([SECRET], text)
  for (const cut of [1, 2, 3, 7, 29, 64]) t.equal(passed([SECRET], text, cut), whole, `by ${cut}`)
  t.end()
})

t.test('one that begins with letters beyond ASCII, wherever it is cut', (t) => {
  for (const cut of [1, 2, 3, 7, 1_000])
    t.equal(
      passed(['\u00e9\u00e9"nothing like it 12'], 'a \u00e9\u00e9"nothing like it 12 b', cut),
      `a ${GONE} b`,
      `by ${cut}`,
    )
  t.end()
})

t.test('the rest of one whose beginning is hidden for another reason', (t) => {
  const secret = 'hunter22 and more'
  const expected = `password=[redacted:password]${GONE}.`
  t.equal(passed([secret], `password=${secret}.`), expected)
  t.equal(passed([secret], `password=${secret}.`, 1), expected)
  t.equal(passed(['hunter22'], 'password=hunter22.'), 'password=[redacted:password]')
  t.end()
})

t.test('what is short, or as plain as a word of a few letters, is none', (t) => {
  t.notOk(isTelling(Buffer.from('hunter2')))
  t.notOk(isTelling(Buffer.from('aaaaaaaaaaaa')))
  t.notOk(isTelling(new Uint8Array(2_000)))
  t.ok(isTelling(Buffer.from('hunter22')))
  t.equal(passed(['hunter2', 'aaaaaaaaaaaa'], 'hunter2 aaaaaaaaaaaa'), 'hunter2 aaaaaaaaaaaa')
  t.end()
})

t.test('so many and no more, each with a few key words', (t) => {
  const values = Array.from({ length: 100 }, (_, index) => ({
    kind: 'known-secret' as const,
    bytes: Buffer.from(`secret number ${index} of all/?`),
  }))
  const first = values.slice(0, KNOWN_SECRETS)
  t.strictSame(literalKeys(values), literalKeys(first))
  t.ok(literalKeys(first).length <= 16 * KNOWN_SECRETS, `${literalKeys(first).length} key words`)
  const tables = readSecretTables({ version: 1, kinds: [], names: NAMES }, values)
  t.ok(
    'words' in tables && tables.words.sizeBytes < 2_500_000,
    'words' in tables ? `${tables.words.sizeBytes}` : '',
  )
  t.end()
})
