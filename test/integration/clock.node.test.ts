/**
 * A real daemon whose clock was never set, and is set while it works: libfaketime gives this one process another time
 * of day, whose file is written anew for a jump; the monotonic clock goes on as it is.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type ClientCertificate, connect } from '../../src/client/client.node.ts'
import {
  changeConfig,
  type Daemon,
  install,
  type Json,
  sassEdge,
  sleep,
  startDaemon,
  temporary,
  until,
} from './daemon.node.ts'

const LIBRARY = process.env['LIBFAKETIME'] ?? globSync('/usr/lib/*/faketime/libfaketimeMT.so.1')[0]
const DAY_S = 86_400

type OtherTime = {
  readonly env: Readonly<Record<string, string>>
  /** In the form of libfaketime: `@1970-01-01 00:10:00`, or seconds beside the right time. */
  set(time: string): void
}

/** Undefined, with a line that says so, where the library is not here. */
function otherTime(t: Test, directory: string, time: string): OtherTime | undefined {
  if (LIBRARY === undefined) {
    t.pass('libfaketime is not installed here (apt-get install libfaketime)', { skip: true })
    return undefined
  }
  const file = join(directory, 'time')
  const set = (to: string) => writeFileSync(file, `${to}\n`)
  set(time)
  return {
    set,
    env: {
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      TZ: 'UTC',
    },
  }
}

const of = (daemon: Daemon, type: string): Json[] => daemon.audit().filter((event) => event['type'] === type)

async function isWhole(t: Test, daemon: Daemon): Promise<void> {
  for (const words of [
    ['audit', 'verify'],
    ['audit', 'replay'],
  ]) {
    const { code, stdout } = await daemon.cli(words)
    t.equal(code, 0, `${words.join(' ')}: ${stdout}`)
  }
}

const NEVER_SET = '@1970-01-01 00:10:00'

t.test('a clock that was never set is told everywhere, and the daemon works', async (t) => {
  const directory = await install(t)
  const time = otherTime(t, directory, NEVER_SET)
  if (time === undefined) return
  const { env } = time
  const checked = await sassEdge(['check'], { cwd: directory, env })
  t.match(
    checked.stdout.toString(),
    /^warning +clock: it says 1970-01-01T00:1\d:\S+, which is before this program/m,
  )
  t.equal(checked.code, 0)
  const doctor = await sassEdge(['doctor'], { cwd: directory, env })
  t.match(doctor.stdout.toString(), /^missing +clock +The clock was never set: it says 1970-01-01/m)
  const daemon = await startDaemon(t, directory, [], env)
  t.match(daemon.log().join('\n'), /warn clock_not_set says=1970-01-01T00:1/)
  t.match(of(daemon, 'clock'), [{ what: 'not_set' }])
  t.equal((await daemon.cli(['exec', '--', 'sh', '-c', 'exit 5'])).code, 5, 'a client with the right time')
  t.equal((await daemon.cli(['exec', '--', 'sh', '-c', 'exit 6'], { env })).code, 6, 'and one without')
  t.equal((await daemon.cli(['status'])).code, 0)
  await isWhole(t, daemon)
})

for (const [what, from, to] of [
  ['forward, from 1970', NEVER_SET, '+0'],
  ['forward by a week', `-${7 * DAY_S}`, '+0'],
  ['back by ten years', '+0', `-${3_650 * DAY_S}`],
] as const)
  t.test(
    `the clock is set ${what}: what runs, waits and is known goes on by the time that passes`,
    async (t) => {
      const directory = await install(t, {
        session: { max_duration_seconds: 600 },
        security: { sensitive_files: 'ask' },
        capabilities: { default: { timeout_seconds: 60 } },
      })
      const time = otherTime(t, directory, from)
      if (time === undefined) return
      const daemon = await startDaemon(t, directory, [], time.env)
      changeConfig(directory, { listen: { port: daemon.port } })
      const known = 'c1'.repeat(16)
      t.equal((await daemon.cli(['exec', '--id', known, '--', 'sh', '-c', 'exit 3'])).code, 3)
      const running = daemon.cli(['exec', '--', 'sh', '-c', 'echo begun; sleep 5; exit 4'])
      const asked = daemon.cli(['exec', '--', 'cat', '.env'])
      const questions = async () =>
        JSON.parse((await daemon.cli(['confirm', 'list', '--json'])).stdout.toString()).confirmations ?? []
      await until('it runs', async () => /running/.test((await daemon.cli(['jobs'])).stdout.toString()))
      await sleep(300)
      const waiting: readonly { id: string }[] = await questions()
      t.equal(waiting.length, 1)
      time.set(to)
      await until('the record of it', () => of(daemon, 'clock').some((event) => event['what'] === 'set'))
      await until('the line of it', () => / warn clock_set by_ms=-?\d{9,}/.test(daemon.log().join('\n')))
      t.same((await questions()).length, waiting.length, 'a question is as old as it is')
      for (const { id } of waiting) t.equal((await daemon.cli(['confirm', 'approve', id, '--yes'])).code, 0)
      t.equal((await asked).code, 1, 'there is no such file')
      t.match(await running, { code: 4, stdout: /begun/ }, 'neither its time nor its session is over')
      const ends = of(daemon, 'execution_ended').map((event) => Number(event['duration_ms']))
      t.ok(
        ends.every((ms) => ms >= 0 && ms < 60_000),
        `durations ${ends}`,
      )
      t.equal(
        (await daemon.cli(['exec', '--id', known, '--', 'sh', '-c', 'exit 9'])).code,
        3,
        'not a second time',
      )
      await isWhole(t, daemon)
      daemon.signal('SIGKILL')
      await daemon.ended
      const next = await startDaemon(t, directory, [], time.env)
      t.equal((await next.cli(['attach', known])).code, 3, 'nor after a restart')
      t.equal((await next.cli(['exec', '--id', known, '--', 'sh', '-c', 'exit 9'])).code, 3)
      await isWhole(t, next)
    },
  )

