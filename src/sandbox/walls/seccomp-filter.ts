/**
 * The filter that every system call of a confined program passes: a program for the kernel's classic BPF machine.
 * Forbidden calls fail with EPERM; so does opening for writing, making namespaces, setting another process's limits
 * and asking for signals to another process. Calls whose arguments lie in memory, where no filter can look, do not
 * exist (ENOSYS), so that the C library takes the older ones; nor does any call that is newer than this table.
 * Calls of another instruction set (32-bit, x32) all fail. It is the second layer: Landlock is the first.
 * A command in a branch makes sockets of four families only. Others do not exist for it, by the errno that the kernel has
 * for those that it was built without: programs know what to do then.
 * Sources: seccomp(2), linux/filter.h, linux/seccomp.h, linux/audit.h, linux/sched.h, socket(2), socket(7), netlink(7),
 * mmap(2), memfd_create(2), shmget(2).
 * @module
 */

import {
  CALL_COLUMNS,
  CALLS,
  type CallName,
  CONFINED,
  closedCalls,
  EVERYBODY,
} from '../kernel/call-numbers.ts'

/** linux/bpf_common.h and linux/filter.h: load a word of the call's data, compare, jump, return. */
const LOAD_WORD = 0x20
const JUMP_EQUAL = 0x15
const JUMP_GREATER = 0x25
const JUMP_ANY_BIT = 0x45
const MASK = 0x54
const RETURN = 0x06
/** linux/seccomp.h */
const SECCOMP_RET_ALLOW = 0x7fff_0000
const SECCOMP_RET_ERRNO = 0x0005_0000
/** struct seccomp_data: the number, the instruction set, then six 64-bit arguments from 16 on. */
const NUMBER_AT = 0
const ARCHITECTURE_AT = 4
const ARGUMENTS_AT = 16
const ARGUMENT_BYTES = 8
/** asm-generic/resource.h */
const RLIMIT_CORE = 4
/** asm-generic/errno.h */
const EPERM = 1
const ENOSYS = 38
const EPROTONOSUPPORT = 93
const EAFNOSUPPORT = 97
/** sys/socket.h */
const AF_UNIX = 1
const AF_INET = 2
const AF_INET6 = 10
const AF_NETLINK = 16
const SOCK_STREAM = 1
const SOCK_DGRAM = 2
/** linux/net.h: beside the type are flags. */
const SOCK_TYPE_MASK = 0xf
/** netinet/in.h: what a connection or a datagram has by default, TCP, UDP, and ICMP as ping sends it without rights. */
const INTERNET_PROTOCOLS: readonly number[] = [0, 6, 17, 1, 58]
/** linux/netlink.h: NETLINK_ROUTE, which the C library asks for addresses, and events of devices, which libusb waits for. */
const NETLINK_PROTOCOLS: readonly number[] = [0, 15]
/** mseal, of Linux 6.10. Every call of x32 is above it as well. */
const LAST_KNOWN_CALL = 462
/** O_WRONLY, O_RDWR, O_CREAT, O_TRUNC: the same bits on both machines. */
const WRITING = 0o1103
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const NEW_NAMESPACES = 0x7e02_0000
/** fcntl(2): who gets signals from a descriptor, leases and notices: F_SETOWN, SETSIG, SETOWN_EX, SETLEASE, NOTIFY. */
const SIGNALLING: readonly number[] = [8, 10, 15, 1024, 1026]
const INSTRUCTION_BYTES = 8
/** prlimit64 has four arguments; this is the fifth. */
const LIMITS_SECRET_ARGUMENT = 4

/** AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64. */
const ARCHITECTURES = Object.freeze({ x64: 0xc000_003e, arm64: 0xc000_00b7 })
type Machine = keyof typeof CALL_COLUMNS

