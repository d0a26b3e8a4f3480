/**
 * The list of changes for people: what must be seen first, one line each, nothing cut; folders that nobody reads file by
 * file are one line with their counts, except for what is flagged or in conflict in them. Nothing in a name can steer a
 * terminal.
 * @module
 */

import { decodeUtf8 } from '../../../base/encoding/utf8.ts'
import { visible } from '../../../base/text/visible.ts'
import { attributeText } from './attributes-text.ts'
import { absolutePath, type Change, type ChangeKind, type ConflictKind, type Flag } from './changes.ts'
import { bytePath } from './paths.ts'

export type TextOptions = {
  /** Names of directories that are folded to one line: `.git`, `node_modules`, `target`. */
  readonly folded: readonly string[]
}

const KINDS: readonly ChangeKind[] = [
  ...(['deleted', 'replaced', 'retyped', 'renamed', 'added', 'modified', 'metadata'] as const),
]
const KIND_CHARS = 9

const FLAG_TEXT: Readonly<Record<Flag, string>> = {
  setuid: 'setuid',
  setgid: 'setgid',
  world_writable: 'everybody may write it',
  file_capability: 'has file capabilities',
  access_list: 'an access list gives rights beside its mode',
  leaves_root: 'leads out of the branch',
  fifo: 'a FIFO',
  socket: 'a socket',
  device: 'a device',
  control_characters: 'control characters in its name',
  runs_on_host: 'the host runs or obeys it',
  breaks_link: 'its other names keep the old content',
  hidden: 'no command could see what lies there: merged only by name',
}

const CONFLICT_TEXT: Readonly<Record<ConflictKind, string>> = {
  changed: 'CONFLICT: changed outside of the branch since',
  gone: 'CONFLICT: removed outside of the branch since',
}

/** Bytes as they may be shown: text, or what of it is none by number. */
export function shownBytes(bytes: Uint8Array): string {
  const text = decodeUtf8(bytes)
  if (text !== undefined) return visible(text)
  return bytePath(bytes).replace(
    /[^ -~]/g,
    (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )
}

function plural(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0')
}

function detailsOf(
  { kind, before, after, metadata, attributes, removed, from }: Change,
  root: string,
): string[] {
  const details: string[] = []
  if (from !== undefined) {
    const shown = shownBytes(absolutePath(root, from))
    details.push(kind === 'renamed' ? `from ${shown}` : `as ${shown} was`)
  }
  if (kind === 'retyped' && before !== undefined && after !== undefined)
    details.push(`${before.type} -> ${after.type}`)
  if (kind === 'added' && after !== undefined && after.type !== 'file') details.push(after.type)
  if (after?.target !== undefined) details.push(`-> ${shownBytes(after.target)}`)
  if (removed !== undefined) {
    const files = plural(removed.files, 'file', 'files')
    const directories = plural(removed.directories, 'directory', 'directories')
    details.push(`with ${files} in ${directories}, ${removed.sizeBytes} bytes`)
  }
  if (before !== undefined && after !== undefined) {
    if (before.type === 'file' && after.type === 'file' && kind === 'modified')
      details.push(`${before.sizeBytes} -> ${after.sizeBytes} bytes`)
    if (metadata?.includes('mode')) details.push(`mode ${octal(before.mode)} -> ${octal(after.mode)}`)
    if (metadata?.includes('owner'))
      details.push(`owner ${before.uid}:${before.gid} -> ${after.uid}:${after.gid}`)
    if (kind === 'metadata' && metadata?.includes('time')) details.push('time')
    if (attributes !== undefined)
      details.push(
        `attributes ${attributes.map((name) => attributeText(name, after.attributes?.get(name))).join(', ')}`,
      )
  } else if (kind === 'added' && after?.type === 'file') details.push(`${after.sizeBytes} bytes`)
  else if (kind === 'deleted' && before?.type === 'file') details.push(`${before.sizeBytes} bytes`)
  if (after !== undefined && (kind === 'added' || kind === 'retyped')) {
    if (after.type !== 'symlink') details.push(`mode ${octal(after.mode)}`)
    for (const [name, value] of after.attributes ?? [])
      if (attributes?.includes(name) !== true) details.push(attributeText(name, value))
  }
  return details
}

function lineOf(change: Change, root: string): string {
  const details = detailsOf(change, root)
  const warnings = [
    ...(change.conflict === undefined ? [] : [CONFLICT_TEXT[change.conflict]]),
    ...change.flags.map((flag) => FLAG_TEXT[flag]),
  ]
  const path = shownBytes(absolutePath(root, change.path))
  const detail = details.length === 0 ? '' : ` (${details.join(', ')})`
  const warning = warnings.length === 0 ? '' : `  ! ${warnings.join('; ')}`
  return `${change.kind.padEnd(KIND_CHARS)} ${path}${detail}${warning}`
}

/** The folder of a change that is folded, from the root; undefined: it has a line of its own. */
function folderOf(change: Change, folded: ReadonlySet<string>): string | undefined {
  if (change.flags.length > 0 || change.conflict !== undefined) return undefined
  const path = bytePath(change.path)
  let start = 0
  for (;;) {
    const slash = path.indexOf('/', start)
    const end = slash < 0 ? path.length : slash
    if (folded.has(path.slice(start, end)) && (slash >= 0 || change.after?.type === 'directory'))
      return path.slice(0, end)
    if (slash < 0) return undefined
    start = slash + 1
  }
}

function countsText(counts: ReadonlyMap<ChangeKind, number>): string {
  return KINDS.filter((kind) => counts.has(kind))
    .map((kind) => `${counts.get(kind)} ${kind}`)
    .join(', ')
}

/** Lines without newlines; the last one is the sum. */
export function changesText(
  roots: readonly string[],
  changes: readonly Change[],
  options: TextOptions,
): string[] {
  const folded = new Set(options.folded)
  const lines: string[] = []
  const folders = new Map<string, { shown: string; counts: Map<ChangeKind, number> }>()
  const total = new Map<ChangeKind, number>()
  for (const change of changes) {
    total.set(change.kind, (total.get(change.kind) ?? 0) + 1)
    const root = roots[change.root] ?? ''
    const folder = folderOf(change, folded)
    if (folder === undefined) {
      lines.push(lineOf(change, root))
      continue
    }
    const key = `${change.root} ${folder}`
    let known = folders.get(key)
    if (known === undefined) {
      const bytes = change.path.subarray(0, folder.length)
      known = { shown: shownBytes(absolutePath(root, bytes)), counts: new Map() }
      folders.set(key, known)
    }
    known.counts.set(change.kind, (known.counts.get(change.kind) ?? 0) + 1)
  }
  for (const { shown, counts } of folders.values())
    lines.push(`${'folder'.padEnd(KIND_CHARS)} ${shown}/ (${countsText(counts)})`)
  if (changes.length === 0) return ['No changes.']
  const conflicts = changes.filter((change) => change.conflict !== undefined).length
  const flagged = changes.filter((change) => change.flags.length > 0).length
  const parts = [
    `${plural(changes.length, 'change', 'changes')}: ${countsText(total)}`,
    ...(conflicts > 0 ? [plural(conflicts, 'conflict', 'conflicts')] : []),
    ...(flagged > 0 ? [`${flagged} to look at twice`] : []),
  ]
  return [...lines, parts.join('; ')]
}
