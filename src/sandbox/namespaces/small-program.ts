/**
 * Programs of a few system calls, as the bytes of an ELF file for x86-64 or AArch64. A session's first process is one:
 * nothing of it comes from the device or from the session's files, it needs no C library, and it takes some pages of
 * memory. A program is a list of steps; a call's arguments are numbers, addresses of constants that are part of the
 * file, or the address of a word on the stack.
 * Refuses nothing by itself: what a list means is its author's business, and the kernel's.
 * Sources: elf(5), syscall(2) (registers by machine), Intel SDM volume 2, Arm ARM section C6.
 * @module
 */

export type Machine = 'x64' | 'arm64'

/** A number, constant bytes, or `word`: the address of eight bytes on the stack, where `keep` puts a result. */
export type Operand = number | { readonly bytes: Uint8Array } | 'word'

export type ProgramStep =
  | { readonly kind: 'call'; readonly number: number; readonly operands: readonly Operand[] }
  /** Puts the last call's result where `word` says. */
  | { readonly kind: 'keep' }
  /** Goes on there where the last call's result is zero, or positive. */
  | { readonly kind: 'go'; readonly to: string; readonly where: 'zero' | 'positive' }
  | { readonly kind: 'label'; readonly name: string }

/** Where the file lies in memory: as the linkers of both machines put it. */
const BASE = 0x400000
const ELF_HEADER_BYTES = 64
const PROGRAM_HEADER_BYTES = 56
const PROGRAM_HEADERS = 2
const CODE_AT = ELF_HEADER_BYTES + PROGRAM_HEADERS * PROGRAM_HEADER_BYTES
/** elf.h */
const ET_EXEC = 2
const EM_X86_64 = 62
const EM_AARCH64 = 183
const PT_LOAD = 1
const PT_GNU_STACK = 0x6474_e551
const [PF_X, PF_W, PF_R] = [1, 2, 4]
/** A page of every kernel of these machines is a divisor of it. */
const ALIGNMENT = 0x10000
/** Beneath the stack's top, where what the kernel has put for the program is not. */
const WORD_BELOW_STACK = 64

type Encoder = {
  readonly machine: number
  /** Bytes that are the same whatever the addresses are, so that a first run measures and a second one writes. */
  call(number: number, values: readonly (number | 'word')[]): number[]
  keep(): number[]
  /** `distance`: from the first byte of this step. */
  go(distance: number, where: 'zero' | 'positive'): number[]
}

const little = (value: number): number[] => [0, 8, 16, 24].map((shift) => (value >>> shift) & 0xff)

/** rdi, rsi, rdx, r10, r8, r9: prefix and number in the instruction. */
const X64_ARGUMENTS: readonly (readonly [isHigh: boolean, register: number])[] = [
  [false, 7],
  [false, 6],
  [false, 2],
  [true, 2],
  [true, 0],
  [true, 1],
]

const X64: Encoder = {
  machine: EM_X86_64,
  call(number, values) {
    const loads = values.flatMap((value, index) => {
      const [isHigh, register] = X64_ARGUMENTS[index] ?? [false, 0]
      // lea r, [rsp - 64], or mov r, imm32 with its sign.
      return value === 'word'
        ? [isHigh ? 0x4c : 0x48, 0x8d, 0x44 | (register << 3), 0x24, 0x100 - WORD_BELOW_STACK]
        : [isHigh ? 0x49 : 0x48, 0xc7, 0xc0 | register, ...little(value)]
    })
    return [...loads, 0x48, 0xc7, 0xc0, ...little(number), 0x0f, 0x05]
  },
  // mov [rsp - 64], rax
  keep: () => [0x48, 0x89, 0x44, 0x24, 0x100 - WORD_BELOW_STACK],
  // test rax, rax; then jz or jg, which count from their own end.
  go: (distance, where) => [0x48, 0x85, 0xc0, 0x0f, where === 'zero' ? 0x84 : 0x8f, ...little(distance - 9)],
}

const move = (register: number, value: number): number[] =>
  value < 0
    ? // movn, then movk for the upper half of a small negative number's 32 bits is not needed.
      little(0x9280_0000 | (((-value - 1) & 0xffff) << 5) | register)
    : [
        ...little(0xd280_0000 | ((value & 0xffff) << 5) | register),
        ...little(0xf2a0_0000 | (((value >>> 16) & 0xffff) << 5) | register),
      ]

