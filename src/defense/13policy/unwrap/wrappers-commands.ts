/**
 * Programs that run a command from the middle of their own words: behind an option, behind a subcommand, or as a text
 * in one place. As tables, since they differ in nothing else.
 * From the manual pages of the programs named.
 * @module
 */

import type { ShellWord } from '../shell/shell.ts'
import { PIPE_MARK } from '../shell/words.ts'
import { readEscapes } from './escapes.ts'
import { argv, type Inner, literal, PROJECT, shell, type Unwrap } from './inner.ts'
import { goesBy } from './names.ts'
import { includedFiles, recipeInput } from './project-files.ts'
import { innerOfScript } from './shell-invocation.ts'
import { lineClient } from './wrappers-editors.ts'
import { template } from './wrappers-expressions.ts'
import { packageFile, pythonProject, pythonTests } from './wrappers-projects.ts'

function table(lines: readonly string[]): ReadonlyMap<string, readonly string[]> {
  return new Map(
    lines.flatMap((line) => {
      const [names = '', words = ''] = line.split(':').map((part) => part.trim())
      return names.split(' ').map((name) => [name, words.split(' ')] as const)
    }),
  )
}

/** The command is every word behind the option. */
const BEHIND_OPTION: ReadonlyMap<string, readonly string[]> = table([
  'ksu: -e',
  'ctest: --test-command',
  'xterm uxterm lxterm rxvt urxvt konsole mlterm eterm lxterminal qterminal terminology x-terminal-emulator xfce4-terminal terminator guake alacritty ghostty: -e -x --execute --command',
  'gnome-terminal tilix mate-terminal: -- -x -e',
  'distrobox distrobox-enter: -e --exec --',
  'cmake: time env',
  'rustup: run',
  'watchman-make: --run',
  'sops: exec-env exec-file',
  'gdb-add-index: --',
  'dpkg-architecture: -c --command',
  'strigger: --program',
  'pidstat: -e',
])

/** The command is every word behind the subcommand, and behind a `--` that follows. */
const BEHIND_SUBCOMMAND: ReadonlyMap<string, readonly string[]> = table([
  'honcho foreman cabal stack bundle bundler composer mise asdf rbenv pyenv nodenv rvm direnv chamber doppler op aws-vault envconsul dotenv opam nix guix pixi hatch pdm conda mamba micromamba rye uv poetry pipenv npm pnpm yarn toolbox flatpak-spawn lerna nx rustup cargo-make task dip lando ddev vagrant heroku flyctl fly eb gcloud sam: exec execute run run-script dlx x -- shell ssh console env develop',
  'cdist: shell',
  'conda mamba micromamba: run',
  'wezterm: start --',
  'hyprctl: exec',
  'volta nvm n fnm: run exec --exec x',
  'snap: run',
  'machinectl: shell',
  'lxc-execute incus virt-run: exec --',
])

/** The text for a shell is the operand behind the subcommand. */
const TEXT_BEHIND_SUBCOMMAND: ReadonlyMap<string, readonly string[]> = table([
  'csvtool: call',
  'nx: --command --commands',
  'vagrant eb gcloud heroku flyctl fly: -c --command -C',
])

const behindOption: Unwrap = (call) => {
  const options = BEHIND_OPTION.get(call.name) ?? []
  const at = call.words.findIndex(({ text }, index) => index > 0 && options.includes(text))
  // `sops exec-env FILE TEXT`
  const skipped = call.name === 'sops' ? 1 : 0
  const command = at < 0 ? [] : call.words.slice(at + 1 + skipped)
  const [only] = command
  // Given as one word, it is split as a shell would.
  if (command.length === 1 && only?.text.includes(' ')) return [shell(only, call.name)]
  return argv(command, call.name)
}

/** Options that may stand between a subcommand and the command; those of one value are passed with it. */
const SUBCOMMAND_VALUES: ReadonlySet<string> = new Set(
  '-n --name --cwd -C --prefix -w --workspace -p --package --with --python --from -c --call -t --toolchain --filter --env-file --node --npm --yarn --using'.split(
    ' ',
  ),
)

function commandOf(words: readonly ShellWord[]): readonly ShellWord[] {
  const dashes = words.findIndex(({ text }) => text === '--')
  if (dashes >= 0 && words.slice(0, dashes).every(({ text }) => text.startsWith('-')))
    return words.slice(dashes + 1)
  let index = 0
  while (index < words.length && words[index]?.text.startsWith('-')) {
    index += SUBCOMMAND_VALUES.has(words[index]?.text ?? '') ? 2 : 1
  }
  return words.slice(index)
}

/** Scripts of a package that have a subcommand of their own: `npm test -- unit`. */
const SCRIPTS: ReadonlySet<string> = new Set(['test', 't', 'tst', 'start', 'stop', 'restart'])

