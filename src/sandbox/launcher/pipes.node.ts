/**
 * The pipes of one program: made close-on-exec above descriptor 2, and the writing side of stdin.
 * A socket for stdin is made at the first byte only, because most programs get none. Refuses bytes beyond
 * STDIN_QUEUE_BYTES from a writer that does not wait. Sources: pipe(7), posix_spawn_file_actions_adddup2(3).
 * @module
 */

import { Socket } from 'node:net'
import { SassError } from '../../errors.ts'
import { PIPE_READ_BYTES } from '../../limits.ts'
import { ERRNO, F_DUPFD_CLOEXEC, F_SETPIPE_SZ, O_CLOEXEC, type Syscalls } from '../kernel/syscalls.node.ts'
import { STDIN_QUEUE_BYTES } from '../limits.ts'
import { createStdinQueue } from './stdin-queue.ts'

/** Where the bytes for a program go in; a terminal is one as well. */
export interface Input {
  /** False: wait for `drained`. Takes the bytes over. */
  write(bytes: Uint8Array): boolean
  /** End of file, once all is written. */
  end(): void
  /** At once; what is still queued is dropped. */
  close(): void
}

export interface Pipe {
  readonly readEnd: number
  readonly writeEnd: number
}

/**
 * A pipe with both ends above 2 and close-on-exec, or `-errno`.
 * The file actions of the child overwrite 0 to 2, so none of these may be a source.
 */
export function openPipe(syscalls: Syscalls): Pipe | number {
  const { libc, checked } = syscalls
  const ends = new Int32Array(2)
  const result = checked(libc.pipe2(ends, O_CLOEXEC))
  if (result < 0) return result
  const raised: number[] = []
  for (const end of ends) {
    raised.push(end > 2 ? end : checked(libc.fcntl(end, F_DUPFD_CLOEXEC, 3n)))
    if (end <= 2) libc.close(end)
  }
  const [readEnd = -1, writeEnd = -1] = raised
  if (readEnd >= 0 && writeEnd >= 0) return { readEnd, writeEnd }
  for (const end of raised) if (end >= 0) libc.close(end)
  return Math.min(readEnd, writeEnd)
}

/** `count` pipes, or `-errno` and none. */
export function openPipes(count: number, syscalls: Syscalls): readonly Pipe[] | number {
  const pipes: Pipe[] = []
  while (pipes.length < count) {
    const pipe = openPipe(syscalls)
    if (typeof pipe === 'number') {
      for (const { readEnd, writeEnd } of pipes) {
        syscalls.libc.close(readEnd)
        syscalls.libc.close(writeEnd)
      }
      return pipe
    }
    pipes.push(pipe)
  }
  return pipes
}

/** What a pipe of a program may hold, changed as its reader is slow or fast. */
export interface PipeSize {
  /** Costs nothing where it is that already. False: more is in it than that, and it is to be tried again once it is read. */
  fit(bytes: number): boolean
}

/** A new pipe holds PIPE_READ_BYTES. Either end may be given. */
export function pipeSize(descriptor: number, { libc, checked }: Syscalls): PipeSize {
  let held = PIPE_READ_BYTES
  return {
    fit(bytes) {
      if (bytes === held) return true
      // Any other refusal stands: a pipe that the kernel does not let grow works as well.
      if (checked(libc.fcntl(descriptor, F_SETPIPE_SZ, BigInt(bytes))) === -ERRNO.EBUSY) return false
      held = bytes
      return true
    },
  }
}

/**
 * The writing side of stdin; the descriptor is taken over. `drained` is called after a `false` when there is room
 * again, or when the program has closed its stdin: what is written after that is dropped.
 * `write` throws SassError INTERNAL for a writer that goes on and on after a `false`.
 */
export function pipeInput(descriptor: number, drained: () => void, syscalls: Syscalls): Input {
  const queue = createStdinQueue()
  let socket: Socket | undefined
  let open = true
  let inFlightBytes = 0
  let isAwaited = false
  const openSocket = (): Socket => {
    const made = new Socket({ fd: descriptor, readable: false, writable: true })
    // EPIPE: nobody reads any more.
    made.on('error', () => {
      open = false
      queue.clear()
      drained()
    })
    return made
  }
  /** One piece at a time: what comes meanwhile is put together. */
  const send = (into: Socket): void => {
    const piece = queue.peek()
    inFlightBytes = piece?.length ?? 0
    if (piece !== undefined) {
      queue.consume(piece.length)
      into.write(piece, (error) => {
        if (!error) send(into)
      })
      return
    }
    if (!open) into.end()
    if (!isAwaited) return
    isAwaited = false
    drained()
  }
  return {
    write(bytes) {
      if (!open || bytes.length === 0) return true
      socket ??= openSocket()
      if (inFlightBytes + queue.bytes > STDIN_QUEUE_BYTES) {
        throw new SassError(
          'INTERNAL',
          'More was written to stdin than its queue may hold, so the writer does not wait; wait for stdinDrained.',
        )
      }
      queue.push(bytes)
      if (inFlightBytes === 0) send(socket)
      isAwaited = inFlightBytes + queue.bytes >= PIPE_READ_BYTES
      return !isAwaited
    },
    end() {
      if (!open) return
      open = false
      if (socket === undefined) syscalls.libc.close(descriptor)
      else if (inFlightBytes === 0) socket.end()
    },
    close() {
      queue.clear()
      if (socket !== undefined) socket.destroy()
      else if (open) syscalls.libc.close(descriptor)
      open = false
    },
  }
}
