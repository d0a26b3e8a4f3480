import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { type Config, parseConfig } from '../../../src/config/config.ts'
import { tryBranch } from '../../../src/edge/setup/branch-trial.node.ts'
import type { Finding } from '../../../src/edge/setup/finding.ts'
import { checkMachine } from '../../../src/edge/setup/preflight.node.ts'
import { ensureCertificate } from '../../../src/edge/sockets/certificate.node.ts'
import { CLOCK_FLOOR_MS } from '../../../src/limits.ts'

const NOW = CLOCK_FLOOR_MS

function configOf(directory: string, changes: Record<string, unknown> = {}): Config {
  const value = {
    listen: { port: 0, admin_socket: '/tmp/sass-edge-preflight-test.sock' },
    state_directory: 'state',
    security: { workspace_root: 'work' },
    ...changes,
  }
  const result = parseConfig(value, { configDirectory: directory })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.config
}

async function failures(config: Config, wallMs = NOW): Promise<readonly Finding[]> {
  return (await checkMachine(config, wallMs)).filter((finding) => !finding.ok)
}

async function listening(
  server: Server,
  options: { host: string; port: number } | { path: string },
): Promise<void> {
  await new Promise<void>((resolve) => server.listen(options, resolve))
}

t.test('a machine that fits has no failure, and nothing is left behind', async (t) => {
  const directory = t.testdir({ work: {} })
  t.same(await failures(configOf(directory)), [])
  t.same(readdirSync(directory), ['work'])
})

