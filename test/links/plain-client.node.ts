/**
 * A client that follows docs/protocol.md, section 6, and nothing else: it runs jobs over connections that break, goes
 * back to them by offset, and never asks twice for what could be done twice. It knows nothing of the product's client,
 * so what both of them find is in the daemon.
 * @module
 */
import { sleep } from '../integration/daemon.node.ts'
import type { ClientOptions, HistoryClient } from './history-client.ts'
import { type JobState, newState, type Outcome } from './job-state.ts'
import { openPlain, type PlainConnection } from './plain-connection.node.ts'
import { attend, type Ending, sendSignal } from './plain-job.node.ts'

const REDIAL_MS = 15

export function createPlainClient(options: ClientOptions): HistoryClient {
  const sessions = new Map<string, Uint8Array>()
  let current: PlainConnection | undefined
  let dialling: Promise<PlainConnection> | undefined
  let session: Uint8Array | undefined
  let isAbandoned = false
  const states: JobState[] = []

  async function dial(): Promise<PlainConnection> {
    for (;;) {
      if (isAbandoned) await new Promise<never>(() => undefined)
      try {
        current = await openPlain({
          ...options,
          ...options.at(),
          resumeSession: options.resumes ? session : undefined,
        })
        session = current.sessionId
        sessions.set(Buffer.from(session).toString('hex'), session)
        options.note('connected')
        return current
      } catch (error) {
        options.note(`not connected: ${error instanceof Error ? error.message : ''}`)
        await sleep(REDIAL_MS)
      }
    }
  }

  function connected(): Promise<PlainConnection> {
    if (current?.isOpen) return Promise.resolve(current)
    dialling ??= dial().finally(() => {
      dialling = undefined
    })
    return dialling
  }

  /** Signals go beside the stream, and again where their answer was lost. */
  async function signalLoop(state: JobState): Promise<void> {
    while (state.outcome === undefined) {
      if (state.signals.length === state.signalsDone) await sleep(5)
      else await sendSignal(state, await connected())
    }
  }

  async function toTheEnd(state: JobState): Promise<Outcome> {
    for (;;) {
      const ending: Ending = await attend(state, await connected(), options.note)
      if (ending.kind === 'over') return ending.outcome
      if (ending.kind === 'again') await sleep(ending.waitMs)
    }
  }

  return {
    states,
    async run(job) {
      const state = newState(job)
      states.push(state)
      if (job.kind === 'signals' || job.kind === 'stubborn') void signalLoop(state)
      state.outcome = await toTheEnd(state)
      return state
    },
    async again(before, offsets) {
      const state = newState(before.job)
      state.hasStarted = true
      state.received[0] = offsets[0]
      state.received[1] = offsets[1]
      state.stdinSent = before.stdinSent
      state.signals.push(...before.signals)
      state.outcome = await toTheEnd(state)
      return state
    },
    async close() {
      isAbandoned = true
      const last = current
      if (last?.isOpen) {
        await last.close()
        sessions.delete(Buffer.from(last.sessionId).toString('hex'))
      }
      for (const resumeSession of sessions.values()) {
        const connection = await openPlain({ ...options, ...options.at(), resumeSession }).catch(
          () => undefined,
        )
        await connection?.close()
      }
    },
    abandon() {
      isAbandoned = true
      current?.destroy()
    },
  }
}
