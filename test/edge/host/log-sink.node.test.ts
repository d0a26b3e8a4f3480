/**
 * Where the lines of a real daemon go: its file, over a reload and a rotation; the journal, by a socket as systemd has
 * one; and stderr with a priority.
 * @module
 */
import { spawn, spawnSync } from 'node:child_process'
import { dlopen } from 'node:ffi'
import { existsSync, readFileSync, renameSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createLog } from '../../../src/edge/host/log.node.ts'
import { journalEntry } from '../../../src/edge/host/log-sink.node.ts'
import { tls } from '../../integration/connections.node.ts'
import {
  changeConfig,
  environment,
  install,
  PROGRAM,
  sassEdge,
  startDaemon,
  temporary,
  until,
} from '../../integration/daemon.node.ts'
import { stageClock } from '../../session/stage.ts'

const AF_UNIX = 1
const SOCK_DGRAM = 2
const MSG_DONTWAIT = 0x40

/** A bound datagram socket, as the journal has one. */
function journalAt(t: Test, path: string): { take(): string | undefined } {
  const { functions } = dlopen(null, {
    socket: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
    bind: { arguments: ['i32', 'buffer', 'u32'], return: 'i32' },
    recv: { arguments: ['i32', 'buffer', 'u64', 'i32'], return: 'i64' },
    close: { arguments: ['i32'], return: 'i32' },
  })
  const descriptor = functions.socket(AF_UNIX, SOCK_DGRAM, 0)
  const address = Buffer.concat([Buffer.from([AF_UNIX, 0]), Buffer.from(`${path}\0`)])
  t.equal(functions.bind(descriptor, address, address.length), 0, `bound at ${path}`)
  t.teardown(() => functions.close(descriptor))
  return {
    take() {
      const buffer = Buffer.alloc(16_384)
      const bytes = Number(functions.recv(descriptor, buffer, 16_384n, MSG_DONTWAIT))
      return bytes < 0 ? undefined : buffer.toString('utf8', 0, bytes)
    },
  }
}

/** The entries of a log as the journal gets them. */
function entries(write: (log: ReturnType<typeof createLog>) => void): string[] {
  const sent: string[] = []
  write(
    createLog('text', 'debug', stageClock(), (_line, entry) => {
      sent.push(journalEntry(entry))
      return true
    }),
  )
  return sent
}

t.test('an entry of the journal has its priority, its event and its fields', (t) => {
  const [entry = ''] = entries((log) =>
    log.write('warn', 'refused', { source: '192.0.2.7', seq: 3, reason: 'a b' }),
  )
  t.strictSame(entry.split('\n'), [
    'MESSAGE=warn refused source=192.0.2.7 seq=3 reason="a b"',
    'PRIORITY=4',
    'SYSLOG_IDENTIFIER=sass-edge',
    'SASS_EVENT=refused',
    'SASS_SOURCE=192.0.2.7',
    'SASS_SEQ=3',
    'SASS_REASON=a b',
    '',
  ])
  t.end()
})

t.test('nothing in a field makes another one', (t) => {
  for (const hostile of [
    'x\nPRIORITY=0',
    'x\r\nMESSAGE=fine',
    '\u0000',
    '\u2028_UID=0',
    '"\n\n"',
    '\ud800',
    '\\n',
  ]) {
    const [entry = ''] = entries((log) => log.write('error', 'failed', { reason: hostile }))
    const lines = entry.split('\n')
    t.equal(lines.length, 6)
    t.match(entry, /^[\x20-\x7e\n]*$/)
    t.equal(lines.filter((line) => /^(PRIORITY|MESSAGE|_UID)/.test(line)).length, 2)
    t.equal(JSON.parse(`"${lines[4]?.slice('SASS_REASON='.length)}"`), hostile, 'and it can be read back')
  }
  t.end()
})

