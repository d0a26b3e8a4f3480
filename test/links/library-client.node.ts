/**
 * The product's own client library behind the checker: it goes back by itself, and whoever uses it hears output, gaps
 * and one exit. What it says is held against the same rules as what the plain client sees.
 * @module
 */
import { type Client, connect, type RunningExecution } from '../../src/client/client.node.ts'
import { asSassError } from '../../src/errors.ts'
import { sleep } from '../integration/daemon.node.ts'
import type { ClientOptions, HistoryClient } from './history-client.ts'
import { addGap, declareCut, type JobState, newState, type Outcome, takeData } from './job-state.ts'
import { linesAt } from './jobs.ts'

const REDIAL_MS = 15
const STDIN_CHUNK_BYTES = 3_000

type Source = 'stdout' | 'stderr'
const indexOf = (source: Source) => (source === 'stdout' ? 0 : 1)

function outcomeOf(exitCode: number | undefined, signal: number | undefined): Outcome {
  return signal === undefined ? { kind: 'exited', code: exitCode ?? -1 } : { kind: 'signalled', signal }
}

/** How an error ends a job; undefined: it does not, somebody else has taken it over. */
function outcomeOfError(state: JobState, cause: unknown): Outcome | undefined {
  const error = asSassError(cause)
  switch (error?.code) {
    case 'SPAWN_FAILED':
      return { kind: 'not-started', errno: error.details['errno'] === 'ENOENT' ? 2 : -1 }
    case 'FRAME_MALFORMED':
      return { kind: 'mistake' }
    case 'EXECUTION_OUTCOME_UNKNOWN':
      return { kind: 'unknown' }
    case 'PROCESS_NOT_FOUND':
      return { kind: 'not-known' }
    case 'CONNECTION_LOST':
      return undefined
    default:
      state.problems.push(`the library failed: ${error?.code} ${cause instanceof Error ? cause.message : ''}`)
      return { kind: 'mistake' }
  }
}

async function feed(state: JobState, running: RunningExecution): Promise<void> {
  const all = state.job.stdinBytes ?? 0
  for (let at = 0; at < all && state.outcome === undefined; at += STDIN_CHUNK_BYTES)
    if (!running.write(linesAt(at, Math.min(STDIN_CHUNK_BYTES, all - at)))) await running.drained()
  running.end()
}

export function createLibraryClient(options: ClientOptions): HistoryClient {
  const states: JobState[] = []
  let client: Promise<Client> | undefined
  let isAbandoned = false

  async function dial(): Promise<Client> {
    for (;;) {
      if (isAbandoned) await new Promise<never>(() => undefined)
      const { port, pin } = options.at()
      const { name: agent, privateKey, windowBytes: window, compression, note } = options
      try {
        return await connect({
          host: '127.0.0.1',
          port,
          pin,
          agent,
          privateKey,
          window,
          compression,
          onLink(event) {
            // The daemon may be another one by now, at another port.
            options.at()
            note(`${event.kind} ${'reason' in event ? event.reason : ''}`)
          },
        })
      } catch (error) {
        note(`not connected: ${error instanceof Error ? error.message : ''}`)
        await sleep(REDIAL_MS)
      }
    }
  }

  function connected(): Promise<Client> {
    client ??= dial()
    return client
  }

  async function signalLoop(state: JobState): Promise<void> {
    while (state.outcome === undefined) {
      const due = state.signals[state.signalsDone]
      if (due === undefined || state.executionId === undefined) await sleep(5)
      else {
        await (await connected()).signal(state.executionId, due.signal).catch((cause: unknown) => {
          const code = asSassError(cause)?.code
          if (code !== 'PROCESS_NOT_FOUND') state.problems.push(`a signal failed: ${code}`)
        })
        state.signalsDone += 1
      }
    }
  }

  /** One stream of it: from its start, or from where it is. */
  function attend(device: Client, state: JobState, isNew: boolean): Promise<Outcome | undefined> {
    const { job, received } = state
    return new Promise((resolve) => {
      const hooks = {
        stdin: job.stdinBytes !== undefined && isNew,
        output(source: Source, bytes: Uint8Array, offset: number) {
          if (job.expected.kind === 'denied') {
            running.detach()
            return resolve({ kind: 'denied' })
          }
          takeData(state, indexOf(source), offset, bytes)
          if (job.kind !== 'detached' || !isNew) return
          running.detach()
          resolve(undefined)
        },
        onGap: (source: Source, from: number, to: number) => addGap(state, indexOf(source), from, to),
      }
      const running =
        isNew || state.executionId === undefined
          ? device.stream(job.command, job.args, { ...hooks, cwd: job.cwd })
          : device.attach(state.executionId, {
              ...hooks,
              stdoutOffset: received[0],
              stderrOffset: received[1],
            })
      state.executionId = running.id
      if (hooks.stdin) void feed(state, running)
      running.exit.then(
        ({ exitCode, signal }) => resolve(outcomeOf(exitCode, signal)),
        (cause: unknown) => {
          options.note(`${job.kind}: ${cause instanceof Error ? cause.message : ''}`)
          resolve(outcomeOfError(state, cause))
        },
      )
    })
  }

  async function unary(device: Client, state: JobState): Promise<Outcome | undefined> {
    const { command, args, id } = state.job
    try {
      const result = await device.execute(command, args, { id })
      state.received[0] = 0
      state.received[1] = 0
      takeData(state, 0, 0, result.stdout)
      takeData(state, 1, 0, result.stderr)
      if (result.truncated) declareCut(state)
      return outcomeOf(result.exitCode, result.signal)
    } catch (cause) {
      // With another id of ours in between it would be asked for as often as it takes: here too.
      return outcomeOfError(state, cause)
    }
  }

  async function toTheEnd(state: JobState, isNew: boolean): Promise<Outcome> {
    for (let first = isNew; ; first = false) {
      const device = await connected()
      const outcome = await (state.job.kind === 'unary' ? unary(device, state) : attend(device, state, first))
      if (outcome !== undefined) return outcome
    }
  }

  return {
    states,
    async run(job) {
      const state = newState(job)
      states.push(state)
      if (job.kind === 'signals' || job.kind === 'stubborn') void signalLoop(state)
      state.outcome = await toTheEnd(state, true)
      return state
    },
    async again(before, offsets) {
      const state = { ...newState(before.job), executionId: before.executionId }
      state.received[0] = offsets[0]
      state.received[1] = offsets[1]
      state.signals.push(...before.signals)
      state.outcome = await toTheEnd(state, false)
      return state
    },
    async close() {
      isAbandoned = true
      await (await client)?.close()
    },
    abandon() {
      isAbandoned = true
      void client?.then((device) => device.close())
    },
  }
}
