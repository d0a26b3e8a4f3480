/**
 * What is written down of an execution, as a line of JSON: that it is about to start, how it ended, or that nothing
 * came of it. The program's base name is all that a line says of what was run. What does not read back exactly is no
 * record.
 * Rules: docs/protocol.md, section 3 (at most once); docs/operations.md (files).
 * @module
 */

import { areTexts, membersOf } from '../standing/array-line.ts'
import { commandName } from './command-name.ts'
import type { Execution, ExecutionKey, InjectionFinding, StartRecord, StartRequest } from './execution.ts'

/** What is written down of a command before it starts. */
export function startRecord(
  request: Pick<StartRequest, 'id' | 'owner' | 'scope' | 'instance' | 'sessionId' | 'warrant' | 'action'>,
  startedAtMs: number,
): StartRecord {
  const { id, owner, scope, instance, sessionId, warrant, action } = request
  const { argv, place } = action.kind === 'execute' ? action : { argv: [], place: undefined }
  const command = commandName(argv[0] ?? '')
  return {
    ...{ id, owner, scope, instance, sessionId, command, startedAtMs },
    ...{ warrantId: warrant.id, isolation: place?.level },
  }
}

/** `unknown`: it was started, and how it ended is not known or not told any more. */
export type EndState = 'finished' | 'not_started' | 'unknown'

export type EndRecord = ExecutionKey &
  Pick<Execution, 'owner' | 'sessionId' | 'command' | 'startedAtMs' | 'isolation'> &
  Pick<Execution, 'exit' | 'errno' | 'endedAtMs' | 'outputBytes' | 'discardedBytes' | 'timedOut' | 'why'> &
  Pick<Execution, 'findings'> & { readonly state: EndState }

export type KeptRecord =
  | ({ readonly kind: 'start' } & StartRecord)
  | ({ readonly kind: 'end' } & EndRecord)
  /** It came to nothing, as if it had never been asked for. */
  | ({ readonly kind: 'undone' } & ExecutionKey)

const END_STATES: readonly EndState[] = ['finished', 'not_started', 'unknown']

export function startLine(start: StartRecord): string {
  const { id, scope, owner, instance, sessionId, command, startedAtMs, isolation, warrantId } = start
  return JSON.stringify([
    ...['start', id, scope, owner, sessionId, command, startedAtMs, isolation ?? ''],
    ...[instance, warrantId],
  ])
}

export function endLine(end: EndRecord): string {
  const { id, scope, owner, sessionId, command, startedAtMs, isolation, exit } = end
  return JSON.stringify([
    ...['end', id, scope, owner, sessionId, command, startedAtMs, isolation ?? ''],
    ...[END_STATES.indexOf(end.state), exit?.kind === 'exited' ? exit.code : -1],
    ...[exit?.kind === 'signalled' ? exit.signal : -1, end.errno, end.endedAtMs, ...end.outputBytes],
    ...[end.discardedBytes, end.timedOut ? 1 : 0, end.why ?? ''],
    ...(end.findings ?? []).flatMap(({ kind, offset, length }) => [kind, offset, length]),
  ])
}

export function undoneLine({ id, scope }: ExecutionKey): string {
  return JSON.stringify(['undone', id, scope])
}

function exitOf(code: number, signal: number): Execution['exit'] {
  if (code >= 0) return { kind: 'exited', code }
  return signal >= 0 ? { kind: 'signalled', signal } : undefined
}

const areNumbers = (values: readonly unknown[]): values is number[] => values.every(Number.isFinite)

/** How many members come before those that only one kind of line has. */
const HEAD = 8
/** What an end has of numbers behind those, before the sentence. */
const END_NUMBERS = 9

export function readKept(line: string): KeptRecord | undefined {
  const [kind, ...rest] = membersOf(line)
  const [id, scope, owner, sessionId, command, startedAtMs, isolation] = rest
  if (!areTexts([id, scope])) return undefined
  const key = { id, scope } as ExecutionKey
  if (kind === 'undone') return rest.length === 2 ? { kind, ...key } : undefined
  if (!areTexts([owner, sessionId, command, isolation]) || !areNumbers([startedAtMs])) return undefined
  const head = {
    ...key,
    owner: owner as string,
    sessionId: sessionId as string,
    command: command as string,
    startedAtMs: startedAtMs as number,
    isolation: isolation === '' ? undefined : (isolation as string),
  }
  const tail = rest.slice(HEAD - 1)
  return kind === 'start' ? readStart(head, tail) : kind === 'end' ? readEnd(head, tail) : undefined
}

type Head = Omit<StartRecord, 'instance' | 'warrantId'>

function readStart(head: Head, tail: readonly unknown[]): KeptRecord | undefined {
  if (tail.length !== 2 || !areTexts(tail)) return undefined
  const [instance = '', warrantId = ''] = tail
  return { kind: 'start', ...head, instance, warrantId }
}

/** Three members each; undefined: they are none. */
function readFindings(members: readonly unknown[]): InjectionFinding[] | undefined {
  const found: InjectionFinding[] = []
  for (let at = 0; at < members.length; at += 3) {
    const [kind, offset, length] = members.slice(at, at + 3)
    if (typeof kind !== 'string' || typeof offset !== 'number' || typeof length !== 'number') return undefined
    found.push({ kind, offset, length })
  }
  return found
}

function readEnd(head: Head, tail: readonly unknown[]): KeptRecord | undefined {
  const numbers = tail.slice(0, END_NUMBERS)
  const why = tail[END_NUMBERS]
  const findings = readFindings(tail.slice(END_NUMBERS + 1))
  if (typeof why !== 'string' || !areNumbers(numbers) || findings === undefined) return undefined
  const [place = -1, code = -1, signal = -1, errno = 0, endedAtMs = 0, stdout = 0, stderr = 0, ...others] =
    numbers
  const state = END_STATES[place]
  const exit = exitOf(code, signal)
  if (state === undefined || (state === 'finished') !== (exit !== undefined)) return undefined
  return {
    kind: 'end',
    ...head,
    ...{ state, exit, errno, endedAtMs },
    outputBytes: [stdout, stderr],
    discardedBytes: others[0] ?? 0,
    timedOut: others[1] === 1,
    why: why === '' ? undefined : why,
    ...(findings.length === 0 ? {} : { findings }),
  }
}
