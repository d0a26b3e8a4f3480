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

t.test(
  'Ansible with its own ssh plugin: raw, and where the device has Python ping, copy and template',
  { skip: has('ansible') ? false : 'ansible is not installed' },
  async (t) => {
    const temporary = join(daemon.workspace, 'ansible')
    const python = has('python3') ? execFileSync('python3', ['-c', 'import sys; print(sys.executable)']) : ''
    const variables = [
      'ansible_connection=ssh',
      `ansible_ssh_executable=${PROGRAM}`,
      'ansible_ssh_transfer_method=piped',
      `ansible_remote_tmp=${temporary}`,
      ...(python.length > 0 ? [`ansible_python_interpreter=${python.toString().trim()}`] : []),
    ]
    // The first as the manual says it; the second with what Ansible gives to ssh when nobody says anything.
    writeFileSync(join(directory, 'wrapped'), `#!/bin/sh\nexec ${PROGRAM} rsh "$@"\n`, { mode: 0o755 })
    const wrapped = variables.with(1, `ansible_ssh_executable=${join(directory, 'wrapped')}`)
    writeFileSync(join(directory, 'inventory'), `local ${variables.join(' ')} ansible_ssh_args=rsh\n`)
    writeFileSync(join(directory, 'persisting'), `local ${wrapped.join(' ')}\n`)
    writeFileSync(join(directory, 'made.j2'), 'of {{ inventory_hostname }}\n')
    const home = join(directory, 'ansible-home')
    const ansible = (inventory: string, ...words: readonly string[]) =>
      run('ansible', ['all', '-i', inventory, ...words], {
        ANSIBLE_HOME: home,
        ANSIBLE_LOCAL_TEMP: join(home, 'tmp'),
        ANSIBLE_NOCOLOR: '1',
      })
    for (const inventory of ['inventory', 'persisting']) {
      const pong = await ansible(inventory, '-m', 'raw', '-a', 'echo pong')
      t.equal(pong.code, 0, pong.stdout.toString() + pong.stderr)
      t.match(pong.stdout.toString(), /^local \| CHANGED \| rc=0 >>\r?\npong\r?\n/)
    }
    t.match((await ansible('inventory', '-m', 'raw', '-a', 'exit 3')).stdout.toString(), /FAILED \| rc=3/)
    if (python.length === 0) return t.comment('skipped: python3, which modules need, is not installed')
    const ping = await ansible('persisting', '-m', 'ping')
    t.match(ping.stdout.toString(), /local \| SUCCESS => \{[^}]*"ping": "pong"/, ping.stderr)
    for (const [module, source] of [
      ['copy', 'inventory'],
      ['template', 'made.j2'],
    ]) {
      const kept = join(daemon.workspace, `of-${module}`)
      const answer = await ansible('inventory', '-m', module ?? '', '-a', `src=${source} dest=${kept}`)
      t.equal(answer.code, 0, answer.stdout.toString() + answer.stderr)
      const there = await daemon.cli(['exec', '--', 'cat', kept])
      const sent = source === 'made.j2' ? 'of local\n' : readFileSync(join(directory, 'inventory'), 'utf8')
      t.equal(there.stdout.toString(), sent)
      t.notOk(existsSync(kept), 'in the branch, until somebody merges it')
    }
  },
)

t.test('options of ours among the words are those of the command', async (t) => {
  const answer = await daemon.cli(['rsh', 'local', 'echo', '--json', '--help'])
  t.equal(answer.stdout.toString(), '--json --help\n')
  const refused = await daemon.cli(['rsh', '-L', '8080:a:80', 'local', 'true'])
  t.equal(refused.code, 125)
  t.match(refused.stderr, /^sass-edge: sass-edge rsh: -L cannot be had: it forwards nothing\.\n$/)
  t.match((await daemon.cli(['rsh', '--help'])).stdout.toString(), /GIT_SSH_COMMAND/)
})