/** Where a comparison leads: on to the next instruction, past some, or to one of the answers at the end. */
type Way = 'next' | number | 'allow' | 'forbid' | 'unknown' | 'family' | 'protocol' | 'nothing'
type Instruction = {
  readonly code: number
  readonly operand: number
  readonly yes: Way
  readonly no: Way
}

const load = (at: number): Instruction => ({ code: LOAD_WORD, operand: at, yes: 'next', no: 'next' })
const jump = (code: number, operand: number, yes: Way, no: Way): Instruction => ({ code, operand, yes, no })
/** The lower half: what is looked at here are ints and flags. */
const argument = (index: number): Instruction => load(ARGUMENTS_AT + index * ARGUMENT_BYTES)
const upperHalf = (index: number): Instruction => load(ARGUMENTS_AT + index * ARGUMENT_BYTES + 4)

/** One call judged by an argument: skipped whole where the number is another one. */
type Judged = readonly [name: CallName, checks: readonly Instruction[]]

/** Which answer stands how many instructions after the checks. */
const ANSWERS: readonly (readonly [way: Way, value: number])[] = [
  ['allow', SECCOMP_RET_ALLOW],
  ['forbid', SECCOMP_RET_ERRNO | EPERM],
  ['unknown', SECCOMP_RET_ERRNO | ENOSYS],
  ['family', SECCOMP_RET_ERRNO | EAFNOSUPPORT],
  ['protocol', SECCOMP_RET_ERRNO | EPROTONOSUPPORT],
  // The call says that it was done, and was not made.
  ['nothing', SECCOMP_RET_ERRNO],
]
/** struct sock_filter has a byte for each way. */
const FARTHEST_JUMP = 255

/** The launcher, which is under the filter too, tells it with a limit. */
const tellsSecret = (limitsSecret: bigint, otherwise: Way): Instruction[] => [
  argument(LIMITS_SECRET_ARGUMENT),
  jump(JUMP_EQUAL, Number(limitsSecret & 0xffff_ffffn), 'next', otherwise),
  upperHalf(LIMITS_SECRET_ARGUMENT),
  jump(JUMP_EQUAL, Number((limitsSecret >> 32n) & 0xffff_ffffn), 'allow', otherwise),
]

/** Passes on a value that is none of these. */
const noneOf = (values: readonly number[]): Instruction[] => [
  ...values.map((value) => jump(JUMP_EQUAL, value, 'forbid', 'next')),
  jump(JUMP_EQUAL, 0, 'allow', 'allow'),
]

/**
 * The filter for a machine, as an array of `struct sock_filter`. The launcher has to set limits of what it started,
 * and is under the filter itself: it tells `limitsSecret`, 64 bits, in a register that the call does not use.
 */
export function seccompFilter(machine: Machine, limitsSecret: bigint): Uint8Array {
  const isWriting = jump(JUMP_ANY_BIT, WRITING, 'forbid', 'allow')
  return assemble(machine, ['clone3', 'openat2'], closedCalls(machine, [CONFINED, EVERYBODY]), [
    ['clone', [argument(0), jump(JUMP_ANY_BIT, NEW_NAMESPACES, 'forbid', 'allow')]],
    ['openat', [argument(2), isWriting]],
    [
      'prlimit64',
      [argument(0), jump(JUMP_EQUAL, 0, 'allow', 'next'), ...tellsSecret(limitsSecret, 'forbid')],
    ],
    ['fcntl', [argument(1), ...noneOf(SIGNALLING)]],
    ['open', [argument(1), isWriting]],
  ])
}

/** terminal ioctls that put words into somebody else's mouth: TIOCSTI, and TIOCLINUX of the console. */
const TYPING_IOCTLS: readonly number[] = [0x5412, 0x541c]

/** fcntl(2): with a lease, somebody who only reads a file makes everybody wait who wants to write it. F_SETLEASE, F_SETDELEG. */
const LEASES: readonly number[] = [1024, 1040]

