/**
 * A client comes in by a line that was pasted: real daemon, real command line, homes that begin empty.
 */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { encodeBase64Url } from '../../src/base/encoding/base64.ts'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import { connect } from '../../src/client/client.node.ts'
import { generateKeyPair } from '../../src/edge/state/key-file.node.ts'
import { CONFIG_AGENTS } from '../../src/limits.ts'
import { writeEnrolmentLine } from '../../src/wire/enrolment-line.ts'
import { startDevice } from '../client/tls-device.node.ts'
import { install, type Json, sassEdge, sleep, startDaemon, startNew, temporary } from './daemon.node.ts'

import {
  book,
  bookPath,
  enroll,
  enrolled,
  everythingOf,
  freePort,
  invite,
  LOOPBACK_EXEMPT,
  open,
  REAL_FILES,
} from './enrolling.node.ts'

const TIMEOUT_MS = 60_000
t.setTimeout(5 * TIMEOUT_MS)

t.test(
  'init prints a line; pasted into an empty home, exec works right after',
  { timeout: TIMEOUT_MS },
  async (t) => {
    const directory = temporary(t)
    const port = await freePort()
    const made = await sassEdge(['init', '--port', String(port), '--json'], { cwd: directory })
    const said = JSON.parse(made.stdout.toString()) as {
      fingerprint: string
      enrolment: { line: string; agent: string }
    }
    writeFileSync(
      join(directory, '.sass-edge/sass.edge.json'),
      JSON.stringify({
        ...JSON.parse(readFileSync(join(directory, '.sass-edge/sass.edge.json'), 'utf8')),
        ...REAL_FILES,
      }),
    )
    const daemon = await startDaemon(t, directory)
    t.equal(said.fingerprint, daemon.fingerprint, 'the key that the daemon then shows')
    const home = temporary(t)
    const run = await enroll(home, said.enrolment.line, '--name', 'edge7')
    t.equal(run.code, 0, run.stderr)
    t.match(JSON.parse(run.stdout.toString()), {
      name: 'edge7',
      agent: 'client',
      fingerprint: daemon.fingerprint,
    })
    const exec = await sassEdge(['exec', 'edge7', '--', 'echo', 'hello'], { cwd: home })
    t.match(exec, { code: 0 }, exec.stderr)
    t.equal(exec.stdout.toString(), 'hello\n')
    const key = join(home, '.config/sass-edge/edge7.key')
    t.equal(statSync(key).mode & 0o7777, 0o600)
    t.equal(statSync(join(home, '.config/sass-edge/hosts.json')).mode & 0o7777, 0o600)

    t.test(
      'the key of the record is given out, once, and the record is verified with it (SS-50)',
      async (t) => {
        const path = join(home, '.config/sass-edge/edge7-audit.pub')
        t.same(readFileSync(path), readFileSync(join(directory, '.sass-edge/state/audit.pub')))
        const chain = join(directory, '.sass-edge/state/audit/audit.jsonl')
        const verify = () => sassEdge(['audit', 'verify', chain, '--key', path], { cwd: home })
        t.equal((await verify()).code, 0)
        const later = await connect({
          ...{
            host: '127.0.0.1',
            port: daemon.port,
            agent: 'client',
            pin: daemon.fingerprint,
            reconnect: false,
          },
          privateKey: new Uint8Array(readFileSync(key)),
        })
        t.equal(later.auditKey, undefined, 'not with every connection')
        await later.close()
        const kept = readFileSync(path)
        writeFileSync(path, readFileSync(join(directory, '.sass-edge/keys/agent.pub')))
        t.equal((await verify()).code, 1, 'with another key it is not')
        const other = await enroll(home, said.enrolment.line, '--name', 'edge7')
        t.match(other, { code: 255, stderr: /begins with another key/ })
        writeFileSync(path, kept)
      },
    )

    t.test('the device keeps a hash, and nowhere the token or the private key', async (t) => {
      const { token } = open(said.enrolment.line)
      const everything = Buffer.concat([everythingOf(directory), Buffer.from(daemon.log().join('\n'))])
      for (const form of [
        Buffer.from(token),
        Buffer.from(encodeHex(token)),
        Buffer.from(encodeBase64Url(token)),
        Buffer.from(Buffer.from(token).toString('base64')),
        Buffer.from(said.enrolment.line),
        readFileSync(key),
      ])
        t.equal(everything.indexOf(form), -1)
      t.notMatch(readFileSync(`/proc/${daemon.pid}/cmdline`, 'latin1'), /sass1:/)
    })

    t.test('it is in the record before and after, and survives reload and restart', async (t) => {
      t.ok(daemon.audit().some((event) => event['action'] === 'enroll' && event['response'] === 'R1'))
      t.ok(daemon.audit().some((event) => event['what'] === 'enrolled' && event['agent'] === 'client'))
      t.equal((await daemon.cli(['audit', 'verify'])).code, 0)
      t.equal((await daemon.cli(['reload'])).code, 0)
      const again = () => sassEdge(['exec', 'edge7', '--', 'true'], { cwd: home })
      t.equal((await again()).code, 0, 'after a reload')
      await daemon.stop()
      const next = await startDaemon(t, directory)
      t.equal((await again()).code, 0, 'after a restart')
      t.equal((await next.cli(['audit', 'replay'])).code, 0, 'and the decisions can be made again')

      t.match((await next.cli(['agent', 'list'])).stdout.toString(), /^client .*enrolled$/m)
      t.match((await next.cli(['config', 'show', '--effective'])).stdout.toString(), /"client"/)
      t.match((await next.cli(['config', 'show', '--as', 'client'])).stdout.toString(), /"role": "agent"/)
      t.equal((await next.cli(['agent', 'remove', 'client'])).code, 0)
      t.equal((await next.cli(['reload'])).code, 0)
      const gone = await again()
      t.equal(gone.code, 255, 'removed is removed')
      await next.stop()
    })
  },
)

