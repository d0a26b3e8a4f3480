/**
 * stdin, stdout and stderr of a command that carries a remote program's bytes: written in order, never more held
 * than a few chunks, and a reader that has gone away is told to whoever asks.
 * Writes go through the thread pool, so that a stopped reader does not keep ^C from being heard.
 * @module
 */
import { fstatSync, write as writeAsync } from 'node:fs'
import { CHUNK_BYTES } from '../../limits.ts'

export type Sink = {
  /** Copies `bytes`; resolves when they are written, or when nobody reads any more. */
  write(bytes: Uint8Array): Promise<void>
  /** Resolves when all is written. */
  flushed(): Promise<void>
  readonly isBroken: boolean
}

/** Pause before a full non-blocking descriptor is tried again. */
const RETRY_MS = 2
const SPARE_BUFFERS = 4

/** `broken` is told once when the reader is gone (EPIPE) or the disk is full. */
export function createSink(descriptor: number, broken: (error: NodeJS.ErrnoException) => void): Sink {
  let tail: Promise<void> = Promise.resolve()
  let isBroken = false
  const spare: Buffer[] = []

  function writeOnce(buffer: Buffer, from: number, to: number): Promise<number> {
    return new Promise((resolve, reject) => {
      writeAsync(descriptor, buffer, from, to - from, null, (error, written) => {
        if (error === null) return resolve(written)
        if (error.code === 'EAGAIN') return setTimeout(resolve, RETRY_MS, 0)
        reject(error)
      })
    })
  }

  async function writeAll(buffer: Buffer, length: number): Promise<void> {
    try {
      for (let at = 0; at < length && !isBroken; ) at += await writeOnce(buffer, at, length)
    } catch (error) {
      if (!isBroken) {
        isBroken = true
        broken(error as NodeJS.ErrnoException)
      }
    }
    if (buffer.length === CHUNK_BYTES && spare.length < SPARE_BUFFERS) spare.push(buffer)
  }

  return {
    write(bytes) {
      const buffer =
        bytes.length <= CHUNK_BYTES
          ? (spare.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES))
          : Buffer.allocUnsafeSlow(bytes.length)
      buffer.set(bytes)
      tail = tail.then(() => writeAll(buffer, bytes.length))
      return tail
    },
    flushed: () => tail,
    get isBroken() {
      return isBroken
    },
  }
}

/** Device numbers of /dev/null: nothing will ever come from it. */
const NULL_MAJOR = 1
const NULL_MINOR = 3

/** True where stdin can give nothing: it is closed or it is /dev/null. */
export function hasNoInput(): boolean {
  try {
    const status = fstatSync(0)
    return status.isCharacterDevice() && status.rdev === ((NULL_MAJOR << 8) | NULL_MINOR)
  } catch {
    return true
  }
}
