/**
 * Patterns of paths, all those of a set of rules in one tree: a path is looked up once, whatever the number of rules.
 * A pattern is an absolute path; `*` within a part stands for any characters of that part, a last part `**` for the
 * path before it and everything beneath, `~` at the start for the home directory.
 * A path that a shell would expand fits a pattern where some expansion could, and is exempt by one only where every
 * expansion would be. A path of which only the beginning is known fits, and is exempt, where everything beneath that
 * beginning does and is: what it may be beyond that is for rules on `opaque_path`.
 * Rules: docs/policy.md, "Paths".
 * @module
 */
import { resolvePath } from '../../../base/text/lexical-path.ts'
import type { UsedPath } from '../effective.ts'
import { addBits, type BitSet, emptyBits } from './bit-set.ts'
import { compileGlob, couldFit, type GlobPart, hasWild, isAlwaysFitting, isFarFetched } from './glob-part.ts'
import { createListPool, entriesOf, findValue, type SmallMap, sealMap } from './small-map.ts'
import { nextFitting, type Pieces, sortPatterns } from './word-pattern.ts'

type Node = {
  readonly literals: SmallMap<Node>
  readonly globs: Globs
  /** The lists of which a pattern ends at this path. */
  readonly here: readonly number[]
  /** The lists of which a pattern covers this path and everything beneath. */
  readonly beneath: readonly number[]
}
/** Parts with stars, as written and as they are compared, and where each leads; in order. */
type Globs = {
  readonly starts: string
  readonly texts: readonly string[]
  readonly words: readonly Pieces[]
  readonly nodes: readonly Node[]
}

/** A node while patterns are put in. */
type Growing = {
  readonly literals: Map<string, Growing>
  readonly globs: Map<string, Growing>
  readonly here: number[]
  readonly beneath: number[]
}

/** Lists are numbered as they were given. */
export type PathIndex = {
  readonly isEmpty: boolean
  readonly count: number
  /** The lists that the path, or something that it could expand to, lies in. */
  fits(path: UsedPath, hidden: boolean): BitSet
  /** The lists that the path lies in whatever it expands to. */
  alwaysFits(path: UsedPath): BitSet
}

/** What is wrong with a pattern, as a clause after its path in the file, and what to write instead. */
export function pathPatternProblem(
  pattern: string,
): { readonly problem: string; readonly hint: string } | undefined {
  if (pattern === '/' || pattern === '~') return undefined
  if (!pattern.startsWith('/') && !pattern.startsWith('~/'))
    return { problem: 'is not an absolute path', hint: 'begin it with / or ~/' }
  const parts = pattern.split('/').slice(1)
  if (parts.includes(''))
    return { problem: 'has an empty part', hint: 'write one slash, and none at the end' }
  if (parts.includes('.') || parts.includes('..'))
    return { problem: 'has a part . or ..', hint: 'write the path without it' }
  const doubled = parts.findIndex((part) => part.includes('**'))
  if (doubled !== -1 && (doubled !== parts.length - 1 || parts[doubled] !== '**'))
    return { problem: 'has ** where it is not the whole last part', hint: 'write /** at the end' }
  return undefined
}

function emptyNode(): Growing {
  return { literals: new Map(), globs: new Map(), here: [], beneath: [] }
}

function childOf({ literals, globs }: Growing, part: string): Growing {
  const children = part.includes('*') ? globs : literals
  const known = children.get(part)
  if (known !== undefined) return known
  const child = emptyNode()
  children.set(part, child)
  return child
}

const NO_GLOBS: Globs = Object.freeze({ starts: '', texts: [], words: [], nodes: [] })
const NO_LITERALS: SmallMap<Node> = Object.freeze({ keys: [], values: [] })

function sealGlobs(children: readonly (readonly [string, Node])[]): Globs {
  if (children.length === 0) return NO_GLOBS
  const { starts, patterns, items } = sortPatterns(children.map((child) => [child[0], child] as const))
  return {
    starts,
    texts: items.map(([text]) => text),
    words: patterns,
    nodes: items.map(([, node]) => node),
  }
}

/**
 * Gives the tree its final form, in which equal parts are one: most ends are alike, and so are the users' directories.
 * It calls itself once a part of the longest pattern, which is short.
 */
function createSealer(): (growing: Growing) => Node {
  const lists = createListPool()
  const nodes = new Map<string, Node>()
  const numbers = new Map<Node, number>()
  const seal = (growing: Growing): Node => {
    const literals = new Map([...growing.literals].map(([name, child]) => [name, seal(child)] as const))
    const globs = [...growing.globs].map(([text, child]) => [text, seal(child)] as const)
    const key = [
      growing.here.join(','),
      growing.beneath.join(','),
      ...[...literals, ...globs].map(([name, child]) => `${name}/${numbers.get(child)}`),
    ].join('\0')
    const known = nodes.get(key)
    if (known !== undefined) return known
    const node = {
      literals: literals.size === 0 ? NO_LITERALS : sealMap(literals),
      globs: sealGlobs(globs),
      here: lists(growing.here),
      beneath: lists(growing.beneath),
    }
    nodes.set(key, node)
    numbers.set(node, numbers.size)
    return node
  }
  return seal
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '')
}

function insert(root: Growing, pattern: string, home: string, list: number): void {
  const absolute = pattern.startsWith('~') ? `${resolvePath('/', home)}${pattern.slice(1)}` : pattern
  const parts = partsOf(absolute)
  const covers = parts.at(-1) === '**'
  let node = root
  for (const part of covers ? parts.slice(0, -1) : parts) node = childOf(node, part)
  const lists = covers ? node.beneath : node.here
  if (lists.at(-1) !== list) lists.push(list)
}

