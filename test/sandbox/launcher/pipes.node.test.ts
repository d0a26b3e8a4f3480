/**
 * Pipes above descriptor 2, and the writing side of stdin.
 * @module
 */

import { execFileSync } from 'node:child_process'
import { closeSync, readdirSync, readFileSync, readSync } from 'node:fs'
import t from 'tap'
import { loadSyscalls } from '../../../src/sandbox/kernel/syscalls.node.ts'
import { openPipe, openPipes, pipeInput } from '../../../src/sandbox/launcher/pipes.node.ts'
import { until } from '../run-child.node.ts'

const syscalls = loadSyscalls()
const F_GETFD = 1
const count = (): number => readdirSync('/proc/self/fd').length

t.test('both ends are close-on-exec and above 2', (t) => {
  const pipe = openPipe(syscalls)
  if (typeof pipe === 'number') throw new Error(`errno ${-pipe}`)
  for (const end of [pipe.readEnd, pipe.writeEnd]) {
    t.ok(end > 2)
    t.equal(syscalls.libc.fcntl(end, F_GETFD, 0n), 1)
    closeSync(end)
  }
  t.end()
})

t.test('where one pipe cannot be had there is none, and the errno', (t) => {
  const limits = /Max open files\s+(\d+)/.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  const limit = (files: string): Buffer =>
    execFileSync('prlimit', ['--pid', `${process.pid}`, `--nofile=${files}:`])
  const before = count()
  limit(`${before + 20}`)
  const result = openPipes(1_000, syscalls)
  limit(`${limits}`)
  t.equal(result, -24, 'EMFILE')
  t.equal(count(), before)
  t.end()
})

t.test('what is written arrives in order, then end of file', async (t) => {
  const before = count()
  const pipe = openPipe(syscalls)
  if (typeof pipe === 'number') throw new Error(`errno ${-pipe}`)
  const input = pipeInput(pipe.writeEnd, () => {}, syscalls)
  input.write(Buffer.from('one '))
  input.write(new Uint8Array(0))
  input.write(Buffer.from('two'))
  input.end()
  input.end()
  // A read that came first would wait for what this very thread is to write.
  t.ok(await until(() => count() === before + 1))
  const bytes = Buffer.alloc(64)
  t.equal(bytes.toString('utf8', 0, readSync(pipe.readEnd, bytes)), 'one two')
  t.equal(readSync(pipe.readEnd, bytes), 0)
  t.equal(input.write(Buffer.from('x')), true, 'dropped')
  closeSync(pipe.readEnd)
})

t.test('end and close without a byte close the descriptor once', async (t) => {
  const before = count()
  for (const how of ['end', 'close'] as const) {
    const pipe = openPipe(syscalls)
    if (typeof pipe === 'number') throw new Error(`errno ${-pipe}`)
    const input = pipeInput(pipe.writeEnd, () => {}, syscalls)
    input[how]()
    input.close()
    input.end()
    t.equal(readSync(pipe.readEnd, Buffer.alloc(1)), 0, how)
    closeSync(pipe.readEnd)
  }
  t.equal(count(), before)
})

t.test('a reader that goes away drains the writer', async (t) => {
  const pipe = openPipe(syscalls)
  if (typeof pipe === 'number') throw new Error(`errno ${-pipe}`)
  let drained = 0
  const input = pipeInput(
    pipe.writeEnd,
    () => {
      drained += 1
    },
    syscalls,
  )
  t.equal(input.write(new Uint8Array(1_048_576)), false)
  closeSync(pipe.readEnd)
  t.equal(await until(() => drained === 1), true)
  t.equal(input.write(new Uint8Array(1)), true)
  input.close()
})