const PACKAGE_TOOLS: readonly string[] = ['npm', 'pnpm', 'yarn']

const behindSubcommand: Unwrap = (call) => {
  const inner: Inner[] = PACKAGE_TOOLS.includes(call.name) ? [...packageFile(call)] : []
  const texts = TEXT_BEHIND_SUBCOMMAND.get(call.name) ?? []
  const words = call.words.slice(1)
  for (const [index, word] of words.entries()) {
    const next = words[index + 1]
    const equals = word.text.indexOf('=')
    if (texts.includes(word.text) && next !== undefined) inner.push(shell(next, call.name))
    else if (equals > 0 && texts.includes(word.text.slice(0, equals)))
      inner.push(shell({ ...word, text: word.text.slice(equals + 1) }, call.name))
  }
  // `npm pkg set scripts.x=TEXT`: what the package runs from then on.
  if (words[0]?.text === 'pkg' && words[1]?.text === 'set')
    for (const word of words.slice(2))
      if (word.text.startsWith('scripts.') && word.text.includes('='))
        inner.push(shell({ ...word, text: word.text.slice(word.text.indexOf('=') + 1) }, `${call.name} pkg`))
  if (words[0]?.text === 'set-script' && words[2] !== undefined)
    inner.push(shell(words[2], `${call.name} set-script`))
  const subcommands = BEHIND_SUBCOMMAND.get(call.name) ?? []
  const at = words.findIndex(({ text }) => subcommands.includes(text))
  if (at < 0) return inner
  const subcommand = words[at]?.text ?? ''
  // What the package itself calls so is not known: `npm run build`, `yarn run x`, `task run`.
  const isNamed = subcommand === 'run' || subcommand === 'run-script'
  const isScript =
    SCRIPT_RUNNERS.has(call.name) && (isNamed || (subcommand === '--' && SCRIPTS.has(words[0]?.text ?? '')))
  // `npm create x -- --template y`: arguments of what makes the project.
  const isMaking = subcommand === '--' && MAKING.has(words[0]?.text ?? '')
  if (isScript || isMaking) return inner
  const place = words[at + 1]
  if (call.name === 'direnv' && place !== undefined) inner.push({ kind: 'path', word: place, use: 'write' })
  const command = commandOf(words.slice(at + 1 + (OWN_OPERANDS.get(call.name) ?? 0)))
  const isShell = command.length === 0 && ['shell', 'unshare', 'ssh', 'console'].includes(subcommand)
  const via = `${call.name} ${subcommand}`
  const [only] = command
  // One text is what a shell there is given.
  if (command.length === 1 && only?.text.includes(' ')) inner.push(shell(only, via))
  else inner.push(...argv(isShell ? [literal('sh')] : command, via))
  return inner
}

/** Operands of their own that some take before the command: a directory, an environment. */
const OWN_OPERANDS: ReadonlyMap<string, number> = new Map([
  ['direnv', 1],
  ['nvm', 1],
  ['n', 1],
  ['rustup', 1],
  ['chamber', 1],
  ['aws-vault', 1],
])

const MAKING: ReadonlySet<string> = new Set(['create', 'init', 'innit'])

const SCRIPT_RUNNERS: ReadonlySet<string> = new Set(
  'npm pnpm yarn composer task lerna nx toolbox cabal stack pdm cargo-make dip lando ddev sam gcloud mise rye'.split(
    ' ',
  ),
)

/** `npx CMD`, `uvx CMD`, `bunx CMD`, `pipx run CMD`: a program of that name, from a package or from the path. */
export const packageRunner: Unwrap = (call) => {
  const inner: Inner[] = []
  const text = call.parsed.values.find(({ option }) => option === '-c' || option === '--call')?.word
  if (text !== undefined) return [shell(text, call.name)]
  const words = commandOf(call.words.slice(1))
  const command = call.name === 'pipx' ? (words[0]?.text === 'run' ? commandOf(words.slice(1)) : []) : words
  // A name that only a package has says nothing; a program that everybody has is the command.
  if (command[0] !== undefined) inner.push(...argv(command, call.name))
  return inner
}