t.test('killed before its clock was set, and started with the right time: results are known', async (t) => {
  const directory = await install(t)
  const time = otherTime(t, directory, NEVER_SET)
  if (time === undefined) return
  const daemon = await startDaemon(t, directory, [], time.env)
  const known = 'd2'.repeat(16)
  t.equal((await daemon.cli(['exec', '--id', known, '--', 'sh', '-c', 'exit 3'])).code, 3)
  daemon.signal('SIGKILL')
  await daemon.ended
  const next = await startDaemon(t, directory)
  t.equal((await next.cli(['exec', '--id', known, '--', 'sh', '-c', 'exit 9'])).code, 3)
  t.equal((await next.cli(['status'])).code, 0)
  await isWhole(t, next)
})

t.test('certificates of clients that are not valid yet: those of the CA count, and no others', async (t) => {
  const place = temporary(t)
  const openssl = (...args: string[]) => spawnSync('openssl', args, { cwd: place, encoding: 'utf8' })
  if (openssl('version').status !== 0) {
    t.pass('openssl is not installed here', { skip: true })
    return
  }
  const days = ['-days', '3650']
  const key = (name: string) => ['-newkey', 'ed25519', '-nodes', '-keyout', `${name}.key`]
  for (const ca of ['ca', 'other'])
    openssl('req', '-x509', ...key(ca), '-out', `${ca}.pem`, '-subj', '/CN=The CA', ...days)
  const issue = (name: string, ca: string, use: string) => {
    writeFileSync(join(place, 'use'), `extendedKeyUsage=${use}\n`)
    openssl('req', ...key(name), '-out', `${name}.csr`, '-subj', '/CN=agent')
    const signed = ['-CA', `${ca}.pem`, '-CAkey', `${ca}.key`, '-CAcreateserial', '-extfile', 'use', ...days]
    const { status, stderr } = openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.pem`, ...signed)
    t.equal(status, 0, stderr)
    const read = (file: string) => readFileSync(join(place, file), 'utf8')
    return { certificatePem: read(`${name}.pem`), keyPem: read(`${name}.key`) }
  }
  const right = issue('right', 'ca', 'clientAuth')
  const wrong = [issue('forged', 'other', 'clientAuth'), issue('server', 'ca', 'serverAuth')]
  const directory = await install(t, {
    tls: { client_ca: join(place, 'ca.pem') },
    acl: { penalties: { enabled: false } },
  })
  const time = otherTime(t, directory, NEVER_SET)
  if (time === undefined) return
  const daemon = await startDaemon(t, directory, [], time.env)
  const open = (certificate: ClientCertificate | undefined) =>
    connect({
      ...{ host: '127.0.0.1', port: daemon.port, agent: 'agent', privateKey: daemon.seed() },
      ...{ pin: daemon.fingerprint, certificate, timeoutMs: 3_000, reconnect: false },
    })
  for (const to of [undefined, '@2026-11-19 00:00:00', '+0']) {
    if (to !== undefined) time.set(to)
    const client = await open(right)
    t.equal((await client.execute('true')).exitCode, 0, to ?? NEVER_SET)
    await client.close()
    for (const certificate of [...wrong, undefined])
      await t.rejects(open(certificate), { code: 'CONNECT_FAILED' }, to ?? NEVER_SET)
  }
})

t.test('a clock that is set to before a certificate began, but may be right, forgives nothing', async (t) => {
  const place = temporary(t)
  const time = otherTime(t, place, '@2040-01-01 00:00:00')
  if (time === undefined) return
  const words = 'req -x509 -newkey ed25519 -nodes -keyout key -out pem -subj /CN=agent -days 3650'
  const env = { PATH: process.env['PATH'] ?? '', ...time.env }
  const made = spawnSync('openssl', words.split(' '), { cwd: place, env, encoding: 'utf8' })
  if (made.status !== 0) {
    t.pass(`openssl is not installed here (${made.stderr})`, { skip: true })
    return
  }
  const read = (file: string) => readFileSync(join(place, file), 'utf8')
  const directory = await install(t, { tls: { client_ca: join(place, 'pem') } })
  const daemon = await startDaemon(t, directory)
  await t.rejects(
    connect({
      ...{ host: '127.0.0.1', port: daemon.port, agent: 'agent', privateKey: daemon.seed() },
      ...{ pin: daemon.fingerprint, timeoutMs: 3_000, reconnect: false },
      certificate: { certificatePem: read('pem'), keyPem: read('key') },
    }),
    { code: 'CONNECT_FAILED' },
  )
})
