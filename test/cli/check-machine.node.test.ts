/**
 * check and what no file says: ports and users of this machine, descriptors, disks, the clock, and a branch that cannot
 * be made. Each is made as it is told of, where this user may.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../src/config/config.ts'
import { checkMachine } from '../../src/edge/setup/preflight.node.ts'
import { checkSandbox } from '../../src/edge/setup/preflight-device.node.ts'
import { hasOpenssl, isRoot, look, QUICK, SOCKET, SOUND, toldOf } from './check-told.node.ts'

t.test('a privileged port, more descriptors than there are and another user, for a user', async (t) => {
  if (!isRoot) return t.comment('skipped: only root can become another user')
  if (Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8')) <= 80)
    return t.comment('skipped: this machine lets every user listen on every port')
  const parsed = parseConfig(
    {
      ...SOUND,
      listen: { port: 80, admin_socket: SOCKET },
      sandbox: { limits: { open_files: 1_048_576 } },
      capabilities: { default: { run_as: 'root' } },
    },
    { configDirectory: t.testdir({ work: {} }) },
  )
  if (!parsed.ok) throw new Error('the configuration is sound')
  process.seteuid?.(65_534)
  const findings = await checkMachine(parsed.config, Date.now()).finally(() => process.seteuid?.(0))
  t.match(
    findings.find(({ check }) => check === 'listen.port'),
    { ok: false, detail: /may not listen on port 80/, remedy: /use 19284/ },
  )
  t.match(
    findings.find(({ check }) => check === 'sandbox.limits.open_files'),
    { ok: false, detail: /the daemon can give [0-9]+ at most/, remedy: /^write [0-9]+, or null/ },
  )
  t.match(
    findings.find(({ check }) => check === 'capabilities.default.run_as'),
    { ok: false, detail: /only a daemon that is root/, remedy: /or write null/ },
  )
})

t.test('a port that is taken, descriptors that do not suffice, a clock that was never set', async (t) => {
  const directory = t.testdir({ work: {} })
  const server = createServer()
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve))
  t.teardown(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const config = { ...SOUND, listen: { port, admin_socket: SOCKET } }
  writeFileSync(join(directory, 'c.json'), JSON.stringify(config))
  const taken = toldOf(await look(join(directory, 'c.json')))
  t.match(taken, [{ path: 'listen.port', says: /is taken; stop what listens there/ }])

  const parsed = parseConfig(SOUND, { configDirectory: directory })
  if (!parsed.ok) throw new Error('the configuration is sound')
  const early = await checkMachine(parsed.config, Date.UTC(1970, 0, 1), false)
  t.match(
    early.find(({ check }) => check === 'clock'),
    { ok: true, detail: /never set/, remedy: /time service/ },
  )

  const main = join(import.meta.dirname, '../../src/main.ts')
  writeFileSync(join(directory, 'c.json'), JSON.stringify(SOUND))
  const words = `ulimit -n 256 && exec "${process.execPath}" "${main}" check --config c.json`
  const few = spawnSync('sh', ['-c', words], { cwd: directory, encoding: 'utf8' })
  t.equal(few.status, 125)
  t.match(
    few.stdout,
    /^FAILED {2}ulimit: 256 open files are allowed.*run ulimit -n [0-9]+, or set LimitNOFILE=/m,
  )
})

t.test(
  'a certificate that is not valid yet, by a clock that was never set, is the fault of the clock',
  async (t) => {
    const directory = t.testdir({ work: {}, state: {} })
    if (!hasOpenssl) return t.comment('skipped: openssl is not installed')
    const files = ['-keyout', join(directory, 'state/tls.key'), '-out', join(directory, 'state/tls.crt')]
    const made = spawnSync('openssl', [
      'req',
      '-x509',
      '-nodes',
      '-newkey',
      'ed25519',
      '-subj',
      '/CN=t',
      ...files,
    ])
    t.equal(made.status, 0)
    chmodSync(join(directory, 'state/tls.key'), 0o600)
    const parsed = parseConfig(SOUND, { configDirectory: directory })
    if (!parsed.ok) throw new Error('the configuration is sound')
    const findings = await checkMachine(parsed.config, Date.UTC(1970, 0, 1), false)
    t.match(
      findings.filter(({ ok }) => !ok),
      [{ check: 'tls.certificate', remedy: /set the clock/ }],
    )
  },
)

t.test('a disk that is nearly full, and one that is smaller than what is reserved on it', async (t) => {
  if (!isRoot) return t.comment('skipped: only root can mount a small disk')
  const directory = t.testdir({ work: {}, state: {} })
  const main = join(import.meta.dirname, '../../src/main.ts')
  const run = (reserve: number, fill: string) => {
    writeFileSync(join(directory, 'c.json'), JSON.stringify({ ...QUICK, audit: { reserve_bytes: reserve } }))
    const check = `"${process.execPath}" "${main}" check --config c.json`
    const words = `mount -t tmpfs -o size=4m,mode=700 none state && ${fill} && exec ${check}`
    return spawnSync('unshare', ['--mount', 'sh', '-c', words], { cwd: directory, encoding: 'utf8' })
  }
  const small = run(8_388_608, 'true')
  if (small.status !== 125)
    return t.comment(`skipped: no disk can be mounted here (${small.stderr.slice(0, 100)})`)
  t.match(small.stdout, /^FAILED {2}audit\.reserve_bytes: .*more than the whole disk.*write 1048576/m)
  const low = run(3_145_728, 'head -c 2m /dev/zero > state/fill')
  t.match(low.stdout, /^FAILED {2}audit\.reserve_bytes: 2 MiB are free.*make room, or lower it/m)
  const full = run(0, 'head -c 3800k /dev/zero > state/fill')
  t.match(full.stdout, /^FAILED {2}disk: the disk is full: 0 MiB are free.*make room/m)
})

t.test('a branch that cannot be made is told with what to do', async (t) => {
  if (!isRoot) return t.comment('skipped: only root can become another user')
  const directory = t.testdir({ state: {} })
  chownSync(join(directory, 'state'), 65_534, 65_534)
  const parsed = parseConfig(SOUND, { configDirectory: directory })
  if (!parsed.ok) throw new Error('the configuration is sound')
  process.seteuid?.(65_534)
  const findings = await checkSandbox(parsed.config).finally(() => process.seteuid?.(0))
  t.match(findings, [
    {
      check: 'sandbox.require',
      ok: false,
      detail: /is "overlay", and no branch can be made/,
      remedy: /; or write "copy"/,
    },
  ])
})
