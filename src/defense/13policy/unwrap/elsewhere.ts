/**
 * What lies elsewhere than where the request runs: paths that are written there, and commands that throw away what lies
 * in a whole directory without naming it (`git clean`, `make clean`).
 * Rules: docs/policy.md, "Effective commands"; git-clean(1), git-checkout(1), git-reset(1), make(1).
 * @module
 */
import { isWithin } from '../../../base/lexical-path.ts'
import type { CommandSurroundings, UsedPath } from '../effective.ts'
import { joinPath } from '../join-path.ts'
import type { Maker } from './flow.ts'

/** Said of a command that throws away what lies in a directory that the request does not run in. */
export const TREE_ELSEWHERE = 'tree:elsewhere'

const BUILDERS: ReadonlySet<string> = new Set(
  'make gmake bmake remake ninja samu cargo mvn mvnw gradle gradlew bazel bazelisk sbt ant rake just task scons meson go flutter dotnet swift npm yarn pnpm west idf.py'.split(
    ' ',
  ),
)
const CLEANING =
  /^(?:dist|real|veryreal|maintainer-|full)?-?(?:clean|mrproper|clobber|purge|wipe)(?:all|[-:_]\w{0,32})?$/
/** Of git, what throws away changes or files wherever it stands. */
const ALWAYS: ReadonlySet<string> = new Set(['restore', 'rm', 'stash', 'read-tree', 'checkout-index'])
const FORCED: Readonly<Record<string, readonly string[]>> = Object.freeze({
  clean: ['-f', '--force'],
  checkout: ['-f', '--force', '--'],
  switch: ['-f', '--force', '--discard-changes'],
  reset: ['--hard', '--merge'],
})
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
  const cache = `${home}${CACHE}`
  for (let at = 0, end = paths.length; at < end; at += 1) {
    const used = paths[at]
    if (used === undefined || used.use !== 'write' || isWithin(root, used.path)) continue
    const { path } = used
    if (path.startsWith('/<') || (path === '/' && used.isOpaque) || isWithin(cache, path)) continue
    if (TEMPORARY.some((place) => isWithin(place, path)) || STREAMS.test(path)) continue
    paths.push({ ...used, path: joinPath(ELSEWHERE, `.${path}`) })
  }
}
const SHOWING: readonly string[] = Object.freeze(['list', 'show'])

function throwsAway({ names, options, parsed, words }: Maker): boolean {
  const [order = '', second = ''] = parsed.operands.map(({ text }) => text)
  if (names.includes('git')) {
    if (order === 'stash' && SHOWING.includes(second)) return false
    if (order === 'restore' || order === 'rm') return !options.includes('--cached') && !options.includes('-n')
    const given = words.map(({ text }) => text)
    return (
      ALWAYS.has(order) ||
      (FORCED[order] ?? []).some((option) => options.includes(option) || given.includes(option)) ||
      (order === 'checkout' && second === '.')
    )
  }
  return names.some((name) => BUILDERS.has(name)) && parsed.operands.some(({ text }) => CLEANING.test(text))
}

const DIRECTORY_OPTIONS: readonly string[] = Object.freeze(['-C', '--directory', '--work-tree'])

/** The directory as a written path, where the command throws away what lies there and `root` is not above it. */
export function treeElsewhere(maker: Maker, root: string): UsedPath | undefined {
  if (!throwsAway(maker)) return undefined
  const { parsed } = maker
  let directory = maker.cwd
  for (const { option, word } of parsed.values)
    if (DIRECTORY_OPTIONS.includes(option) && word.opaque === undefined)
      directory = word.text.startsWith('/')
        ? joinPath('/', word.text)
        : directory === undefined
          ? undefined
          : joinPath(directory, word.text)
  if (directory === undefined || isWithin(root, directory)) return undefined
  if (TEMPORARY.some((place) => isWithin(place, directory))) return undefined
  return { path: directory, use: 'write', isGlob: false, isOpaque: false }
}
