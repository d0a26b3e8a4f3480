/**
 * The terminal of this process while it belongs to a remote program: raw in both directions, as cfmakeraw(3) has it.
 * Node's raw mode still turns every line feed that is written into a new line, and a full-screen program that moves
 * down by a line feed would find itself in the first column.
 * @module
 */
import { loadSyscalls } from '../../sandbox/kernel/syscalls.node.ts'

const STDIN_FD = 0
/** termios.h: output is processed at all. */
const OPOST = 1
/** The second word of struct termios is c_oflag; the whole is 60 bytes in glibc. */
const OUTPUT_FLAGS = 1
const TERMIOS_BYTES = 128
const TCSANOW = 0

/** stdin must be a terminal. The returned function gives it back as it was. */
export function enterRawMode(): () => void {
  const { stdin } = process
  stdin.setRawMode(true)
  const { libc } = loadSyscalls()
  const modes = new Uint32Array(new ArrayBuffer(TERMIOS_BYTES))
  if (libc.tcgetattr(STDIN_FD, modes) === 0) {
    modes[OUTPUT_FLAGS] = (modes[OUTPUT_FLAGS] ?? 0) & ~OPOST
    libc.tcsetattr(STDIN_FD, TCSANOW, modes)
  }
  return () => {
    stdin.setRawMode(false)
  }
}
