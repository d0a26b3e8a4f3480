/**
 * The C library bound: results, errno, and the refusals of a Node that cannot serve.
 * @module
 */

import { closeSync, openSync, readlinkSync } from 'node:fs'
import t from 'tap'
import { ERRNO, loadSyscalls, O_CLOEXEC, O_RDWR } from '../../../src/sandbox/kernel/syscalls.node.ts'

const syscalls = loadSyscalls()
const { libc, checked } = syscalls

t.test('a failure is -errno, a success the result', (t) => {
  t.equal(checked(libc.close(-1)), -9, 'EBADF')
  t.equal(checked(libc.open('/no/such/file', O_RDWR, 0)), -2, 'ENOENT')
  t.equal(checked(libc.kill(process.pid, 0)), 0)
  t.equal(checked(libc.kill(2 ** 31 - 1, 0)), -ERRNO.ESRCH)
  const descriptor = checked(libc.open('/dev/null', O_RDWR | O_CLOEXEC, 0))
  t.ok(descriptor > 2)
  t.equal(readlinkSync(`/proc/self/fd/${descriptor}`), '/dev/null')
  closeSync(descriptor)
  t.equal(checked(libc.waitpid(-1, new Int32Array(1), 1)), -ERRNO.ECHILD)
  t.end()
})

t.test('calls by number take numbers and views and report errno', (t) => {
  const header = Uint32Array.of(0x2008_0522, 0)
  const data = new Uint32Array(6)
  t.equal(syscalls.byNumber('capget', header, data), 0)
  t.equal(syscalls.byNumber('capget', Uint32Array.of(1, 0), data), -22, 'EINVAL for a version that is none')
  t.equal(syscalls.byNumber('setns', -1, 0), -9)
  t.equal(syscalls.byNumber('close_range', 10, 5, 0), -22)
  t.end()
})

t.test('addresses are stable and distinct', (t) => {
  const block = new ArrayBuffer(4_096)
  const address = syscalls.addressOf(block)
  t.equal(typeof address, 'bigint')
  t.equal(syscalls.addressOf(new Uint8Array(block, 16)), address + 16n)
  t.equal(syscalls.addressOf(block), address)
  t.not(syscalls.addressOf(new ArrayBuffer(4_096)), address)
  t.end()
})

t.test('descriptors are readable through a pipe made here', (t) => {
  const ends = new Int32Array(2)
  t.equal(checked(libc.pipe2(ends, O_CLOEXEC)), 0)
  t.equal(Number(libc.write(ends[1] ?? -1, Buffer.from('abc'), 3n)), 3)
  const request = Int32Array.of(ends[0] ?? -1, 1)
  t.equal(libc.poll(request, 1n, 0), 1)
  for (const end of ends) closeSync(end)
  const free = openSync('/dev/null', 'r')
  t.equal(ends.includes(free), true, 'both are closed')
  closeSync(free)
  t.end()
})

t.test('a Node without FFI is refused with a sentence', (t) => {
  const original = process.getBuiltinModule
  process.getBuiltinModule = ((name: string) =>
    name === 'node:ffi' ? undefined : original(name)) as typeof process.getBuiltinModule
  t.teardown(() => {
    process.getBuiltinModule = original
  })
  t.throws(() => loadSyscalls(), { code: 'RUNTIME_UNSUITABLE', message: /node:ffi/ })
  t.end()
})

t.test('an unknown machine is refused with a sentence', (t) => {
  const original = Object.getOwnPropertyDescriptor(process, 'arch')
  Object.defineProperty(process, 'arch', { ...original, value: 's390x' })
  t.teardown(() => {
    if (original !== undefined) Object.defineProperty(process, 'arch', original)
  })
  t.throws(() => loadSyscalls(), { code: 'RUNTIME_UNSUITABLE', message: /s390x/ })
  t.end()
})
