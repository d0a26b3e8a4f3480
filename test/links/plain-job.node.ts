/**
 * One job as a plain client sees it, over as many streams as it takes: which bytes came, which are declared lost, how
 * far its stdin is, and how it ended. Whatever docs/protocol.md does not allow is written down as a problem.
 * @module
 */
import type { CborValue } from '../../src/base/encoding/cbor.ts'
import { addGap, declareCut, type JobState, type Outcome, takeData } from './job-state.ts'
import { linesAt } from './jobs.ts'
import {
  bytesField,
  field,
  METHOD,
  type PlainConnection,
  type PlainStream,
  unsignedField,
} from './plain-connection.node.ts'

/** What an attempt came to. */
export type Ending =
  | { readonly kind: 'over'; readonly outcome: Outcome }
  /** The connection went. */
  | { readonly kind: 'lost' }
  /** To be asked again: it was taken over, had to wait, or declared a gap. */
  | { readonly kind: 'again'; readonly waitMs: number }

const STATUS = Object.freeze({
  spawnFailed: 11,
  notFound: 13,
  unknown: 18,
  throttled: 101,
  dataLoss: 105,
  malformed: 106,
  shuttingDown: 107,
})
const STDIN_CHUNK_BYTES = 3_000
/** Of docs/protocol.md, by their POSIX numbers. */
const WIRE_SIGNALS: Readonly<Record<number, number>> = { 15: 1, 9: 2 }
const RETRY_MS = 20

function request(state: JobState): Map<number, CborValue> {
  const { job, hasStarted, received } = state
  const fields = new Map<number, CborValue>()
  const isUnary = job.kind === 'unary'
  if (hasStarted && !isUnary) fields.set(7, true)
  else {
    fields.set(1, job.command)
    if (job.args.length > 0) fields.set(2, [...job.args])
    if (job.cwd !== undefined) fields.set(3, job.cwd)
  }
  fields.set(5, new Uint8Array(Buffer.from(job.id, 'hex')))
  if (received[0] > 0) fields.set(8, received[0])
  if (job.stdinBytes !== undefined) fields.set(13, true)
  if (received[1] > 0) fields.set(15, received[1])
  return fields
}

function declareGap(state: JobState, details: unknown): void {
  for (const source of [0, 1] as const) {
    const oldest = unsignedField(details, source + 1)
    if (oldest === undefined) state.problems.push('STATUS 105 without details')
    else if (oldest > state.received[source]) addGap(state, source, state.received[source], oldest)
  }
}

/** ExecuteResponse has its exit elsewhere than StreamResponse. */
function exitOf(payload: unknown, isUnary: boolean): Outcome | undefined {
  const code = unsignedField(payload, isUnary ? 1 : 3)
  const signal = unsignedField(payload, 12)
  if (signal !== undefined) return { kind: 'signalled', signal }
  return code === undefined ? undefined : { kind: 'exited', code }
}

function endingOf(state: JobState, payload: unknown): Ending {
  const code = unsignedField(payload, 1)
  const over = (outcome: Outcome): Ending => ({ kind: 'over', outcome })
  switch (code) {
    case STATUS.spawnFailed:
      return over({ kind: 'not-started', errno: unsignedField(field(payload, 3), 1) ?? -1 })
    case STATUS.malformed:
      return over({ kind: 'mistake' })
    case STATUS.unknown:
      return over({ kind: 'unknown' })
    case STATUS.notFound:
      return over({ kind: 'not-known' })
    case STATUS.dataLoss:
      declareGap(state, field(payload, 3))
      state.hasStarted = true
      return { kind: 'again', waitMs: 0 }
    case STATUS.throttled:
    case STATUS.shuttingDown:
      return { kind: 'again', waitMs: RETRY_MS }
    default:
      state.problems.push(`STATUS ${code}: ${String(field(payload, 2))}`)
      return { kind: 'again', waitMs: RETRY_MS }
  }
}

/** Sends stdin from where the device says that it is, as far as credit allows. */
function createStdin(state: JobState, stream: () => PlainStream, windowBytes: number) {
  const all = state.job.stdinBytes ?? 0
  let position: number | undefined
  let limit = windowBytes
  let sentHere = 0
  let hasEnded = false
  function pump(): void {
    if (position === undefined || state.job.stdinBytes === undefined || hasEnded) return
    for (let bytes = 1; position < all && bytes > 0; ) {
      bytes = Math.min(all - position, limit - sentHere, STDIN_CHUNK_BYTES)
      if (bytes <= 0) return
      stream().message(new Map([[1, linesAt(position, bytes)]]))
      position += bytes
      sentHere += bytes
      state.stdinSent = Math.max(state.stdinSent, position)
    }
    hasEnded = true
    stream().end()
  }
  return {
    begin(told: number): void {
      // Of a command that has ended only the result may be left, which says nothing of stdin and wants no more.
      if (told === 0 && state.stdinTold > 0) return
      if (told < state.stdinTold || told > state.stdinSent)
        state.problems.push(
          `stdin is at ${told}, and was at ${state.stdinTold} of ${state.stdinSent} that were sent`,
        )
      state.stdinTold = told
      position = told
      pump()
    },
    credit(total: number): void {
      limit = Math.max(limit, total)
      pump()
    },
  }
}

