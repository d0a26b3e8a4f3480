/**
 * Tools and tiers: what a command or a method needs, and what a tier gives. Tiers are sets, not ranks, so
 * rights are narrowed by intersection and never by the smaller number.
 * What a command needs is read off its effective commands; what is not known to be a mere reader needs `Bash`.
 * Rules: docs/responses.md, section 1 (tool access).
 * @module
 */
import { isWithin } from '../base/text/lexical-path.ts'
import { ALL_TOOLS, TIERS, type Tier, type Tool, type ToolList } from '../base/tool-name.ts'
import type { Effective, EffectiveCommand } from './13policy/effective.ts'
import { isShell } from './13policy/programs/names.ts'
import type { ExecuteAction, Facts } from './facts.ts'
import { isProgram, isSubcommand } from './program-kinds.ts'

export type { Tier, Tool, ToolList } from '../base/tool-name.ts'

/** Whether the tier has the tool, and every one of the lists: each of them narrows, none widens. */
export function grantsTool(tier: Tier, lists: readonly ToolList[], tool: Tool): boolean {
  return TIERS[tier].includes(tool) && lists.every((list) => list.includes(ALL_TOOLS) || list.includes(tool))
}

/** What remains of the tier's tools by every one of the lists. */
export function intersectTools(tier: Tier, lists: readonly ToolList[]): ReadonlySet<Tool> {
  return new Set(TIERS[tier].filter((tool) => grantsTool(tier, lists, tool)))
}

/** Options with which a reader sets, writes or starts something. */
const SETTERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['date', ['-s', '--set']],
  ['file', ['-C', '--compile']],
  ['hostname', ['-F', '--file', '-b', '--boot']],
  ['tree', ['-o', '-R']],
  ['rg', ['--hostname-bin']],
  ['git', ['-O', '--open-files-in-pager']],
  ['install', ['--strip-program']],
])
/** Variables that change how things are shown and never what runs; any other may name code. */
const SHOWING_VARIABLES: ReadonlySet<string> = new Set(
  'LANG LANGUAGE TZ TERM COLUMNS LINES NO_COLOR'.split(' '),
)
/** Where the system keeps its programs. A file of the same name elsewhere is anybody's. */
const SYSTEM_PLACES: readonly string[] = Object.freeze(['/usr', '/bin', '/sbin', '/nix/store'])

/** False where the name promises nothing: a file of somebody's own, a shell, or code that a variable brings along. */
function isWhatItSays(command: EffectiveCommand): boolean {
  const { names, path, assignments } = command
  const isInPlace = path === undefined || SYSTEM_PLACES.some((place) => isWithin(place, path))
  return (
    isInPlace &&
    !isShell(names) &&
    !isProgram('interpreter', command) &&
    assignments.every(({ name }) => SHOWING_VARIABLES.has(name) || name.startsWith('LC_'))
  )
}

/** Long options are also known by their beginnings. */
function isGiven(option: string, given: readonly string[]): boolean {
  return given.some(
    (one) => one === option || (one.length > 2 && one.startsWith('--') && option.startsWith(one)),
  )
}

/** True where a reader does more than read. */
function doesMore(command: EffectiveCommand): boolean {
  const { names, options, operands, argv } = command
  if (command.terminal && isProgram('pager', command)) return true
  if (names.some((name) => SETTERS.get(name)?.some((option) => isGiven(option, options)) === true))
    return true
  if (names.includes('hostname') && operands.length > 0) return true
  if (!names.includes('git')) return false
  // What stands before the subcommand can set anything, the programs that git runs too; but for -C, a directory.
  const before = argv.slice(1, Math.max(1, argv.indexOf(operands[0] ?? '')))
  return before.some((word) => /^(?:-c|--config|--exec)/.test(word))
}

/** The tool that a reader, lister or searcher is; undefined: it is none of these. */
function readingTool(command: EffectiveCommand): Tool | undefined {
  if (doesMore(command)) return undefined
  if (isProgram('reader', command)) return 'Read'
  if (isProgram('lister', command)) return 'Glob'
  if (isProgram('searcher', command)) return 'Grep'
  return isSubcommand('reader', command) ? 'Read' : undefined
}

/** Adds the tools that one effective command needs; none where it only carries another one. */
function addTools(needed: Set<Tool>, command: EffectiveCommand, isCarrier: boolean): void {
  const { names, opaque, paths } = command
  const isUnknown = opaque.length > 0 || !isWhatItSays(command)
  const writes = paths.some(({ use }) => use === 'write')
  if (isProgram('network', command)) {
    needed.add('WebFetch')
    if (isUnknown) needed.add('Bash')
    else if (writes) needed.add('Write')
  } else if (isUnknown) needed.add('Bash')
  else if (isCarrier && !writes && isProgram('carrier', command)) return
  else if (names.includes('sed')) needed.add(writes ? 'Edit' : 'Read')
  // What it changes may be named in what it reads.
  else if (names.includes('patch')) needed.add('Edit')
  else if (isProgram('writer', command)) needed.add(doesMore(command) ? 'Bash' : 'Write')
  else needed.add(writes ? 'Bash' : (readingTool(command) ?? 'Bash'))
}

/** Every tool that the commands need. Nothing known needs `Bash`: whatever it is, it is no mere reading. */
export function toolsNeeded({ commands, kept }: Effective): ReadonlySet<Tool> {
  if (kept?.tools !== undefined) return kept.tools
  const needed = new Set<Tool>()
  for (let at = 0; at < commands.length; at++)
    addTools(needed, commands[at] as EffectiveCommand, commands.length > 1)
  if (needed.size === 0) needed.add('Bash')
  if (kept !== undefined) kept.tools = needed
  return needed
}

const METHOD_TOOLS: Readonly<Record<string, Tool>> = Object.freeze({
  FileUpload: 'Write',
  RawFileTransfer: 'Write',
  FileDownload: 'Read',
  Delegate: 'Task',
})

/** The tool that a method needs apart from what it runs; undefined: none. */
export function toolOfMethod(method: string): Tool | undefined {
  return Object.hasOwn(METHOD_TOOLS, method) ? METHOD_TOOLS[method] : undefined
}

/** Every tool that the request needs, by what it would run, else by its method. */
export function toolsAsked(
  { action, request }: Pick<Facts, 'action' | 'request'>,
  effective: (action: ExecuteAction) => Effective,
): ReadonlySet<Tool> {
  if (action?.kind === 'execute') return toolsNeeded(effective(action))
  const method = toolOfMethod(request?.method ?? '')
  return new Set(method === undefined ? [] : [method])
}
