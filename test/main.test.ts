import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CODE_CACHE, runMain } from './cli/run-main.node.ts'

t.test('--help and help list the commands on stdout, exit 0', async (t) => {
  const directory = t.testdir({})
  for (const word of ['--help', '-h', 'help']) {
    const run = await runMain(directory, [word])
    t.equal(run.code, 0)
    t.match(run.stdout, /Commands:\n {2}run /)
    t.equal(run.stderr, '')
  }
})

t.test('the help of one command, asked for in both ways', async (t) => {
  const directory = t.testdir({})
  const one = await runMain(directory, ['keygen', '--help'])
  const other = await runMain(directory, ['help', 'keygen'])
  t.equal(one.code, 0)
  t.match(one.stdout, 'Usage: sass-edge keygen PATH')
  t.equal(one.stdout, other.stdout)
})

t.test('no command and an unknown command are one sentence and 125', async (t) => {
  const directory = t.testdir({})
  t.match(await runMain(directory, []), {
    code: 125,
    stdout: '',
    stderr: /^sass-edge: No command is given: .*\n$/,
  })
  t.match(await runMain(directory, ['chekc']), {
    code: 125,
    stderr: 'sass-edge: "chekc" is not a command: did you mean check?\n',
  })
})

t.test('with --json an error is one object on stdout, and still one line on stderr', async (t) => {
  const run = await runMain(t.testdir({}), ['--json', 'keygen'])
  t.equal(run.code, 125)
  t.match(JSON.parse(run.stdout), { error: 'USAGE', reason: /^No name/ })
  t.equal(run.stdout.split('\n').length, 2)
  t.match(run.stderr, /^sass-edge: No name for the keys is given: .*\n$/)
})

t.test('common options may stand before the command', async (t) => {
  const directory = t.testdir({ 'c.json': '{}' })
  const run = await runMain(directory, ['--config', 'c.json', '--json', 'config', 'show'])
  t.match(run, { code: 0, stdout: '{}\n' })
})

t.test('a mistyped option before the command is told, and not its value; run takes no words', async (t) => {
  const directory = t.testdir({})
  t.match(await runMain(directory, ['--confg', 'x']), {
    code: 125,
    stderr: /: --confg is not a known option: did you mean --config\?\n$/,
  })
  t.match(await runMain(directory, ['--json', 'x']), { code: 125, stderr: /"x" is not a command/ })
  t.match(await runMain(directory, ['run', 'extra', 'words']), {
    code: 125,
    stderr: /"extra" is one word too many/,
  })
  t.same(readdirSync(directory), [], 'nothing was made')
})

t.test('an argument whose bytes are no UTF-8 is refused, and U+FFFD itself is not', async (t) => {
  const directory = t.testdir({})
  const main = join(import.meta.dirname, '../src/main.ts')
  const said = (bytes: string, ...words: string[]) => {
    const script = `exec "$0" "$@" "$(printf '${bytes}')"`
    const { status, stderr } = spawnSync('sh', ['-c', script, process.execPath, main, ...words], {
      cwd: directory,
      env: { HOME: directory, XDG_RUNTIME_DIR: '/tmp', ...CODE_CACHE },
      encoding: 'utf8',
    })
    return { status, stderr }
  }
  for (const words of [
    ['exec', '--', 'touch'],
    ['shell', '--', 'vi'],
    ['rsh', 'local', 'touch'],
  ])
    t.match(said('n\\377', ...words), { status: 125, stderr: /"n\ufffd"\) has bytes that are no UTF-8/ })
  t.match(said('n\\357\\277\\275', 'exec', '--', 'touch'), {
    status: 125,
    stderr: /There is no configuration/,
  })
})

t.test('-e that names no variable is told', async (t) => {
  t.match(await runMain(t.testdir({}), ['exec', '-e', '=x', '--', 'true']), {
    code: 125,
    stderr: 'sass-edge: -e =x names no variable: write -e NAME=VALUE.\n',
  })
})

t.test('an unknown option of a command names the command', async (t) => {
  const run = await runMain(t.testdir({}), ['check', '--jsn'])
  t.match(run, {
    code: 125,
    stderr: 'sass-edge: sass-edge check: --jsn is not a known option: did you mean --json?\n',
  })
})
