/**
 * The numbers that the kernel and the C library fix, as the source has them, against the C headers of both machines:
 * flags, system calls, errors, sizes and places in structures. A compiler translates the headers to assembly and
 * nothing is run, so one machine can check the numbers of the other where its cross compiler is installed.
 * Every number at the top of these files has to be a name of the headers or be named here with what it stands for.
 * Sources: the headers named in PROLOGUE, as the system's packages libc6-dev and linux-libc-dev bring them.
 * @module
 */

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const SOURCE = join(import.meta.dirname, '../../src')
const FILES: readonly string[] = [
  'sandbox/kernel/syscalls.node.ts',
  'sandbox/launcher/launcher-thread.node.ts',
  'sandbox/launcher/spawn-attributes.node.ts',
  'sandbox/kernel/capabilities.node.ts',
  'sandbox/launcher/confined-spawner.node.ts',
  'sandbox/walls/fence.ts',
  'sandbox/walls/seccomp-filter.ts',
  'sandbox/launcher/pty.node.ts',
  'sandbox/launcher/child.node.ts',
  'cli/common/raw-terminal.node.ts',
  'edge/sockets/bound-socket.node.ts',
  'edge/host/datagram.node.ts',
  'edge/host/unix-address.node.ts',
  'edge/sockets/peer-user.node.ts',
  'edge/sockets/peer-namespace.node.ts',
  'sandbox/launcher/pinned.node.ts',
  'sandbox/kernel/regular-file.node.ts',
  'sandbox/kernel/sealed-copy.node.ts',
  'edge/state/file-lock.node.ts',
  'edge/host/allocator.node.ts',
]

const PROLOGUE = `#define _GNU_SOURCE
${[
  'errno.h fcntl.h malloc.h poll.h sched.h signal.h spawn.h stddef.h termios.h unistd.h',
  'sys/file.h sys/ioctl.h sys/prctl.h sys/socket.h sys/syscall.h sys/wait.h linux/capability.h',
  'netinet/in.h stdint.h sys/mount.h sys/resource.h linux/audit.h linux/filter.h linux/landlock.h linux/seccomp.h',
  'linux/magic.h linux/netlink.h sys/mman.h sys/shm.h sys/statfs.h sys/statvfs.h',
]
  .join(' ')
  .split(' ')
  .map((header) => `#include <${header}>`)
  .join('\n')}
