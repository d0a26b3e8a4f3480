/**
 * The units under a real systemd, which is process 1 of namespaces of its own over a copy of this system: installed,
 * started, reloaded, drained, killed, hung, misconfigured, with systemd holding the port, and as a user of its own.
 * @module
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { until } from '../integration/daemon.node.ts'
import { ENVIRONMENT, makeRoom, type Room } from './room.node.ts'

const SYSTEMD = '/lib/systemd/systemd'
const BOOT_MS = 30_000
/** Shorter than the 30 s of the unit, which a test need not wait for. */
const WATCHDOG_SECONDS = 4

/** Nothing of the machine itself is set up or cleaned there. */
const LEFT_OUT =
  'systemd-tmpfiles-setup systemd-udevd systemd-udev-trigger systemd-sysctl systemd-modules-load systemd-remount-fs'
const BOOT = `: >/etc/machine-id
for unit in ${LEFT_OUT}; do ln -sf /dev/null "/etc/systemd/system/$unit.service"; done
export container=test
exec ${SYSTEMD} --system --unit=basic.target --log-target=null
`

/** RFC 5737, TEST-NET-1: who comes from there calls more often than `maxretry` of the sample allows. */
const STRANGE = '192.0.2.1'
const STRANGER = `import socket
for _ in range(7):
    one = socket.create_connection(("${STRANGE}", 19284), 5, ("${STRANGE}", 0))
    try:
        one.sendall(b"SSH-2.0-x\\r\\n")
        one.recv(1)
    except ConnectionError:
        pass
`

/** Where a version 2 of control groups is mounted here. */
function controlGroups(): string | undefined {
  return /^\S+ (\S+) cgroup2 /m.exec(readFileSync('/proc/mounts', 'utf8'))?.[1]
}

type Machine = {
  /** Runs in it; throws where it fails, with what it said. */
  run(...argv: readonly string[]): string
  /** As `run`, with how it ended. */
  tried(...argv: readonly string[]): { readonly status: number | null; readonly said: string }
}

/** Its own control group is removed with everything that systemd has made in it. */
function groupFor(t: Test, groups: string): string {
  const group = mkdtempSync(join(groups, 'sass-edge-test-'))
  const remove = (directory: string): void => {
    for (const entry of readdirSync(directory, { withFileTypes: true }))
      if (entry.isDirectory()) remove(join(directory, entry.name))
    spawnSync('rmdir', [directory])
  }
  t.teardown(() => remove(group))
  return group
}

async function boot(t: Test, room: Room, group: string): Promise<Machine> {
  const { argv: started, env } = room.command(['sh', '-c', BOOT], true)
  const inside = 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"'
  const outer = spawn('/bin/sh', ['-c', inside, 'sh', group, ...started], { env, stdio: 'ignore' })
  const ended = new Promise<void>((resolve) => outer.once('exit', () => resolve()))
  t.teardown(async () => {
    outer.kill('SIGKILL')
    await ended
  })
  const init = () =>
    Number(
      spawnSync('ps', ['-o', 'pid=', '--ppid', String(outer.pid)], { encoding: 'utf8' }).stdout.trim() || 0,
    )
  const tried: Machine['tried'] = (...argv) => {
    const { status, stdout, stderr } = spawnSync(
      'nsenter',
      ['-t', String(init()), '-m', '-p', '-C', '-u', '-i', '-n', '-r', '-w', ...argv],
      { encoding: 'utf8', env: ENVIRONMENT },
    )
    return { status, said: `${stdout}${stderr}` }
  }
  await until(
    'a system that runs',
    () => init() > 0 && /running|degraded/.test(tried('systemctl', 'is-system-running').said),
    BOOT_MS,
  )
  return {
    tried,
    run(...argv) {
      const { status, said } = tried(...argv)
      if (status !== 0) throw new Error(`${argv.join(' ')}: ${status} ${said}`)
      return said
    },
  }
}

