/**
 * What the conditions of rules ask of one effective command, worked out when it is first asked for and then kept, so
 * that it is done once whatever the number of rules.
 * @module
 */
import { baseName } from '../../../base/text/lexical-path.ts'
import type { EffectiveCommand, UsedPath } from '../effective.ts'
import { onlyLists } from '../programs/listing.ts'
import { type BitSet, emptyBits, isEmpty, joinBits } from './bit-set.ts'
import type { PathIndex } from './path-pattern.ts'

/** The lists of patterns of all rules: of paths, and of those that exempt. */
export type Indexes = {
  readonly positive: PathIndex
  readonly exempt: PathIndex
}

/** A used path with the lists of patterns that it fits, and those that exempt it. */
export type LocatedPath = {
  readonly used: UsedPath
  readonly fits: BitSet
  exempt: BitSet | undefined
}

export type Facts = {
  readonly command: EffectiveCommand
  readonly indexes: Indexes
  readonly paths: readonly LocatedPath[]
  /** The lists that some path fits: of any use, of those written, of those read. */
  readonly used: BitSet
  readonly usesAny: boolean
  written: BitSet | undefined
  read: BitSet | undefined
  longOptions: readonly string[] | undefined
  beginnings: string[] | undefined
  lines: readonly string[] | undefined
}

const NO_LISTS: BitSet = Object.freeze([])
const NO_PATHS: readonly LocatedPath[] = Object.freeze([])

/** @param isHidden whether a shell's `*` also stands for a dot at the beginning of a name; asked for globs alone */
export function gatherFacts(command: EffectiveCommand, indexes: Indexes, isHidden: () => boolean): Facts {
  const isUsed = command.paths.length > 0 && !(indexes.positive.isEmpty && indexes.exempt.isEmpty)
  const paths = isUsed ? locate(command, indexes.positive, isHidden) : NO_PATHS
  const used = isUsed ? listsOf(paths, indexes, undefined) : NO_LISTS
  return {
    command,
    indexes,
    paths,
    used,
    usesAny: !isEmpty(used),
    written: undefined,
    read: undefined,
    longOptions: undefined,
    beginnings: undefined,
    lines: undefined,
  }
}

function locate(
  command: EffectiveCommand,
  index: PathIndex,
  isHidden: () => boolean,
): readonly LocatedPath[] {
  // Who only lists has what a wild path could also stand for seen by its name.
  const lists = command.paths.some(({ isGlob }) => isGlob) && onlyLists(command)
  return command.paths.map((used) => ({
    used,
    fits:
      lists && used.isGlob && !used.isOpaque
        ? index.alwaysFits(used)
        : index.fits(used, used.isGlob && isHidden()),
    exempt: undefined,
  }))
}

function listsOf(
  paths: readonly LocatedPath[],
  { positive }: Indexes,
  use: UsedPath['use'] | undefined,
): BitSet {
  const lists = emptyBits(positive.count)
  for (const { used, fits } of paths) if (use === undefined || used.use === use) joinBits(lists, fits)
  return lists
}

export function writtenLists(facts: Facts): BitSet {
  facts.written ??= facts.usesAny ? listsOf(facts.paths, facts.indexes, 'write') : NO_LISTS
  return facts.written
}

export function readLists(facts: Facts): BitSet {
  facts.read ??= facts.usesAny ? listsOf(facts.paths, facts.indexes, 'read') : NO_LISTS
  return facts.read
}

/** The lists that the path lies in whatever it expands to, of those that exempt. */
export function exemptLists({ indexes }: Facts, path: LocatedPath): BitSet {
  path.exempt ??= indexes.exempt.alwaysFits(path.used)
  return path.exempt
}

/** Long options as they are given, each of which may be the beginning of one, as `getopt_long` takes it. */
export function longOptions(facts: Facts): readonly string[] {
  facts.longOptions ??= facts.command.options.filter(isLong)
  return facts.longOptions
}

export function isLong(option: string): boolean {
  return option.length > 2 && option.startsWith('--')
}

/** The first operands, so many at most, each with those before it and a NUL between them, which no word holds. */
export function beginningsOf(facts: Facts, most: number): readonly string[] {
  const { operands } = facts.command
  facts.beginnings ??= operands.slice(0, 1)
  const { beginnings } = facts
  for (let count = beginnings.length; count < most && count < operands.length; count++)
    beginnings.push(`${beginnings[count - 1]}\0${operands[count]}`)
  return beginnings
}

/** The lines that a `pattern` is compared with: each of the program's names with the arguments. */
export function linesOf(facts: Facts): readonly string[] {
  if (facts.lines !== undefined) return facts.lines
  const { names, argv } = facts.command
  const rest = argv.slice(1).join(' ')
  const called = names.length > 0 ? names : [baseName(argv[0] ?? '')]
  facts.lines = called.map((name) => (argv.length > 1 ? `${name} ${rest}` : name))
  return facts.lines
}