t.test('a daemon logs into its file, and a reload takes the one that lies there', async (t) => {
  const directory = await install(t, { log: { file: 'logs/edge.log' } })
  const path = join(directory, '.sass-edge/logs/edge.log')
  const daemon = await startDaemon(t, directory)
  t.strictSame(daemon.log(), [], 'nothing on stderr')
  t.match(readFileSync(path, 'utf8'), /^\S+Z info listening address=/m)
  renameSync(path, `${path}-1`)
  daemon.signal('SIGHUP')
  await until(
    'the new file has a line',
    () => existsSync(path) && readFileSync(path, 'utf8').includes(' info reloaded '),
  )
  t.equal(statSync(path).mode & 0o777 & ~0o640, 0)
  renameSync(path, `${path}-2`)
  symlinkSync('/dev/full', path)
  t.equal((await daemon.cli(['reload'])).code, 0)
  await until('it is told', () =>
    readFileSync(`${path}-2`, 'utf8').includes(' error log_not_reopened reason='),
  )
  await daemon.stop()
  t.match(readFileSync(`${path}-2`, 'utf8'), / info stopped\n$/)
})

t.test(
  'commands see nothing of the log, also once it was rotated, and it never lies where they write',
  async (t) => {
    const directory = await install(t, { log: { file: 'logs/edge.log' } })
    const path = join(directory, '.sass-edge/logs/edge.log')
    const daemon = await startDaemon(t, directory)
    const look = async (): Promise<string> => {
      const script = `d=$(dirname "$PWD"); ls "$d/logs"; cat "$d"/l*gs/*`
      const { stdout, stderr } = await daemon.cli(['exec', '--timeout', '3', '--', 'sh', '-c', script], {
        timeoutMs: 8_000,
      })
      return `${stdout}${stderr}`
    }
    t.notMatch(await look(), /listening|edge\.log/)
    renameSync(path, `${path}.1`)
    t.equal((await daemon.cli(['reload'])).code, 0)
    t.notMatch(await look(), /listening|reloaded|edge\.log/)
    await daemon.stop()
    changeConfig(directory, { log: { file: 'workspace/edge.log' } })
    const inside = await sassEdge(['run'], { cwd: directory })
    t.equal(inside.code, 125)
    t.match(inside.stderr, /log\.file lies in security\.workspace_root, where agents write/)
  },
)

t.test('a flood of strangers fills no more than the files may have', async (t) => {
  const directory = await install(t, {
    log: { file: 'edge.log', max_bytes: 65_536, keep: 1, level: 'debug' },
    acl: { penalties: { enabled: false } },
  })
  const daemon = await startDaemon(t, directory)
  const path = join(directory, '.sass-edge/edge.log')
  // Some 300 bytes each, 50 a second at the most.
  await until(
    'it was rotated',
    async () => {
      await Promise.all(
        Array.from({ length: 20 }, async () => (await tls(daemon.port, { ALPNProtocols: ['h2'] })).closed),
      )
      t.ok(statSync(path).size <= 65_536)
      return existsSync(`${path}.1`)
    },
    60_000,
  )
  t.ok(statSync(`${path}.1`).size <= 65_536)
  t.notOk(existsSync(`${path}.2`))
  for (const line of readFileSync(`${path}.1`, 'utf8').trimEnd().split('\n')) t.match(line, /^\S+Z \w+ \w+/)
})

t.test('a file that cannot be is a sentence at the start', async (t) => {
  const directory = await install(t, { log: { file: 'link' } })
  symlinkSync('/etc/passwd', join(directory, '.sass-edge/link'))
  const linked = await sassEdge(['run'], { cwd: directory })
  t.equal(linked.code, 125)
  t.match(
    linked.stderr,
    /The log file \S+link cannot be opened, since it is a symbolic link: correct that, or set log\.file/,
  )
  changeConfig(directory, { log: { file: '/proc/nothing/log' } })
  t.equal((await sassEdge(['run'], { cwd: directory })).code, 125)
})

