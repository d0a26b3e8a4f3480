import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadCommands } from '../../src/cli/commands.node.ts'
import { commandWords } from '../../src/cli/words/completion-words.ts'
import { CODE_CACHE, runMain } from './run-main.node.ts'

const MAIN = join(import.meta.dirname, '../../src/main.ts')
const HOSTS = { edge7: 'ci@edge7.example', boat: { target: 'boat.example' } }

/** A line as typed up to the TAB, and all that must be offered there. */
const OFFERED: readonly (readonly [line: string, offered: readonly string[]])[] = [
  ['sass-edge ex', ['exec']],
  ['sass-edge exec --ti', ['--timeout']],
  ['sass-edge exec --branch ', ['latest', 'new']],
  ['sass-edge exec --id ', []],
  ['sass-edge exec ed', ['edge7']],
  ['sass-edge --config x.json exec ', ['boat', 'edge7']],
  ['sass-edge kill --target b', ['boat']],
  ['sass-edge branch ', ['checkpoint', 'diff', 'drop', 'list', 'merge', 'undo']],
  ['sass-edge trust ', ['boat', 'edge7', 'list']],
  ['sass-edge cp ed', ['edge7:']],
  ['sass-edge completion ', ['bash', 'fish', 'targets', 'zsh']],
  ['sass-edge exec -- --ti', []],
]

function has(shell: string): boolean {
  return spawnSync(shell, ['-c', 'exit 0']).status === 0
}

/** A home with names of devices, and a sass-edge that the scripts can ask for them. */
function homeOf(t: Test): string {
  const home = t.testdir({ '.config': { 'sass-edge': { 'hosts.json': JSON.stringify(HOSTS) } }, bin: {} })
  const program = join(home, 'bin/sass-edge')
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
  chmodSync(program, 0o755)
  return home
}

/** What `shell` says when it runs `script` with the completion of sass-edge in the file c. */
function runShell(home: string, words: readonly [string, ...string[]]): string {
  const [shell, ...rest] = words
  const env = { HOME: home, PATH: `${join(home, 'bin')}:${process.env['PATH']}`, TERM: 'dumb', ...CODE_CACHE }
  return execFileSync(shell, rest, { cwd: home, env, encoding: 'utf8' })
}

async function writeScript(home: string, shell: string): Promise<void> {
  const run = await runMain(home, ['completion', shell])
  if (run.code !== 0) throw new Error(run.stderr)
  writeFileSync(join(home, 'c'), run.stdout)
}

const sorted = (text: string) => text.split('\n').filter(Boolean).sort()

t.test(
  'bash completes commands, options, values and devices',
  { skip: !has('bash') && 'no bash here' },
  async (t) => {
    const home = homeOf(t)
    await writeScript(home, 'bash')
    const ask = `source ./c; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _sass_edge; printf '%s\\n' "\${COMPREPLY[@]}"`
    for (const [line, offered] of OFFERED) {
      t.strictSame(sorted(runShell(home, ['bash', '-c', ask, 'bash', ...line.split(' ')])), offered, line)
    }
    // Readline hands these over in three words, and replaces the @ with the word behind it.
    for (const [words, offered] of [
      ['exec --branch = n', 'new'],
      ['exec ci @ ed', '@edge7'],
    ] as const) {
      const found = runShell(home, ['bash', '-c', ask, 'bash', 'sass-edge', ...words.split(' ')])
      t.strictSame(sorted(found), [offered], words)
    }
  },
)

t.test('fish completes the same', { skip: !has('fish') && 'no fish here' }, async (t) => {
  const home = homeOf(t)
  await writeScript(home, 'fish')
  for (const [line, offered] of OFFERED) {
    const text = runShell(home, ['fish', '--no-config', '-c', `source ./c; complete -C '${line}'`])
    t.strictSame(sorted(text.replace(/\t.*$/gm, '')), offered, line)
  }
})

t.test('zsh completes the same', { skip: !has('zsh') && 'no zsh here' }, async (t) => {
  const home = homeOf(t)
  await writeScript(home, 'zsh')
  // A zsh with a terminal of its own types the line and TAB, and a key of ours says what the line is then.
  const inner = `
autoload -U compinit; compinit -D -u; source ./c
tell() { print -r -- "$BUFFER" >told }
zle -N tell; bindkey '^T' tell
: >ready`
  writeFileSync(join(home, 'inner'), inner)
  const outer = `
zmodload zsh/zpty; zpty z zsh -f -i; zpty -w z 'source ./inner'
until [[ -e ready ]]; do zpty -rt z ignored; sleep 0.05; done
zpty -w -n z "$1"$'\\t\\C-t'
until [[ -s told ]]; do zpty -rt z ignored; sleep 0.05; done
zpty -d z; cat told; rm -f ready told`
  const more = [
    ['sass-edge branch me', ['merge']],
    ['sass-edge trust li', ['list']],
    ['sass-edge exec --branch=n', ['--branch=new']],
  ] as const
  for (const [line, offered] of [...OFFERED, ...more].filter(([, { length }]) => length <= 1)) {
    const told = runShell(home, ['zsh', '-f', '-c', outer, 'zsh', line]).replace(/[ =]?\n$/, '')
    const typed = line.slice(0, line.lastIndexOf(' ') + 1)
    t.equal(told, offered[0] === undefined ? line.trimEnd() : `${typed}${offered[0]}`, line)
  }
})

t.test('the words of a command follow from its usage, and every command has its own', async (t) => {
  const commands = (await loadCommands()).map((command) => commandWords(command, false))
  const of = (name: string) => commands.find((command) => command.name === name)
  t.match(of('exec'), { subwords: [], target: true, remotePath: false, files: false })
  t.match(of('cp'), { subwords: [], target: false, remotePath: true, files: true })
  t.match(of('audit'), {
    subwords: ['verify', 'anchor', 'replay', 'export', 'incident', 'tail'],
    files: true,
  })
  t.match(of('run'), { subwords: [], target: false, files: false })
  t.match(of('doctor'), { target: true })
})

t.test('another shell, one word too many and broken names of devices are said', async (t) => {
  const home = homeOf(t)
  t.equal((await runMain(home, ['completion', 'tcsh'])).code, 125)
  t.equal((await runMain(home, ['completion'])).code, 125)
  t.equal((await runMain(home, ['completion', 'bash', 'x'])).code, 125)
  t.same(JSON.parse((await runMain(home, ['completion', 'targets', '--json'])).stdout), {
    targets: ['edge7', 'boat'],
  })
  writeFileSync(join(home, '.config/sass-edge/hosts.json'), '{')
  t.equal((await runMain(home, ['completion', 'targets'])).code, 125)
})