#if __has_include(<linux/close_range.h>)
#include <linux/close_range.h>
#endif
#define TELL(name, value) __asm__("->" name " %0" : : "i"((long)(value)));
void tell(void) {
`

/** Names of this source: the C expression that they have to equal. */
const EXACT: Readonly<Record<string, string>> = {
  LAST_DESCRIPTOR: '~0U',
  CAPABILITY_VERSION_3: '_LINUX_CAPABILITY_VERSION_3',
  CAPABILITY_HEADER_BYTES: 'sizeof(struct __user_cap_header_struct)',
  CAPABILITY_DATA_WORDS: '_LINUX_CAPABILITY_U32S_3 * sizeof(struct __user_cap_data_struct) / 4',
  CAPABILITIES_MAX: '32 * _LINUX_CAPABILITY_U32S_3',
  SIGNAL_MAX: '_NSIG - 1',
  END_OF_TRANSMISSION: 'CEOF',
  STDIN_FD: 'STDIN_FILENO',
  OUTPUT_FLAGS: 'offsetof(struct termios, c_oflag) / 4',
  SOCKADDR_IN_BYTES: 'sizeof(struct sockaddr_in)',
  SOCKADDR_IN6_BYTES: 'sizeof(struct sockaddr_in6)',
  UCRED_BYTES: 'sizeof(struct ucred)',
  PID_AT: 'offsetof(struct ucred, pid)',
  UID_AT: 'offsetof(struct ucred, uid)',
  DESCRIPTOR_BYTES: 'sizeof(int)',
  SEALABLE: 'MFD_CLOEXEC | MFD_ALLOW_SEALING',
  SEALS: 'F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE',
  PERMISSIONS: 'S_IRWXU | S_IRWXG | S_IRWXO',
  STATFS_BYTES: 'sizeof(struct statfs)',
  STATFS_FLAGS_AT: 'offsetof(struct statfs, f_flags)',
  OF_FIRMWARE: 'EFIVARFS_MAGIC',
  PATH_RULE_BYTES: 'sizeof(struct landlock_path_beneath_attr)',
  LANDLOCK_RULE_PATH_BENEATH: 'LANDLOCK_RULE_PATH_BENEATH',
  FILTER_PROGRAM_BYTES: 'sizeof(struct sock_fprog)',
  FILTER_INSTRUCTION_BYTES: 'sizeof(struct sock_filter)',
  INSTRUCTION_BYTES: 'sizeof(struct sock_filter)',
  LOAD_WORD: 'BPF_LD | BPF_W | BPF_ABS',
  JUMP_EQUAL: 'BPF_JMP | BPF_JEQ | BPF_K',
  JUMP_GREATER: 'BPF_JMP | BPF_JGT | BPF_K',
  JUMP_ANY_BIT: 'BPF_JMP | BPF_JSET | BPF_K',
  MASK: 'BPF_ALU | BPF_AND | BPF_K',
  RETURN: 'BPF_RET | BPF_K',
  // Of the kernel alone; and the fields of a jump have a byte.
  SOCK_TYPE_MASK: '0xf',
  FARTHEST_JUMP: '(1 << 8 * sizeof(((struct sock_filter *)0)->jt)) - 1',
  NUMBER_AT: 'offsetof(struct seccomp_data, nr)',
  ARCHITECTURE_AT: 'offsetof(struct seccomp_data, arch)',
  ARGUMENTS_AT: 'offsetof(struct seccomp_data, args)',
  ARGUMENT_BYTES: 'sizeof(((struct seccomp_data *)0)->args[0])',
  WRITING: 'O_WRONLY | O_RDWR | O_CREAT | O_TRUNC',
  NEW_NAMESPACES:
    'CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET',
}
/** Buffers that the C library writes into: what they have to hold. */
const AT_LEAST: Readonly<Record<string, string>> = {
  TERMIOS_BYTES: 'sizeof(struct termios)',
  SPAWN_ATTRIBUTES_BYTES: 'sizeof(posix_spawnattr_t)',
  SPAWN_FILE_ACTIONS_BYTES: 'sizeof(posix_spawn_file_actions_t)',
  SIGNAL_SET_BYTES: 'sizeof(sigset_t)',
}
/** Our own choice, which no header knows. */
const OURS: readonly string[] = [
  ...[
    'SLAVE_PATH_BYTES',
    'WAKE_BYTES',
    'MMAP_THRESHOLD_BYTES',
    'SMALLEST_ROUNDS',
    'PACKET_HEAD_BYTES',
    'CONFINED_USER',
    'GRANTS_MAX',
  ],
  ...['READ_BYTES', 'REMEMBERED'],
  ...['LAST_KNOWN_CALL', 'LIMITS_SECRET_ARGUMENT'],
  // By version of Landlock: the structure and its rights grow, and the headers here may be older than the kernel.
  ...['RULESET_BYTES', 'NETWORK_VERSION', 'NETWORK_RIGHTS', 'SCOPE_VERSION', 'SCOPES'],
]
/** Not in the headers of a Linux before 5.11, 5.13, 5.14, 6.3, 6.5 and 6.6. */
const RECENT: readonly string[] = [
  ...['CLOSE_RANGE_CLOEXEC', 'SYS_close_range', 'SYS_quotactl_fd', 'SYS_process_mrelease', 'SYS_fchmodat2'],
  ...['MFD_EXEC', 'SO_PEERPIDFD'],
  ...['SYS_landlock_create_ruleset', 'SYS_landlock_add_rule', 'SYS_landlock_restrict_self'],
]
/** What the source takes for granted about structures and types, without a name. */
const LAYOUTS: readonly (readonly [expression: string, value: number])[] = [
  ['sizeof(struct pollfd)', 8],
  ['offsetof(struct pollfd, fd)', 0],
  ['offsetof(struct pollfd, events)', 4],
  ['offsetof(struct pollfd, revents)', 6],
  ['sizeof(struct winsize)', 8],
  ['offsetof(struct winsize, ws_row)', 0],
  ['offsetof(struct winsize, ws_col)', 2],
  ['offsetof(struct termios, c_iflag)', 0],
  ['offsetof(struct __user_cap_data_struct, inheritable)', 8],
  ['sizeof(void *)', 8],
  ['sizeof(size_t)', 8],
  ['sizeof(nfds_t)', 8],
  ['sizeof(long)', 8],
  ['sizeof(int)', 4],
  ['sizeof(short)', 2],
  ['sizeof(pid_t)', 4],
  ['sizeof(mode_t)', 4],
  ['sizeof(socklen_t)', 4],
  ['offsetof(struct sock_fprog, filter)', 8],
  ['offsetof(struct sock_filter, jt)', 2],
  ['offsetof(struct sock_filter, jf)', 3],
  ['offsetof(struct sock_filter, k)', 4],
  ['offsetof(struct landlock_path_beneath_attr, parent_fd)', 8],
  ['sizeof(struct rlimit64)', 16],
  ...([
    ['IPPROTO_TCP', 6],
    ['IPPROTO_UDP', 17],
    ['IPPROTO_ICMP', 1],
    ['IPPROTO_ICMPV6', 58],
  ] as const),
  ...([
    ['NETLINK_ROUTE', 0],
    ['NETLINK_KOBJECT_UEVENT', 15],
  ] as const),
  ['ST_RDONLY', 1],
  ['TMPFS_MAGIC', 0x0102_1994],
  ['RAMFS_MAGIC', 0x8584_58f6],
  ['F_SETOWN', 8],
  ['F_SETSIG', 10],
  ['F_SETOWN_EX', 15],
  ['F_SETLEASE', 1024],
  ['F_NOTIFY', 1026],
  ['__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__', 1],
]

const MACHINES = [
  { machine: 'x64', compiler: 'x86_64-linux-gnu-gcc', architecture: 'AUDIT_ARCH_X86_64' },
  { machine: 'arm64', compiler: 'aarch64-linux-gnu-gcc', architecture: 'AUDIT_ARCH_AARCH64' },
] as const

const NUMBER = String.raw`-?(?:0x[\da-f_]+|0o[0-7_]+|[\d_]+)`

function numberOf(text: string): number {
  const digits = text.replaceAll('_', '')
  return digits.startsWith('-') ? -Number(digits.slice(1)) : Number(digits)
}

/** Every `NAME = number` at the top of a file; what is a list or text is not a number of the kernel's. */
function constantsOf(file: string): Map<string, number> {
  const text = readFileSync(join(SOURCE, file), 'utf8')
  const found = text.matchAll(new RegExp(`^(?:export )?const ([A-Z][A-Z0-9_]*) = (${NUMBER})n?$`, 'gm'))
  return new Map([...found].map(([, name = '', value = '']) => [name, numberOf(value)]))
}

/** The entries `name: number` between `opening` and the next closing brace of syscalls.node.ts. */
function tableOf(opening: string): Map<string, number> {
  const text = readFileSync(join(SOURCE, 'sandbox/kernel/syscalls.node.ts'), 'utf8')
  const start = text.indexOf(opening)
  const block = start < 0 ? '' : text.slice(start + opening.length, text.indexOf('}', start))
  const found = block.matchAll(new RegExp(`(\\w+): (${NUMBER})`, 'g'))
  return new Map([...found].map(([, name = '', value = '']) => [name, numberOf(value)]))
}

/** The calls that are known, and the name of the instruction set, for one machine. */
function callTable(machine: 'x64' | 'arm64', architecture: string): Map<string, number> {
  const calls = readFileSync(join(SOURCE, 'sandbox/kernel/call-numbers.ts'), 'utf8')
  const found = new Map<string, number>()
  for (const [, name, x64 = '', arm64 = ''] of calls.matchAll(/(\w+): \[(\d+|NONE), (\d+|NONE)[\],]/g)) {
    const number = machine === 'x64' ? x64 : arm64
    if (number !== 'NONE') found.set(`SYS_${name}`, numberOf(number))
  }
  const filter = readFileSync(join(SOURCE, 'sandbox/walls/seccomp-filter.ts'), 'utf8')
  const judged = new RegExp(`ARCHITECTURES = .*\\b${machine}: (\\w+)`).exec(filter)
  found.set(architecture, numberOf(judged?.[1] ?? ''))
  return found
}

/** What the headers say: by name for `names`, where they know it, and by place for `expressions`. */
function askHeaders(
  compiler: string,
  names: readonly string[],
  expressions: readonly string[],
): { readonly named: Map<string, number>; readonly values: number[] } | undefined {
  const program = `${PROLOGUE}${names.map((name) => `#ifdef ${name}\nTELL("${name}", ${name})\n#endif\n`).join('')}${expressions
    .map((expression, index) => `TELL("${index}", ${expression})\n`)
    .join('')}}\n`
  const run = spawnSync(compiler, ['-x', 'c', '-S', '-o', '-', '-'], { input: program, encoding: 'utf8' })
  if (run.error !== undefined) return undefined
  if (run.status !== 0) throw new Error(`${compiler}: ${run.stderr}`)
  const told = new Map(
    [...run.stdout.matchAll(/->(\w+) [$#]?(-?\d+)/g)].map(([, name = '', value = '']) => [
      name,
      Number(value),
    ]),
  )
  return { named: told, values: expressions.map((_, index) => told.get(String(index)) ?? Number.NaN) }
}

for (const { machine, compiler, architecture } of MACHINES) {
  t.test(`the numbers of the source are those of the C headers on ${machine}`, (t) => {
    const constants = FILES.map((file) => ({ file, numbers: constantsOf(file) }))
    const errors = tableOf('ERRNO = Object.freeze({')
    const calls = callTable(machine, architecture)
    t.ok(errors.size > 0, 'the table of errors is found')
    t.ok(calls.size > 140, `${calls.size} calls are known`)
    for (const { file, numbers } of constants) t.ok(numbers.size > 0, `${file} has numbers`)

    const own = (name: string): boolean => name in EXACT || name in AT_LEAST || OURS.includes(name)
    const all = [...constants, { file: 'ERRNO', numbers: errors }, { file: 'the calls', numbers: calls }]
    const names = [...new Set(all.flatMap(({ numbers }) => [...numbers.keys()]))].filter((name) => !own(name))
    const ownNames = [...Object.keys(EXACT), ...Object.keys(AT_LEAST)]
    const expressions = [
      ...Object.values(EXACT),
      ...Object.values(AT_LEAST),
      ...LAYOUTS.map(([expression]) => expression),
    ]
    const headers =
      askHeaders(compiler, names, expressions) ??
      (process.arch === machine ? askHeaders('cc', names, expressions) : undefined)
    if (headers === undefined) {
      t.comment(`skipped: no C compiler for ${machine} is here`)
      t.end()
      return
    }

    for (const { file, numbers } of all) {
      for (const [name, value] of numbers) {
        if (OURS.includes(name)) continue
        const place = ownNames.indexOf(name)
        const expected = place < 0 ? headers.named.get(name) : headers.values[place]
        const label = `${file}: ${name}`
        if (expected === undefined && RECENT.includes(name)) t.comment(`skipped: these headers lack ${name}`)
        else if (name in AT_LEAST) t.ok(value >= (expected ?? Number.POSITIVE_INFINITY), label)
        else t.equal(value, expected, label)
      }
    }
    for (const [index, [expression, value]] of LAYOUTS.entries()) {
      t.equal(headers.values[ownNames.length + index], value, expression)
    }
    t.end()
  })
}
