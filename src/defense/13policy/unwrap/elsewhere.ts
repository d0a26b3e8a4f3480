/**
 * What lies elsewhere than where the request runs: paths that are written there, and commands that throw away what lies
 * in a whole directory without naming it (`git clean`, `make`, `npm install`).
 * Rules: docs/policy.md, "Effective commands"; git(1), make(1) and the manual pages of the programs named.
 * @module
 */

import { isWithin } from '../../../base/lexical-path.ts'
import type { CommandSurroundings, UsedPath } from '../effective.ts'
import { joinPath } from '../join-path.ts'
import type { ShellWord } from '../shell/shell.ts'
import { LISTED_MARK } from '../shell/words.ts'
import type { Maker } from './flow.ts'
import { goesBy } from './names.ts'
import type { ParsedArguments } from './options.ts'
import type { Draft } from './pipeline.ts'

/** Said of a command that changes what lies in a directory that the request does not run in. */
export const TREE_ELSEWHERE = 'tree:elsewhere'

const BUILDERS: ReadonlySet<string> = new Set(
  'make gmake bmake remake ninja samu cargo mvn mvnw gradle gradlew bazel bazelisk sbt ant rake just task scons meson flutter dotnet swift west idf.py'.split(
    ' ',
  ),
)
/** What these are told that changes nothing. */
const ASKS: ReadonlySet<string> = new Set(
  'help version info list tree metadata query status search show tasks dependencies locate-project read-manifest introspect'.split(
    ' ',
  ),
)
const ASKING: readonly string[] = Object.freeze(['-q', '--question', '--version', '--help', '-l', '--list'])
const INSTALLERS: ReadonlySet<string> = new Set(
  'npm yarn pnpm bun composer poetry bundle bundler uv pip pipenv pdm go mix deno'.split(' '),
)
const INSTALLS =
  /^(?:i|ci|add|install|clean-install|update|upgrade|up|remove|rm|uninstall|un|link|unlink|dedupe|prune|rebuild|init|version|sync|lock|require|create-project|import|mod|get|clean|build|deps\.get|deps\.clean)$/
/** What changes the files of a checkout, or what it is of. */
const CHANGES: ReadonlySet<string> = new Set(
  'add am apply checkout checkout-index cherry-pick clean commit filter-branch filter-repo gc init merge mv prune pull read-tree rebase reset restore revert rm stash submodule switch update up revert co purge strip update-ref replace worktree repack sparse-checkout notes'.split(
    ' ',
  ),
)
const VERSIONERS: ReadonlySet<string> = new Set(['git', 'hg', 'svn'])
const DRY: readonly string[] = Object.freeze(['-n', '--dry-run', '--just-print', '--recon'])
const LOOKING: readonly string[] = Object.freeze(['list', 'show', 'status', 'summary', 'foreach'])
/** Where everybody may throw things away. */
const TEMPORARY: readonly string[] = Object.freeze(['/tmp', '/var/tmp'])
/** Beneath the home directory: what is there, its programs make again. */
const CACHE = '/.cache'
/** What is written there goes to the caller, or nowhere. */
const STREAMS = /^\/(?:dev\/(?:null|full|zero|tty|std(?:in|out|err)|fd(?:\/\d+)?)|proc\/self\/fd\/\d+)$/

/** In a path for what lies neither where the request runs nor where everybody may write. */
const ELSEWHERE = '/<elsewhere>'
/** What nobody has shown to lie where the request runs. */
export const UNKNOWN_ELSEWHERE = `${ELSEWHERE}/<unknown>`
/** What another command of the request prints the name of. */
export const LISTED = '/<listed>'

/** Adds to what `draft` writes, where it lies elsewhere, that it does. */
export function addElsewhere(paths: UsedPath[], { cwd: root, home }: CommandSurroundings): void {
  for (let at = 0, end = paths.length; at < end; at += 1) {
    const used = paths[at]
    if (used === undefined || used.use !== 'write' || isWithin(root, used.path)) continue
    const { path } = used
    if (path.startsWith('/<') || (path === '/' && used.isOpaque) || isWithin(`${home}${CACHE}`, path))
      continue
    if (TEMPORARY.some((place) => isWithin(place, path)) || STREAMS.test(path)) continue
    paths.push({ ...used, path: path === '/' ? ELSEWHERE : ELSEWHERE + path })
  }
}
/** Variables that name a place where the programs that take them write. */
const GIVEN =
  /^(?:DESTDIR|INSTALL_ROOT|GIT_DIR|GIT_INDEX_FILE|CARGO_(?:TARGET_DIR|INSTALL_ROOT)|GOBIN|PIP_(?:TARGET|PREFIX|ROOT)|PYTHONUSERBASE|NPM_CONFIG_PREFIX|npm_config_prefix|GEM_HOME|BUNDLE_PATH|COMPOSER_HOME|XDG_(?:CONFIG|DATA|STATE)_HOME|HISTFILE|LLVM_PROFILE_FILE|COVERAGE_FILE|OUT(?:PUT)?_(?:DIR|FILE)|HOME)$/

