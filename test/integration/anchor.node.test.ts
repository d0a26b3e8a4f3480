/**
 * Time stamps from a real authority (openssl ts): asked for over HTTP, kept, and held against the chain.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { changeConfig, install, type Json, sassEdge, startDaemon } from './daemon.node.ts'

const CONFIG = `
[ tsa ]
default_tsa = tsa_config
[ tsa_config ]
serial = ./serial
crypto_device = builtin
signer_cert = ./tsa.pem
certs = ./ca.pem
signer_key = ./tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
ess_cert_id_chain = no
[ stamping ]
extendedKeyUsage = critical,timeStamping
[ plain ]
extendedKeyUsage = serverAuth
[ web ]
subjectAltName = IP:127.0.0.1
[ authority ]
basicConstraints = critical,CA:TRUE
`

function openssl(directory: string, ...args: string[]): void {
  const { status, stderr } = spawnSync('openssl', args, { cwd: directory })
  if (status !== 0) throw new Error(`openssl ${args.join(' ')}: ${stderr}`)
}

/** An authority with its CA; undefined where openssl(1) is not here. */
function authority(t: Test): string | undefined {
  if (spawnSync('openssl', ['ts', '-help']).status !== 0) {
    t.comment('skipped: openssl ts is not here')
    t.pass()
    return undefined
  }
  const directory = t.testdir({ 'tsa.cnf': CONFIG, serial: '01' })
  const make = (name: string, issuer: string, extension: string) => {
    openssl(
      directory,
      'req',
      '-new',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.csr`,
      '-subj',
      `/CN=${name}`,
    )
    const by =
      issuer === name
        ? ['-signkey', `${name}.key`]
        : ['-CA', `${issuer}.pem`, '-CAkey', `${issuer}.key`, '-CAcreateserial']
    openssl(
      directory,
      'x509',
      '-req',
      '-in',
      `${name}.csr`,
      ...by,
      '-days',
      '30',
      '-extfile',
      'tsa.cnf',
      '-extensions',
      extension,
      '-out',
      `${name}.pem`,
    )
  }
  make('ca', 'ca', 'authority')
  make('tsa', 'ca', 'stamping')
  make('other', 'other', 'authority')
  make('web', 'ca', 'web')
  return directory
}

/** The authority as a web service; `spoil` changes its answers. */
async function serve(
  t: Test,
  directory: string,
  scheme: 'http' | 'https' = 'http',
): Promise<{ url: string; spoil: (bytes: Buffer) => Buffer }> {
  const service = { url: '', spoil: (bytes: Buffer) => bytes }
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      writeFileSync(join(directory, 'query.tsq'), Buffer.concat(parts))
      openssl(directory, 'ts', '-reply', '-config', 'tsa.cnf', '-queryfile', 'query.tsq', '-out', 'reply.tsr')
      response.setHeader('content-type', 'application/timestamp-reply')
      response.end(service.spoil(readFileSync(join(directory, 'reply.tsr'))))
    })
  }
  const pem = (name: string) => readFileSync(join(directory, name))
  const server =
    scheme === 'http'
      ? createServer(answer)
      : createSecureServer({ key: pem('web.key'), cert: pem('web.pem') }, answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const address = server.address()
  service.url =
    typeof address === 'object' && address !== null ? `${scheme}://127.0.0.1:${address.port}/` : ''
  return service
}

async function said(
  directory: string,
  ...args: string[]
): Promise<Json & { readonly code: number; readonly stderr: string }> {
  const { code, stdout, stderr } = await sassEdge([...args, '--json'], { cwd: directory })
  return { ...JSON.parse(stdout.toString()), code, stderr }
}

t.test('a record is stamped, the stamp is kept, and a chain that lost it is found out (SS-50)', async (t) => {
  const tsa = authority(t)
  if (tsa === undefined) return
  const service = await serve(t, tsa)
  const directory = await install(t)
  changeConfig(directory, { audit: { anchor: { url: service.url, certificate: join(tsa, 'ca.pem') } } })
  const daemon = await startDaemon(t, directory)
  await daemon.cli(['exec', '--', 'true'])
  const anchored = await said(directory, 'audit', 'anchor')
  t.equal(anchored.stderr, '')
  t.match(anchored, { code: 0, by: 'CN=tsa', hash: /^[0-9a-f]{64}$/ })
  const sequence = Number(anchored['sequence'])
  await daemon.cli(['exec', '--', 'true'])
  await daemon.stop()
  const verified = await said(directory, 'audit', 'verify')
  t.match(verified, { code: 0, ok: true, anchored: { sequence }, anchor_problems: [] })
  const audit = join(directory, '.sass-edge/state/audit')
  const place = join(audit, 'anchors')
  t.same(readdirSync(place), [`${sequence}.tsr`])

  // Any other tool comes to the same, from the bytes of the record.
  const lines = readFileSync(join(audit, 'audit.jsonl'), 'utf8').split('\n')
  const line = lines[sequence - 1] ?? ''
  const event = line.slice(line.indexOf('"event":') + 8, line.lastIndexOf(',"chain_hash"'))
  const previous = JSON.parse(lines[sequence - 2] ?? '{}').chain_hash
  writeFileSync(join(tsa, 'record'), `${previous}${event}${JSON.parse(line).timestamp}`)
  copyFileSync(join(place, `${sequence}.tsr`), join(tsa, 'kept.tsr'))
  t.doesNotThrow(() =>
    openssl(tsa, 'ts', '-verify', '-in', 'kept.tsr', '-data', 'record', '-CAfile', 'ca.pem'),
  )

  const whole = readFileSync(join(audit, 'audit.jsonl'))
  writeFileSync(join(audit, 'audit.jsonl'), `${lines.slice(0, sequence - 1).join('\n')}\n`)
  t.match(await said(directory, 'audit', 'verify'), {
    code: 1,
    ok: false,
    reason: /the time stamp of .* has kept: its end was cut off/,
  })
  writeFileSync(join(audit, 'audit.jsonl'), whole)
  mkdirSync(join(directory, 'kept'))
  copyFileSync(join(place, `${sequence}.tsr`), join(directory, `kept/${sequence - 1}.tsr`))
  t.match(await said(directory, 'audit', 'verify', '--anchors', join(directory, 'kept')), {
    ok: false,
    sequence: sequence - 1,
    reason: /another record than the one that the time stamp/,
  })
})

t.test('an authority over HTTPS is one that its caller trusts', async (t) => {
  const tsa = authority(t)
  if (tsa === undefined) return
  const service = await serve(t, tsa, 'https')
  const directory = await install(t)
  const daemon = await startDaemon(t, directory)
  await daemon.stop()
  const anchor = (env: Record<string, string>) =>
    sassEdge(['audit', 'anchor', '--tsa', service.url, '--tsa-certificate', join(tsa, 'ca.pem')], {
      cwd: directory,
      env,
    })
  t.match(await anchor({}), { stderr: /gave no time stamp/ }, 'the world does not know it')
  t.match(await anchor({ NODE_EXTRA_CA_CERTS: join(tsa, 'ca.pem') }), { code: 0, stderr: '' })
})

t.test('what proves nothing is not kept, and says why', async (t) => {
  const tsa = authority(t)
  if (tsa === undefined) return
  const service = await serve(t, tsa)
  const directory = await install(t)
  const daemon = await startDaemon(t, directory)
  await daemon.stop()
  const anchor = (certificate = 'ca.pem') =>
    sassEdge(['audit', 'anchor', '--tsa', service.url, '--tsa-certificate', join(tsa, certificate)], {
      cwd: directory,
    })
  t.match(await sassEdge(['audit', 'anchor'], { cwd: directory }), {
    code: 125,
    stderr: /set audit.anchor.url/,
  })
  t.match(await anchor('other.pem'), { code: 255, stderr: /no trusted certificate has signed its signer/ })
  t.match(await anchor('none.pem'), { stderr: /cannot be read, since it does not exist/ })
  t.match(await anchor('serial'), { stderr: /has no certificate in PEM/ })
  const flip = (at: (bytes: Buffer) => number) => (bytes: Buffer) => {
    const copy = Buffer.from(bytes)
    const place = at(copy)
    copy[place] = (copy[place] ?? 0) ^ 1
    return copy
  }
  service.spoil = flip((bytes) => bytes.length - 5)
  t.match(await anchor(), { stderr: /its signature is by none of its certificates/ })
  const imprint = (bytes: Buffer) => bytes.indexOf(Buffer.from('0420', 'hex')) + 10
  service.spoil = flip(imprint)
  t.match(await anchor(), { stderr: /what it says is not what was signed/ })
  for (const bytes of ['', 'garbage', '300530030201023000']) {
    service.spoil = () => Buffer.from(bytes, 'latin1')
    t.match(await anchor(), { stderr: /The time stamp proves nothing/ }, bytes)
  }
  service.spoil = () => Buffer.alloc(100_000)
  t.match(await anchor(), { stderr: /its answer is too long/ })
  const other = readFileSync(join(tsa, 'reply.tsr'))
  service.spoil = () => other
  const again = await startDaemon(t, directory)
  await again.stop()
  t.match(await anchor(), { stderr: /is of another record/ })
  // A certificate of the same CA that is for something else.
  openssl(
    tsa,
    'x509',
    '-req',
    '-in',
    'tsa.csr',
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
    '-CAcreateserial',
    '-days',
    '30',
    '-extfile',
    'tsa.cnf',
    '-extensions',
    'plain',
    '-out',
    'plain.pem',
  )
  service.url = 'http://127.0.0.1:1/'
  t.match(await anchor(), { stderr: /gave no time stamp/ })
  t.throws(() => readdirSync(join(directory, '.sass-edge/state/audit/anchors')), { code: 'ENOENT' })
  rmSync(join(tsa, 'plain.pem'))
})
