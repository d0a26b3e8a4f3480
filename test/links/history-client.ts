/**
 * What the history checker wants of a client, whichever it is.
 * @module
 */

import type { JobState } from './job-state.ts'
import type { Job } from './jobs.ts'

export type HistoryClient = {
  /** Resolves when it has seen how the job ended. */
  run(job: Job): Promise<JobState>
  /** Asks again for a job that is over, from the given offsets. */
  again(state: JobState, offsets: readonly [number, number]): Promise<JobState>
  /** Ends its sessions in order; nothing may be running any more. */
  close(): Promise<void>
  /** Gives up: what waits is never answered. */
  abandon(): void
  /** Of the jobs that it was given to run. */
  readonly states: readonly JobState[]
}

export type ClientOptions = {
  readonly name: string
  readonly privateKey: Uint8Array
  readonly windowBytes: number
  readonly compression: 'auto' | 'always' | 'never'
  /** After so long without a byte it asks, and after as long again it gives up. */
  readonly silenceMs: number
  /** Where the daemon is at that moment. */
  readonly at: () => { readonly port: number; readonly pin: string }
  /** False: every connection begins a session of its own. */
  readonly resumes: boolean
  readonly note: (what: string) => void
}