const ARM64: Encoder = {
  machine: EM_AARCH64,
  call(number, values) {
    const loads = values.flatMap((value, index) =>
      // sub xN, sp, #64
      value === 'word'
        ? little(0xd100_0000 | (WORD_BELOW_STACK << 10) | (31 << 5) | index)
        : move(index, value),
    )
    return [...loads, ...move(8, number), ...little(0xd400_0001)]
  },
  // stur x0, [sp, #-64]
  keep: () => little(0xf800_0000 | ((-WORD_BELOW_STACK & 0x1ff) << 12) | (31 << 5)),
  go(distance, where) {
    // cbz x0; or cmp x0, #0 and b.gt, which counts from itself.
    if (where === 'zero') return little(0xb400_0000 | (((distance >> 2) & 0x7_ffff) << 5))
    return [...little(0xf100_001f), ...little(0x5400_000c | ((((distance - 4) >> 2) & 0x7_ffff) << 5))]
  },
}

const ENCODERS: Readonly<Record<Machine, Encoder>> = Object.freeze({ x64: X64, arm64: ARM64 })

/** The code for constants from `constantsAt` on (an address), and where each label is. */
function encode(
  { call, keep, go }: Encoder,
  steps: readonly ProgramStep[],
  constantsAt: number,
  labels: ReadonlyMap<string, number>,
): { readonly code: number[]; readonly labels: Map<string, number>; readonly constants: number[] } {
  const code: number[] = []
  const constants: number[] = []
  const found = new Map<string, number>()
  const place = (bytes: Uint8Array): number => {
    while (constants.length % 8 !== 0) constants.push(0)
    const at = constantsAt + constants.length
    constants.push(...bytes)
    return at
  }
  for (const step of steps) {
    switch (step.kind) {
      case 'call':
        code.push(
          ...call(
            step.number,
            step.operands.map((operand) => (typeof operand === 'object' ? place(operand.bytes) : operand)),
          ),
        )
        break
      case 'keep':
        code.push(...keep())
        break
      case 'go':
        code.push(...go((labels.get(step.to) ?? code.length) - code.length, step.where))
        break
      case 'label':
        found.set(step.name, code.length)
    }
  }
  return { code, labels: found, constants }
}

/** The file, to be run as it is. It begins at the first step; whoever wrote the list ends it with exit_group. */
export function smallProgram(machine: Machine, steps: readonly ProgramStep[]): Uint8Array {
  const encoder = ENCODERS[machine]
  const measured = encode(encoder, steps, BASE, new Map())
  const constantsAt = (CODE_AT + measured.code.length + 7) & ~7
  const { code, constants } = encode(encoder, steps, BASE + constantsAt, measured.labels)
  const bytes = new Uint8Array(constantsAt + constants.length)
  const view = new DataView(bytes.buffer)
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1])
  view.setUint16(16, ET_EXEC, true)
  view.setUint16(18, encoder.machine, true)
  view.setUint32(20, 1, true)
  view.setUint32(24, BASE + CODE_AT, true)
  view.setUint32(32, ELF_HEADER_BYTES, true)
  view.setUint16(52, ELF_HEADER_BYTES, true)
  view.setUint16(54, PROGRAM_HEADER_BYTES, true)
  view.setUint16(56, PROGRAM_HEADERS, true)
  const header = (index: number, type: number, flags: number, size: number, alignment: number): void => {
    const at = ELF_HEADER_BYTES + index * PROGRAM_HEADER_BYTES
    view.setUint32(at, type, true)
    view.setUint32(at + 4, flags, true)
    if (size > 0) view.setUint32(at + 16, BASE, true)
    if (size > 0) view.setUint32(at + 24, BASE, true)
    view.setUint32(at + 32, size, true)
    view.setUint32(at + 40, size, true)
    view.setUint32(at + 48, alignment, true)
  }
  header(0, PT_LOAD, PF_R | PF_X, bytes.length, ALIGNMENT)
  header(1, PT_GNU_STACK, PF_R | PF_W, 0, 16)
  bytes.set(code, CODE_AT)
  bytes.set(constants, constantsAt)
  return bytes
}
