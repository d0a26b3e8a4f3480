/**
 * One execution as whoever asked for it sees it, over as many connections as it takes: its output in order, every byte
 * once, what is lost declared; its stdin likewise; one exit. It keeps how far each output came and asks the device to
 * go on from there. Nothing is asked that could be done twice: with its id the same request attaches to what runs, and
 * once it is known to have begun, only that is asked for.
 * Rules: docs/protocol.md, sections 3 (at most once) and 6.
 * @module
 */
import { defer } from '../../base/deferred.ts'
import { SassError } from '../../errors.ts'
import { ACCEPT } from '../../wire/accept.ts'
import type { ExecuteRequestInput, OutputSink, RemoteExit } from './call-words.ts'
import type { Caller } from './caller.ts'
import { lostError } from './caller-errors.ts'
import { createStdinWriter } from './stdin-writer.ts'
import type { OnWaiting } from './waiting.ts'

export type Source = 'stdout' | 'stderr'

/** Output that the device does not have any more: the bytes from one offset up to another, the last one excluded. */
export type OnGap = (source: Source, from: number, to: number) => void

export type StreamedExecution = {
  /** Resolves with the id, hex, once the device has begun. */
  readonly started: Promise<string>
  readonly exit: Promise<RemoteExit>
  /** False: wait for the promise of `drained` before more. */
  write(bytes: Uint8Array): boolean
  drained(): Promise<void>
  end(): void
  resize(rows: number, columns: number): void
  /** Leaves the execution running and forgets the stream. */
  detach(): void
}

export type RunningOptions = {
  readonly output: OutputSink
  readonly onWaiting?: OnWaiting | undefined
  /** Absent: a gap is the end, RING_BUFFER_DATA_LOSS. */
  readonly onGap?: OnGap | undefined
  /** Another connection follows where this one ends. */
  readonly comesBack: boolean
  /** The id was drawn for this request: nobody else can have started it or written to it. */
  readonly isNew: boolean
}

/** What the link does with it. */
export type Member = {
  /** Asks for it, or for the rest of it, on this connection; `accept` is what requests on it have. */
  join(caller: Caller, accept: number): void
  /** There will be no further connection. `error`: why it could not be made; absent: it was not tried. */
  giveUp(error?: SassError): void
}

/** Both sides of it: for whoever asked, and for the link. */
export type Running = { readonly execution: StreamedExecution; readonly member: Member }

/** How often offsets are asked for that are gone again before it may be told where the ring begins. */
const OFFSETS_ASKED = 3
/** More than any ring has: all that is there. */
const ALL = 0xffff_ffff

const indexOf = (source: Source): 0 | 1 => (source === 'stdout' ? 0 : 1)

/** The oldest offsets that the device still has, from its STATUS 105. */
export function oldestOffsets(error: SassError): readonly [number, number] {
  const details = error.details['details'] as Readonly<Record<string, number>> | undefined
  return [details?.['1'] ?? 0, details?.['2'] ?? 0]
}

function unknownOutcome(id: string, cause: SassError): SassError {
  return new SassError(
    'EXECUTION_OUTCOME_UNKNOWN',
    'The command was started, and the device knows nothing of it any more: its outcome is unknown.',
    { id },
    cause,
  )
}

/**
 * `over` is called once it has ended, well or not. The first `join` starts it.
 */