t.test('a system with systemd', async (t) => {
  const groups = controlGroups()
  if (groups === undefined) return void t.comment('skipped: this machine has no control groups of version 2')
  const room = await makeRoom(t, ['nsenter', 'systemctl', 'runuser', SYSTEMD])
  if (room === undefined) return
  mkdirSync(join(room.archive, 'test'))
  writeFileSync(join(room.archive, 'test/watchdog.conf'), `[Service]\nWatchdogSec=${WATCHDOG_SECONDS}\n`)
  const machine = await boot(t, room, groupFor(t, groups))
  const { run, tried } = machine
  const shown = (property: string) => run('systemctl', 'show', '--value', '-p', property, 'sass-edge').trim()
  const journal = () => run('journalctl', '-u', 'sass-edge', '--no-pager', '-o', 'cat')
  const exec = (...argv: readonly string[]) => tried('sass-edge', 'exec', '--', ...argv)
  const startedAnew = (before: string) =>
    until(
      'another daemon',
      () => {
        const [pid, state] = run(
          'systemctl',
          'show',
          '--value',
          '-p',
          'MainPID,ActiveState',
          'sass-edge',
        ).split('\n')
        return state === 'active' && pid !== '0' && pid !== before
      },
      20_000 + WATCHDOG_SECONDS * 1_000,
    )
  const dropIn = (...source: readonly string[]) => {
    run('mkdir', '-p', '/etc/systemd/system/sass-edge.service.d')
    run('cp', ...source, '/etc/systemd/system/sass-edge.service.d/')
    run('systemctl', 'daemon-reload')
  }

  await t.test('installed and started: it is up when systemd says so', async (t) => {
    run('/run/archive/install.sh')
    run('sass-edge', 'agent', 'add', 'field')
    run('systemctl', 'start', 'sass-edge')
    t.equal(shown('ActiveState'), 'active')
    t.match(shown('StatusText'), 'Listens on 127.0.0.1:19284')
    t.match(journal(), /^ok +sandbox\.require/m, 'what was found before is in the journal')
    t.notMatch(journal(), 'In a second terminal', 'and nothing for people at a terminal')
    t.match(exec('sh', '-c', 'echo kept >file; pwd; cat file; umask'), {
      status: 0,
      said: '/var/lib/sass-edge/workspace\nkept\n0022\n',
    })
    t.match(run('sass-edge', 'branch', 'list'), /field +overlay .*to review/)
    t.equal(run('ls', '/var/lib/sass-edge/workspace'), '', 'the device itself is as it was')
    t.equal(run('stat', '-c', '%a %U', '/run/sass-edge/admin.sock').trim(), '600 root')
  })

  await t.test('its lines have fields of their own in the journal', async (t) => {
    run('systemctl', 'reload', 'sass-edge')
    await until('the line', () => journal().includes('reloaded'), 10_000)
    const lines = run('journalctl', '-u', 'sass-edge', '--no-pager', '-o', 'json', 'SASS_EVENT=reloaded')
    const line = JSON.parse(lines.trim().split('\n').at(-1) ?? '{}') as Record<string, string>
    t.match(line, {
      PRIORITY: '6',
      SYSLOG_IDENTIFIER: 'sass-edge',
      SASS_EVENT: 'reloaded',
      SASS_POLICY: /^[0-9a-f]{16}$/,
    })
  })

  await t.test('stopped, it lets what runs come to its end', async (t) => {
    run('sh', '-c', 'sass-edge exec -- sh -c "sleep 3; echo finished" >/run/drained 2>&1 &')
    await until('the command', () => /1 command/.test(run('sass-edge', 'status')), 10_000)
    run('systemctl', 'stop', 'sass-edge')
    await until('its end', () => run('cat', '/run/drained').includes('finished'), 10_000)
    t.match(shown('Result'), 'success')
    run('systemctl', 'start', 'sass-edge')
  })

  await t.test('killed, it comes back', async (t) => {
    const before = shown('MainPID')
    run('kill', '-KILL', before)
    await startedAnew(before)
    t.match(exec('echo', 'alive'), { status: 0, said: 'alive\n' })
  })

  await t.test('hung, it is ended by the watchdog and comes back', async (t) => {
    dropIn('/run/archive/test/watchdog.conf')
    run('systemctl', 'restart', 'sass-edge')
    const before = shown('MainPID')
    // Longer than the watchdog waits: alive is what feeds it.
    await new Promise((resolve) => setTimeout(resolve, WATCHDOG_SECONDS * 1_500))
    t.equal(shown('MainPID'), before, 'one that answers is left alone')
    run('kill', '-STOP', before)
    await startedAnew(before)
    t.match(exec('echo', 'alive'), { status: 0, said: 'alive\n' })
  })

  await t.test('with a configuration that it cannot start with, it is not tried again', async (t) => {
    const path = '/etc/sass-edge/sass.edge.json'
    run('cp', path, '/run/good.json')
    run('sh', '-c', `echo '{ "listen": { "port": 22 } }' >${path}`)
    t.not(tried('systemctl', 'restart', 'sass-edge').status, 0)
    await until('its end', () => shown('ActiveState') === 'failed', 10_000)
    t.match(shown('ExecMainStatus'), '125')
    t.equal(shown('NRestarts'), '0')
    t.match(journal(), 'listen.port is 22', 'the journal says why')
    run('cp', '/run/good.json', path)
    run('systemctl', 'reset-failed', 'sass-edge')
  })

  await t.test('systemd holds the port, and callers wait while it starts', async (t) => {
    run('systemctl', 'start', 'sass-edge.socket')
    t.equal(shown('ActiveState'), 'inactive')
    t.match(exec('echo', 'first'), { status: 0, said: 'first\n' }, 'the first caller starts it')
    t.equal(shown('ActiveState'), 'active')
    run('systemctl', 'restart', 'sass-edge')
    t.match(exec('echo', 'again'), { status: 0, said: 'again\n' })
    run('systemctl', 'stop', 'sass-edge.service', 'sass-edge.socket')
  })

  await t.test('as a user of its own', async (t) => {
    run('sh', '-c', 'systemctl start sass-edge && sass-edge branch drop --yes && systemctl stop sass-edge')
    dropIn('/run/archive/systemd/unprivileged.conf')
    run('chown', '-R', 'sass-edge:', '/etc/sass-edge', '/var/lib/sass-edge')
    run('systemctl', 'start', 'sass-edge')
    const said = tried(
      'runuser',
      '-u',
      'sass-edge',
      '--',
      'sass-edge',
      'exec',
      '--',
      'sh',
      '-c',
      'id -un; echo kept >file; cat file',
    )
    t.match(said, { status: 0, said: 'sass-edge\nkept\n' })
    // Root is its operator all the same.
    t.match(tried('sass-edge', 'status'), { status: 0 })
    t.match(tried('sass-edge', 'agent', 'invite', 'ci'), { status: 0, said: /^sass1:/m })
    for (const [what, ...argv] of [
      ['agent add', 'sass-edge', 'agent', 'add', 'second'],
      ['check', 'runuser', '-u', 'sass-edge', '--', 'sass-edge', 'check'],
      ['reload', 'sass-edge', 'reload'],
      ['keygen --device', 'sass-edge', 'keygen', '--device'],
      ['reload with it', 'sass-edge', 'reload'],
      ['keygen --device --switch', 'sass-edge', 'keygen', '--device', '--switch'],
      ['restart', 'systemctl', 'restart', 'sass-edge'],
      ['merge', 'sass-edge', 'branch', 'merge', '--yes'],
      ['verify', 'sass-edge', 'audit', 'verify'],
    ] as const) {
      const { status, said } = tried(...argv)
      t.equal(status, 0, `${what}: ${said}`)
    }
    t.equal(
      run('find', '/etc/sass-edge', '/var/lib/sass-edge', '!', '-user', 'sass-edge'),
      '',
      'what root made is its own',
    )
  })

  await t.test('removed, nothing of it is left', async (t) => {
    run('/run/archive/install.sh', '--uninstall', '--purge')
    t.not(tried('systemctl', 'cat', 'sass-edge').status, 0)
    for (const place of [
      '/etc/sass-edge',
      '/var/lib/sass-edge',
      '/usr/bin/sass-edge',
      '/usr/share/sass-edge',
    ])
      t.match(tried('ls', '-d', place).said, 'No such file')
  })

  await t.test('as a package: installed, upgraded while it runs, removed, and purged', async (t) => {
    if (tried('dpkg', '--version').status !== 0) return void t.comment('skipped: dpkg is not installed here')
    // The libraries are there; that dpkg installed them it does not know here.
    const install = () => run('dpkg', '--force-depends', '-i', '/run/archive/sass-edge.deb')
    run('sh', '-c', 'cd /var/lib/dpkg && mkdir -p info updates triggers && touch status available')
    run('rm', '-rf', '/etc/systemd/system/sass-edge.service.d')
    install()
    run('sass-edge', 'agent', 'add', 'field')
    run('systemctl', 'enable', '--now', 'sass-edge')
    const before = shown('MainPID')
    install()
    await startedAnew(before)
    t.match(exec('echo', 'upgraded'), { status: 0, said: 'upgraded\n' })
    run('dpkg', '-r', 'sass-edge')
    t.match(tried('pgrep', '-f', '^/usr/bin/sass-edge').status, 1)
    t.match(run('ls', '/var/lib/sass-edge', '/etc/sass-edge'), /sass\.edge\.json[\s\S]*tls\.key/)
    run('dpkg', '-P', 'sass-edge')
    for (const place of ['/etc/sass-edge', '/var/lib/sass-edge', '/run/sass-edge'])
      t.match(tried('ls', '-d', place).said, 'No such file')
  })

  await t.test('fail2ban keeps out an address that spoke something else', async (t) => {
    if (tried('/usr/bin/python3', '-c', 'import fail2ban.server.filtersystemd, systemd.journal').status !== 0)
      return void t.comment('skipped: fail2ban with python3-systemd is not installed here')
    writeFileSync(join(room.archive, 'test/stranger.py'), STRANGER)
    run('/run/archive/install.sh')
    run(
      'sed',
      '-i',
      's/"127.0.0.1"/"0.0.0.0"/; s/"127.0.0.0\\/8"/"0.0.0.0\\/0"/',
      '/etc/sass-edge/sass.edge.json',
    )
    run('ip', 'addr', 'add', `${STRANGE}/32`, 'dev', 'lo')
    run('systemctl', 'start', 'sass-edge')
    const jails = '/etc/fail2ban/jail.d'
    const samples = '/usr/share/doc/sass-edge/examples/fail2ban'
    run('sh', '-c', `rm -f ${jails}/*; mkdir -p /run/fail2ban /etc/fail2ban/filter.d`)
    run('cp', `${samples}/filter.conf`, '/etc/fail2ban/filter.d/sass-edge.conf')
    // What it does to whom it keeps out is its own affair.
    run('sh', '-c', `{ cat ${samples}/jail.conf; echo 'action = dummy'; } >${jails}/sass-edge.conf`)
    run('fail2ban-server', '-b')
    const status = () => tried('fail2ban-client', 'status', 'sass-edge').said
    await until('the jail', () => status().includes('Banned IP list'), 15_000)
    t.notMatch(status(), STRANGE)
    run('/usr/bin/python3', '/run/archive/test/stranger.py')
    await until('the ban', () => new RegExp(`Banned IP list:\\s*${STRANGE}`).test(status()), 20_000)
    run('fail2ban-client', 'stop')
  })
})