const shared = await startNew(t, { ...LOOPBACK_EXEMPT, ...REAL_FILES })

t.test(
  'a line that was used is refused to the next one, and good for the first',
  { timeout: TIMEOUT_MS },
  async (t) => {
    const line = await invite(shared, 'once')
    const [first, second] = [temporary(t), temporary(t)]
    t.equal((await enroll(first, line, '--name', 'edge')).code, 0)
    const replayed = await enroll(second, line, '--name', 'edge')
    t.equal(replayed.code, 255)
    t.match(replayed.stderr, /did not take the line.*used or withdrawn/)
    t.notOk(existsSync(join(second, '.config/sass-edge/hosts.json')))
    const again = await enroll(first, line, '--name', 'edge')
    t.equal(again.code, 0, 'the same key and the same line are a success again')
    t.equal(enrolled(shared.directory).filter((name) => name === 'once').length, 1)
  },
)

t.test('of two at the same moment exactly one wins', { timeout: TIMEOUT_MS }, async (t) => {
  for (let round = 0; round < 6; round++) {
    const name = `race-${round}`
    const { token } = open(await invite(shared, name))
    const tries = await Promise.allSettled(
      Array.from({ length: 4 }, () =>
        connect({
          host: '127.0.0.1',
          port: shared.port,
          agent: name,
          privateKey: generateKeyPair().seed,
          pin: shared.fingerprint,
          enrolment: token,
          reconnect: false,
          timeoutMs: 3_000,
        }),
      ),
    )
    const won = tries.filter((one) => one.status === 'fulfilled')
    t.equal(won.length, 1)
    for (const one of won) await one.value.close()
    t.equal(enrolled(shared.directory).filter((other) => other === name).length, 1)
  }
})

t.test('an expired line says so, and the name is not listed', { timeout: TIMEOUT_MS }, async (t) => {
  const line = await invite(shared, 'late', '--ttl', '1s')
  await sleep(1_300)
  const run = await enroll(temporary(t), line)
  t.equal(run.code, 255)
  t.match(run.stderr, /has expired/)
  t.notOk(enrolled(shared.directory).includes('late'))
})

t.test(
  'a newer line for the same name takes the place of the older one',
  { timeout: TIMEOUT_MS },
  async (t) => {
    const older = await invite(shared, 'twice')
    const newer = await invite(shared, 'twice')
    t.equal((await enroll(temporary(t), older)).code, 255)
    t.equal((await enroll(temporary(t), newer)).code, 0)
  },
)

t.test('a withdrawn line is worth nothing at once, before any reload', { timeout: TIMEOUT_MS }, async (t) => {
  const line = await invite(shared, 'withdrawn')
  t.equal((await shared.cli(['agent', 'remove', 'withdrawn'])).code, 0)
  t.equal((await enroll(temporary(t), line)).code, 255)
  t.notOk(enrolled(shared.directory).includes('withdrawn'))
})

