/**
 * createSleepingSpawner: its thread is there while it is awake, and gone while it sleeps; nothing is started in between.
 * @module
 */
import { readdirSync } from 'node:fs'
import t from 'tap'
import { createSleepingSpawner } from '../../../src/sandbox/launcher/sleeping-spawner.node.ts'
import { createSpawner } from '../../../src/sandbox/launcher/spawner.node.ts'
import { run, shell, until } from '../run-child.node.ts'

function threads(): number {
  return readdirSync('/proc/self/task').length
}

t.test('a thread less while it sleeps, and programs run again once it is awake', async (t) => {
  const before = threads()
  const spawner = createSleepingSpawner(() => createSpawner())
  t.equal(spawner.sleep(), false, 'it sleeps already')
  await spawner.wake()
  t.equal(spawner.isAwake, true)
  t.same((await run(spawner, shell('exit 3'))).status, { kind: 'exited', code: 3 })
  const awake = threads()
  t.ok(awake > before, 'it has a thread')
  t.equal(spawner.sleep(), true)
  t.equal(spawner.isAwake, false)
  t.throws(() => spawner.spawn(shell('exit 0'), neverCalled(t)), { code: 'SANDBOX_UNAVAILABLE' })
  await spawner.leave(-1)
  await until(() => threads() < awake)
  // Two at once are one.
  await Promise.all([spawner.wake(), spawner.wake()])
  t.equal(threads(), awake)
  t.same((await run(spawner, shell('exit 4'))).status, { kind: 'exited', code: 4 })
  await spawner.close()
})

t.test('woken in the moment that it is laid down, it is there', async (t) => {
  let starts = 0
  const spawner = createSleepingSpawner(() => {
    starts++
    return createSpawner()
  })
  for (let round = 0; round < 20; round++) {
    spawner.sleep()
    spawner.sleep()
    await spawner.wake()
    t.same((await run(spawner, shell(`exit ${round}`))).status, { kind: 'exited', code: round })
  }
  t.equal(starts, 20)
  await spawner.close()
})

t.test('closed while it wakes, it leaves nothing behind', async (t) => {
  const before = threads()
  const spawner = createSleepingSpawner(() => createSpawner())
  const waking = spawner.wake()
  await spawner.close()
  await waking
  t.equal(spawner.isAwake, false)
  await until(() => threads() <= before)
  await t.resolves(spawner.wake(), 'and is not woken any more')
  t.equal(spawner.isAwake, false)
})

t.test('what keeps it from waking is told to whoever wakes it, and the next one tries again', async (t) => {
  let isBroken = true
  const spawner = createSleepingSpawner(async () => {
    if (isBroken) throw new Error('no more threads')
    return createSpawner()
  })
  await t.rejects(spawner.wake(), { message: 'no more threads' })
  isBroken = false
  await spawner.wake()
  t.same((await run(spawner, shell('exit 5'))).status, { kind: 'exited', code: 5 })
  await spawner.close()
})

function neverCalled(t: { fail(message: string): unknown }) {
  const fail = () => t.fail('nothing was started')
  return { spawned: fail, failed: fail, output: fail, stdinDrained: fail, exited: fail }
}
