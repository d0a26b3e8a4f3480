import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startDevice } from '../../client/tls-device.node.ts'
import { runMain } from '../run-main.node.ts'

const pins = (directory: string) =>
  JSON.parse(readFileSync(join(directory, '.config/sass-edge/known_devices.json'), 'utf8'))

/** A key and the day on which it was pinned: today. */
const pinned = (key: string) => ({ key, since: new Date().toISOString().slice(0, 10) })

t.test('pins what the device shows once somebody confirms it, and not before', async (t) => {
  const directory = t.testdir({ device: {} })
  const device = await startDevice(join(directory, 'device'))
  t.teardown(() => device.close())
  const host = `127.0.0.1:${device.port}`
  const asked = await runMain(directory, ['trust', host])
  t.match(asked, { code: 255, stderr: /Nothing was pinned .* since nobody confirmed its key/ })
  t.ok(asked.stderr.includes(device.fingerprint))
  t.notOk(existsSync(join(directory, '.config')))
  t.equal((await runMain(directory, ['trust', '--yes', host])).code, 0)
  t.same(pins(directory), { [host]: pinned(device.fingerprint) })
  t.match(await runMain(directory, ['trust', host]), { code: 0, stdout: /pinned to this key already/ })
})

t.test('a changed key stops with both fingerprints until --replace is given', async (t) => {
  const directory = t.testdir({})
  const [old, fresh] = [1, 2].map((byte) => `sha256:${Buffer.alloc(32, byte).toString('base64url')}`) as [
    string,
    string,
  ]
  t.equal((await runMain(directory, ['trust', 'edge7', old])).code, 0)
  const changed = await runMain(directory, ['trust', 'EDGE7', fresh, '--json'])
  t.equal(changed.code, 255)
  t.match(JSON.parse(changed.stdout), { error: 'PIN_MISMATCH', pinned: old, seen: fresh })
  t.match(changed.stderr, `sass-edge trust --replace edge7:19284 ${fresh}.`)
  t.notMatch(changed.stderr, /shows/, 'the device was not asked')
  t.same(pins(directory), { 'edge7:19284': pinned(old) })
  t.equal((await runMain(directory, ['trust', '--replace', 'edge7', fresh])).code, 0)
  t.same(pins(directory), { 'edge7:19284': pinned(fresh) })
  t.match(await runMain(directory, ['trust', 'list']), {
    code: 0,
    stdout: `edge7:19284  ${fresh}  since ${pinned(fresh).since}\n`,
  })
})

t.test('takes a name of hosts.json, and refuses words that name nothing', async (t) => {
  const pin = `sha256:${Buffer.alloc(32, 3).toString('base64url')}`
  const directory = t.testdir({
    '.config': { 'sass-edge': { 'hosts.json': '{"pump": "ci@[2001:db8::7]:22"}' } },
  })
  t.equal((await runMain(directory, ['trust', 'pump', pin])).code, 0)
  t.same(pins(directory), { '[2001:db8::7]:22': pinned(pin) })
  t.match(await runMain(directory, ['trust', 'ho st', pin]), { code: 125, stderr: /"ho st" names no device/ })
  t.match(await runMain(directory, ['trust', 'pump', 'sha256:x']), { code: 125, stderr: /not a fingerprint/ })
  t.match(await runMain(directory, ['trust', '127.0.0.1:1', '--yes']), {
    code: 255,
    stderr: /nothing listens there/,
  })
})