/** What is written because a variable says so. */
export function writtenByVariables({
  assignments,
  names,
  cwd,
}: Pick<Draft, 'assignments' | 'names' | 'cwd'>): readonly UsedPath[] {
  if (names.length === 0 || names[0] === ':' || SHELL_WORDS.has(names[0] ?? '')) return []
  return assignments.flatMap(({ name, value }) => {
    const isPlace =
      value !== undefined && value !== '' && GIVEN.test(name) && (value.startsWith('/') || cwd !== undefined)
    return isPlace
      ? [{ path: joinPath(cwd ?? '/', value), use: 'write', isGlob: false, isOpaque: false } as const]
      : []
  })
}

/** They write nothing of their own, and what they set is judged where it is used. */
const SHELL_WORDS: ReadonlySet<string> = new Set([
  'export',
  'declare',
  'local',
  'readonly',
  'typeset',
  'cd',
  'echo',
  'env',
  'sh',
  'bash',
  'sudo',
])

/** To `git commit` and others, `-n` is something else. */
const TRIED: readonly string[] = Object.freeze(['add', 'clean', 'mv', 'prune', 'rm'])

function isTried(order: string, options: readonly string[]): boolean {
  return options.includes('--dry-run') || (options.includes('-n') && TRIED.includes(order))
}

/** `git config a.b c`, `git branch -D x`, `git tag -d x`, `git remote add x`. */
function isSetting(order: string, { operands, options }: ParsedArguments): boolean {
  if (order === 'config') return operands.length > 2 && !options.some((option) => option.startsWith('--get'))
  if (order === 'remote') return REMOTES.includes(operands[1]?.text ?? '')
  return (order === 'branch' || order === 'tag') && options.some((option) => DROPS.includes(option))
}

const REMOTES: readonly string[] = Object.freeze(['add', 'remove', 'rm', 'rename', 'set-url', 'prune'])
const DROPS: readonly string[] = Object.freeze([
  '-d',
  '-D',
  '-m',
  '-M',
  '-f',
  '--delete',
  '--move',
  '--force',
])

function changesTree({ names, options, parsed }: Maker): boolean {
  const order = parsed.operands[0]?.text ?? ''
  if (goesBy(names, VERSIONERS)) {
    const second = parsed.operands[1]?.text ?? ''
    const isChange = CHANGES.has(order) || isSetting(order, parsed)
    return isChange && !LOOKING.includes(second) && !isTried(order, options)
  }
  if (goesBy(names, INSTALLERS)) return INSTALLS.test(order)
  if (!goesBy(names, BUILDERS)) return false
  return !options.some((option) => DRY.includes(option) || ASKING.includes(option)) && !ASKS.has(order)
}

const DIRECTORY_OPTIONS: readonly string[] = Object.freeze([
  ...[
    '-C',
    '--directory',
    '--work-tree',
    '--git-dir',
    '-R',
    '--repository',
    '--cwd',
    '--dir',
    '--prefix',
    '--project-dir',
    '--working-dir',
  ],
])

/** The directory as a written path, where the command changes what lies there and `root` is not above it. */
export function treeElsewhere(maker: Maker, root: string): UsedPath | undefined {
  if (!changesTree(maker)) return undefined
  const { parsed } = maker
  let directory = maker.cwd
  let isListed = false
  for (const { option, word } of parsed.values) {
    if (!DIRECTORY_OPTIONS.includes(option)) continue
    directory = placeOf(word, directory)
    isListed = word.stands?.startsWith(LISTED_MARK) === true
  }
  const written = { use: 'write', isGlob: false } as const
  if (directory?.startsWith(LISTED) === true) return { ...written, path: LISTED, isOpaque: true }
  if (directory === undefined)
    return { ...written, path: isListed ? LISTED : UNKNOWN_ELSEWHERE, isOpaque: true }
  if (isWithin(root, directory) || TEMPORARY.some((place) => isWithin(place, directory))) return undefined
  return { ...written, path: directory, isOpaque: false }
}

function placeOf({ text, opaque }: ShellWord, from: string | undefined): string | undefined {
  const known = opaque === undefined ? text : text.slice(0, text.lastIndexOf('/') + 1)
  if (known === '') return text === '' ? undefined : from
  if (known.startsWith('/')) return joinPath('/', known)
  return from === undefined ? undefined : joinPath(from, known)
}
