import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readClientCa } from '../../../src/edge/sockets/client-ca.node.ts'
import { selfSigned } from '../../../src/edge/sockets/self-signed.node.ts'

const ca = (name: string) => selfSigned(generateKeyPairSync('ed25519').privateKey, name)

t.test('one certificate or several are given as they are', (t) => {
  const path = join(t.testdir({}), 'ca.pem')
  for (const text of [ca('one'), `for the field\n${ca('one')}\n${ca('two')}`]) {
    writeFileSync(path, text)
    t.equal(readClientCa(path), text)
  }
  t.end()
})

t.test('what could verify nobody is refused with the path and the remedy', (t) => {
  const good = ca('one')
  const directory = t.testdir({
    empty: '',
    key: generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }),
    broken: good.replace(/\n[A-Za-z0-9+/]/, '\n!'),
    half: good + good.replace(/\nMI/, '\nAA'),
    large: good.padEnd(65_537),
    directory: {},
  })
  const wrong: [string, RegExp][] = [
    ['empty', /holds no certificate/],
    ['key', /holds no certificate/],
    ['broken', /cannot be parsed/],
    ['half', /cannot be parsed/],
    ['large', /larger than 65536 bytes/],
    ['directory', /is not a regular file/],
    ['none', /does not exist/],
  ]
  for (const [name, message] of wrong) {
    const path = join(directory, name)
    t.throws(() => readClientCa(path), { code: 'TLS_CA_MISMATCH', message, details: { path } }, name)
    t.throws(() => readClientCa(path), { message: /or set tls\.client_ca to null\.$/ }, name)
  }
  t.end()
})
