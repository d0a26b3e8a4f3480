/**
 * stdin, stdout and stderr of a command that carries a remote program's bytes: written in order, never more held
 * than a few chunks, and a reader that has gone away is told to whoever asks.
 * No write waits for a stopped reader here, which would keep ^C from being heard: those of pipes wait in the event loop,
 * others in the thread pool.
 * @module
 */
import { constants, fstatSync, openSync, write as writeAsync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
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

/** Writes some bytes of a buffer, at least one unless the other side is full for now; gives how many. */
type WriteSome = (buffer: Buffer, from: number, to: number) => Promise<number>

/** In the thread pool. */
function poolWriter(descriptor: number): WriteSome {
  return (buffer, from, to) =>
    new Promise((resolve, reject) => {
      writeAsync(descriptor, buffer, from, to - from, null, (error, written) => {
        if (error === null) return resolve(written)
        if (error.code === 'EAGAIN') return setTimeout(resolve, RETRY_MS, 0)
        reject(error)
      })
    })
}

/**
 * A pipe by a description of our own that never waits (Linux, proc_pid_fd(5)): what whoever shares the one that we were
 * given makes of it is theirs. Undefined where it is no pipe, or is not to be had.
 */
function openPipe(descriptor: number): number | undefined {
  try {
    if (!fstatSync(descriptor).isFIFO()) return undefined
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK)
  } catch {
    return undefined
  }
}

/** Waits for room without a thread, each of which would have to be woken for every few bytes that a fast reader takes. */
function pipeWriter(pipe: number): WriteSome {
  const socket = new Socket({ fd: pipe, readable: false, writable: true })
  // Whoever wrote is told.
  socket.on('error', () => {})
  return (buffer, from, to) =>
    new Promise((resolve, reject) => {
      socket.write(buffer.subarray(from, to), (error) => (error ? reject(error) : resolve(to - from)))
    })
}

/** What a pipe takes at once; 0 where it is full, or where only waiting for it tells what is wrong. */
function writeNow(pipe: number, bytes: Uint8Array): number {
  try {
    return writeSync(pipe, bytes)
  } catch {
    return 0
  }
}

/** `broken` is told once when the reader is gone (EPIPE) or the disk is full. */
export function createSink(descriptor: number, broken: (error: NodeJS.ErrnoException) => void): Sink {
  const done = Promise.resolve()
  const pipe = openPipe(descriptor)
  const writeSome = pipe === undefined ? poolWriter(descriptor) : pipeWriter(pipe)
  let tail = done
  let waiting = 0
  let isBroken = false
  const spare: Buffer[] = []

  async function writeAll(buffer: Buffer, length: number): Promise<void> {
    try {
      for (let at = 0; at < length && !isBroken; ) at += await writeSome(buffer, at, length)
    } catch (error) {
      if (!isBroken) {
        isBroken = true
        broken(error as NodeJS.ErrnoException)
      }
    }
    waiting--
    if (buffer.length === CHUNK_BYTES && spare.length < SPARE_BUFFERS) spare.push(buffer)
  }

  return {
    write(bytes) {
      const written = pipe !== undefined && waiting === 0 && !isBroken ? writeNow(pipe, bytes) : 0
      if (written === bytes.length) return done
      const rest = bytes.subarray(written)
      const buffer =
        rest.length <= CHUNK_BYTES
          ? (spare.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES))
          : Buffer.allocUnsafeSlow(rest.length)
      buffer.set(rest)
      waiting++
      tail = tail.then(() => writeAll(buffer, rest.length))
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
