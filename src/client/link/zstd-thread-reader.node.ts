/**
 * The client's side of the thread that reads a Zstandard frame with fzstd. A device that has gone over to somebody else
 * may send what fzstd would read for ever: the thread has a time for each piece and is ended after it, and the client
 * goes on all the while.
 * @module
 */
import { Worker } from 'node:worker_threads'
import { type Deferred, defer } from '../../base/deferred.ts'
import type { FrameReader } from '../calls/output-decoder.ts'
import { DECODER_HEAP_MIB, PIECE_DECODE_MS } from '../limits.ts'

/** Of the bundle of the client library: the text of the thread. */
declare const DECODER_SOURCE: string | undefined

function startThread(): Worker {
  const shared = { execArgv: ['--no-warnings'], env: {}, name: 'zstd' }
  const limits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: DECODER_HEAP_MIB, stackSizeMb: 1 }
  if (typeof DECODER_SOURCE === 'string')
    return new Worker(DECODER_SOURCE, { ...shared, eval: true, resourceLimits: limits })
  // From its source: types are taken out of it first.
  return new Worker(new URL('./zstd-thread.node.ts', import.meta.url), shared)
}

/** `limitMs`: how long one piece may take. */
export function createThreadReader(limitMs: number = PIECE_DECODE_MS): FrameReader {
  const thread = startThread()
  let waiting: Deferred<Uint8Array> | undefined
  let timer: NodeJS.Timeout | undefined
  let ended: Error | undefined

  function settle(result: Uint8Array | Error): void {
    clearTimeout(timer)
    // A client that is done with everything else does not stay for it.
    thread.unref()
    const done = waiting
    waiting = undefined
    if (result instanceof Error) done?.reject(result)
    else done?.resolve(result)
  }

  function end(why: Error): void {
    ended ??= why
    settle(ended)
    void thread.terminate()
  }

  thread.on('message', (answer: Uint8Array | string) =>
    typeof answer === 'string' ? end(new Error(answer)) : settle(answer),
  )
  thread.on('error', (cause) => end(cause instanceof Error ? cause : new Error('the decoder failed')))
  thread.on('exit', () => end(new Error('the decoder ended')))
  // Whoever listens to a thread waits for it, so this comes last.
  thread.unref()

  return {
    read(coded) {
      if (ended !== undefined) return Promise.reject(ended)
      waiting = defer<Uint8Array>()
      thread.ref()
      timer = setTimeout(() => end(new Error(`not read within ${limitMs} ms`)), limitMs)
      thread.postMessage(coded)
      return waiting.promise
    },
    close: () => end(new Error('closed')),
  }
}
