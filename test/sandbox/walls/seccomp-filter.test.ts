/**
 * The filter, run as the kernel would run it: what passes, what fails, and with which errno.
 * @module
 */
import t from 'tap'
import { CALLS, EVERYBODY } from '../../../src/sandbox/kernel/call-numbers.ts'
import { commandFilter, seccompFilter } from '../../../src/sandbox/walls/seccomp-filter.ts'

const SECRET = -0x1234_5678_9abc_def0n
const ARCHITECTURES = { x64: 0xc000_003e, arm64: 0xc000_00b7 } as const
const ALLOW = 'allowed'

/** A machine for the instructions that the filter has; leaving the program is an error. */
function run(filter: Uint8Array, architecture: number, number: number, args: readonly bigint[]): string {
  const data = new DataView(new ArrayBuffer(64))
  data.setUint32(0, number, true)
  data.setUint32(4, architecture, true)
  for (const [index, value] of args.entries())
    data.setBigUint64(16 + index * 8, BigInt.asUintN(64, value), true)
  const program = new DataView(filter.buffer, filter.byteOffset, filter.length)
  let accumulator = 0
  for (let at = 0; at < filter.length / 8; at++) {
    const operand = program.getUint32(at * 8 + 4, true)
    const jump = (holds: boolean): void => {
      at += program.getUint8(at * 8 + (holds ? 2 : 3))
    }
    switch (program.getUint16(at * 8, true)) {
      case 0x20:
        accumulator = data.getUint32(operand, true)
        break
      case 0x15:
        jump(accumulator === operand)
        break
      case 0x25:
        jump(accumulator > operand)
        break
      case 0x45:
        jump((accumulator & operand) !== 0)
        break
      case 0x54:
        accumulator &= operand
        break
      case 0x06:
        return operand === 0x7fff_0000 ? ALLOW : operand >>> 16 === 5 ? `errno ${operand & 0xffff}` : 'other'
      default:
        throw new Error(`an instruction that is none at ${at}`)
    }
  }
  throw new Error('the end was passed')
}

/** Calls that fail whatever their arguments are. */
const CLOSED = Object.entries(CALLS).filter((entry) => entry[1].length === 3)

for (const machine of ['x64', 'arm64'] as const) {
  const filter = seccompFilter(machine, SECRET)
  const ask = (number: number, ...args: (number | bigint)[]): string =>
    run(filter, ARCHITECTURES[machine], number, args.map(BigInt))
  const of = (x64: number, arm64: number): number => (machine === 'x64' ? x64 : arm64)

  t.test(`on ${machine} every forbidden call fails with EPERM, whatever its arguments`, (t) => {
    const forbidden = CLOSED.filter(([, row]) => row[machine === 'x64' ? 0 : 1] !== undefined)
    t.ok(forbidden.length > 100, `${forbidden.length} calls`)
    for (const [name, row] of forbidden) {
      const number = row[machine === 'x64' ? 0 : 1]
      if (number !== undefined) t.equal(ask(number, 0, 0, 0), 'errno 1', name)
    }
    t.end()
  })

  t.test(`on ${machine} what readers need passes`, (t) => {
    const calls: readonly (readonly [name: string, number: number])[] = [
      ['read', of(0, 63)],
      ['write', of(1, 64)],
      ['close', of(3, 57)],
      ['mmap', of(9, 222)],
      ['getdents64', of(217, 61)],
      ['execve', of(59, 221)],
      ['exit_group', of(231, 94)],
      ['statx', of(332, 291)],
      ['futex', of(202, 98)],
      ['close_range', 436],
    ]
    for (const [name, number] of calls) t.equal(ask(number), ALLOW, name)
    t.end()
  })

  t.test(`on ${machine} files open for reading only, processes start without namespaces`, (t) => {
    const openat = of(257, 56)
    t.equal(ask(openat, -100, 0, 0), ALLOW)
    t.equal(ask(openat, -100, 0, 0o2000000), ALLOW, 'O_CLOEXEC')
    for (const flags of [0o1, 0o2, 0o100, 0o1000, 0o20200001, 0o2000102])
      t.equal(ask(openat, -100, 0, flags), 'errno 1', `flags ${flags.toString(8)}`)
    if (machine === 'x64') {
      t.equal(ask(2, 0, 0o2000000), ALLOW)
      t.equal(ask(2, 0, 0o1), 'errno 1')
    }
    t.equal(ask(437), 'errno 38', 'openat2 does not exist')
    const clone = of(56, 220)
    t.equal(ask(clone, 0x4111), ALLOW, 'CLONE_VM, CLONE_VFORK, SIGCHLD')
    for (const flag of [0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000])
      t.equal(ask(clone, flag | 0x11), 'errno 1', `clone ${flag.toString(16)}`)
    t.equal(ask(435), 'errno 38', 'clone3 does not exist')
    t.end()
  })

  t.test(`on ${machine} another process's limits are set by whom knows the secret only`, (t) => {
    const prlimit = of(302, 261)
    t.equal(ask(prlimit, 0, 7, 0, 1), ALLOW, 'its own')
    t.equal(ask(prlimit, 4242, 7, 1, 0), 'errno 1')
    t.equal(ask(prlimit, 4242, 7, 1, 0, SECRET), ALLOW)
    t.equal(ask(prlimit, 4242, 7, 1, 0, SECRET + 1n), 'errno 1')
    t.equal(ask(prlimit, 4242, 7, 1, 0, SECRET + (1n << 32n)), 'errno 1')
    t.end()
  })

  t.test(`on ${machine} descriptors tell nobody by signals`, (t) => {
    const fcntl = of(72, 25)
    for (const command of [8, 10, 15, 1024, 1026]) t.equal(ask(fcntl, 3, command), 'errno 1')
    for (const command of [0, 1, 2, 3, 4, 1030]) t.equal(ask(fcntl, 3, command), ALLOW)
    t.end()
  })

  t.test(
    `on ${machine} calls newer than the table do not exist, and other instruction sets get nothing`,
    (t) => {
      for (const number of [463, 469, 1_000, 0x4000_0000, 0x4000_0001, 0xffff_ffff])
        t.equal(ask(number), 'errno 38')
      for (const architecture of [
        0x4000_0003,
        0x4000_0028,
        ARCHITECTURES[machine === 'x64' ? 'arm64' : 'x64'],
      ])
        t.equal(run(filter, architecture, 0, []), 'errno 1')
      t.end()
    },
  )
}

