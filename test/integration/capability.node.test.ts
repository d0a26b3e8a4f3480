/**
 * A capability set on a whole daemon: each of its five dimensions lets through what is within it and refuses what is
 * beyond; and what ordinary work names in its workspace is allowed as it is installed.
 * @module
 */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Client, connect } from '../../src/client/client.node.ts'
import { question } from './agents.node.ts'
import {
  changeConfig,
  type Daemon,
  install,
  type Json,
  startDaemon,
  startNew,
  temporary,
  until,
} from './daemon.node.ts'

const REFUSES = { defense: { deny_response: 'reason', levels: { automatic: false } } }

function client({ port, fingerprint: pin, seed }: Daemon): Promise<Client> {
  return connect({ host: '127.0.0.1', port, agent: 'agent', privateKey: seed(), pin })
}

async function printed(device: Client, command: string, ...args: string[]): Promise<string> {
  return Buffer.from((await device.execute(command, args)).stdout).toString()
}

/** The code that it is refused with. */
async function code(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'done'
  } catch (cause) {
    return String((cause as { code?: unknown }).code)
  }
}

/** A daemon whose only set is this one, made for where its workspace is. */
async function bounded(t: Test, set: (workspace: string) => Json): Promise<Daemon> {
  const directory = await install(t, REFUSES)
  const all = { allowed_commands: ['*'], allowed_paths: ['*'], max_file_size_bytes: 1_000_000 }
  const own = set(join(directory, '.sass-edge/workspace'))
  changeConfig(directory, { capabilities: { default: { ...all, ...own } } })
  return startDaemon(t, directory)
}

t.test(
  'commands, paths, processes, run time and bytes of a file: each of the five dimensions holds (SS-18, SS-19)',
  async (t) => {
    const daemon = await bounded(t, (workspace) => ({
      allowed_commands: ['echo', 'sleep', 'cat', 'git status'],
      denied_commands: ['sleep infinity', 'cp'],
      allowed_paths: ['$WORKSPACE'],
      denied_paths: [join(workspace, 'secret')],
      max_concurrent: 2,
      timeout_seconds: 4,
      max_file_size_bytes: 1_000,
    }))
    const { workspace } = daemon
    mkdirSync(join(workspace, 'secret'))
    for (const name of ['plain', 'secret/key']) writeFileSync(join(workspace, name), 'text')
    const device = await client(daemon)
    const runs = (command: string, ...args: string[]) => code(device.execute(command, args))

    t.equal(await runs('echo', 'x'), 'done', 'an allowed command')
    t.equal(await runs('touch', 'x'), 'CAPABILITY_CMD_DENIED', 'one that nothing allows')
    t.equal(await runs('git', 'push'), 'CAPABILITY_CMD_DENIED', 'nor with these arguments')
    t.equal(await runs('sleep', 'infinity'), 'CAPABILITY_CMD_DENIED', 'denied, though allowed as well')

    const startsIn = (cwd: string) => code(device.execute('echo', ['x'], { cwd }))
    t.equal(await startsIn('.'), 'done', 'an allowed path')
    t.equal(await startsIn('secret'), 'CAPABILITY_PATH_DENIED', 'a denied one beneath it')
    t.equal(await startsIn('/usr'), 'CAPABILITY_PATH_DENIED', 'one that nothing allows')
    t.equal(await runs('cat', 'plain'), 'done')
    t.equal(await runs('cat', 'secret/key'), 'CAPABILITY_PATH_DENIED', 'nor is it named')

    const local = join(temporary(t), 'file')
    t.equal(await code(device.upload(randomBytes(1_000), 'just')), 'done', 'a file of so many bytes')
    t.equal(await code(device.upload(randomBytes(1_001), 'more')), 'FILE_TOO_LARGE')
    t.equal(await code(device.download('just', local)), 'done')
    writeFileSync(join(workspace, 'large'), randomBytes(1_001))
    t.equal(await code(device.download('large', local)), 'FILE_TOO_LARGE')

    t.equal(await runs('sleep', '30'), 'EXECUTION_TIMEOUT', 'four seconds and no more')

    const both = [device.execute('sleep', ['1.5']), device.execute('sleep', ['1.5'])]
    await until('two', async () => (await device.ping()).active_processes === 2)
    const third = device.execute('echo', ['x'])
    t.equal((await device.ping()).active_processes, 2, 'a third one waits')
    await Promise.all([...both, third])
  },
)

