import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { connect, createServer, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { deviceFingerprint } from '../../../src/base/crypto/fingerprint.node.ts'
import {
  ensureCertificate,
  makeNextKey,
  switchToNextKey,
} from '../../../src/edge/sockets/certificate.node.ts'
import { asSassError, type Code } from '../../../src/errors.ts'

const commonName = 'sass-edge'

function paths(directory: string): { key: string; certificate: string } {
  return { key: join(directory, 'tls.key'), certificate: join(directory, 'tls.crt') }
}

/** Runs `ensureCertificate` and returns the sentence of its refusal, after checking the code. */
async function refusal(test: Test, files: { key: string; certificate: string }, code: Code): Promise<string> {
  try {
    await ensureCertificate(files.key, files.certificate, { commonName })
  } catch (error) {
    const known = asSassError(error)
    test.equal(known?.code, code)
    const message = known?.message ?? String(error)
    test.match(message, /^[A-Z][^\n]*[^.\n]\.$/, 'the refusal is one sentence')
    return message
  }
  test.fail('nothing was refused')
  return ''
}

function pkcs8(type: 'rsa' | 'ec', option: object): string {
  // The overloads of generateKeyPairSync want each type spelled out.
  const pair =
    type === 'rsa'
      ? generateKeyPairSync('rsa', option as { modulusLength: number })
      : generateKeyPairSync('ec', option as { namedCurve: string })
  return pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
}

t.test('makes a small self-signed Ed25519 certificate at the first start, and keeps it', async (t) => {
  const files = paths(t.testdir())
  const first = await ensureCertificate(files.key, files.certificate, { commonName })
  t.equal(first.created, true)
  t.equal(statSync(files.key).mode & 0o7777, 0o600)
  t.equal(statSync(files.certificate).mode & 0o7777, 0o644)
  t.equal(readFileSync(files.key, 'utf8'), first.keyPem)
  t.strictSame(readdirSync(join(files.key, '..')).sort(), ['tls.crt', 'tls.key'], 'no temporary file is left')

  const certificate = new X509Certificate(first.certificatePem)
  t.ok(certificate.raw.length <= 330, `${certificate.raw.length} bytes of DER`)
  t.equal(certificate.publicKey.asymmetricKeyType, 'ed25519')
  t.equal(certificate.subject, 'CN=sass-edge')
  t.equal(certificate.issuer, certificate.subject)
  t.ok(certificate.verify(certificate.publicKey), 'it signed itself')
  t.equal(certificate.checkHost('localhost'), 'localhost')
  t.equal(certificate.checkIP('127.0.0.1'), '127.0.0.1')
  t.equal(certificate.validFromDate.getTime(), 0, 'valid for a board whose clock starts in 1970')
  t.equal(certificate.validToDate.getUTCFullYear(), 9999)
  t.equal(first.fingerprint, deviceFingerprint(certificate))
  t.match(first.fingerprint, /^sha256:[A-Za-z0-9_-]{43}$/)

  const second = await ensureCertificate(files.key, files.certificate, { commonName: 'another' })
  t.strictSame(second, { ...first, created: false, validity: second.validity })
})

t.test('the pair that it makes serves TLS 1.3 to a client that verifies the name', async (t) => {
  const files = paths(t.testdir())
  const made = await ensureCertificate(files.key, files.certificate, { commonName })
  const server = createServer(
    { key: made.keyPem, cert: made.certificatePem, minVersion: 'TLSv1.3' },
    (socket) => socket.end(),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const client: TLSSocket = connect({
    port,
    host: '127.0.0.1',
    servername: 'localhost',
    ca: made.certificatePem,
  })
  await once(client, 'secureConnect')
  t.equal(client.authorized, true)
  const seen = client.getPeerX509Certificate()
  t.equal(seen === undefined ? '' : deviceFingerprint(seen), made.fingerprint)
  client.destroy()
  server.close()
})

t.test('a key that lost its certificate keeps its pin', async (t) => {
  const files = paths(t.testdir())
  const whole = paths(t.testdir({ whole: {}, half: {} }))
  const before = await ensureCertificate(
    join(whole.key, '../whole/a.key'),
    join(whole.key, '../whole/a.crt'),
    { commonName },
  )
  files.key = join(whole.key, '../half/a.key')
  files.certificate = join(whole.key, '../half/a.crt')
  writeFileSync(files.key, before.keyPem, { mode: 0o600 })
  const after = await ensureCertificate(files.key, files.certificate, { commonName })
  t.equal(after.created, true)
  t.equal(after.fingerprint, before.fingerprint)
  t.not(after.certificatePem, before.certificatePem)
})

t.test(
  'a kill at any moment leaves files that are whole or absent, and the next start completes them',
  async (t) => {
    const module = join(import.meta.dirname, '../../../src/edge/sockets/certificate.node.ts')
    for (const [round, delayMs] of [0, 1, 2, 3, 5, 8, 13].entries()) {
      const directory = t.testdir()
      const files = paths(join(directory, String(round)))
      mkdirSync(join(directory, String(round)))
      const script = `const m = await import(${JSON.stringify(module)}); process.stdout.write('.');
      await m.ensureCertificate(${JSON.stringify(files.key)}, ${JSON.stringify(files.certificate)}, { commonName: 'x' })
      await new Promise((go) => setTimeout(go, 1000))`
      const child: ChildProcess = spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      if (child.stdout !== null) await once(child.stdout, 'data')
      await wait(delayMs)
      child.kill('SIGKILL')
      await once(child, 'exit')
      const pinned = existsSync(files.certificate)
        ? deviceFingerprint(new X509Certificate(readFileSync(files.certificate)))
        : undefined
      const identity = await ensureCertificate(files.key, files.certificate, { commonName })
      t.ok(new X509Certificate(identity.certificatePem).raw.length > 0)
      if (pinned !== undefined) t.equal(identity.fingerprint, pinned, 'a certificate that was there stays')
    }
  },
)

t.test('a kill at any step of going over to the next key leaves one that a daemon starts with', async (t) => {
  const module = join(import.meta.dirname, '../../../src/edge/sockets/certificate.node.ts')
  let killed = 0
  for (const [round, [name, moment]] of [
    ['rmSync', 'before'],
    ['rmSync', 'after'],
    ['fsyncSync', 'before'],
    ['renameSync', 'before'],
    ['renameSync', 'after'],
  ].entries()) {
    const directory = join(t.testdir(), String(round))
    mkdirSync(directory)
    const files = paths(directory)
    const old = await ensureCertificate(files.key, files.certificate, { commonName })
    const next = `sha256:${Buffer.from(makeNextKey(files.key)).toString('base64url')}`
    const script = `import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module'
      const real = fs.${name}
      fs.${name} = (...given) => {
        if ('${moment}' === 'after') real(...given)
        process.kill(process.pid, 'SIGKILL')
      }
      syncBuiltinESMExports()
      const { switchToNextKey } = await import(${JSON.stringify(module)})
      switchToNextKey(${JSON.stringify(files.key)}, ${JSON.stringify(files.certificate)})`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' })
    const [, signal] = await once(child, 'exit')
    if (signal === 'SIGKILL') killed++
    const between = await ensureCertificate(files.key, files.certificate, { commonName })
    const isOver = name === 'renameSync' && moment === 'after'
    t.equal(
      between.fingerprint,
      isOver ? next : old.fingerprint,
      `${moment} ${name}: a key that clients know`,
    )
    if (!isOver) switchToNextKey(files.key, files.certificate)
    t.equal((await ensureCertificate(files.key, files.certificate, { commonName })).fingerprint, next)
  }
  t.equal(killed, 5, 'each was killed')
})

t.test('of starts that race, all return the pair of whichever came first', async (t) => {
  const files = paths(t.testdir())
  const all = await Promise.all(
    Array.from({ length: 8 }, () => ensureCertificate(files.key, files.certificate, { commonName })),
  )
  t.equal(new Set(all.map((identity) => identity.keyPem)).size, 1)
  t.equal(new Set(all.map((identity) => identity.certificatePem)).size, 1)
  t.strictSame(readdirSync(join(files.key, '..')).sort(), ['tls.crt', 'tls.key'])
})

t.test('refuses a key that others can read, and says which chmod to run', async (t) => {
  const files = paths(t.testdir())
  await ensureCertificate(files.key, files.certificate, { commonName })
  for (const mode of [0o644, 0o640, 0o660, 0o604, 0o700, 0o4600]) {
    chmodSync(files.key, mode)
    const message = await refusal(t, files, 'TLS_CERT_INVALID')
    t.match(message, mode.toString(8).padStart(4, '0'))
    t.match(message, `chmod 0600 ${files.key}`)
  }
})

t.test('refuses a certificate of another key', async (t) => {
  const directory = t.testdir({ a: {}, b: {} })
  const a = paths(join(directory, 'a'))
  const b = paths(join(directory, 'b'))
  await ensureCertificate(a.key, a.certificate, { commonName })
  await ensureCertificate(b.key, b.certificate, { commonName })
  t.match(
    await refusal(t, { key: a.key, certificate: b.certificate }, 'TLS_CERT_INVALID'),
    'does not belong to the key',
  )
})

t.test('makes no key for a certificate that has lost it', async (t) => {
  const files = paths(t.testdir())
  const certificate = join(files.key, '../other.crt')
  await ensureCertificate(files.key, certificate, { commonName })
  const lost = { key: join(files.key, '../lost.key'), certificate }
  t.match(await refusal(t, lost, 'TLS_CERT_INVALID'), 'has no key at')
  t.notOk(existsSync(lost.key))
})

t.test('refuses keys that TLS 1.3 clients do not accept', async (t) => {
  const files = paths(t.testdir())
  const cases: [string, string][] = [
    [pkcs8('rsa', { modulusLength: 1024 }), 'RSA key of 1024 bits'],
    [pkcs8('ec', { namedCurve: 'secp256k1' }), 'secp256k1'],
    [generateKeyPairSync('x25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, 'x25519'],
    [pkcs8('ec', { namedCurve: 'prime256v1' }), 'only for Ed25519 keys is one made'],
    ['', 'not an unencrypted private key in PEM'],
    [
      '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n',
      'not an unencrypted private key in PEM',
    ],
    [
      generateKeyPairSync('ed25519').privateKey.export({
        type: 'pkcs8',
        format: 'pem',
        cipher: 'aes-256-cbc',
        passphrase: 'x',
      }) as string,
      'not an unencrypted private key in PEM',
    ],
  ]
  for (const [pem, expected] of cases) {
    writeFileSync(files.key, pem, { mode: 0o600 })
    t.match(await refusal(t, files, 'TLS_CERT_INVALID'), expected)
    t.notOk(existsSync(files.certificate))
  }
})

t.test('refuses files that are not what they should be', async (t) => {
  const files = paths(t.testdir())
  const made = await ensureCertificate(files.key, files.certificate, { commonName })
  const cases: [string | Buffer, string][] = [
    [new X509Certificate(made.certificatePem).raw, 'not PEM'],
    [made.certificatePem.slice(0, 200), 'cannot be parsed'],
    [made.keyPem, 'not PEM'],
    [Buffer.alloc(65_537, 0x2d), '65537 bytes'],
  ]
  for (const [content, expected] of cases) {
    writeFileSync(files.certificate, content)
    t.match(await refusal(t, files, 'TLS_CERT_INVALID'), expected)
  }
  t.match(
    await refusal(t, { key: files.key, certificate: join(files.key, '..') }, 'TLS_CERT_INVALID'),
    'not a regular file',
  )
  t.match(
    await refusal(t, { key: join(files.key, 'below'), certificate: files.certificate }, 'TLS_CERT_INVALID'),
    'a part of its path is not a directory',
  )
})

t.test('follows symbolic links, as certificate tools leave them', async (t) => {
  const directory = t.testdir({ archive: {}, live: {} })
  const archive = paths(join(directory, 'archive'))
  const live = paths(join(directory, 'live'))
  const made = await ensureCertificate(archive.key, archive.certificate, { commonName })
  symlinkSync(archive.key, live.key)
  symlinkSync(archive.certificate, live.certificate)
  t.strictSame(
    (await ensureCertificate(live.key, live.certificate, { commonName })).fingerprint,
    made.fingerprint,
  )
})

t.test('says where it cannot write', async (t) => {
  const directory = t.testdir()
  t.match(
    await refusal(t, paths(join(directory, 'absent')), 'STATE_UNWRITABLE'),
    `make ${join(directory, 'absent')} a directory that the daemon's user can write`,
  )
})
