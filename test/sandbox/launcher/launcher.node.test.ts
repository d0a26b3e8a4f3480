/**
 * The hand-over to the launcher thread: order, the ends of the ring, a thread that cannot start or has gone.
 * @module
 */

import { openSync } from 'node:fs'
import t from 'tap'
import { loadSyscalls } from '../../../src/sandbox/kernel/syscalls.node.ts'
import { startLauncher } from '../../../src/sandbox/launcher/launcher.node.ts'
import { CONTROL_BYTES, LAUNCH_SLOTS, SLOT } from '../../../src/sandbox/launcher/launcher-memory.ts'
import { planFor } from '../run-child.node.ts'

const syscalls = loadSyscalls()
const OPTIONS = { launcherSource: undefined, keepCapabilities: undefined }
const nowhere = openSync('/dev/null', 'r+')
const STREAMS = { kind: 'descriptors', stdin: -1, stdout: nowhere, stderr: nowhere } as const

type Answer = { readonly pid: number; readonly errno: number }

t.test('answers come in the order of the requests, round the ring more than once', async (t) => {
  const launcher = await startLauncher(OPTIONS, syscalls)
  const order: number[] = []
  const word = new Int32Array(1)
  let started = 0
  launcher.hold(true)
  for (let batch = 0; batch < 6; batch++) {
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => {
        const number = batch * 100 + index
        const plan = planFor([number % 3 === 0 ? '/no/such/program' : '/bin/true'])
        return new Promise<void>((resolve) =>
          launcher.launch(plan, STREAMS, (pid, errno) => {
            order.push(number)
            if (errno === 0) {
              started += 1
              syscalls.libc.waitpid(pid, word, 0)
              if (word[0] !== 0) t.fail(`child ${number}`)
            } else t.same([number % 3, pid, errno], [0, -1, 2])
            resolve()
          }),
        )
      }),
    )
  }
  t.ok(order.length > 2 * LAUNCH_SLOTS)
  t.same(
    order,
    [...order].sort((a, b) => a - b),
  )
  t.equal(started, 400)
  await launcher.close()
})

t.test('collect takes answers that are there without waiting for the event loop', async (t) => {
  const launcher = await startLauncher(OPTIONS, syscalls)
  let answer: Answer | undefined
  launcher.launch(planFor(['/bin/true']), STREAMS, (pid, errno) => {
    answer = { pid, errno }
  })
  const limit = performance.now() + 2_000
  while (answer === undefined && performance.now() < limit) launcher.collect()
  t.equal(answer?.errno, 0)
  syscalls.libc.waitpid(answer?.pid ?? -1, new Int32Array(1), 0)
  await launcher.close()
})

t.test('after close a start fails with EAGAIN', async (t) => {
  const launcher = await startLauncher(OPTIONS, syscalls)
  await launcher.close()
  const answer = await new Promise<Answer>((resolve) =>
    launcher.launch(planFor(['/bin/true']), STREAMS, (pid, errno) => resolve({ pid, errno })),
  )
  t.same(answer, { pid: -1, errno: 11 })
})

t.test('a thread that dies answers what it was asked with EAGAIN', async (t) => {
  const dying = `const { parentPort, workerData } = require('node:worker_threads')
    const control = new Int32Array(workerData.memory)
    parentPort.postMessage({ kind: 'ready' })
    while (Atomics.load(control, 0) === 0) Atomics.wait(control, 0, 0, 2)
    throw new Error('gone')`
  const launcher = await startLauncher({ ...OPTIONS, launcherSource: dying }, syscalls)
  launcher.hold(true)
  const answer = await new Promise<Answer>((resolve) =>
    launcher.launch(planFor(['/bin/true']), STREAMS, (pid, errno) => resolve({ pid, errno })),
  )
  t.same(answer, { pid: -1, errno: 11 })
  await launcher.close()
})

t.test(
  'a thread that cannot start, cannot confine itself or has no FFI is refused with a sentence',
  async (t) => {
    const post = (report: unknown): string =>
      `require('node:worker_threads').parentPort.postMessage(${JSON.stringify(report)})`
    const cases = [
      ["throw new Error('no')", 'RUNTIME_UNSUITABLE'],
      [post({ kind: 'unsuitable', message: 'No FFI.' }), 'RUNTIME_UNSUITABLE'],
      [post({ kind: 'refused', step: 'unshare(CLONE_FS)', errno: 1 }), 'SANDBOX_UNAVAILABLE'],
      ['', 'RUNTIME_UNSUITABLE'],
    ] as const
    for (const [launcherSource, code] of cases) {
      await t.rejects(startLauncher({ ...OPTIONS, launcherSource }, syscalls), { code })
    }
  },
)

t.test('a thread that dies after a start, before its answer, leaves the number of the program', async (t) => {
  const dying = `const { parentPort, workerData } = require('node:worker_threads')
    const control = new Int32Array(workerData.memory)
    parentPort.postMessage({ kind: 'ready' })
    while (Atomics.load(control, 0) === 0) Atomics.wait(control, 0, 0, 2)
    control[${CONTROL_BYTES / 4 + SLOT.pid}] = 4242
    throw new Error('gone')`
  const launcher = await startLauncher({ ...OPTIONS, launcherSource: dying }, syscalls)
  launcher.hold(true)
  const answer = await new Promise<Answer>((resolve) =>
    launcher.launch(planFor(['/bin/true']), STREAMS, (pid, errno) => resolve({ pid, errno })),
  )
  t.same(answer, { pid: 4242, errno: 0 })
  await launcher.close()
})
