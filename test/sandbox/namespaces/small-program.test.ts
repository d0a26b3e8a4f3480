/**
 * Small programs do what their steps say, on the machine that they are for: the x86-64 one runs as it is, the AArch64
 * one under qemu where that is there.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Machine, type Operand, smallProgram } from '../../../src/sandbox/namespaces/small-program.ts'

const QEMU = '/usr/bin/qemu-aarch64-static'
/** asm/unistd_64.h, asm-generic/unistd.h */
const NUMBERS = {
  x64: { read: 0, write: 1, close: 3, mmap: 9, openat: 257, exit_group: 231 },
  arm64: { read: 63, write: 64, close: 57, mmap: 222, openat: 56, exit_group: 94 },
} as const
const EBADF = 9
const AT_FDCWD = -100
const [PROT_READ, MAP_PRIVATE, MAP_ANONYMOUS] = [1, 2, 0x20]
const bytes = (text: string): Operand => ({ bytes: Buffer.from(text) })

/** Every kind of step and operand, forwards and backwards. */
function everything(machine: Machine): Uint8Array {
  const number = NUMBERS[machine]
  const call = (name: keyof (typeof NUMBERS)['x64'], ...operands: Operand[]) =>
    ({ kind: 'call', number: number[name], operands }) as const
  return smallProgram(machine, [
    call('write', 1, bytes('hello\n'), 6),
    { kind: 'label', name: 'again' },
    call('read', 0, 'word', 8),
    { kind: 'go', to: 'got', where: 'positive' },
    call('exit_group', 7),
    { kind: 'label', name: 'got' },
    call('write', 1, 'word', 8),
    // Zero the first time, and neither zero nor positive the second time.
    call('close', 2),
    { kind: 'go', to: 'again', where: 'zero' },
    { kind: 'go', to: 'wrong', where: 'positive' },
    { kind: 'keep' },
    call('write', 1, 'word', 8),
    call('openat', AT_FDCWD, bytes('/dev/null\0'), 0, 0),
    { kind: 'keep' },
    call('write', 1, 'word', 8),
    call('mmap', 0, 65_536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
    { kind: 'go', to: 'right', where: 'positive' },
    { kind: 'label', name: 'wrong' },
    call('exit_group', 1),
    { kind: 'label', name: 'right' },
    call('exit_group', 42),
  ])
}

function run(directory: string, machine: Machine, input: string) {
  const file = join(directory, machine)
  writeFileSync(file, everything(machine), { mode: 0o755 })
  const [command, argv] = machine === process.arch ? [file, []] : [QEMU, [file]]
  return spawnSync(command, argv, { input })
}

for (const machine of ['x64', 'arm64'] as const) {
  t.test(`a program for ${machine} does each of its steps`, async (t) => {
    if (machine !== process.arch && (machine === 'x64' || !existsSync(QEMU)))
      return t.comment(`skipped: nothing here runs programs for ${machine}`)
    const directory = t.testdir()
    const { status, signal, stdout } = run(directory, machine, 'abcdefghABCDEFGH')
    t.strictSame({ status, signal }, { status: 42, signal: null })
    t.equal(stdout.subarray(0, 22).toString(), 'hello\nabcdefghABCDEFGH')
    t.equal(stdout.readBigInt64LE(22), BigInt(-EBADF), 'a result that was kept, with its sign')
    t.equal(stdout.readBigInt64LE(30), 2n, 'the file that was opened')
    t.equal(stdout.length, 38)
    t.equal(run(directory, machine, '').status, 7, 'what is not positive goes on')
  })
}

t.test('a program is one read-only segment of memory, and asks for no stack that can be run', async (t) => {
  for (const machine of ['x64', 'arm64'] as const) {
    const file = Buffer.from(everything(machine))
    t.equal(file.subarray(0, 4).toString('latin1'), '\x7fELF')
    t.equal(file.readUInt16LE(18), machine === 'x64' ? 62 : 183, 'its machine')
    t.strictSame([file.readUInt32LE(64), file.readUInt32LE(68)], [1, 5], 'loaded, to be read and run')
    t.equal(file.readUInt32LE(64 + 32), file.length, 'the whole file')
    t.strictSame([file.readUInt32LE(120), file.readUInt32LE(124)], [0x6474_e551, 6], 'the stack is not run')
    t.ok(file.length < 1_024, 'some hundred bytes')
  }
})
