/**
 * The C library of this process through `node:ffi`: the one place that touches it.
 * Everything here is thread-bound on Linux (credentials, namespaces, errno), so each thread loads its own.
 * Results follow the kernel's convention: a failure is `-errno`, read before anything else runs.
 * Refuses a Node without FFI, a C library without the functions named below, and any other machine than
 * x86-64 and AArch64, each as RUNTIME_UNSUITABLE.
 * Sources: POSIX.1-2024, glibc 2.29 and later.
 * @module
 */

import type * as ffiModule from 'node:ffi'
import { SassError } from '../../errors.ts'
import { CALL_COLUMNS, CALLS, type CallName } from './call-numbers.ts'

type Ffi = typeof ffiModule

/** Names and shapes; variadic functions take their arguments in registers on both machines. */
const SIGNATURES = {
  __errno_location: { arguments: [], return: 'pointer' },
  bind: { arguments: ['i32', 'buffer', 'u32'], return: 'i32' },
  close: { arguments: ['i32'], return: 'i32' },
  connect: { arguments: ['i32', 'buffer', 'u32'], return: 'i32' },
  fcntl: { arguments: ['i32', 'i32', 'i64'], return: 'i32' },
  flock: { arguments: ['i32', 'i32'], return: 'i32' },
  getsockopt: { arguments: ['i32', 'i32', 'i32', 'buffer', 'buffer'], return: 'i32' },
  ioctl: { arguments: ['i32', 'u64', 'buffer'], return: 'i32' },
  kill: { arguments: ['i32', 'i32'], return: 'i32' },
  listen: { arguments: ['i32', 'i32'], return: 'i32' },
  open: { arguments: ['string', 'i32', 'i32'], return: 'i32' },
  pipe2: { arguments: ['buffer', 'i32'], return: 'i32' },
  poll: { arguments: ['buffer', 'u64', 'i32'], return: 'i32' },
  posix_openpt: { arguments: ['i32'], return: 'i32' },
  posix_spawn: { arguments: ['buffer', 'pointer', 'buffer', 'buffer', 'pointer', 'pointer'], return: 'i32' },
  posix_spawn_file_actions_addchdir_np: { arguments: ['buffer', 'pointer'], return: 'i32' },
  posix_spawn_file_actions_adddup2: { arguments: ['buffer', 'i32', 'i32'], return: 'i32' },
  posix_spawn_file_actions_addopen: { arguments: ['buffer', 'i32', 'pointer', 'i32', 'u32'], return: 'i32' },
  posix_spawn_file_actions_destroy: { arguments: ['buffer'], return: 'i32' },
  posix_spawn_file_actions_init: { arguments: ['buffer'], return: 'i32' },
  posix_spawnattr_init: { arguments: ['buffer'], return: 'i32' },
  posix_spawnattr_setflags: { arguments: ['buffer', 'i16'], return: 'i32' },
  posix_spawnattr_setsigdefault: { arguments: ['buffer', 'buffer'], return: 'i32' },
  posix_spawnattr_setsigmask: { arguments: ['buffer', 'buffer'], return: 'i32' },
  prctl: { arguments: ['i32', 'u64', 'u64', 'u64', 'u64'], return: 'i32' },
  read: { arguments: ['i32', 'buffer', 'u64'], return: 'i64' },
  sendto: { arguments: ['i32', 'buffer', 'u64', 'i32', 'buffer', 'u32'], return: 'i64' },
  setsockopt: { arguments: ['i32', 'i32', 'i32', 'buffer', 'u32'], return: 'i32' },
  socket: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
  syscall: { arguments: ['i64', 'i64', 'i64', 'i64', 'i64', 'i64', 'i64'], return: 'i64' },
  tcgetattr: { arguments: ['i32', 'buffer'], return: 'i32' },
  tcsetattr: { arguments: ['i32', 'i32', 'buffer'], return: 'i32' },
  umask: { arguments: ['u32'], return: 'u32' },
  unshare: { arguments: ['i32'], return: 'i32' },
  waitpid: { arguments: ['i32', 'buffer', 'i32'], return: 'i32' },
  write: { arguments: ['i32', 'buffer', 'u64'], return: 'i64' },
} as const satisfies ffiModule.FunctionDefinitions

/** glibc 2.34: closes in the child what it must not have; older C libraries lack it. */
const CLOSE_FROM = 'posix_spawn_file_actions_addclosefrom_np'
const CLOSE_FROM_SIGNATURE = { arguments: ['buffer', 'i32'], return: 'i32' } as const

type Libc = {
  readonly [Name in keyof typeof SIGNATURES]: ffiModule.WrappedFunctionsFromDefinitions<
    typeof SIGNATURES
  >[Name]
}

/** Linux errno values that the code decides by; the rest is only passed on. */
export const ERRNO = Object.freeze({
  EPERM: 1,
  ESRCH: 3,
  EINTR: 4,
  EIO: 5,
  E2BIG: 7,
  ECHILD: 10,
  EAGAIN: 11,
  EACCES: 13,
  EBUSY: 16,
  EEXIST: 17,
  EXDEV: 18,
  ENOENT: 2,
  ENODEV: 19,
  ENOTDIR: 20,
  EISDIR: 21,
  EINVAL: 22,
  ENOSPC: 28,
  EROFS: 30,
  ERANGE: 34,
  ENOSYS: 38,
  ENOTEMPTY: 39,
  ELOOP: 40,
  ENODATA: 61,
  ENOPROTOOPT: 92,
  EAFNOSUPPORT: 97,
  EADDRINUSE: 98,
  EADDRNOTAVAIL: 99,
  ECANCELED: 125,
  ENOTTY: 25,
  EOVERFLOW: 75,
  ETIMEDOUT: 110,
  EOPNOTSUPP: 95,
})