/** `hg --config alias.x='!cmd'`, `svn --config-option config:tunnels:x=cmd`. */
const versionControl: Unwrap = (call) =>
  call.parsed.values.flatMap(({ option, word }): readonly Inner[] => {
    if (option !== '--config' && option !== '--config-option') return []
    const equals = word.text.indexOf('=')
    if (equals < 0) return []
    const key = word.text.slice(0, equals).toLowerCase()
    const value = { ...word, text: word.text.slice(equals + 1) }
    const isCommand = [
      'alias.',
      'hooks.',
      'ui.ssh',
      'ui.editor',
      'ui.merge',
      'merge-tools.',
      'extdiff.',
      'tunnels',
      'editor',
      'diff-cmd',
      'pager.',
      'ui.pager',
      'ui.diff',
      'diff3-cmd',
    ].some((part) => key.includes(part))
    if (key.startsWith('extensions.')) return [{ kind: 'path', word: value, use: 'read' }]
    if (!isCommand) return []
    const isMarked = value.text.startsWith('!') || value.text.startsWith('$')
    // Without the mark, an alias of Mercurial is one of its own commands.
    if (key.startsWith('alias.') && !isMarked) return []
    return [shell(isMarked ? { ...value, text: value.text.slice(1) } : value, `${call.name} ${option}`)]
  })

/** `-wrapper /bin/sh,-c,cmd` of a compiler: a program and its arguments, between commas. */
const compiler: Unwrap = (call) => [
  ...(call.stdin.kind === 'text' && call.parsed.operands.some(({ text }) => text === '-')
    ? readEscapes(call.stdin.word, call.name, call.work)
    : []),
  ...wrapperOf(call),
  ...passedOn(call),
  ...archives(call),
  ...sources(call),
  ...givenSource(call),
]

/** `java -jar FILE`: a program that the request may have fetched. */
const archives: Unwrap = (call) =>
  call.parsed.values.flatMap(({ option, word }): readonly Inner[] =>
    option === '-jar' || option === '-cp' || option === '-classpath'
      ? innerOfScript(word, `${call.name} ${option}`, 'other')
      : [],
  )

/** `-Wl,-Map,/x`: what the compiler hands on to the programs that it starts. */
const HANDED_ON: ReadonlyMap<string, string> = new Map([
  ['-Wl,', 'ld'],
  ['-Wa,', 'as'],
  ['-Wp,', 'cpp'],
])

const passedOn: Unwrap = (call) =>
  call.words.flatMap((word): readonly Inner[] => {
    const program = word.text.includes('/') ? HANDED_ON.get(word.text.slice(0, 4)) : undefined
    if (program === undefined) return []
    const words = word.text.slice(4).split(',', 64)
    return argv([literal(program), ...words.map((text) => ({ ...word, text }))], call.name)
  })

const wrapperOf: Unwrap = (call) =>
  call.parsed.values.flatMap(({ option, word }): readonly Inner[] => {
    if (option !== '-wrapper') return []
    const words = word.text.split(',', 64).map((text) => ({ ...word, text }))
    return argv(words, call.name)
  })

/** Programs that build from sources, or that build and run. */
const COMPILERS: ReadonlySet<string> = new Set(
  'gcc g++ cc c++ c89 c99 clang clang++ gfortran gccgo tcc go tinygo rustc javac zig nim crystal swiftc kotlinc ldc2 dmd fpc ocamlc ocamlopt mcs dart v as nasm yasm cpp java gnatmake gprbuild gnat cobc gst ghc ocamlfind scalac csc dmcs clang-cl zapcc'.split(
    ' ',
  ),
)

export function compiles(names: readonly string[]): boolean {
  return goesBy(names, COMPILERS)
}

const SOURCE =
  /\.(?:c|h|s|S|asm|cc|cpp|cxx|m|go|rs|java|zig|v|nim|cr|swift|kt|d|hs|pas|ml|cs|dart|f90|f|f95|adb|ads|cob|cbl|st)$/

const readSource = (text: ShellWord): readonly Inner[] => [
  { kind: 'code', language: 'other', word: text, via: PROJECT },
  ...includedFiles(text.text),
]

/** A source that another command of the line puts out: `gcc -xc -`, `go run <(printf ...)`. */
const givenSource: Unwrap = ({ stdin, parsed, name }) => {
  const [order, file] = parsed.operands
  if (name === 'go' && order?.text === 'run' && file?.opaque === 'substitution' && file.text === '')
    return [{ kind: 'opaque', opaque: 'piped' }]
  if (!parsed.operands.some(({ text }) => text === '-' || text === '/dev/stdin')) return []
  const text = stdin.kind === 'text' ? stdin.word : undefined
  if (text !== undefined) return readSource(text)
  return stdin.kind === 'pipe' && stdin.output !== undefined ? readSource(literal(stdin.output)) : []
}

/** Sources given to a compiler: what those do that the request has written. */
const sources: Unwrap = (call) => {
  const at = call.name === 'java' ? call.words.findIndex(({ text }) => text === SERVER_MODULE) : -1
  if (at > 0) return argv([literal('jwebserver'), ...call.words.slice(at + 1)], call.name)
  return call.parsed.operands.flatMap((given): readonly Inner[] => {
    // To the builder of Ada, a source may go without its end.
    const isShort = call.name.startsWith('gnat') && /^\w{1,64}$/.test(given.text)
    const word = isShort ? { ...given, text: `${given.text}.adb` } : given
    if (word.stands === PIPE_MARK) return [{ kind: 'opaque', opaque: 'piped' }]
    if (!SOURCE.test(word.text)) return []
    return [{ kind: 'script', word, language: 'other', via: call.name, read: readSource }]
  })
}