t.test(
  'cut, mistyped and foreign lines are told apart, and nobody is asked',
  { timeout: TIMEOUT_MS },
  async (t) => {
    const line = await invite(shared, 'typed')
    const before = shared.audit().length
    const home = temporary(t)
    for (const bad of [
      line.slice(0, -1),
      line.slice(0, 40),
      `${line.slice(0, 30)}x${line.slice(31)}`,
      `${line}A`,
    ]) {
      if (bad === line) continue
      const run = await enroll(home, bad)
      t.equal(run.code, 125)
      t.match(run.stderr, /cut or mistyped, and nothing was sent/)
    }
    for (const bad of ['', 'hello', 'sass2:abc', 'x'.repeat(10_000)]) {
      const run = await enroll(home, bad)
      t.equal(run.code, 125)
      t.match(run.stderr, /no enrolment line/)
    }
    t.notOk(existsSync(join(home, '.config')), 'not even a key was made')
    t.equal(shared.audit().length, before)
    const broken = `${line.slice(0, 20)}\n  ${line.slice(20, 70)}\r\n${line.slice(70)}`
    t.equal((await enroll(home, broken, '--name', 'typed')).code, 0, 'broken into lines it is still whole')
  },
)

t.test(
  'a token is for the name that it was made for, and for no other',
  { timeout: TIMEOUT_MS },
  async (t) => {
    const line = open(await invite(shared, 'mine'))
    for (const agent of ['somebody', 'operator', 'agent', 'admin']) {
      const run = await enroll(temporary(t), writeEnrolmentLine({ ...line, agent }))
      t.equal(run.code, 255, agent)
    }
    t.notOk(enrolled(shared.directory).some((name) => name === 'somebody' || name === 'operator'))
    t.equal((await enroll(temporary(t), writeEnrolmentLine(line))).code, 0, 'it was not used up by that')
  },
)

t.test('who enrols gets the role and the set of the invitation', { timeout: TIMEOUT_MS }, async (t) => {
  const home = temporary(t)
  t.equal((await enroll(home, await invite(shared, 'boss', '--role', 'operator'), '--name', 'edge')).code, 0)
  const status = await sassEdge(['level', 'show', '--target', 'edge'], { cwd: home })
  t.equal(status.code, 0, status.stderr)
  const remote = await sassEdge(['agent', 'invite', 'friend', '--target', 'edge', '--json'], { cwd: home })
  t.equal(remote.code, 0, remote.stderr)
  const friend = temporary(t)
  const { line } = JSON.parse(remote.stdout.toString()) as { line: string }
  t.equal((await enroll(friend, line, '--name', 'edge')).code, 0, 'an operator invites over TLS')
  const denied = await sassEdge(['agent', 'invite', 'foe', '--role', 'operator', '--target', 'edge'], {
    cwd: friend,
    timeoutMs: 4_000,
  })
  t.not(denied.code, 0, 'an agent does not')
  t.notOk((book(shared.directory)['invitations'] ?? []).some(({ name }) => name === 'foe'))
  t.ok(shared.audit().some((event) => event['method'] === 'InviteAgent' && event['response'] === 'R4'))
})

t.test(
  'names and sets that cannot be given are refused with what to do',
  { timeout: TIMEOUT_MS },
  async (t) => {
    for (const [words, says] of [
      [['agent'], /listed already/],
      [['once'], /listed already/],
      [['admin'], /cannot be given/],
      [['a b'], /cannot be given/],
      [['x', '--capability', 'absent'], /no capability set/],
      [['x', '--role', 'root'], /--role is agent or operator/],
      [['x', '--ttl', '8d'], /--ttl is a time/],
      [['x', '--ttl', '0'], /--ttl is a time/],
    ] as const) {
      const run = await shared.cli(['agent', 'invite', ...words])
      t.equal(run.code, 125, words.join(' '))
      t.match(run.stderr, says)
    }
  },
)

t.test('so many invitations are open and no more', { timeout: TIMEOUT_MS }, async (t) => {
  const client = await connect({ socketPath: shared.adminSocket, reconnect: false })
  const answers = []
  for (let count = 0; count < 20; count++)
    answers.push(await client.operator.invite({ agent_name: `many-${count}`, capability: 'default' }))
  await client.close()
  t.ok(answers.some(({ success }) => success))
  t.match(answers.at(-1), { success: false, message: /16 invitations are open/ })
  t.equal((book(shared.directory)['invitations'] ?? []).length, 16)
  for (let count = 0; count < 20; count++) await shared.cli(['agent', 'remove', `many-${count}`])
})

