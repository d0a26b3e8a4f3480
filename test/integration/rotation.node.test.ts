/**
 * Keys that follow one another: of a caller that has enrolled, of one that the configuration lists, of the device.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { connect } from '../../src/client/client.node.ts'
import { generateKeyPair } from '../../src/edge/state/key-file.node.ts'
import {
  configPath,
  type Daemon,
  install,
  sassEdge,
  startDaemon,
  startNew,
  temporary,
} from './daemon.node.ts'
import { enroll, freePort, invite, LOOPBACK_EXEMPT, REAL_FILES } from './enrolling.node.ts'

const TIMEOUT_MS = 100_000
t.setTimeout(3 * TIMEOUT_MS)

const CHANGE = { ...LOOPBACK_EXEMPT, ...REAL_FILES }

/** A home that has come in on that daemon as `agent`, which it calls edge. */
async function homeOf(t: Test, daemon: Daemon, agent: string): Promise<string> {
  const home = temporary(t)
  const run = await enroll(home, await invite(daemon, agent), '--name', 'edge')
  if (run.code !== 0) throw new Error(run.stderr)
  return home
}

const file = (home: string, name: string) => join(home, '.config/sass-edge', name)
const seedOf = (home: string, name = 'edge.key') => new Uint8Array(readFileSync(file(home, name)))
const exec = (home: string) => sassEdge(['exec', 'edge', '--', 'true'], { cwd: home })

function come(daemon: Daemon, agent: string, privateKey: Uint8Array) {
  return connect({
    host: '127.0.0.1',
    port: daemon.port,
    agent,
    privateKey,
    pin: daemon.fingerprint,
    reconnect: false,
    timeoutMs: 3_000,
  })
}

t.test(
  'keygen --rotate: the new key is let in, the old one is not, and what it may stays',
  { timeout: TIMEOUT_MS },
  async (t) => {
    const daemon = await startNew(t, CHANGE)
    const home = await homeOf(t, daemon, 'laptop')
    const old = seedOf(home)
    const run = await sassEdge(['keygen', '--rotate', 'edge'], { cwd: home })
    t.equal(run.code, 0, run.stderr)
    t.notSame(seedOf(home), old)
    t.equal((await exec(home)).code, 0)
    await t.rejects(come(daemon, 'laptop', old), { code: 'CONNECT_FAILED' })
    const listed = JSON.parse((await daemon.cli(['agent', 'list', '--json'])).stdout.toString())
    t.match(listed.enrolled, [{ name: 'laptop', role: 'agent', capability: 'default' }])
    t.match(run.stdout.toString(), listed.enrolled[0].public_key)
    const what = daemon.audit().filter(({ type }) => type === 'identity')
    t.match(
      what.map((event) => event['what']),
      ['invited', 'enrolled', 'key_changed', 'key_retired'],
    )
    t.equal((await sassEdge(['keygen', '--rotate', 'edge'], { cwd: home })).code, 0, 'and once more')
    await daemon.stop()
    const next = await startDaemon(t, daemon.directory)
    await t.rejects(come(next, 'laptop', old), { code: 'CONNECT_FAILED' }, 'after a restart as well')
    await (await come(next, 'laptop', seedOf(home))).close()
    t.equal((await next.cli(['audit', 'verify'])).code, 0)
    t.equal((await next.cli(['audit', 'replay'])).code, 0)
  },
)

t.test(
  'both keys are taken until the new one is used; then the old one is out at once',
  { timeout: TIMEOUT_MS },
  async (t) => {
    const daemon = await startNew(t, CHANGE)
    const before = readFileSync(configPath(daemon.directory))
    const [old, next, third] = [daemon.seed(), generateKeyPair().seed, generateKeyPair().seed]
    const first = await come(daemon, 'agent', old)
    const id = '00112233445566778899aabbccddeeff'
    t.equal((await first.execute('echo', ['once'], { id })).exitCode, 0)
    t.match(await first.changeKey(next), { success: true })
    t.match(await first.changeKey(next), { success: true }, 'asked again, as where the answer was lost')
    const other = await come(daemon, 'agent', old)
    t.match(await other.changeKey(third), { success: false }, 'the old one names no third')
    t.match(await other.changeKey(daemon.seed('operator')), { success: false }, 'nor somebody else’s')
    t.equal((await other.execute('true')).exitCode, 0, 'but it is still let in')

    const fresh = await come(daemon, 'agent', next)
    await Promise.all([first.closed, other.closed])
    t.pass('connections of the old key have ended')
    await t.rejects(come(daemon, 'agent', old), { code: 'CONNECT_FAILED' })
    const { stdout } = await fresh.execute('echo', ['twice'], { id })
    t.equal(Buffer.from(stdout).toString(), 'once\n', 'its executions are its own under the new key')
    t.match(await fresh.changeKey(old), { success: false }, 'there is no way back')
    await fresh.close()
    t.same(readFileSync(configPath(daemon.directory)), before, 'the configuration may be read-only')

    const admin = await connect({ socketPath: daemon.adminSocket, reconnect: false })
    await t.rejects(admin.changeKey(third), { code: 'USAGE' })
    await admin.close()
  },
)