/** The module of Java that is a web server. */
const SERVER_MODULE = 'jdk.httpserver'

/** What `cmake -E` does by itself, as the programs that do the same. */
const CMAKE_TOOLS: ReadonlyMap<string, readonly string[]> = new Map([
  ['rm', ['rm']],
  ['remove', ['rm']],
  ['remove_directory', ['rm', '-r']],
  ['copy', ['cp']],
  ['copy_if_different', ['cp']],
  ['copy_directory', ['cp', '-r']],
  ['copy_directory_if_different', ['cp', '-r']],
  ['rename', ['mv']],
  ['create_symlink', ['ln', '-s']],
  ['create_hardlink', ['ln']],
  ['make_directory', ['mkdir', '-p']],
  ['touch', ['touch']],
  ['cat', ['cat']],
  ['tar', ['tar']],
])

const cmake: Unwrap = (call) => {
  const tool = call.words[1]?.text === '-E' ? CMAKE_TOOLS.get(call.words[2]?.text ?? '') : undefined
  if (tool === undefined) return behindOption(call)
  return argv([...tool.map(literal), ...call.words.slice(3)], 'cmake -E')
}

/** `tox -x testenv.commands=TEXT`. */
const tox: Unwrap = (call) =>
  call.parsed.values.flatMap(({ option, word }): readonly Inner[] => {
    const equals = word.text.indexOf('=')
    const isCommands = /commands(?:_pre|_post)?\+?$/.test(word.text.slice(0, Math.max(0, equals)))
    if ((option !== '-x' && option !== '--override') || equals < 0 || !isCommands) return []
    return [shell({ ...word, text: word.text.slice(equals + 1) }, call.name)]
  })

/** Files that a configuration language reads: `importstr "/x"`, `/x as Text`. */
const imports: Unwrap = (call) => {
  const { stdin } = call
  const printed = stdin.kind === 'pipe' && stdin.output !== undefined ? [literal(stdin.output)] : []
  const given = stdin.kind === 'text' ? [stdin.word] : printed
  const texts = [...call.parsed.operands, ...call.parsed.values.map(({ word }) => word), ...given]
  return texts.flatMap((word): readonly Inner[] =>
    [...word.text.slice(0, IMPORTS_CHARACTERS).matchAll(IMPORTED)].map(
      ([, text = '']): Inner => ({ kind: 'path', word: { ...word, text }, use: 'read' }),
    ),
  )
}
/** A path by itself or behind a quote, a blank, a bracket or a mark that joins: `[./. "/x"]`, `file:///x`. */
const IMPORTED = /(?:^|["'`\s([<=,+]|\bfile:\/\/)((?:\/|~\/)[\w./-]{1,1024})/g

/** A text in which they are looked for; what is longer is a file. */
const IMPORTS_CHARACTERS = 65_536

/** All of these programs, with what takes their words apart. */
export const COMMAND_TABLES: readonly (readonly [string, Unwrap])[] = [
  ...[...BEHIND_OPTION.keys()].map((name) => [name, behindOption] as const),
  ...[...BEHIND_SUBCOMMAND.keys()].map((name) => [name, behindSubcommand] as const),
  ['csvtool', behindSubcommand],
  ['pip', pythonProject],
  ['pytest', pythonTests],
  ['py.test', pythonTests],
  ['cmake', cmake],
  ['tox', tox],
  ...[
    'q',
    'textql',
    'csvq',
    'octosql',
    'dsq',
    'trdsql',
    'jsonnet',
    'jrsonnet',
    'dhall',
    'dhall-to-json',
    'dhall-to-yaml',
    'nickel',
    'cue',
    ...'pkl starlark nix nix-instantiate nix-build nix-eval nix-shell xidel xq basex saxon kcl gojsonnet ytt xqilla zorba'.split(
      ' ',
    ),
  ].map((name) => [name, imports] as const),
  ['gomplate', (call) => [...template(call), ...imports(call)]],
  ...['npx', 'bunx', 'uvx', 'pipx'].map((name) => [name, packageRunner] as const),
  ...['redis-cli', 'valkey-cli', 'keydb-cli'].map((name) => [name, lineClient] as const),
  ['scons', recipeInput],
  ...['hg', 'svn', 'jj'].map((name) => [name, versionControl] as const),
  ...[...COMPILERS].map((name) => [name, compiler] as const),
]