t.test('a full disk stops no daemon, and what its file does not take is on stderr', async (t) => {
  const directory = await install(t, { log: { file: '/dev/shm/none' } })
  const place = join(directory, 'small')
  spawnSync('mkdir', [place])
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4k,nr_inodes=10', 'tmpfs', place]).status !== 0)
    return void t.comment('skipped: nothing can be mounted here')
  t.teardown(() => spawnSync('umount', ['-l', place]))
  changeConfig(directory, { log: { file: join(place, 'log') } })
  spawnSync('sh', ['-c', 'yes > "$0"', join(place, 'full')])
  const daemon = await startDaemon(t, directory)
  t.match(daemon.log().join('\n'), / info listening /)
  t.equal((await daemon.cli(['exec', '--', 'true'])).code, 0)
  spawnSync('rm', [join(place, 'full')])
  // What was missed is told with the first line of a later second.
  await until('it is in the file again, and says what it misses', async () => {
    t.equal((await daemon.cli(['reload'])).code, 0)
    const text = readFileSync(join(place, 'log'), 'utf8')
    return / info reloaded /.test(text) && / warn log_missed lines=\d+/.test(text)
  })
})

/** A daemon whose stderr is what its environment says that the journal is; `journal` names the directory of a socket. */
async function underJournal(
  t: Test,
  directory: string,
  journal: string | undefined,
  format: 'text' | 'json',
) {
  changeConfig(directory, { log: { format } })
  const stderr = join(directory, 'stderr')
  const seen = 'JOURNAL_STREAM=$(stat -Lc %d:%i /proc/self/fd/2)'
  const bind =
    journal === undefined
      ? ''
      : `mount -t tmpfs none /run && mkdir -p /run/systemd && ln -s '${journal}' /run/systemd/journal && `
  const command = `${bind}${seen} exec "${PROGRAM}" run --json 2>>"${stderr}"`
  const inner = `exec 2>>"${stderr}"; ${command}`
  const [file, args] =
    journal === undefined ? ['/bin/sh', ['-c', inner]] : ['unshare', ['-m', '/bin/sh', '-c', inner]]
  const child = spawn(file, args, {
    cwd: directory,
    env: environment(directory),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let said = ''
  child.stdout.on('data', (bytes: Buffer) => {
    said += bytes.toString()
  })
  await until('it listens', () => said.endsWith('\n') || child.exitCode !== null)
  t.match(said, /"address"/)
  return { stderr: () => readFileSync(stderr, 'utf8'), child }
}

t.test('a daemon under the journal gives it fields, and where it does not listen a priority', async (t) => {
  const directory = await install(t)
  const alone = await underJournal(t, directory, undefined, 'text')
  t.match(alone.stderr(), /^<6>info listening address=127/m)
  alone.child.kill('SIGTERM')
  await until('it has ended', () => alone.child.exitCode !== null)
  const json = await underJournal(t, directory, undefined, 'json')
  t.match(json.stderr(), /^<6>\{"time":/m)
  json.child.kill('SIGTERM')
  await until('it has ended', () => json.child.exitCode !== null)

  if (spawnSync('unshare', ['-m', 'true']).status !== 0)
    return void t.comment('skipped: nothing can be mounted here')
  const place = temporary(t)
  const journal = journalAt(t, join(place, 'socket'))
  const native = await underJournal(t, directory, place, 'text')
  let entry = ''
  await until('an entry of it', () => {
    entry = journal.take() ?? ''
    return entry.includes('SASS_EVENT=listening')
  })
  t.match(entry, /^MESSAGE=info listening address=127\S+ /m)
  t.match(
    entry,
    /^PRIORITY=6\nSYSLOG_IDENTIFIER=sass-edge\nSASS_EVENT=listening\nSASS_ADDRESS=127\.0\.0\.1:\d+$/m,
  )
  t.notMatch(native.stderr(), /<6>info listening.*\n.*<6>info listening.*\n.*<6>info listening/s)
  native.child.kill('SIGTERM')
})

t.test('an environment that was inherited is not believed', async (t) => {
  const directory = await install(t)
  const child = spawn(PROGRAM, ['run'], {
    cwd: directory,
    env: environment(directory, { JOURNAL_STREAM: '9:12345' }),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let said = ''
  child.stderr.on('data', (bytes: Buffer) => {
    said += bytes.toString()
  })
  await until('it listens', () => said.includes('listening'))
  t.match(said, /^\S+Z info listening /m)
})