t.test(
  'a pin that says otherwise stands, and the command that accepts is named',
  { timeout: TIMEOUT_MS },
  async (t) => {
    const home = temporary(t)
    const line = await invite(shared, 'pinned')
    const other = `sha256:${Buffer.alloc(32, 7).toString('base64url')}`
    const address = `127.0.0.1:${shared.port}`
    mkdirSync(join(home, '.config/sass-edge'), { recursive: true })
    writeFileSync(
      join(home, '.config/sass-edge/known_devices.json'),
      JSON.stringify({ [address]: { key: other, since: '2020-01-31' } }),
      { mode: 0o600 },
    )
    const run = await enroll(home, line, '--name', 'edge')
    t.equal(run.code, 255)
    for (const part of [
      other,
      shared.fingerprint,
      'since 2020-01-31',
      `sass-edge trust --replace ${address}`,
    ])
      t.ok(run.stderr.includes(part), part)
    t.equal((await sassEdge(['trust', '--replace', address, shared.fingerprint], { cwd: home })).code, 0)
    t.equal((await enroll(home, line, '--name', 'edge')).code, 0)
  },
)

t.test(
  'who is in between shows another key, is told nothing, and both keys are named',
  { timeout: TIMEOUT_MS },
  async (t) => {
    const daemon = await startNew(t)
    const middle = await startDevice(t.testdir({}))
    t.teardown(() => middle.close())
    const line = await invite(daemon, 'wanderer', '--address', `127.0.0.1:${middle.port}`)
    const home = temporary(t)
    const run = await enroll(home, line)
    t.equal(run.code, 255)
    t.ok(run.stderr.includes(middle.fingerprint) && run.stderr.includes(daemon.fingerprint), run.stderr)
    t.notOk(existsSync(join(home, '.config/sass-edge/hosts.json')))
    t.notOk(existsSync(join(home, '.config/sass-edge/known_devices.json')))
    t.equal((book(daemon.directory)['invitations'] ?? []).length, 1, 'and the line is still good')
  },
)

t.test(
  'wrong tokens are penalised like any failed proof, and use nothing up',
  { timeout: TIMEOUT_MS },
  async (t) => {
    const daemon = await startNew(t, { acl: { penalties: { exempt: [] } } })
    const line = open(await invite(daemon, 'guessed'))
    let codes = ''
    for (let guess = 0; guess < 6; guess++) {
      const token = line.token.slice()
      token[guess] = (token[guess] ?? 0) ^ 1
      codes += `${(await enroll(temporary(t), writeEnrolmentLine({ ...line, token }))).code} `
    }
    t.equal(codes, '255 255 255 255 255 255 ')
    const listed = JSON.parse((await daemon.cli(['penalties', 'list', '--json'])).stdout.toString()) as {
      penalties: readonly Json[]
    }
    t.match(listed.penalties, [{ source: '127.0.0.1', active: true, reason: 'auth_failed' }])
    t.ok(
      daemon
        .audit()
        .some((event) => event['rule'] === 'authenticate' && event['code'] === 'AUTH_KEY_NOT_FOUND'),
    )
    t.equal((await daemon.cli(['penalties', 'clear'])).code, 0)
    t.equal((await enroll(temporary(t), writeEnrolmentLine(line))).code, 0, 'the right one still counts')
  },
)

t.test(
  'where every place is taken nobody is invited, and a line from before is refused',
  { timeout: TIMEOUT_MS },
  async (t) => {
    const directory = await install(t, LOOPBACK_EXEMPT)
    const some = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        name: `n${index}`,
        public_key: encodeBase64Url(generateKeyPair().publicKey),
        role: 'agent',
        capability: 'default',
        enrolled_at: 1_700_000_000,
      }))
    const list = some(CONFIG_AGENTS - 2)
    writeFileSync(
      bookPath(directory),
      JSON.stringify({ invitations: [], enrolled: list.slice(0, -1), keys: [] }),
      { mode: 0o600 },
    )
    const daemon = await startDaemon(t, directory)
    const [first, second] = [await invite(daemon, 'first'), await invite(daemon, 'second')]
    t.equal((await enroll(temporary(t), first)).code, 0)
    t.equal((await enroll(temporary(t), second)).code, 255, 'the last place is taken')
    t.match((await daemon.cli(['agent', 'invite', 'third'])).stderr, /1024 callers are listed/)
    t.ok(daemon.audit().some((event) => event['type'] === 'not_done' && event['action'] === 'enroll'))
  },
)

t.test(
  'a daemon with a damaged book does not start, and says what to do',
  { timeout: TIMEOUT_MS },
  async (t) => {
    const directory = await install(t)
    for (const text of ['{', '{"invitations":[],"enrolled":[{"name":"x"}],"keys":[]}', '[]']) {
      writeFileSync(bookPath(directory), text, { mode: 0o600 })
      t.match((await sassEdge(['check'], { cwd: directory })).stdout.toString(), /FAILED +identities: /)
      const run = await sassEdge(['run'], { cwd: directory, timeoutMs: 15_000 })
      t.equal(run.code, 125, text)
      t.match(run.stderr, /identities\.json is damaged.*remove it to begin without any/)
    }
  },
)