/** asm-generic/fcntl.h; the same on both machines. */
export const O_RDWR = 0o2
export const O_NOCTTY = 0o400
export const O_NONBLOCK = 0o4000
export const O_CLOEXEC = 0o2000000
export const F_SETFD = 2
export const F_DUPFD_CLOEXEC = 1030
export const F_SETPIPE_SZ = 1031
export const FD_CLOEXEC = 1
export const POLLIN = 1
export const POLLPRI = 2
export const POLLHUP = 0x10
export const WNOHANG = 1
export const SIGKILL = 9
export const SIGSTOP = 19
/** linux/close_range.h */
export const CLOSE_RANGE_CLOEXEC = 4
/** Up to the highest descriptor there can be. */
export const LAST_DESCRIPTOR = 0xffff_ffff

/** What a thread may ask of the C library. Every number returned is a result, or `-errno`. */
export interface Syscalls {
  readonly libc: Libc
  /** In the child, before exec: closes every descriptor from `lowest` on. Undefined before glibc 2.34. */
  readonly addCloseFrom: ((fileActions: Uint8Array, lowest: number) => number) | undefined
  /** `result` where it is not negative, else `-errno` of the call just made on this thread. */
  checked(result: number): number
  /**
   * A call that has no wrapper, or whose wrapper changes every thread of the process where one is wanted: by name with up
   * to six arguments. Views are passed by address.
   */
  byNumber(name: CallName, ...args: readonly (number | bigint | NodeJS.ArrayBufferView)[]): number
  /** Where the bytes are. Valid while the ArrayBuffer lives; it never moves if it was made as an ArrayBuffer. */
  addressOf(bytes: ArrayBuffer | NodeJS.ArrayBufferView): bigint
}

function ffiOfThisNode(): Ffi {
  const found: unknown = process.getBuiltinModule?.('node:ffi')
  if (found === undefined) {
    throw new SassError(
      'RUNTIME_UNSUITABLE',
      `Node ${process.version} has no node:ffi, so no command can be started; use the Node that comes with sass-edge, or one from 26.1 on without --no-experimental-ffi.`,
    )
  }
  return found as Ffi
}

/** Every function of SIGNATURES, each bound when it is first used: 0.1 ms that many a start does without. */
function lazily(lib: ffiModule.DynamicLibrary): Libc {
  const functions = {}
  for (const name of Object.keys(SIGNATURES) as (keyof Libc)[]) {
    // Now, so that a C library that lacks it is found before anything is begun.
    lib.getSymbol(name)
    Object.defineProperty(functions, name, {
      configurable: true,
      get() {
        const value: unknown = lib.getFunction(name, SIGNATURES[name])
        Object.defineProperty(functions, name, { value })
        return value
      },
    })
  }
  return functions as Libc
}

/**
 * Binds the C library for the calling thread.
 * @throws SassError RUNTIME_UNSUITABLE where Node, the C library or the machine cannot serve.
 */
export function loadSyscalls(): Syscalls {
  const ffi = ffiOfThisNode()
  if (process.arch !== 'x64' && process.arch !== 'arm64') {
    throw new SassError(
      'RUNTIME_UNSUITABLE',
      `The machine is ${process.arch}, and system calls are known for x64 and arm64 only; run sass-edge on one of these.`,
    )
  }
  const column = CALL_COLUMNS[process.arch]
  const { lib } = ffi.dlopen(null, {})
  let libc: Libc
  try {
    libc = lazily(lib)
  } catch (cause) {
    throw new SassError(
      'RUNTIME_UNSUITABLE',
      `The C library lacks a function that starting commands needs (${cause instanceof Error ? cause.message : String(cause)}); glibc 2.29 or later is needed.`,
      {},
      cause,
    )
  }
  let addCloseFrom: Syscalls['addCloseFrom']
  try {
    addCloseFrom = lib.getFunction(CLOSE_FROM, CLOSE_FROM_SIGNATURE)
  } catch {
    addCloseFrom = undefined
  }
  // errno has one address a thread for the thread's whole life.
  const errnoAddress = libc.__errno_location()
  const word = (value: number | bigint | NodeJS.ArrayBufferView | undefined): bigint => {
    if (value === undefined) return 0n
    return typeof value === 'object' ? ffi.getRawPointer(value) : BigInt(value)
  }
  return {
    libc,
    addCloseFrom,
    checked: (result) => (result < 0 ? -ffi.getInt32(errnoAddress) : result),
    byNumber(name, ...args) {
      const [a, b, c, d, e, f] = args
      const number = BigInt(CALLS[name][column] ?? -1)
      const result = libc.syscall(number, word(a), word(b), word(c), word(d), word(e), word(f))
      return result < 0n ? -ffi.getInt32(errnoAddress) : Number(result)
    },
    addressOf: (bytes) => ffi.getRawPointer(bytes),
  }
}

/** A function that only some C libraries have: glibc's allocator, say. Undefined where it is missing. */
export function optionalFunction(
  name: string,
  argumentTypes: readonly ('i32' | 'u64')[],
): ((...args: (number | bigint)[]) => number) | undefined {
  try {
    const { lib } = ffiOfThisNode().dlopen(null, {})
    return lib.getFunction(name, { arguments: [...argumentTypes], return: 'i32' })
  } catch {
    return undefined
  }
}
