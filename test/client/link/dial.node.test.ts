import { spawnSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { fetchDeviceFingerprint } from '../../../src/client/link/dial.node.ts'
import { isFingerprint } from '../../../src/client/link/pins.node.ts'
import { startDevice } from '../tls-device.node.ts'

t.test('reads the fingerprint of the key that a device shows', async (t) => {
  const device = await startDevice(t.testdir({}))
  t.teardown(() => device.close())
  const fingerprint = await fetchDeviceFingerprint('127.0.0.1', device.port, 5_000)
  t.equal(fingerprint, device.fingerprint)
  t.ok(isFingerprint(fingerprint))
})

t.test(
  'a port where nothing listens, a host without TLS and one with another protocol are told apart',
  async (t) => {
    await t.rejects(fetchDeviceFingerprint('127.0.0.1', 1, 5_000), {
      code: 'CONNECT_FAILED',
      message: /nothing listens there/,
    })
    const plain = createServer((socket) => socket.end('SSH-2.0-x\r\n'))
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
    t.teardown(() => plain.close())
    const address = plain.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    await t.rejects(fetchDeviceFingerprint('127.0.0.1', port, 5_000), { code: 'CONNECT_FAILED' })
    const web = await startDevice(t.testdir({}), 'h2')
    t.teardown(() => web.close())
    await t.rejects(fetchDeviceFingerprint('127.0.0.1', web.port, 5_000), { code: 'CONNECT_FAILED' })
  },
)

const hasOpenssl = spawnSync('openssl', ['version']).status === 0
const KINDS = [
  ['rsa:2048'],
  ['rsa-pss', '-pkeyopt', 'rsa_keygen_bits:2048'],
  ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  ['ec', '-pkeyopt', 'ec_paramgen_curve:P-384', '-sha384'],
  ['ec', '-pkeyopt', 'ec_paramgen_curve:P-521', '-sha512'],
] as const

t.test(
  'a device may have a key of any kind that a daemon takes',
  { skip: hasOpenssl ? false : 'there is no openssl to make them' },
  async (t) => {
    for (const kind of KINDS) {
      const directory = t.testdir({})
      const [key, certificate] = ['tls.key', 'tls.crt'].map((name) => join(directory, name)) as [
        string,
        string,
      ]
      const made = ['req', '-x509', '-nodes', '-subj', '/CN=device', '-keyout', key, '-out', certificate]
      t.equal(spawnSync('openssl', [...made, '-newkey', ...kind]).status, 0)
      chmodSync(key, 0o600)
      const device = await startDevice(directory)
      t.equal(
        await fetchDeviceFingerprint('127.0.0.1', device.port, 5_000),
        device.fingerprint,
        kind.join(' '),
      )
      device.close()
    }
  },
)