/** Asks for the job on one connection, from where it is, until that stream ends. */
export function attend(
  state: JobState,
  connection: PlainConnection,
  note: (what: string) => void,
): Promise<Ending> {
  const { job } = state
  const isUnary = job.kind === 'unary'
  const { windowBytes } = connection
  return new Promise((resolve) => {
    let consumed = 0
    let granted = windowBytes
    let hasAnswer = false
    // An answer that is asked for again comes again from where it was asked for.
    const base: [number, number] = [...state.received]
    const unary: [Uint8Array[], Uint8Array[]] = [[], []]

    function consume(bytes: number): void {
      consumed += bytes
      if (consumed > granted) state.problems.push(`${consumed} bytes came where ${granted} were granted`)
      if (granted - consumed > windowBytes / 2) return
      granted = consumed + windowBytes
      stream.credit(granted)
    }

    function message(payload: unknown): void {
      const source = unsignedField(payload, 1) ?? 0
      const data = bytesField(payload, 2)
      if (source === 2) {
        if (field(payload, 14) !== undefined) state.problems.push('a challenge came')
        if (bytesField(payload, 13) === undefined) return
        state.hasStarted = true
        return stdin.begin(unsignedField(payload, 6) ?? 0)
      }
      if (data === undefined || (source !== 0 && source !== 1)) return
      if (job.expected.kind === 'denied') {
        stream.reset()
        return resolve({ kind: 'over', outcome: { kind: 'denied' } })
      }
      if (job.kind === 'detached' && state.sent === 1) {
        takeData(state, source, unsignedField(payload, 6), data)
        stream.reset()
        return resolve({ kind: 'again', waitMs: 0 })
      }
      if (isUnary) unary[source].push(data)
      else takeData(state, source, unsignedField(payload, 6), data)
      consume(data.length)
    }

    function finish(payload: unknown): void {
      const outcome = exitOf(payload, isUnary)
      if (outcome === undefined) {
        state.problems.push('END without an exit')
        return resolve({ kind: 'again', waitMs: RETRY_MS })
      }
      if (isUnary) {
        for (const source of [0, 1] as const) {
          const rest = bytesField(payload, 2 + source) ?? new Uint8Array(0)
          const whole = new Uint8Array(Buffer.concat([...unary[source], rest]))
          state.received[source] = base[source]
          takeData(state, source, base[source], whole)
        }
        if (field(payload, 13) === true) declareCut(state)
      }
      resolve({ kind: 'over', outcome })
    }

    state.sent += 1
    const stream = connection.open(isUnary ? METHOD.execute : METHOD.executeStream, request(state), {
      frame(kind, payload) {
        if (!hasAnswer) state.answered += 1
        hasAnswer = true
        if (kind === 'MSG') return message(payload)
        if (kind === 'CREDIT') return stdin.credit(Number(payload))
        note(
          `${job.kind} ${kind} ${state.received}${kind === 'STATUS' ? ` ${unsignedField(payload, 1)}` : ''}`,
        )
        if (kind === 'END') return finish(payload)
        if (kind === 'STATUS') return resolve(endingOf(state, payload))
        resolve({ kind: 'again', waitMs: RETRY_MS })
      },
      lost: () => resolve({ kind: 'lost' }),
    })
    const stdin = createStdin(state, () => stream, windowBytes)
  })
}

/** Sends the next signal that is due; true where the device has answered. */
export function sendSignal(state: JobState, connection: PlainConnection): Promise<boolean> {
  const due = state.signals[state.signalsDone]
  if (due === undefined) return Promise.resolve(false)
  const fields = new Map<number, CborValue>([
    [1, new Uint8Array(Buffer.from(state.job.id, 'hex'))],
    [2, WIRE_SIGNALS[due.signal] ?? 0],
    [12, due.id],
  ])
  return new Promise((resolve) => {
    connection.open(METHOD.signal, fields, {
      frame(kind, payload) {
        // It may have ended in the meantime, whatever ended it.
        const code = unsignedField(payload, 1)
        if (kind === 'STATUS' && code !== STATUS.notFound && code !== STATUS.shuttingDown)
          state.problems.push(`a signal was answered with STATUS ${code}`)
        if (kind === 'END' || kind === 'STATUS') state.signalsDone += 1
        resolve(true)
      },
      lost: () => resolve(false),
    })
  })
}
