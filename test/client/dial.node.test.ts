import { createServer } from 'node:net'
import t from 'tap'
import { fetchDeviceFingerprint } from '../../src/client/dial.node.ts'
import { isFingerprint } from '../../src/client/pins.node.ts'
import { startDevice } from './tls-device.node.ts'

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
