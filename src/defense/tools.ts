/**
 * Tools and tiers: what a command or a method needs, and what a tier gives. Tiers are sets, not ranks: T3 and T4 have
 * each what the other has not, so rights are narrowed by intersection and never by the smaller number.
 * What a command needs is read off its effective commands; what is not known to be a mere reader needs `Bash`.
 * Rules: docs/responses.md, section 1 (tool access).
 * @module
 */
import { ALL_TOOLS, type Tier, type Tool } from '../base/tool-name.ts'
import type { Effective, EffectiveCommand } from './13policy/effective.ts'

export type { Tier, Tool } from '../base/tool-name.ts'

/** Tools by name, or `*` for every one. */
export type ToolList = readonly (Tool | typeof ALL_TOOLS)[]

const T1: readonly Tool[] = Object.freeze(['Read', 'Glob', 'Grep'])
const T2: readonly Tool[] = Object.freeze([...T1, 'Write', 'Edit', 'Bash'])
const T3: readonly Tool[] = Object.freeze([...T2, 'WebSearch', 'WebFetch', 'Context7'])
const T4: readonly Tool[] = Object.freeze([...T2, 'Memory-Keeper'])
export const TIERS: Readonly<Record<Tier, readonly Tool[]>> = Object.freeze({
  T1,
  T2,
  T3,
  T4,
  T5: Object.freeze([...T3, 'Memory-Keeper', 'Task'] as const),
})

/** What remains of the tier's tools by every one of the lists: each of them narrows, none widens. */
export function intersectTools(tier: Tier, lists: readonly ToolList[]): ReadonlySet<Tool> {
  return new Set(
    TIERS[tier].filter((tool) => lists.every((list) => list.includes(ALL_TOOLS) || list.includes(tool))),
  )
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
const EDITORS = words('sed patch ed ex')
const WRITERS = words('tee touch mkdir cp mv install ln truncate rmdir')
/** Programs whose business is another host. */
export const NETWORK_PROGRAMS = words(
  'curl wget http https aria2c axel lynx links w3m fetch ssh scp sftp rsync nc ncat netcat socat telnet ftp lftp tftp ' +
    'ncftp rclone s3cmd aws gsutil mosh rsh rlogin whois',
)
const GIT_READERS = words('status log diff show blame shortlog describe rev-parse ls-files ls-tree cat-file grep')
/** They run what they are given, and need what that needs. */
const CARRIERS = words('env nice ionice nohup timeout time stdbuf setsid chrt taskset')

function isAnyOf(set: ReadonlySet<string>, command: EffectiveCommand): boolean {
  return command.names.some((name) => set.has(name))
}

/** The tool that one effective command needs; undefined where it only carries another one. */
function toolOf(command: EffectiveCommand, isCarrier: boolean): Tool | undefined {
  if (isAnyOf(NETWORK_PROGRAMS, command)) return 'WebFetch'
  if (command.opaque.length > 0 || command.calls.length > 0) return 'Bash'
  if (isCarrier && isAnyOf(CARRIERS, command)) return undefined
  const writes = command.paths.some(({ use }) => use === 'write')
  if (isAnyOf(EDITORS, command)) return writes ? 'Edit' : 'Read'
  if (isAnyOf(WRITERS, command)) return 'Write'
  if (writes) return 'Bash'
  if (isAnyOf(READERS, command)) return 'Read'
  if (isAnyOf(LISTERS, command)) return 'Glob'
  if (isAnyOf(SEARCHERS, command)) return 'Grep'
  if (command.names.includes('git') && GIT_READERS.has(command.operands[0] ?? '')) return 'Read'
  return 'Bash'
}

/** Every tool that the commands need. Nothing known needs `Bash`: whatever it is, it is no mere reading. */
export function toolsNeeded({ commands }: Effective): ReadonlySet<Tool> {
  const needed = new Set<Tool>()
  for (const command of commands) {
    const tool = toolOf(command, commands.length > 1)
    if (tool !== undefined) needed.add(tool)
  }
  if (needed.size === 0) needed.add('Bash')
  return needed
}

const METHOD_TOOLS: Readonly<Record<string, Tool>> = Object.freeze({
  FileUpload: 'Write',
  RawFileTransfer: 'Write',
  FileDownload: 'Read',
})

/** The tool that a method needs apart from what it runs; undefined: none. */
export function toolOfMethod(method: string): Tool | undefined {
  return Object.hasOwn(METHOD_TOOLS, method) ? METHOD_TOOLS[method] : undefined
}