t.test(
  'a file that is read or written outside its roots is refused, by whatever name (OS-05, RX-16, SA-56)',
  async (t) => {
    const outside = temporary(t)
    const daemon = await bounded(t, (workspace) => ({ allowed_paths: [join(workspace, 'in')] }))
    const { workspace } = daemon
    for (const name of ['in', 'in/deep', 'beside', 'in-not']) mkdirSync(join(workspace, name))
    for (const name of ['in/file', 'beside/file', 'in-not/file']) writeFileSync(join(workspace, name), 'text')
    writeFileSync(join(outside, 'file'), 'text')
    symlinkSync('../beside', join(workspace, 'in/out'))
    symlinkSync(outside, join(workspace, 'in/far'))
    symlinkSync('deep', join(workspace, 'in/same'))
    const device = await client(daemon)
    const local = join(temporary(t), 'file')
    const tries = async (path: string) => [
      await code(device.download(path, local)),
      await code(device.upload(Buffer.from('x'), path)),
    ]
    for (const path of ['in/file', join(workspace, 'in/file'), 'in/deep/../file'])
      t.strictSame(await tries(path), ['done', 'done'], path)
    t.strictSame(
      (await tries(join(workspace, 'in/same/new'))).slice(1, 2),
      ['done'],
      'a link that stays inside',
    )
    for (const path of [
      join(workspace, 'beside/file'),
      join(workspace, 'in-not/file'),
      join(workspace, 'in/../beside/file'),
      join(workspace, 'in/out/file'),
      join(workspace, 'in/far/file'),
      join(outside, 'file'),
      '/etc/hostname',
      '/new',
    ])
      for (const refused of await tries(path)) t.match(refused, /^(CAPABILITY|FILE)_PATH_DENIED$/, path)
    t.equal(readFileSync(join(outside, 'file'), 'utf8'), 'text')
    t.notOk(existsSync('/new'))
  },
)

t.test(
  'a file is read and written past the guard of sensitive files and the scope, and is logged with who did it (JF-015, JF-039, JF-062)',
  async (t) => {
    const daemon = await bounded(t, (workspace) => ({ allowed_paths: [workspace] }))
    const { workspace } = daemon
    for (const name of ['plain', '.env']) writeFileSync(join(workspace, name), 'text')
    const device = await client(daemon)
    const local = join(temporary(t), 'file')
    const ways = (path: string): readonly (() => Promise<unknown>)[] => [
      () => device.download(path, local),
      () => device.upload(Buffer.from('new'), path),
    ]
    for (const go of ways(join(workspace, '../beyond'))) t.equal(await code(go()), 'CAPABILITY_PATH_DENIED')
    t.notOk(existsSync(join(workspace, '../beyond')), 'beyond the scope')

    const [download = async () => {}, upload = async () => {}] = ways('.env')
    t.equal(
      await code(download()),
      'RESPONSE_THROTTLED',
      'nobody can be asked while it waits, so it is not moved',
    )
    // Pieces that are small once they are compressed, sent before anybody has answered.
    const packed = () => device.upload(Buffer.alloc(60_000), '.env', { compress: true })
    for (const go of [upload, packed, () => device.execute('cat', ['.env'])])
      for (const answer of ['deny', 'approve']) {
        const asked = code(go())
        const { id, rule } = await question(daemon)
        t.equal(rule, 'sensitive_files', 'a human is asked about a file with secrets')
        t.equal((await daemon.cli(['confirm', answer, id, '--yes'])).code, 0)
        t.equal(await asked, answer === 'deny' ? 'CONFIRMATION_DENIED' : 'done')
      }
    for (const go of [...ways('plain'), () => device.execute('cat', ['plain'])])
      t.equal(await code(go()), 'done', 'what is neither is done at once')

    const instance = /^agent-\d{8}T\d{6}Z?-[0-9a-f]+$/
    const files = daemon.audit().filter(({ action }) => action === 'download' || action === 'upload')
    t.equal(files.filter(({ response }) => response === 'R1').length, 4)
    for (const event of [...files, ...daemon.audit().filter(({ type }) => type === 'transfer_ended')])
      t.match(
        event,
        { agent: 'agent', instance },
        `${event['type']} ${event['response'] ?? event['outcome']}`,
      )
  },
)

t.test('ordinary relative paths inside the workspace are allowed as it is installed (OS-03)', async (t) => {
  const daemon = await startNew(t, REFUSES)
  for (const name of ['data', 'src']) mkdirSync(join(daemon.workspace, name))
  for (const name of ['data/file.txt', 'src/index.ts']) writeFileSync(join(daemon.workspace, name), name)
  const device = await client(daemon)
  const local = join(temporary(t), 'file')
  for (const path of ['./data/file.txt', 'src/index.ts', 'data/../src/./index.ts']) {
    t.equal(await code(device.execute('cat', [path])), 'done', path)
    t.equal(await code(device.execute('tee', [path])), 'done', path)
    t.equal(await code(device.upload(Buffer.from('new'), path)), 'done', path)
    t.equal(await code(device.download(path, local)), 'done', path)
    t.equal(await printed(device, 'cat', path), 'new', 'what was written is there')
  }
  t.equal(await code(device.execute('touch', ['./data/new.txt'])), 'done')
  t.equal(await printed(device, 'ls', 'data'), 'file.txt\nnew.txt\n')
})
