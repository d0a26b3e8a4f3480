/**
 * A pseudo-terminal: the master side in this process, the slave side by its path for the program.
 * libuv reads the master but would block or spin on writing it, so writing is done here: the master is
 * non-blocking, and what the kernel does not take (it keeps up to 64 KiB for a program that does not read) waits
 * in a queue and is tried again.
 * What ^C makes a terminal drop of what a program has written, it drops from what the master has not read as well: on a
 * slow link that is the most of what a person would wait for.
 * Refuses nothing of what is typed; a terminal that cannot be had is PTY_UNAVAILABLE.
 * Sources: posix_openpt(3), pty(7), tty_ioctl(4) and ioctl_tty(2) (packet mode), termios(3).
 * @module
 */

import { ReadStream } from 'node:tty'
import { SassError } from '../../errors.ts'
import { createAt, RESOLVE_IN_ROOT, RESOLVE_NO_MAGICLINKS } from '../kernel/at.node.ts'
import {
  ERRNO,
  F_DUPFD_CLOEXEC,
  O_CLOEXEC,
  O_NOCTTY,
  O_NONBLOCK,
  O_RDWR,
  POLLPRI,
  type Syscalls,
} from '../kernel/syscalls.node.ts'
import { STDIN_QUEUE_BYTES, TERMINAL_WRITE_RETRY_MS } from '../limits.ts'
import type { Input } from './pipes.node.ts'
import { createStdinQueue } from './stdin-queue.ts'

/** asm-generic/ioctls.h, the same on both machines. */
const TIOCSWINSZ = 0x5414n
const TIOCGPTN = 0x80045430n
const TIOCSPTLCK = 0x40045431n
const TIOCPKT = 0x5420n
const FIONREAD = 0x541bn
/** Packet mode: a read gives either one byte that says what has happened, or 0 and what was written. */
const PACKET_HEAD_BYTES = 1
const TIOCPKT_FLUSHWRITE = 0x02
/** termios.h: input is UTF-8, so that erase takes whole characters. */
const IUTF8 = 0x4000
/** sizeof(struct termios) is 60 in glibc. */
const TERMIOS_BYTES = 128
const TCSANOW = 0
const MASTER = Buffer.from('dev/pts/ptmx')
/** ^D, the end of file of a fresh terminal. */
const END_OF_TRANSMISSION = 0x04
const LINE_ENDS: readonly number[] = [0x0a, 0x0d, END_OF_TRANSMISSION]

export interface Terminal extends Input {
  /** What a read takes beside what the program has written. */
  readonly headBytes: number
  /** For the file action that makes it the program's controlling terminal. */
  readonly slavePath: string
  /** The master's descriptor for asking with poll(2); not to be closed. */
  readonly descriptor: number
  /** The master as a stream that reads into what `buffer` gives for each read; ends with `error` EIO when the last slave side is closed. */
  reader(buffer: () => Uint8Array, output: (bytes: Uint8Array) => void): ReadStream
  /** Types ^D at the start of a line: twice where a line was begun, because the first only hands that over. */
  end(): void
  resize(rows: number, columns: number): void
}

/** The master of a new terminal: of those seen from `root`, or of the daemon's own. */
function openMaster(syscalls: Syscalls, root: number | undefined): number {
  const flags = O_RDWR | O_NOCTTY | O_NONBLOCK
  if (root === undefined) return syscalls.checked(syscalls.libc.posix_openpt(flags | O_CLOEXEC))
  return createAt(syscalls).openPath(root, MASTER, flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)
}

type Stale = {
  /** Before something is typed: it may be a ^C. */
  mark(): void
  /** What had been written when the terminal dropped it is not to be read any more. */
  flushed(): void
  /** What is to be read of these bytes. */
  rest(bytes: Uint8Array): Uint8Array
}

/**
 * Counts what a program had written, and nobody had read, before something was typed. Only that is dropped where the
 * terminal says that it has dropped its output: what came after the ^C must not be taken for it.
 */
function createStale({ libc }: Syscalls, descriptor: number): Stale {
  const unread = new Int32Array(new ArrayBuffer(4))
  const request = new Int32Array(2)
  let staleBytes = 0
  let isDropped = false
  return {
    mark() {
      // What was marked before and is still there is older; what was dropped before this is not known yet.
      request[0] = descriptor
      request[1] = POLLPRI
      if (staleBytes > 0 || libc.poll(request, 1n, 0) !== 0) return
      if (libc.ioctl(descriptor, FIONREAD, unread) === 0) staleBytes = unread[0] ?? 0
    },
    flushed() {
      isDropped = staleBytes > 0
    },
    rest(bytes) {
      const old = Math.min(bytes.length, staleBytes)
      staleBytes -= old
      const rest = isDropped ? bytes.subarray(old) : bytes
      if (staleBytes === 0) isDropped = false
      return rest
    },
  }
}