t.test('an occupied port is one clause with the remedy', async (t) => {
  const directory = t.testdir({ work: {} })
  const server = createServer()
  await listening(server, { host: '127.0.0.1', port: 0 })
  t.teardown(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const listen = { port, admin_socket: '/tmp/sass-edge-preflight-test.sock' }
  t.match(await failures(configOf(directory, { listen })), [
    { check: 'listen.port', detail: `127.0.0.1 port ${port} is taken`, remedy: /or choose another port/ },
  ])
  const untried = await checkMachine(configOf(directory, { listen }), NOW, false)
  t.notOk(
    untried.find(({ ok, check }) => !ok || check === 'listen.port'),
    'unless it is held for the daemon',
  )
})

t.test('an address of another machine is told apart from a taken port', async (t) => {
  const directory = t.testdir({ work: {} })
  const listen = { address: '192.0.2.1', port: 19_284, admin_socket: '/tmp/sass-edge-preflight-test.sock' }
  t.match(await failures(configOf(directory, { listen, acl: { allow: ['*'] } })), [
    { check: 'listen.address', detail: '192.0.2.1 is not an address of this machine' },
  ])
})

t.test(
  'a state directory where nothing can be made is one finding, and no branch is tried there',
  async (t) => {
    const directory = t.testdir({ work: {} })
    t.match(
      await failures(configOf(directory, { state_directory: '/proc/x', sandbox: { require: 'overlay' } })),
      [{ check: 'state_directory', detail: '/proc/x cannot be written, since nothing can be made in /proc' }],
    )
    t.match(await tryBranch('/proc'), {
      state: 'failed',
      detail: 'No directory can be made in /proc to try a branch in, since nothing can be made in /proc.',
    })
  },
)

t.test('directories that cannot be written are found by writing', async (t) => {
  const directory = t.testdir({ work: {}, file: '' })
  const changes = { state_directory: 'file/state', audit: { directory: 'file' } }
  const found = await failures(configOf(directory, changes))
  t.same(
    found.map((finding) => finding.check),
    ['state_directory', 'audit.directory'],
  )
  t.match(found[0], {
    detail: /cannot be written, since a part of its path is not a directory/,
    remedy: /may write/,
  })
})

t.test('a workspace that is missing is made at the start, one that cannot be is told', async (t) => {
  const directory = t.testdir({ file: '' })
  t.strictSame(await failures(configOf(directory)), [])
  t.match(
    (await checkMachine(configOf(directory), NOW)).find(({ check }) => check === 'security.workspace_root'),
    { ok: true, detail: `${join(directory, 'work')} will be made` },
  )
  t.match(await failures(configOf(directory, { security: { workspace_root: 'file/work' } })), [
    { check: 'security.workspace_root', detail: /cannot be written, since a part of its path is not a dir/ },
  ])
  t.match(await failures(configOf(directory, { security: { workspace_root: 'file' } })), [
    { remedy: 'name a directory' },
  ])
})

t.test(
  'a TLS key of mode 0644 comes with the chmod, and a certificate without its key is told',
  async (t) => {
    const directory = t.testdir({ work: {}, state: {}, alone: { 'tls.crt': 'c' }, bogus: 'c' })
    const key = join(directory, 'state/tls.key')
    await ensureCertificate(key, join(directory, 'state/tls.crt'), { commonName: 'test' })
    chmodSync(key, 0o644)
    t.match(await failures(configOf(directory)), [
      { check: 'tls.key', detail: /mode 0644/, remedy: `run chmod 600 ${key}` },
    ])
    chmodSync(key, 0o600)
    t.same(await failures(configOf(directory)), [])
    t.match(await failures(configOf(directory, { state_directory: 'alone' })), [
      { check: 'tls.key', remedy: /put the key back/ },
    ])
    t.match(await failures(configOf(directory, { tls: { client_ca: 'none.pem' } })), [
      {
        check: 'tls.client_ca',
        detail: /none\.pem cannot be read, since it does not exist/,
        remedy: /or set/,
      },
    ])
    t.match(await failures(configOf(directory, { tls: { client_ca: 'bogus' } })), [
      { check: 'tls.client_ca', detail: /holds no certificate/ },
    ])
  },
)

t.test('an admin socket may be left over, but neither alive nor something else', async (t) => {
  const directory = t.testdir({ work: {} })
  // Not beneath the test directory, whose path may be too long for a socket.
  const sockets = mkdtempSync('/tmp/sass-edge-')
  t.teardown(() => rmSync(sockets, { recursive: true }))
  const path = join(sockets, 'admin.sock')
  const server = createServer()
  await listening(server, { path })
  t.match(await failures(configOf(directory, { listen: { port: 0, admin_socket: path } })), [
    { check: 'listen.admin_socket', detail: `a daemon answers on ${path} already` },
  ])
  await new Promise((resolve) => server.close(resolve))
  t.notOk(existsSync(path))
  writeFileSync(path, '')
  t.match(await failures(configOf(directory, { listen: { port: 0, admin_socket: path } })), [
    { detail: /is not a socket/ },
  ])
})

t.test('where the figures are served and the log is kept is looked at too', async (t) => {
  const directory = t.testdir({ work: {}, state: {} })
  const sockets = mkdtempSync('/tmp/sass-edge-')
  t.teardown(() => rmSync(sockets, { recursive: true }))
  const listen = { port: 0, admin_socket: join(sockets, 'admin.sock') }
  const path = join(sockets, 'metrics.sock')
  const log = { file: join(directory, 'state/edge.log') }
  t.same(await failures(configOf(directory, { listen, log, metrics: { listen: path } })), [])
  writeFileSync(path, '')
  symlinkSync('/etc/passwd', log.file)
  t.match(await failures(configOf(directory, { listen, log, metrics: { listen: path } })), [
    { check: 'metrics.listen', detail: `${path} is there and is not a socket`, remedy: 'move it away' },
    { check: 'log.file', detail: /edge\.log is no plain file$/, remedy: /^move it away, or set log\.file/ },
  ])
  rmSync(log.file)
  writeFileSync(log.file, '')
  chmodSync(log.file, 0o666)
  const server = createServer()
  await listening(server, { host: '127.0.0.1', port: 0 })
  t.teardown(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  t.match(await failures(configOf(directory, { listen, log, metrics: { listen: `127.0.0.1:${port}` } })), [
    { check: 'metrics.listen', detail: `127.0.0.1 port ${port} is taken` },
    { check: 'log.file', remedy: 'run chmod 640 on it' },
  ])
})

t.test('a clock that was never set is told, and keeps nothing from starting', async (t) => {
  const directory = t.testdir({ work: {} })
  t.same(await failures(configOf(directory), 0), [])
  const findings = await checkMachine(configOf(directory), 0)
  t.match(
    findings.find(({ check }) => check === 'clock'),
    {
      ok: true,
      detail: /^it says 1970-01-01T00:00:00\.000Z, which is before this program/,
      remedy: /time service/,
    },
  )
})

t.test('too few open files come with the number to set', async (t) => {
  const directory = t.testdir({ work: {} })
  const findings = await checkMachine(configOf(directory, { execution: { max_concurrent: 256 } }), NOW)
  const ulimit = findings.find((finding) => finding.check === 'ulimit')
  t.match(ulimit?.detail, /1824 can be needed/)
})