for (const machine of ['x64', 'arm64'] as const) {
  const filter = commandFilter(machine, SECRET)
  const ask = (number: number, ...args: (number | bigint)[]): string =>
    run(filter, ARCHITECTURES[machine], number, args.map(BigInt))
  const of = (x64: number, arm64: number): number => (machine === 'x64' ? x64 : arm64)

  t.test(`on ${machine} a command in a branch does everything but what is closed to it`, (t) => {
    t.ok(CLOSED.filter(([, row]) => row[2] === EVERYBODY).length > 40, 'some are closed to commands')
    for (const [name, row] of CLOSED) {
      const number = row[machine === 'x64' ? 0 : 1]
      const isJudged = name === 'socket' || name === 'socketpair'
      if (number === undefined || isJudged) continue
      t.equal(ask(number, 0, 0, 0), row[2] === EVERYBODY ? 'errno 1' : ALLOW, name)
    }
    t.end()
  })

  t.test(`on ${machine} a command makes sockets of four families, and no raw ones`, (t) => {
    const [socket, pair] = [of(41, 198), of(53, 199)]
    const flags = 0x80800
    const [noFamily, noProtocol] = ['errno 97', 'errno 93']
    for (const type of [1, 2, 5, 3]) {
      t.equal(ask(socket, 1, type | flags, 0), ALLOW, 'Unix')
      t.equal(ask(pair, 1, type | flags, 0), ALLOW, 'Unix')
    }
    for (const family of [2, 10])
      for (const type of [1, 2]) {
        for (const protocol of [0, 1, 6, 17, 58]) t.equal(ask(socket, family, type | flags, protocol), ALLOW)
        for (const protocol of [2, 33, 115, 132, 136, 255, 262, 256])
          t.equal(ask(socket, family, type, protocol), noProtocol, `protocol ${protocol}`)
      }
    for (const family of [2, 10])
      for (const type of [0, 3, 4, 5, 6, 7, 10, 15])
        t.equal(ask(socket, family, type | flags, 0), 'errno 1', `type ${type}`)
    for (const type of [2, 3]) {
      for (const protocol of [0, 15]) t.equal(ask(socket, 16, type | flags, protocol), ALLOW, 'netlink')
      for (let protocol = 1; protocol < 32; protocol++)
        if (protocol !== 15) t.equal(ask(socket, 16, type, protocol), noProtocol, `netlink ${protocol}`)
    }
    for (let family = 0; family < 64; family++) {
      if (![1, 2, 10, 16].includes(family)) t.equal(ask(socket, family, 1, 0), noFamily, `family ${family}`)
      if (family !== 1) t.equal(ask(pair, family, 1, 0), noFamily, `a pair of family ${family}`)
    }
    t.equal(ask(socket, 0x1_0000_0001n, 1, 0), ALLOW, 'the kernel reads the lower half')
    t.equal(ask(socket, 0x1_0000_0028n, 1, 0), noFamily)
    t.end()
  })

  t.test(`on ${machine} no buffer of a socket grows, and no huge pages are taken`, (t) => {
    const setsockopt = of(54, 208)
    for (const option of [7, 8, 32, 33]) t.equal(ask(setsockopt, 3, 1, option), 'errno 0', `option ${option}`)
    for (const option of [2, 9, 15, 20]) t.equal(ask(setsockopt, 3, 1, option), ALLOW)
    for (const level of [0, 6, 41, 270]) t.equal(ask(setsockopt, 3, level, 8), ALLOW, 'of another level')
    const [mmap, memfd, shmget] = [of(9, 222), of(319, 279), of(29, 194)]
    t.equal(ask(mmap, 0, 4_096, 3, 0x22, -1, 0), ALLOW)
    for (const size of [0, 21, 30])
      t.equal(ask(mmap, 0, 4_096, 3, 0x4_0022 | (size << 26), -1, 0), 'errno 1', `of 2^${size} bytes`)
    t.equal(ask(memfd, 0, 3), ALLOW)
    t.equal(ask(memfd, 0, 5), 'errno 1')
    t.equal(ask(shmget, 1, 4_096, 0o1666), ALLOW)
    t.equal(ask(shmget, 1, 4_096, 0o5666), 'errno 1')
    t.end()
  })

  t.test(
    `on ${machine} nobody but the launcher changes the limit of core dumps, and all hear that it is done`,
    (t) => {
      const [prlimit, setrlimit] = [of(302, 261), of(160, 164)]
      for (const pid of [0, 4242]) {
        t.equal(ask(prlimit, pid, 4, 0x7fff_0000_0000n, 0), 'errno 0', 'an address whose lower half is 0')
        t.equal(ask(prlimit, pid, 4, 0x1000, 0), 'errno 0')
        t.equal(ask(prlimit, pid, 4, 0x1000, 0, SECRET + 1n), 'errno 0')
        t.equal(ask(prlimit, pid, 4, 0x1000, 0, SECRET + (1n << 32n)), 'errno 0')
        t.equal(ask(prlimit, pid, 4, 0x1000, 0, SECRET), ALLOW)
        t.equal(ask(prlimit, pid, 4, 0, 0x1000), ALLOW, 'who asks is told')
        t.equal(ask(prlimit, pid, 7, 0x1000, 0), ALLOW, 'other limits are its own')
      }
      t.equal(ask(setrlimit, 4, 0x1000), 'errno 0')
      t.equal(ask(setrlimit, 7, 0x1000), ALLOW)
      t.end()
    },
  )

  t.test(`on ${machine} no namespaces, nothing typed into terminals, no other instruction set`, (t) => {
    for (const flag of [
      0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000,
    ]) {
      t.equal(ask(of(56, 220), flag | 0x11), 'errno 1')
      t.equal(ask(of(272, 97), flag), 'errno 1')
    }
    t.equal(ask(of(56, 220), 0x4111), ALLOW)
    t.equal(ask(of(272, 97), 0x200), ALLOW, 'CLONE_FS')
    t.equal(ask(435), 'errno 38', 'clone3 does not exist')
    for (const request of [0x5412n, 0x541cn, 0x1_0000_5412n])
      t.equal(ask(of(16, 29), 0, request), 'errno 1', 'also with bits that the kernel does not look at')
    t.equal(ask(of(16, 29), 0, 0x5413), ALLOW)
    for (const command of [1024, 1040]) t.equal(ask(of(72, 25), 3, command), 'errno 1', 'no leases')
    for (const command of [0, 1, 4, 6, 8, 1030]) t.equal(ask(of(72, 25), 3, command), ALLOW)
    for (const number of [463, 0x4000_0001]) t.equal(ask(number), 'errno 38')
    for (const architecture of [0x4000_0003, 0x4000_0028])
      t.equal(run(filter, architecture, 0, []), 'errno 1')
    t.end()
  })
}