t.test('whatever was cut off, the same command goes on from there', { timeout: TIMEOUT_MS }, async (t) => {
  const daemon = await startNew(t, CHANGE)
  for (const [how, isUsed] of [
    ['named, and not heard of', false],
    ['named and used, and not put in its place', true],
  ] as const) {
    const home = await homeOf(t, daemon, isUsed ? 'used' : 'named')
    const agent = isUsed ? 'used' : 'named'
    const { seed, publicKey } = generateKeyPair()
    writeFileSync(file(home, 'edge.next.key'), seed, { mode: 0o600 })
    writeFileSync(file(home, 'edge.next.pub'), publicKey)
    const client = await come(daemon, agent, seedOf(home))
    t.match(await client.changeKey(seed), { success: true })
    await client.close()
    if (isUsed) await (await come(daemon, agent, seed)).close()
    const run = await sassEdge(['keygen', '--rotate', 'edge'], { cwd: home })
    t.equal(run.code, 0, `${how}: ${run.stderr}`)
    t.same(seedOf(home), seed)
    t.equal((await exec(home)).code, 0)
  }
  const home = await homeOf(t, daemon, 'half')
  writeFileSync(file(home, 'edge.next.pub'), generateKeyPair().publicKey)
  t.equal((await sassEdge(['keygen', '--rotate', 'edge'], { cwd: home })).code, 0, 'half a pair is made anew')
})

t.test(
  'the device goes over to the key that it announced: who knew goes on, others stop',
  { timeout: TIMEOUT_MS },
  async (t) => {
    const directory = await install(t, { ...CHANGE, listen: { port: await freePort() } })
    const daemon = await startDaemon(t, directory)
    const [knows, absent] = [await homeOf(t, daemon, 'knows'), await homeOf(t, daemon, 'absent')]
    t.match((await daemon.cli(['keygen', '--device', '--switch'])).stderr, /no key at .*\.next/)
    const made = JSON.parse((await daemon.cli(['keygen', '--device', '--json'])).stdout.toString())
    const again = JSON.parse((await daemon.cli(['keygen', '--device', '--json'])).stdout.toString())
    t.equal(again.next_fingerprint, made.next_fingerprint, 'it is made once')
    const early = await daemon.cli(['keygen', '--device', '--switch'])
    t.match(early, { code: 125, stderr: /has not announced the new key, so the device keeps the old one/ })
    t.equal((await daemon.cli(['reload'])).code, 0)
    t.equal((await exec(knows)).code, 0)
    const pins = (home: string) => JSON.parse(readFileSync(file(home, 'known_devices.json'), 'utf8'))
    const address = `127.0.0.1:${daemon.port}`
    t.match(pins(knows)[address], { key: daemon.fingerprint, next: made.next_fingerprint })

    t.equal((await daemon.cli(['keygen', '--device', '--switch'])).code, 0)
    await daemon.stop()
    const next = await startDaemon(t, directory)
    t.equal(next.fingerprint, made.next_fingerprint)
    const moved = await exec(knows)
    t.equal(moved.code, 0, moved.stderr)
    t.match(moved.stderr, /has gone over to the key that it had announced/)
    t.match(pins(knows)[address], { key: next.fingerprint, next: undefined })
    t.notMatch((await exec(knows)).stderr, /gone over/)

    for (const words of [
      ['exec', 'edge', '--', 'true'],
      ['ping', 'edge'],
      ['jobs', 'edge'],
      ['cp', 'edge:x', 'y'],
      ['shell', 'edge'],
      ['status', 'edge'],
      ['keygen', '--rotate', 'edge'],
      ['trust', '127.0.0.1:PORT'],
      ['level', 'show', '--target', 'edge'],
    ]) {
      const run = await sassEdge(
        words.map((word) => word.replace('PORT', String(next.port))),
        { cwd: absent },
      )
      t.equal(run.code, 255, words.join(' '))
      for (const part of [
        daemon.fingerprint,
        next.fingerprint,
        `trust --replace ${address}`,
        /since \d{4}-\d\d-\d\d/,
      ])
        t.match(run.stderr, part, `${words[0]} names it`)
    }
    await t.rejects(
      connect({
        host: '127.0.0.1',
        port: next.port,
        agent: 'absent',
        privateKey: seedOf(absent),
        pin: daemon.fingerprint,
      }),
      { code: 'PIN_MISMATCH', message: new RegExp(`${next.fingerprint}.*${daemon.fingerprint}`) },
      'and the library',
    )
    t.equal((await sassEdge(['trust', '--replace', address, next.fingerprint], { cwd: absent })).code, 0)
    t.equal((await exec(absent)).code, 0)
  },
)

t.test(
  'an announcement is taken back, and a pair of somebody’s own is not touched',
  { timeout: TIMEOUT_MS },
  async (t) => {
    const daemon = await startNew(t, CHANGE)
    const home = await homeOf(t, daemon, 'laptop')
    const state = join(daemon.directory, '.sass-edge/state')
    const pin = () => Object.values(JSON.parse(readFileSync(file(home, 'known_devices.json'), 'utf8')))[0]
    await daemon.cli(['keygen', '--device'])
    await daemon.cli(['reload'])
    await exec(home)
    t.match(pin(), { next: /^sha256:/ })
    rmSync(join(state, 'tls.key.next'))
    await daemon.cli(['reload'])
    await exec(home)
    t.match(pin(), { next: undefined })

    const foreign = join(state, 'tls.crt')
    const made = spawnSync('openssl', [
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-subj',
        '/CN=edge',
      ],
      ...['-days', '1', '-keyout', '/dev/null', '-out', foreign],
    ])
    if (made.status !== 0) return t.comment('skipped: openssl is not installed, or cannot make a certificate')
    const text = readFileSync(foreign, 'utf8')
    await daemon.cli(['keygen', '--device'])
    const run = await daemon.cli(['keygen', '--device', '--switch'])
    t.equal(run.code, 125)
    t.match(run.stderr, /was not made by the daemon, so it is not taken away/)
    t.equal(readFileSync(foreign, 'utf8'), text)
  },
)
