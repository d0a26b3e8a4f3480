/**
 * OpenSSH as a peer to measure beside: the sshd of the system on a loopback port, with throw-away keys and a
 * configuration of its own in a temporary directory, so that nothing of the machine's own ssh is read or changed.
 * Needs the Debian packages openssh-server and openssh-client; without them there is no peer, and that is said.
 * Sources: sshd_config(5), ssh_config(5); what is not set here is OpenSSH's default, its ciphers included.
 * @module
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const START_TIMEOUT_MS = 10_000
const POLL_MS = 20

export interface SshRun {
  /** The exit code as ssh passes it on: 255 for a failure of ssh itself. */
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  readonly ms: number
}

export interface SshPeer {
  readonly port: number
  /** As `ssh -V` says it. */
  readonly version: string
  /** A connection of its own for one command: TCP, key exchange, authentication, command. `viaPort` goes through a relay. */
  coldExec(args: readonly string[], viaPort?: number): Promise<SshRun>
  /** Opens the connection that `warmExec` multiplexes over. */
  openMaster(viaPort?: number): Promise<void>
  /** A command over the open ControlMaster. */
  warmExec(args: readonly string[]): Promise<SshRun>
  /** Sends `bytes` zeros from the server to the client, over a cold connection, and counts what arrived. */
  throughput(bytes: number, source?: string): Promise<{ readonly bytes: number; readonly ms: number }>
  /** Ends the server and every connection, and removes the temporary directory. */
  stop(): Promise<void>
}

/**
 * Starts an sshd for the user who runs this; undefined, and a line on stderr, where it is not installed.
 * @param sshd its absolute path, which sshd wants to know itself by
 * @throws Error where it is installed and does not start, with what it said.
 */
export async function startSsh(sshd = '/usr/sbin/sshd'): Promise<SshPeer | undefined> {
  if (!existsSync(sshd)) {
    console.error(`skipped: ssh, because ${sshd} is not here (Debian: apt-get install openssh-server)`)
    return undefined
  }
  const directory = mkdtempSync(join(tmpdir(), 'sass-edge-ssh-'))
  const file = (name: string) => join(directory, name)
  for (const name of ['host_key', 'user_key']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', file(name)])
  }
  writeFileSync(file('authorized_keys'), readFileSync(file('user_key.pub')))
  writeFileSync(file('known_hosts'), `peer ${readFileSync(file('host_key.pub'), 'utf8')}`)
  const port = await freePort()
  writeFileSync(
    file('sshd_config'),
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${file('host_key')}`,
      `AuthorizedKeysFile ${file('authorized_keys')}`,
      'PidFile none',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'PermitRootLogin prohibit-password',
      // The temporary directory of the system is writable for everybody, and that is all it would complain of.
      'StrictModes no',
      'UsePAM no',
      // The user's own shell start-up files (bash reads ~/.bashrc under sshd) are not what is measured.
      `SetEnv HOME=${directory}`,
      'UseDNS no',
      'MaxStartups 256',
      'MaxSessions 64',
      'LogLevel ERROR',
      '',
    ].join('\n'),
  )
  // Made by the service of the package where there is one; sshd as root does not start without.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { mode: 0o755, recursive: true })

  const server = spawn(sshd, ['-D', '-e', '-f', file('sshd_config')], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  server.stderr.on('data', (chunk: Buffer) => {
    said = `${said}${chunk}`.slice(-4_096)
  })
  const target = `${userInfo().username}@127.0.0.1`
  const options = (toPort: number) => [
    ...['-F', '/dev/null', '-i', file('user_key'), '-p', String(toPort), '-T'],
    ...[
      'BatchMode=yes',
      'IdentitiesOnly=yes',
      'StrictHostKeyChecking=yes',
      'HostKeyAlias=peer',
      `UserKnownHostsFile=${file('known_hosts')}`,
      'GlobalKnownHostsFile=/dev/null',
      'LogLevel=ERROR',
    ].flatMap((option) => ['-o', option]),
  ]
  let master: ChildProcess | undefined
  const stop = async () => {
    for (const child of [master, server]) {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) continue
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    await until(
      'sshd',
      () => answers(port),
      server,
      () => said,
    )
  } catch (error) {
    await stop()
    throw error
  }
  return {
    port,
    version: versionOf(),
    coldExec: (args, viaPort = port) => run([...options(viaPort), target, '--', quoted(args)]),
    async openMaster(viaPort = port) {
      const started = spawn('ssh', [...options(viaPort), '-M', '-N', '-S', file('control'), target], {
        stdio: 'ignore',
      })
      master = started
      await until(
        'the ControlMaster',
        async () => existsSync(file('control')),
        started,
        () => said,
      )
    },
    warmExec: (args) =>
      run([
        '-F',
        '/dev/null',
        '-T',
        '-S',
        file('control'),
        '-o',
        'ControlMaster=no',
        target,
        '--',
        quoted(args),
      ]),
    async throughput(bytes, source = '/dev/zero') {
      const command = ['ssh', ...options(port), target, '--', `head -c ${bytes} ${source}`]
      // wc reads the pipe: it costs less than any loop here, and a shell joins them without a copy through this process.
      const result = await run(['-c', `${quoted(command)} | wc -c`], '/bin/sh')
      if (result.code !== 0) throw new Error(`ssh did not carry ${bytes} bytes: ${result.stderr.trim()}`)
      return { bytes: Number(result.stdout), ms: result.ms }
    },
    stop,
  }
}

async function run(args: readonly string[], program = 'ssh'): Promise<SshRun> {
  const startMs = performance.now()
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk
  })
  const [code] = await once(child, 'close')
  return { code: typeof code === 'number' ? code : 255, stdout, stderr, ms: performance.now() - startMs }
}

/** ssh joins its arguments with spaces and a shell on the other side splits them again. */
function quoted(args: readonly string[]): string {
  return args.map((text) => `'${text.replaceAll("'", "'\\''")}'`).join(' ')
}

/** A port that was free a moment ago; sshd cannot choose one itself and say which. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('No TCP port is free on 127.0.0.1.')
  return address.port
}

/** True where an SSH banner comes. */
async function answers(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' })
  try {
    const [banner] = await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => [''])])
    return String(banner).startsWith('SSH-2.0')
  } catch {
    // Refused: it does not listen yet.
    return false
  } finally {
    socket.destroy()
  }
}

async function until(
  what: string,
  ready: () => Promise<boolean>,
  child: ChildProcess,
  said: () => string,
): Promise<void> {
  const deadlineMs = performance.now() + START_TIMEOUT_MS
  while (!(await ready())) {
    if (child.exitCode !== null || child.signalCode !== null || performance.now() > deadlineMs) {
      throw new Error(`${what} did not start: ${said().trim() || 'it said nothing'}`)
    }
    await wait(POLL_MS)
  }
}

function versionOf(): string {
  try {
    return execFileSync('/bin/sh', ['-c', 'ssh -V 2>&1'], { encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}
