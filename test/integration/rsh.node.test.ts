/**
 * Programs that know ssh, over `sass-edge rsh` and a real daemon: rsync both ways, git clone and push, and what
 * Ansible asks of its connection.
 * @module
 */
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { collect, environment, PROGRAM, type Result, ROOT, startNew } from './daemon.node.ts'

const daemon = await startNew(t)
const { directory } = daemon
const RSH = `${PROGRAM} rsh`

/** Runs one of the others' programs in the directory of the installation. */
function run(program: string, args: readonly string[], more: Record<string, string> = {}): Promise<Result> {
  return collect(
    spawn(program, args, {
      cwd: directory,
      env: environment(directory, { PATH: process.env['PATH'] ?? '', ...more }),
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  )
}

function has(program: string): boolean {
  return (process.env['PATH'] ?? '').split(':').some((place) => existsSync(join(place, program)))
}

function tree(place: string): string[] {
  return readdirSync(place, { recursive: true, encoding: 'utf8' }).sort()
}

t.test(
  'rsync copies a tree there and back, over an older one too',
  { skip: has('rsync') ? false : 'rsync is not installed' },
  async (t) => {
    const from = join(directory, 'from')
    cpSync(join(ROOT, 'docs'), join(from, 'docs'), { recursive: true })
    mkdirSync(join(from, 'a b/c'), { recursive: true })
    writeFileSync(join(from, 'a b/c/$x; "y"'), 'z')
    symlinkSync('docs/policy.md', join(from, 'link'))
    for (const round of [1, 2]) {
      // Of another size each time: rsync looks at that and at the second of the last change.
      writeFileSync(join(from, 'docs/policy.md'), 'x'.repeat(round))
      const there = await run('rsync', ['-a', '--delete', '-e', RSH, 'from/', 'local:kept/'])
      t.same(there, { code: 0, signal: null, stdout: Buffer.alloc(0), stderr: '' })
    }
    const back = await run('rsync', ['-az', '-e', RSH, 'local:kept/', 'back/'])
    t.equal(back.code, 0, back.stderr)
    t.same(tree(join(directory, 'back')), tree(from))
    t.equal(execFileSync('diff', ['-r', 'from', 'back'], { cwd: directory }).length, 0)
    t.notOk(existsSync(join(daemon.workspace, 'kept')), 'it lies in the branch')
  },
)

t.test(
  'git clones a repository of the branch, and pushes to it',
  { skip: has('git') ? false : 'git is not installed' },
  async (t) => {
    const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.org']
    const made = await daemon.cli([
      'exec',
      '--',
      'sh',
      '-c',
      `git init -q repo && cd repo && seq 1 20000 > numbers && git add . && git ${who.join(' ')} commit -qm one`,
    ])
    t.equal(made.code, 0, made.stderr)
    const git = (...args: string[]) => run('git', args, { GIT_SSH_COMMAND: RSH })
    const cloned = await git('clone', '-q', 'local:repo', 'clone')
    t.equal(cloned.code, 0, cloned.stderr)
    t.equal(readFileSync(join(directory, 'clone/numbers'), 'utf8').split('\n').length, 20_001)
    t.equal((await git('-C', 'clone', ...who, 'commit', '-q', '--allow-empty', '-m', 'two')).code, 0)
    const pushed = await git('-C', 'clone', 'push', '-q', 'origin', 'HEAD:refs/heads/next')
    t.equal(pushed.code, 0, pushed.stderr)
    const log = await daemon.cli(['exec', '--', 'git', '-C', 'repo', 'log', '--format=%s', 'next'])
    t.equal(log.stdout.toString(), 'two\none\n')
  },
)

t.test('what Ansible sends for its raw module comes back with its exit code', async (t) => {
  const words = ['-C', '-o', 'ControlMaster=auto', '-o', 'ConnectTimeout=10', '-tt', 'local']
  const answer = await daemon.cli(['rsh', ...words, '/bin/sh -c \'echo "pong  two"; exit 3\''])
  t.equal(answer.code, 3)
  t.equal(answer.stdout.toString(), 'pong  two\r\n', 'through a terminal, as -tt asks')
  const plain = await daemon.cli(['rsh', '-T', 'local', 'echo', '"a   b";', 'cat'], { input: 'in\n' })
  t.equal(plain.stdout.toString(), 'a   b\nin\n')
})

t.test('options of ours among the words are those of the command', async (t) => {
  const answer = await daemon.cli(['rsh', 'local', 'echo', '--json', '--help'])
  t.equal(answer.stdout.toString(), '--json --help\n')
  const refused = await daemon.cli(['rsh', '-L', '8080:a:80', 'local', 'true'])
  t.equal(refused.code, 125)
  t.match(refused.stderr, /^sass-edge: sass-edge rsh: -L cannot be had: it forwards nothing\.\n$/)
  t.match((await daemon.cli(['rsh', '--help'])).stdout.toString(), /GIT_SSH_COMMAND/)
})