/** asm-generic/socket.h, the level and SO_SNDBUF, SO_RCVBUF and what forces them. */
const SOL_SOCKET = 1
const BUFFER_OPTIONS: readonly number[] = [7, 8, 32, 33]
/** asm-generic/hugetlb_encode.h and its users: MAP_HUGETLB, MFD_HUGETLB and SHM_HUGETLB. */
const MAP_HUGETLB = 0x4_0000
const MFD_HUGETLB = 0x4
const SHM_HUGETLB = 0o4000

/**
 * Buffers of sockets keep their first size, and whoever asks for another hears that it is done, as a kernel answers who
 * asks for too much: what waits in a netlink or a UDP socket counts for no session, and each could hold 8 MiB.
 */
const bufferChecks = (): Instruction[] => [
  argument(1),
  jump(JUMP_EQUAL, SOL_SOCKET, 'next', 'allow'),
  argument(2),
  ...BUFFER_OPTIONS.map((option) => jump(JUMP_EQUAL, option, 'nothing', 'next')),
  jump(JUMP_EQUAL, 0, 'allow', 'allow'),
]

/** Huge pages are set aside by the device for a program of its own, and counted for nobody. */
const noHugePages = (index: number, flag: number): Instruction[] => [
  argument(index),
  jump(JUMP_ANY_BIT, flag, 'forbid', 'allow'),
]

/** The last of them leads to `otherwise`. */
const oneOf = (values: readonly number[], otherwise: Way): Instruction[] =>
  values.map((value, index) =>
    jump(JUMP_EQUAL, value, 'allow', index === values.length - 1 ? otherwise : 'next'),
  )

/**
 * Which sockets a command may make: no packets and no raw ones, no virtual machines, no ciphers of the kernel, no rare
 * protocols, whose code is loaded when somebody first asks for them.
 */
function socketChecks(): Instruction[] {
  const internet = [
    argument(1),
    { code: MASK, operand: SOCK_TYPE_MASK, yes: 'next', no: 'next' } as const,
    jump(JUMP_EQUAL, SOCK_STREAM, 1, 'next'),
    jump(JUMP_EQUAL, SOCK_DGRAM, 'next', 'forbid'),
    argument(2),
    ...oneOf(INTERNET_PROTOCOLS, 'protocol'),
  ]
  return [
    argument(0),
    jump(JUMP_EQUAL, AF_UNIX, 'allow', 'next'),
    jump(JUMP_EQUAL, AF_NETLINK, internet.length + 2, 'next'),
    jump(JUMP_EQUAL, AF_INET, 1, 'next'),
    jump(JUMP_EQUAL, AF_INET6, 'next', 'family'),
    ...internet,
    argument(2),
    ...oneOf(NETLINK_PROTOCOLS, 'protocol'),
  ]
}

/**
 * The limit of a core dump is 1, which keeps the kernel from starting the device's handler of dumps too; 0, as programs
 * with secrets set it, would let it. So nobody changes it but the launcher, and whoever tries hears that it is done.
 */
function coreLimitChecks(limitsSecret: bigint): Instruction[] {
  return [
    argument(1),
    jump(JUMP_EQUAL, RLIMIT_CORE, 'next', 'allow'),
    // Without a new limit it only asks.
    argument(2),
    jump(JUMP_EQUAL, 0, 'next', 2),
    upperHalf(2),
    jump(JUMP_EQUAL, 0, 'allow', 'next'),
    ...tellsSecret(limitsSecret, 'nothing'),
  ]
}

/**
 * The filter of a command in a branch: everything works but what is closed to a program without rights anyway and has
 * been the way out before. Its launcher is under it as well, and needs to enter namespaces: no command has the right to.
 */