/** The node and all below it that `**` reaches: not through names that begin with a dot, unless the shell is told so. */
function subtree(node: Node, into: Set<Node>, hidden: boolean): void {
  into.add(node)
  for (const [name, child] of entriesOf(node.literals))
    if (hidden || !name.startsWith('.')) subtree(child, into, hidden)
  node.globs.nodes.forEach((child, at) => {
    if (hidden || node.globs.texts[at]?.startsWith('.') === false) subtree(child, into, hidden)
  })
}

type Could = { readonly kind: 'could'; readonly hidden: boolean; readonly isWrite: boolean }
type Mode = Could | { readonly kind: 'always' }

const ALWAYS: Mode = Object.freeze({ kind: 'always' })

function step(nodes: readonly Node[], part: string, mode: Mode): readonly Node[] {
  if (!hasWild(part)) return stepName(nodes, part)
  if (mode.kind === 'always') return stepAlways(nodes, part)
  if (part !== '**') return stepCould(nodes, part, mode)
  const all = new Set<Node>()
  for (const node of nodes) subtree(node, all, mode.hidden)
  return [...all]
}

function stepName(nodes: readonly Node[], name: string): readonly Node[] {
  const next: Node[] = []
  for (const { literals, globs } of nodes) {
    const child = findValue(literals, name)
    if (child !== undefined) next.push(child)
    const { starts, words } = globs
    for (
      let at = nextFitting(starts, words, name, 0);
      at !== -1;
      at = nextFitting(starts, words, name, at + 1)
    )
      next.push(globs.nodes[at] as Node)
  }
  return next
}

function stepAlways(nodes: readonly Node[], part: string): readonly Node[] {
  const next: Node[] = []
  // Nothing that ends here covers what `**` could reach.
  if (part === '**') return next
  for (const { globs } of nodes)
    globs.words.forEach((word, at) => {
      if (isAlwaysFitting(globs.texts[at] ?? '', word, part)) next.push(globs.nodes[at] as Node)
    })
  return next
}

function stepCould(nodes: readonly Node[], part: string, mode: Could): readonly Node[] {
  const next: Node[] = []
  const glob = compileGlob(part)
  for (const { literals, globs } of nodes) {
    for (const [name, child] of entriesOf(literals)) if (couldFit(name, glob, mode.hidden)) next.push(child)
    globs.nodes.forEach((child, at) => {
      if (couldBe(globs.texts[at] ?? '', glob, mode)) next.push(child)
    })
  }
  return next
}

function couldBe(text: string, glob: GlobPart, { hidden, isWrite }: Could): boolean {
  return couldFit(text, glob, hidden) && (isWrite || !isFarFetched(text, glob))
}

/** Where the next part of the path begins, behind its slashes. */
function partFrom(path: string, from: number): number {
  let at = from
  while (path.charCodeAt(at) === 0x2f) at++
  return at
}

/** Where the part that begins at `from` ends. */
function partEnd(path: string, from: number): number {
  const slash = path.indexOf('/', from)
  return slash === -1 ? path.length : slash
}

/**
 * Puts in the lists of a path without wild characters. It goes down the tree part by part and calls itself for each, so
 * it ends where the tree does, however long the path is.
 */
function descend(
  { literals, globs, here, beneath }: Node,
  used: UsedPath,
  from: number,
  lists: number[],
): void {
  const { path } = used
  addBits(lists, beneath)
  const start = partFrom(path, from)
  if (start >= path.length) {
    // The path itself is not known to end here.
    if (!used.isOpaque) addBits(lists, here)
    return
  }
  const end = partEnd(path, start)
  const name = path.slice(start, end)
  const child = findValue(literals, name)
  if (child !== undefined) descend(child, used, end, lists)
  const { starts, words, nodes } = globs
  for (let at = nextFitting(starts, words, name, 0); at !== -1; at = nextFitting(starts, words, name, at + 1))
    descend(nodes[at] as Node, used, end, lists)
}

/** As `descend`, for a path that a shell would expand: all nodes that one part leads to, and then those of the next. */
function spread(root: Node, { path, isOpaque }: UsedPath, mode: Mode, lists: number[]): void {
  let nodes: readonly Node[] = [root]
  let from = 0
  for (;;) {
    for (const { beneath } of nodes) addBits(lists, beneath)
    from = partFrom(path, from)
    if (from >= path.length) break
    const end = partEnd(path, from)
    nodes = step(nodes, path.slice(from, end), mode)
    if (nodes.length === 0) return
    from = end
  }
  if (!isOpaque) for (const { here } of nodes) addBits(lists, here)
}

function treeOf(lists: readonly (readonly string[])[], home: string): Node {
  const root = emptyNode()
  lists.forEach((patterns, list) => {
    for (const pattern of patterns) insert(root, pattern, home, list)
  })
  return createSealer()(root)
}

/**
 * @param lists of patterns without a problem
 * @param home the home directory of the user that commands run as; absolute
 */
export function createPathIndex(lists: readonly (readonly string[])[], home: string): PathIndex {
  return indexOf(treeOf(lists, home), lists.length)
}

/** A function of its own, so that the patterns as they were written are not kept. */
function indexOf(root: Node, count: number): PathIndex {
  const find = (path: UsedPath, mode: Mode): BitSet => {
    const lists = emptyBits(count)
    if (path.isGlob) spread(root, path, mode, lists)
    else descend(root, path, 0, lists)
    return lists
  }
  return {
    isEmpty: count === 0,
    count,
    fits: (path, hidden) => find(path, { kind: 'could', hidden, isWrite: path.use === 'write' }),
    alwaysFits: (path) => find(path, ALWAYS),
  }
}
