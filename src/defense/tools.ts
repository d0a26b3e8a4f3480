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
import { goesBy, isShell } from './13policy/programs/names.ts'
import type { ExecuteAction, Facts } from './facts.ts'

export type { Tier, Tool, ToolList } from '../base/tool-name.ts'

/** Whether the tier has the tool, and every one of the lists: each of them narrows, none widens. */
export function grantsTool(tier: Tier, lists: readonly ToolList[], tool: Tool): boolean {
  return TIERS[tier].includes(tool) && lists.every((list) => list.includes(ALL_TOOLS) || list.includes(tool))
}

/** What remains of the tier's tools by every one of the lists. */
export function intersectTools(tier: Tier, lists: readonly ToolList[]): ReadonlySet<Tool> {
  return new Set(TIERS[tier].filter((tool) => grantsTool(tier, lists, tool)))
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))

/** Programs that read files or say what is, and write nothing but their output. */
const READERS = words(
  'cat head tail less more wc diff diff3 cmp comm stat file md5sum sha1sum sha256sum sha512sum cksum b2sum strings xxd ' +
    'od hexdump nl tac cut paste join fold fmt column expand unexpand sort uniq tr rev jq basename dirname realpath ' +
    'readlink date uname id groups whoami hostname arch nproc pwd echo printf true false test [ seq sleep ps free ' +
    'uptime w who last lscpu lsusb lspci lsblk lsmod lsns lsof vmstat iostat printenv tty locale getconf cal bc expr',
)
const LISTERS = words('ls dir vdir find fd tree du df locate which whereis type')
const SEARCHERS = words('grep egrep fgrep zgrep rg ag ack look')
const WRITERS = words('tee touch mkdir cp mv install ln truncate rmdir')
/** Programs whose business is another host. */
export const NETWORK_PROGRAMS = words(
  'curl wget http https aria2c axel lynx links w3m fetch ssh scp sftp rsync nc ncat netcat socat telnet ftp lftp tftp ' +
    'ncftp rclone s3cmd aws gsutil mosh rsh rlogin whois',
)
const GIT_READERS = words(
  'status log diff show blame shortlog describe rev-parse ls-files ls-tree cat-file grep',
)
/** They run what they are given, and need what that needs. */
const CARRIERS = words('env nice ionice nohup timeout time stdbuf setsid chrt taskset busybox toybox')

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
/** On a terminal they take commands, and one of those runs a shell. `git` shows what is long with one of them. */
const PAGERS = words('less more git')
/** Variables that change how things are shown and never what runs; any other may name code. */
const SHOWING_VARIABLES = words('LANG LANGUAGE TZ TERM COLUMNS LINES NO_COLOR')
const INTERPRETERS = words(
  'python perl ruby node bun deno php lua awk tclsh wish expect guile emacs vim vi ed ex',
)
/** Where the system keeps its programs. A file of the same name elsewhere is anybody's. */
const SYSTEM_PLACES: readonly string[] = Object.freeze(['/usr', '/bin', '/sbin', '/nix/store'])

function isAnyOf(set: ReadonlySet<string>, command: EffectiveCommand): boolean {
  return goesBy(command.names, set)
}

/** False where the name promises nothing: a file of somebody's own, a shell, or code that a variable brings along. */
function isWhatItSays({ names, path, assignments }: EffectiveCommand): boolean {
  const isInPlace = path === undefined || SYSTEM_PLACES.some((place) => isWithin(place, path))
  return (
    isInPlace &&
    !isShell(names) &&
    !goesBy(names, INTERPRETERS) &&
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
  if (command.terminal && isAnyOf(PAGERS, command)) return true
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
  if (isAnyOf(READERS, command)) return 'Read'
  if (isAnyOf(LISTERS, command)) return 'Glob'
  if (isAnyOf(SEARCHERS, command)) return 'Grep'
  return command.names.includes('git') && GIT_READERS.has(command.operands[0] ?? '') ? 'Read' : undefined
}

/** Adds the tools that one effective command needs; none where it only carries another one. */
function addTools(needed: Set<Tool>, command: EffectiveCommand, isCarrier: boolean): void {
  const { names, opaque, paths } = command
  const isUnknown = opaque.length > 0 || !isWhatItSays(command)
  const writes = paths.some(({ use }) => use === 'write')
  if (isAnyOf(NETWORK_PROGRAMS, command)) {
    needed.add('WebFetch')
    if (isUnknown) needed.add('Bash')
    else if (writes) needed.add('Write')
  } else if (isUnknown) needed.add('Bash')
  else if (isCarrier && !writes && isAnyOf(CARRIERS, command)) return
  else if (names.includes('sed')) needed.add(writes ? 'Edit' : 'Read')
  // What it changes may be named in what it reads.
  else if (names.includes('patch')) needed.add('Edit')
  else if (isAnyOf(WRITERS, command)) needed.add(doesMore(command) ? 'Bash' : 'Write')
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
