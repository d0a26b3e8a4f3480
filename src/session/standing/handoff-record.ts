/**
 * Lines of the file of handoffs: one when a handoff is kept, one when it was taken. JSON arrays, as short as they can be;
 * what is not exactly one of them is no record.
 * @module
 */
import { areTexts, membersOf } from './array-line.ts'

/** What the daemon knows of a handoff beside its text. */
export type HandoffRecord = {
  /** 32 hexadecimal digits. */
  readonly id: string
  /** The instance that sent it, its name, its session, and whom it is for. */
  readonly from: string
  readonly sender: string
  readonly session: string
  readonly to: string
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
}

export type HandoffLine =
  | { readonly kind: 'sent'; readonly record: HandoffRecord; readonly content: string }
  | { readonly kind: 'taken'; readonly id: string }

/** Members of a line of each kind. */
const SENT = 19
const TAKEN = 2

export function sentLine(record: HandoffRecord, content: string): string {
  const { id, from, sender, session, to, digest, sealed, task, taskId, previous, persistent } = record
  const { criticality, classification, depth, injection, hidden, sentAtMs } = record
  const texts = [id, from, sender, session, to, digest, sealed, task, taskId ?? '', previous ?? '']
  const numbers = [criticality, classification, depth, injection, hidden, sentAtMs]
  return JSON.stringify(['sent', ...texts, ...numbers, persistent, content])
}

export function takenLine(id: string): string {
  return JSON.stringify(['taken', id])
}

const areCounts = (values: readonly unknown[]): values is number[] =>
  values.every((value) => Number.isSafeInteger(value) && (value as number) >= 0)

export function readHandoffLine(line: string): HandoffLine | undefined {
  const [kind, ...rest] = membersOf(line)
  if (kind === 'taken')
    return rest.length === TAKEN - 1 && areTexts(rest) ? { kind, id: rest[0] ?? '' } : undefined
  if (kind !== 'sent' || rest.length !== SENT - 1) return undefined
  const texts = rest.slice(0, 10)
  const numbers = rest.slice(10, 16)
  const [persistent, content] = rest.slice(16)
  if (!areTexts(texts) || !areCounts(numbers) || typeof content !== 'string') return undefined
  if (!Array.isArray(persistent) || !areTexts(persistent)) return undefined
  const [id = '', from = '', sender = '', session = '', to = '', digest = '', sealed = '', task = ''] = texts
  const [criticality = 0, classification = 0, depth = 0, injection = 0, hidden = 0, sentAtMs = 0] = numbers
  const record = {
    ...{ id, from, sender, session, to, digest, sealed, task, persistent },
    ...{ criticality, classification, depth, injection, hidden, sentAtMs },
    taskId: texts[8] === '' ? undefined : texts[8],
    previous: texts[9] === '' ? undefined : texts[9],
  }
  return { kind, record, content }
}
