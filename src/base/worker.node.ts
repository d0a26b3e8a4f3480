/**
 * Starts a thread of the daemon's own: from CommonJS text made by the bundler, or from its source file, which takes more
 * memory. It gets nothing of this process: no options, no environment, and the warning that FFI is experimental has been
 * given once, on the main thread.
 * Source: worker_threads of Node.
 * @module
 */
import { Worker } from 'node:worker_threads'

/** Heap and stack in MiB. */
type ThreadLimits = { readonly young: number; readonly old: number; readonly stack: number }

export type ThreadOptions = {
  readonly name: string
  /** Its source file; a single executable has no such place to name. */
  readonly file: () => URL
  /** Text of the bundled thread, made when it is started; undefined: there is none. */
  readonly text: (() => string) | undefined
  readonly limits: ThreadLimits
  readonly workerData?: unknown
}

/** What a thread that is started from its source takes beside the rest: Node's type stripper runs in it first. */
const FROM_SOURCE = { young: 8, old: 64, stack: 4 }

export function startThread({ name, file, text, limits, workerData }: ThreadOptions): Worker {
  const shared = { execArgv: ['--no-warnings'], workerData, env: {}, name, trackUnmanagedFds: false }
  const more = text === undefined ? FROM_SOURCE : { young: 0, old: 0, stack: 0 }
  const resourceLimits = {
    maxYoungGenerationSizeMb: limits.young + more.young,
    maxOldGenerationSizeMb: limits.old + more.old,
    stackSizeMb: Math.max(limits.stack, more.stack),
  }
  return text === undefined
    ? new Worker(file(), { ...shared, resourceLimits })
    : new Worker(text(), { ...shared, eval: true, resourceLimits })
}
