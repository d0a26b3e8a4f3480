/** Secrets that what stands around them tells: where they begin and end, and when more bytes are needed. */
import t from 'tap'
import { readBlockEnd, readBlockHeader } from '../../../../src/defense/firewall/secrets/key-block.ts'
import { MORE, NO } from '../../../../src/defense/firewall/secrets/shape.ts'
import {
  type Place,
  readCompared,
  readDataLine,
  readUserinfo,
  readUserOption,
} from '../../../../src/defense/firewall/secrets/surroundings.ts'

type Read = (bytes: Uint8Array, at: number, end: number, isLast: boolean, found: Place) => number

/** What is found behind `key` in the text, or the number that is returned. */
function read(reader: Read, key: string, text: string, isLast = true): string | number {
  const bytes = Buffer.from(text)
  const found: Place = { start: 0, end: 0 }
  const result = reader(bytes, text.indexOf(key) + key.length, bytes.length, isLast, found)
  return result === 1 ? text.slice(found.start, found.end) : result
}

t.test('headers of private keys, with something of a key behind', (t) => {
  const header = (text: string, isLast?: boolean) => read(readBlockHeader, '-----BEGIN ', text, isLast)
  const body = 'MIIEvQIBADANBgkqhkiG9w0BAQ'
  t.equal(header(`-----BEGIN PRIVATE KEY-----\n${body}`), '-----BEGIN PRIVATE KEY-----')
  t.equal(header(`-----BEGIN OPENSSH PRIVATE KEY-----\\n${body}`), '-----BEGIN OPENSSH PRIVATE KEY-----')
  t.equal(
    header(`-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n`),
    '-----BEGIN RSA PRIVATE KEY-----',
  )
  for (const text of [
    `-----BEGIN CERTIFICATE-----\n${body}`,
    '-----BEGIN PRIVATE KEY-----")',
    '-----BEGIN PRIVATE KEY---',
  ])
    t.equal(header(text), NO, text)
  for (const text of ['-----BEGIN PRI', '-----BEGIN PRIVATE KEY---', '-----BEGIN PRIVATE KEY-----\nMII'])
    t.equal(header(text, false), MORE, text)
  t.equal(read(readBlockEnd, '-----END ', '-----END RSA PRIVATE KEY-----\n'), '-----END RSA PRIVATE KEY-----')
  t.end()
})

t.test('passwords in addresses', (t) => {
  const userinfo = (text: string, isLast?: boolean) => read(readUserinfo, '://', text, isLast)
  t.equal(userinfo('postgres://u:p%40ss@h/db'), 'p%40ss')
  t.equal(userinfo('redis://:p4ss@h'), 'p4ss')
  for (const text of [
    'https://h:80/a@b',
    'https://h/',
    'https://u@h',
    'https://u:@h',
    'https://u:$PASS@h',
    'https://u:<p>@h',
  ])
    t.equal(userinfo(text), NO, text)
  t.equal(userinfo('https://u:pa', false), MORE)
  t.end()
})

t.test('what curl is given', (t) => {
  const option = (text: string, isLast?: boolean) => read(readUserOption, ' -u ', text, isLast)
  t.equal(option('curl -u bob:s3cr3tpw https://h'), 's3cr3tpw')
  t.equal(option(`curl -u 'bob:s3cr3tpw' https://h`), 's3cr3tpw')
  t.equal(option('curl -u "bob":"s3cr3tpw" https://h'), 's3cr3tpw')
  for (const text of ['curl -u bob https://h', 'curl -u "$U:$P"', 'curl -u user:password', 'curl -u bob:'])
    t.equal(option(text), NO, text)
  t.equal(option('curl -u bob:s3c', false), MORE)
  t.end()
})

t.test('a value that a name is compared with', (t) => {
  const compared = (text: string, isLast = true): string | number => {
    const bytes = Buffer.from(text)
    const start = text.indexOf('" =')
    const found: Place = { start: 0, end: 0 }
    const strengthOf = (from: number, to: number) =>
      text.slice(from, to).includes('password') ? 'password' : undefined
    const result = readCompared(bytes, start, start + 4, bytes.length, isLast, strengthOf, found)
    return result === 1 ? text.slice(found.start, found.end) : result
  }
  t.equal(compared('if ("hunter2" == my_password) {'), 'hunter2')
  t.equal(compared('if ("hunter2" === password)'), 'hunter2')
  t.equal(compared('if ("hunter2" == name)'), NO)
  t.equal(compared('if (hunter2" == password)'), NO)
  t.equal(compared('if ("hunter2" == passw', false), MORE)
  t.end()
})

t.test('lines of data', (t) => {
  const line = (text: string, isLast?: boolean) => read(readDataLine, 'data:\n', `data:\n${text}`, isLast)
  t.equal(line('  a.b: QWxhZGRpbjpvcGVu\n'), 'QWxhZGRpbjpvcGVu')
  t.equal(line('  "a": "QWxhZGRpbjpvcGVu"\n'), 'QWxhZGRpbjpvcGVu')
  t.equal(line('    QWxhZGRpbjpvcGVu\n'), 'QWxhZGRpbjpvcGVu', 'of a text of several')
  t.equal(line('metadata:\n'), 0, 'the data has ended')
  for (const text of [
    '  a: short\n',
    '  a: QWxhZGRpbjpvcGVu, and more\n',
    '  # QWxhZGRpbjpvcGVu\n',
    '  a: |\n',
  ])
    t.equal(line(text), NO, text)
  for (const text of ['  ', '  a', '  a: ', '  a: QWxh']) t.equal(line(text, false), MORE, text)
  t.end()
})