export function createRunning(
  id: string,
  request: ExecuteRequestInput,
  { output, onWaiting, onGap, comesBack, isNew }: RunningOptions,
  over: () => void,
): Running {
  const started = defer<string>()
  const exit = defer<RemoteExit>()
  // Whoever looks at one of the two has seen the error; the other must not end the process.
  started.promise.catch(() => {})
  exit.promise.catch(() => {})
  const stdin = createStdinWriter()
  /** Where each output goes on; undefined while `tail` leaves that to the device. */
  const position: [number | undefined, number | undefined] =
    request.tail === undefined
      ? [request.resume_offset ?? 0, request.resume_offset_stderr ?? 0]
      : [undefined, undefined]
  let joins = 0
  let isOver = false
  /** The device has said that it runs, or ran. */
  let isSeen = false
  let timesLost = 0
  let lastLoss: SassError | undefined
  let leave = () => {}
  /** The last piece that the sink has not yet taken; and what a former connection left there. */
  let untaken: Promise<void> | undefined
  let backlog: Promise<void> | undefined

  function finish(): void {
    isOver = true
    stdin.stop()
    leave = () => {}
    over()
  }

  function fail(error: SassError): void {
    if (isOver) return
    finish()
    started.reject(error)
    exit.reject(error)
  }

  /** False: it ends here. */
  function skip(source: Source, from: number, to: number): boolean {
    position[indexOf(source)] = to
    if (onGap === undefined) return false
    onGap(source, from, to)
    return true
  }

  function dataLoss(): SassError {
    const sentence =
      'Output was lost while nobody was there to take it, so what would follow is not all of it.'
    return new SassError('RING_BUFFER_DATA_LOSS', sentence, { id })
  }

  function deliver(source: Source, bytes: Uint8Array, offset: number): void | Promise<void> {
    const want = position[indexOf(source)] ?? offset
    if (offset > want && !skip(source, want, offset)) {
      leave()
      return fail(dataLoss())
    }
    const end = offset + bytes.length
    const fresh = offset < want ? bytes.subarray(want - offset) : bytes
    if (end > want) position[indexOf(source)] = end
    timesLost = 0
    if (fresh.length === 0) return
    const settled = output(source, fresh, end - fresh.length) as Promise<unknown> | undefined
    if (typeof settled?.then !== 'function') return
    const mine = settled.then(
      () => {},
      () => {},
    )
    untaken = mine
    void mine.then(() => {
      if (untaken === mine) untaken = undefined
    })
    return mine
  }

  /** In its turn: what a former connection brought first. */
  function inTurn(join: number, step: () => void | Promise<void>): void | Promise<void> {
    if (backlog === undefined) return step()
    return backlog.then(() => {
      if (join === joins && !isOver) return step()
    })
  }

  /** What has to be asked for now. */
  function nextRequest(accept: number): ExecuteRequestInput {
    const [stdout, stderr] = position
    const hasTail = stdout === undefined || stderr === undefined
    const rest: ExecuteRequestInput = {
      accept: accept | ACCEPT.continued,
      resume_offset: stdout ?? 0,
      resume_offset_stderr: stderr ?? 0,
      tail: hasTail ? request.tail : timesLost > OFFSETS_ASKED ? ALL : undefined,
    }
    if (!isSeen) return { ...request, ...rest }
    const { execution_id, stdin: hasStdin } = request
    return { is_reattach: true, execution_id, stdin: hasStdin, ...rest }
  }

  /** Takes down what the device no longer has; false where that is nothing. */
  function tellGaps(oldest: readonly [number, number]): boolean {
    let isAny = false
    for (const source of ['stdout', 'stderr'] as const) {
      const from = position[indexOf(source)]
      const to = oldest[indexOf(source)]
      if (from !== undefined && to <= from) continue
      isAny = true
      if (from === undefined) position[indexOf(source)] = to
      else skip(source, from, to)
    }
    return isAny
  }

  function failedOn(caller: Caller, accept: number, error: SassError): void {
    // The next connection goes on with it.
    lastLoss = error
    // What came before anybody was let in, as noise, is no answer to it.
    if (caller.isLost && (caller.broken === undefined || !caller.isLetIn)) return
    // A device that goes down closes the connection when nothing runs any more. What waited there for its turn has not
    // begun, and is asked of the next daemon under the same id.
    if (error.code === 'DAEMON_SHUTTING_DOWN' && (isSeen || comesBack)) return
    if (error.code === 'RING_BUFFER_DATA_LOSS' && onGap !== undefined && tellGaps(oldestOffsets(error))) {
      timesLost++
      return ask(caller, accept)
    }
    fail(error.code === 'PROCESS_NOT_FOUND' && isSeen ? unknownOutcome(id, error) : error)
  }

  function ask(caller: Caller, accept: number): void {
    const isFirst = joins === 0 && isNew
    stdin.leave()
    const join = ++joins
    const isMine = () => join === joins && !isOver
    backlog = untaken
    const own = backlog
    void own?.then(() => {
      if (backlog === own) backlog = undefined
    })
    leave = caller.stream(nextRequest(accept), {
      stdin,
      isFirst,
      onWaiting,
      started(startedId, stdinBytes) {
        if (!isMine()) return
        isSeen = true
        started.resolve(startedId)
        // A result that was kept says nothing of its stdin, and wants no more.
        if (stdin.resume(stdinBytes) || (stdinBytes === 0 && join > 1)) return
        leave()
        const sentence = 'The device has other input of the command than was sent, so it was left running.'
        fail(new SassError('CONNECTION_LOST', sentence, { id }))
      },
      output(source, bytes, offset) {
        if (!isMine()) return
        const own = backlog === undefined ? bytes : bytes.slice()
        return inTurn(join, () => deliver(source, own, offset))
      },
      ended: (how) =>
        void inTurn(join, () => {
          if (!isMine()) return
          finish()
          started.resolve(id)
          exit.resolve(how)
        }),
      failed: (error) =>
        void inTurn(join, () => {
          if (isMine()) failedOn(caller, accept, error)
        }),
    })
  }

  return {
    execution: {
      started: started.promise,
      exit: exit.promise,
      write: stdin.write,
      drained: stdin.drained,
      end: stdin.end,
      resize: stdin.resize,
      detach() {
        if (isOver) return
        const left = leave
        finish()
        left()
      },
    },
    member: {
      join(caller, accept) {
        if (!isOver) ask(caller, accept)
      },
      giveUp(error) {
        const isAsked = joins > 0
        fail(
          error === undefined
            ? (lastLoss ?? lostError(undefined, isAsked))
            : isAsked
              ? lostForGood(id, error)
              : error,
        )
      },
    },
  }
}

/** What was asked may have begun, and there is nobody to ask any more. */
export function lostForGood(id: string | undefined, error: SassError): SassError {
  return new SassError(
    'CONNECTION_LOST',
    `The connection was lost, and the outcome is not known. ${error.message}`,
    { ...(id === undefined ? {} : { id }), why: error.code },
    error,
  )
}
