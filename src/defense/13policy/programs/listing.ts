/**
 * Commands that show of the paths they are given no more than names, sizes and kinds: `ls`, `stat`, `du`, and whether
 * what they show goes nowhere but to whoever asked. A wild path in one of them may take in a secret by the way: its name
 * is seen then, and nothing of it.
 * Rules: the manual pages of the programs named.
 * @module
 */
import type { EffectiveCommand } from '../effective.ts'

const LISTERS: ReadonlySet<string> = new Set(
  'ls dir vdir exa eza lsd du stat file realpath readlink basename dirname test [ namei compgen'.split(' '),
)
/** With them a file is read, and what is wrong with its lines is told with the lines. */
const OPENS: ReadonlySet<string> = new Set(['--files-from', '--files0-from', '--magic-file'])
const FILE_OPENS: ReadonlySet<string> = new Set(['-f', '-m'])
/** They pass lines on, and start nothing with them. */
const FILTERS: ReadonlySet<string> = new Set(
  'head tail sort wc grep egrep fgrep cut uniq column nl tac cat less more'.split(' '),
)

/** Names that come out of a substitution, or go to `xargs`, a loop or a file, are names that something is done with. */
export function onlyLists({ names, via, pipedTo, paths, options }: EffectiveCommand): boolean {
  const [name = ''] = names
  return (
    LISTERS.has(name) &&
    !options.some((option) => OPENS.has(option) || (name === 'file' && FILE_OPENS.has(option))) &&
    !via.some((way) => way === '$()') &&
    pipedTo.every((next) => FILTERS.has(next)) &&
    paths.every(({ path, use }) => use !== 'write' || path === '/dev/null')
  )
}
