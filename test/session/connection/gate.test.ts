/**
 * The gate: a bounded number of strangers, each for a bounded time.
 * @module
 */
import t from 'tap'
import { LOGIN_GRACE_MS, UNAUTHENTICATED_CONNECTIONS } from '../../../src/limits.ts'
import { createGate } from '../../../src/session/connection/gate.ts'

t.test('whoever is silent past the grace is dismissed, in the order of arrival', (t) => {
  const gate = createGate()
  const dismissed: string[] = []
  for (const [name, at] of [
    ['first', 0],
    ['second', 10],
    ['third', 20],
  ] as const) {
    gate.enter(at, (why) => dismissed.push(`${name} ${why}`))
  }
  gate.tick(LOGIN_GRACE_MS - 1)
  t.strictSame(dismissed, [])
  gate.tick(LOGIN_GRACE_MS + 10)
  t.strictSame(dismissed, ['first grace', 'second grace'])
  t.equal(gate.size, 1)
  gate.tick(LOGIN_GRACE_MS * 2)
  gate.tick(LOGIN_GRACE_MS * 3)
  t.strictSame(dismissed, ['first grace', 'second grace', 'third grace'])
  t.equal(gate.size, 0)
  t.end()
})

t.test('whoever has left is never dismissed', (t) => {
  const gate = createGate()
  const place = gate.enter(0, () => t.fail('dismissed'))
  place.leave()
  place.leave()
  t.equal(gate.size, 0)
  gate.tick(LOGIN_GRACE_MS * 2)
  t.pass('it stays quiet')
  t.end()
})

t.test('one too many dismisses the oldest, and there are never more than the limit', (t) => {
  const gate = createGate()
  const dismissed: number[] = []
  for (let index = 0; index < UNAUTHENTICATED_CONNECTIONS + 3; index++) {
    gate.enter(index, (why) => {
      t.equal(why, 'crowd')
      dismissed.push(index)
    })
    t.ok(gate.size <= UNAUTHENTICATED_CONNECTIONS)
  }
  t.strictSame(dismissed, [0, 1, 2])
  t.equal(gate.size, UNAUTHENTICATED_CONNECTIONS)
  t.end()
})