export function commandFilter(machine: Machine, limitsSecret: bigint): Uint8Array {
  const namespaces = jump(JUMP_ANY_BIT, NEW_NAMESPACES, 'forbid', 'allow')
  return assemble(
    machine,
    // Its flags lie in memory: the C library then makes the older call, whose flags can be seen.
    ['clone3'],
    closedCalls(machine, [EVERYBODY]),
    [
      ['clone', [argument(0), namespaces]],
      ['unshare', [argument(0), namespaces]],
      ['setrlimit', [argument(0), jump(JUMP_EQUAL, RLIMIT_CORE, 'nothing', 'allow')]],
      ['prlimit64', coreLimitChecks(limitsSecret)],
      ['socket', socketChecks()],
      ['socketpair', [argument(0), ...oneOf([AF_UNIX], 'family')]],
      ['ioctl', [argument(1), ...noneOf(TYPING_IOCTLS)]],
      ['fcntl', [argument(1), ...noneOf(LEASES)]],
      ['setsockopt', bufferChecks()],
      ['mmap', noHugePages(3, MAP_HUGETLB)],
      ['memfd_create', noHugePages(1, MFD_HUGETLB)],
      ['shmget', noHugePages(2, SHM_HUGETLB)],
    ],
  )
}

/**
 * Calls that do not exist, calls that are forbidden, and calls that are judged by an argument, where a machine has them.
 * @throws RangeError where a table has become longer than a jump reaches
 */
function assemble(
  machine: Machine,
  unknown: readonly ('clone3' | 'openat2')[],
  forbidden: readonly number[],
  judgedCalls: readonly Judged[],
): Uint8Array {
  const numberOf = (name: CallName): number | undefined => CALLS[name][CALL_COLUMNS[machine]]
  const head: Instruction[] = [
    load(ARCHITECTURE_AT),
    jump(JUMP_EQUAL, ARCHITECTURES[machine], 'next', 'forbid'),
    load(NUMBER_AT),
    // Calls of x32 have a bit of their own in their numbers.
    jump(JUMP_GREATER, LAST_KNOWN_CALL, 'unknown', 'next'),
    ...unknown.map((name) => jump(JUMP_EQUAL, CALLS[name][CALL_COLUMNS[machine]], 'unknown', 'next')),
    ...forbidden.map((number) => jump(JUMP_EQUAL, number, 'forbid', 'next')),
  ]
  const judged = judgedCalls.flatMap(([name, checks]) => {
    const number = numberOf(name)
    return number === undefined ? [] : [{ number, checks }]
  })
  const length =
    head.length + judged.reduce((sum, { checks }) => sum + 1 + checks.length, 0) + 1 + ANSWERS.length
  const bytes = new Uint8Array(new ArrayBuffer(length * INSTRUCTION_BYTES))
  const view = new DataView(bytes.buffer)
  const answersAt = length - ANSWERS.length
  let at = 0
  const put = (code: number, yes: number, no: number, operand: number): void => {
    view.setUint16(at * INSTRUCTION_BYTES, code, true)
    view.setUint8(at * INSTRUCTION_BYTES + 2, yes)
    view.setUint8(at * INSTRUCTION_BYTES + 3, no)
    view.setUint32(at * INSTRUCTION_BYTES + 4, operand, true)
    at++
  }
  const distance = (way: Way): number => {
    if (way === 'next') return 0
    const found =
      typeof way === 'number' ? way : answersAt + ANSWERS.findIndex(([name]) => name === way) - at - 1
    if (found > FARTHEST_JUMP) throw new RangeError('The table of the filter is longer than a jump reaches.')
    return found
  }
  const emit = ({ code, operand, yes, no }: Instruction): void =>
    put(code, distance(yes), distance(no), operand)

  for (const instruction of head) emit(instruction)
  for (const { number, checks } of judged) {
    put(JUMP_EQUAL, 0, checks.length, number)
    for (const check of checks) emit(check)
  }
  emit(jump(JUMP_EQUAL, 0, 'allow', 'allow'))
  for (const [, value] of ANSWERS) put(RETURN, 0, 0, value)
  return bytes
}