/**
 * Opens a terminal of that size; `rootDescriptor`: O_PATH on `/` where the program will run. `drained` is called when all that was written has been taken.
 * @throws SassError PTY_UNAVAILABLE with the errno.
 */
export function openTerminal(
  size: { readonly rows: number; readonly columns: number },
  drained: () => void,
  syscalls: Syscalls,
  rootDescriptor?: number,
): Terminal {
  const { libc } = syscalls
  const unavailable = (step: string, errno: number, opened: readonly number[]): SassError => {
    for (const descriptor of opened) libc.close(descriptor)
    return new SassError(
      'PTY_UNAVAILABLE',
      `No terminal could be opened (${step}: errno ${errno}), so the command was not started; run it without one, or mount devpts on this device.`,
      { step, errno },
    )
  }
  const master = openMaster(syscalls, rootDescriptor)
  if (master < 0) throw unavailable('ptmx', -master, [])
  const number = new Int32Array(new ArrayBuffer(4))
  // The file system of the terminals says who owns them: a grant is not needed.
  for (const [step, request] of [
    ['TIOCSPTLCK', TIOCSPTLCK],
    ['TIOCGPTN', TIOCGPTN],
  ] as const) {
    const result = syscalls.checked(libc.ioctl(master, request, number))
    if (result < 0) throw unavailable(step, -result, [master])
  }
  // The reader closes the master on its own as soon as it sees the end: a second descriptor is ours for the rest.
  const descriptor = syscalls.checked(libc.fcntl(master, F_DUPFD_CLOEXEC, 3n))
  if (descriptor < 0) throw unavailable('fcntl', -descriptor, [master])
  const modes = new Uint32Array(new ArrayBuffer(TERMIOS_BYTES))
  if (libc.tcgetattr(descriptor, modes) === 0) {
    modes[0] = (modes[0] ?? 0) | IUTF8
    libc.tcsetattr(descriptor, TCSANOW, modes)
  }

  const one = Int32Array.of(1)
  const headBytes = libc.ioctl(descriptor, TIOCPKT, one) === 0 ? PACKET_HEAD_BYTES : 0
  const stale = createStale(syscalls, descriptor)
  const queue = createStdinQueue()
  let lineBegun = false
  let closed = false
  let readerOpen = false
  let retry: NodeJS.Timeout | undefined

  const resize = (rows: number, columns: number): void => {
    // struct winsize: rows, columns, and two pixel counts that nothing knows.
    if (!closed) libc.ioctl(descriptor, TIOCSWINSZ, Uint16Array.of(rows, columns, 0, 0))
  }
  /** Writes until the kernel takes no more. True when the queue is empty. */
  const flush = (): boolean => {
    retry = undefined
    for (let bytes = queue.peek(); bytes !== undefined && !closed; bytes = queue.peek()) {
      stale.mark()
      const taken = syscalls.checked(Number(libc.write(descriptor, bytes, BigInt(bytes.length))))
      if (taken === -ERRNO.EAGAIN || taken === -ERRNO.EINTR || taken === 0) {
        retry = setTimeout(() => {
          if (flush()) drained()
        }, TERMINAL_WRITE_RETRY_MS)
        return false
      }
      // Any other error is the end of the terminal, which the reader tells.
      queue.consume(taken < 0 ? bytes.length : taken)
    }
    return true
  }
  const write = (bytes: Uint8Array): boolean => {
    const last = bytes[bytes.length - 1]
    if (closed || last === undefined) return true
    if (queue.bytes > STDIN_QUEUE_BYTES) {
      throw new SassError(
        'INTERNAL',
        'More was typed into a terminal that had asked to wait; wait for it to drain.',
      )
    }
    lineBegun = !LINE_ENDS.includes(last)
    queue.push(bytes)
    return retry === undefined && flush()
  }

  resize(size.rows, size.columns)
  return {
    slavePath: `/dev/pts/${number[0]}`,
    descriptor,
    headBytes,
    reader(buffer, output) {
      readerOpen = true
      // Options that the constructor hands on to net.Socket; the types do not name them.
      const options = {
        onread: {
          buffer,
          callback(count: number, bytes: Uint8Array): boolean {
            const isStatus = headBytes > 0 && bytes[0] !== 0
            if (isStatus && ((bytes[0] ?? 0) & TIOCPKT_FLUSHWRITE) !== 0) stale.flushed()
            const written = isStatus ? bytes.subarray(0, 0) : stale.rest(bytes.subarray(headBytes, count))
            if (written.length > 0) output(written)
            return true
          },
        },
      }
      // It does not begin by itself.
      return new ReadStream(master, options).resume()
    },
    write,
    end() {
      write(Uint8Array.from(lineBegun ? [END_OF_TRANSMISSION, END_OF_TRANSMISSION] : [END_OF_TRANSMISSION]))
    },
    resize,
    close() {
      if (closed) return
      closed = true
      clearTimeout(retry)
      queue.clear()
      libc.close(descriptor)
      if (!readerOpen) libc.close(master)
    },
  }
}
