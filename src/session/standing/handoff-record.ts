/**
 * Lines of the file of handoffs: one when a handoff is kept, one when it was taken. JSON arrays, as short as they can be;
 * what is not exactly one of them is no record.
 * @module
 */
import type { AuditEvent } from '../../ports.ts'
import { areTexts, membersOf } from './array-line.ts'

/** A file or directory that the message names, and what has become of it. */
export type Artifact = {
  /** As the message has it. */
  readonly path: string
  readonly size: number
  /** Of the copy that is kept, lower-case hex; empty: there is none. */
  readonly sha256: string
  /** Why it was not brought; empty: it was. */
  readonly why: string
}

/** What the daemon knows of a handoff beside its text. */
export type HandoffRecord = {
  /** 32 hexadecimal digits. */
  readonly id: string
  /** The instance that sent it, its name, its session, and whom it is for. */
  readonly from: string
  readonly sender: string
  readonly session: string
  readonly to: string
  /** The key that had that name when it was sent (scopeOf); lines of a version before have none. */
  readonly recipient?: string
  /** SHA-256, hex, as in HandoffAction. */
  readonly digest: string
  readonly sealed: string
  readonly task: string
  readonly taskId: string | undefined
  readonly previous: string | undefined
  readonly persistent: readonly string[]
  readonly criticality: number
  readonly classification: number
  readonly depth: number
  readonly injection: number
  readonly hidden: number
  readonly sentAtMs: number
  /** In the order of the message. */
  readonly artifacts: readonly Artifact[]
}

export type HandoffLine =
  | { readonly kind: 'sent'; readonly record: HandoffRecord; readonly content: string }
  | { readonly kind: 'taken'; readonly id: string }

/** Members of a line of each kind, without the two that it need not have: artifacts, and behind them the recipient. */
const SENT = 19
const TAKEN = 2

export function sentLine(record: HandoffRecord, content: string): string {
  const { id, from, sender, session, to, digest, sealed, task, taskId, previous, persistent } = record
  const { criticality, classification, depth, injection, hidden, sentAtMs } = record
  const texts = [id, from, sender, session, to, digest, sealed, task, taskId ?? '', previous ?? '']
  const numbers = [criticality, classification, depth, injection, hidden, sentAtMs]
  const artifacts = record.artifacts.map(({ path, size, sha256, why }) => [path, size, sha256, why])
  const { recipient } = record
  const more = recipient !== undefined ? [artifacts, recipient] : artifacts.length === 0 ? [] : [artifacts]
  return JSON.stringify(['sent', ...texts, ...numbers, persistent, content, ...more])
}

export function takenLine(id: string): string {
  return JSON.stringify(['taken', id])
}

const areCounts = (values: readonly unknown[]): values is number[] =>
  values.every((value) => Number.isSafeInteger(value) && (value as number) >= 0)

function readArtifacts(value: unknown): Artifact[] | undefined {
  if (!Array.isArray(value)) return undefined
  const read = value.map((one: unknown): Artifact | undefined => {
    const [path, size, ...more] = Array.isArray(one) ? (one as unknown[]) : []
    const [sha256, why] = more
    return typeof path === 'string' && areCounts([size]) && more.length === 2 && areTexts(more)
      ? { path, size: size as number, sha256: sha256 as string, why: why as string }
      : undefined
  })
  return read.every((one) => one !== undefined) ? read : undefined
}

export function readHandoffLine(line: string): HandoffLine | undefined {
  const [kind, ...rest] = membersOf(line)
  if (kind === 'taken')
    return rest.length === TAKEN - 1 && areTexts(rest) ? { kind, id: rest[0] ?? '' } : undefined
  if (kind !== 'sent' || rest.length < SENT - 1 || rest.length > SENT + 1) return undefined
  const texts = rest.slice(0, 10)
  const numbers = rest.slice(10, 16)
  const [persistent, content, named = [], recipient = ''] = rest.slice(16)
  const artifacts = readArtifacts(named)
  if (!areTexts(texts) || !areCounts(numbers) || typeof content !== 'string') return undefined
  if (typeof recipient !== 'string') return undefined
  if (artifacts === undefined) return undefined
  if (!Array.isArray(persistent) || !areTexts(persistent)) return undefined
  const [id = '', from = '', sender = '', session = '', to = '', digest = '', sealed = '', task = ''] = texts
  const [criticality = 0, classification = 0, depth = 0, injection = 0, hidden = 0, sentAtMs = 0] = numbers
  const record = {
    ...{ id, from, sender, session, to, digest, sealed, task, persistent },
    ...{ criticality, classification, depth, injection, hidden, sentAtMs },
    taskId: texts[8] === '' ? undefined : texts[8],
    previous: texts[9] === '' ? undefined : texts[9],
    artifacts,
    ...(recipient === '' ? {} : { recipient }),
  }
  return { kind, record, content }
}

/** Under which name the copy of each artifact is kept; nothing of those that were not brought. */
export function copiesOf({ id, artifacts }: Pick<HandoffRecord, 'id' | 'artifacts'>): readonly string[] {
  return artifacts.flatMap(({ sha256 }, index) => (sha256 === '' ? [] : [copyName(id, index)]))
}

export function copyName(id: string, index: number): string {
  return `${id}-${index}`
}

/** What the record has of one; digests and numbers, nothing of what it says. */
export function handoffEvent(what: 'sent' | 'taken' | 'rejected', handoff: HandoffRecord): AuditEvent {
  const { id, from, to, digest, sealed, task, criticality, depth, previous, injection, hidden } = handoff
  return {
    ...{ type: 'handoff', what, handoff: id, from, to, digest, sealed, task },
    criticality: `C${criticality}`,
    ...{ depth, previous: previous ?? null, injection, hidden },
  }
}
