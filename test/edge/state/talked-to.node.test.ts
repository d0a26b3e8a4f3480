/** The sums of a branch in its file: kept over a restart, bounded, and never in the way of a branch that goes. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createClock } from '../../../src/edge/host/clock.node.ts'
import { createTalkedTo } from '../../../src/edge/state/talked-to.node.ts'
import type { EgressRecord } from '../../../src/egress/gate-events.ts'
import { DESTINATIONS_MAX, TALKED_TO_BYTES } from '../../../src/egress/limits.ts'

function line(name: string | undefined, sentBytes = 10): EgressRecord {
  return {
    ...{
      name,
      address: '192.0.2.1',
      port: 443,
      protocol: 'tcp',
      verdict: 'passed',
      reason: undefined,
      sentBytes,
    },
    ...{ receivedBytes: 20, durationMs: 0, times: 1 },
  }
}

function world(t: Test) {
  const directory = t.testdir({ a: {} })
  const failures: string[] = []
  const make = () =>
    createTalkedTo(
      createClock(),
      (branch) => join(directory, branch),
      (branch) => failures.push(branch),
    )
  return { directory, failures, make, file: join(directory, 'a/talked-to.json') }
}

t.test('it is there after a restart, and goes on', async (t) => {
  const { make, file, failures } = world(t)
  const first = make()
  t.strictSame(first.list('a'), [])
  first.add('a', line('x.example'))
  first.add('a', line(undefined))
  t.equal(first.list('a').length, 2)
  t.notOk(existsSync(file), 'not at once')
  await first.rest('a')
  t.equal(statSync(file).mode & 0o777, 0o600)
  const second = make()
  second.add('a', line('x.example'))
  second.add('a', { ...line(undefined), protocol: 'udp' })
  await Promise.all([second.rest('a'), second.rest('a')])
  t.strictSame(make().list('a'), [
    { host: '192.0.2.1', port: 443, protocol: 'tcp', connections: 1, sentBytes: 10, receivedBytes: 20 },
    { host: 'x.example', port: 443, protocol: 'tcp', connections: 2, sentBytes: 20, receivedBytes: 40 },
    { host: '192.0.2.1', port: 443, protocol: 'udp', connections: 1, sentBytes: 10, receivedBytes: 20 },
  ])
  t.strictSame(failures, [])
})

t.test('it is written by itself after a while', async (t) => {
  const { make, file } = world(t)
  const one = make()
  one.add('a', line('x.example'))
  while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 50))
  t.match(readFileSync(file, 'utf8'), 'x.example')
})

t.test('the longest names of all fit, and what is beyond is one', async (t) => {
  const { make, file } = world(t)
  const one = make()
  for (let index = 0; index < 1_000; index++)
    one.add('a', line(`${String(index).padStart(4, '0')}.${'a'.repeat(248)}`, 2 ** 40))
  await one.rest('a')
  t.ok(statSync(file).size < TALKED_TO_BYTES)
  const read = make().list('a')
  t.equal(read.length, DESTINATIONS_MAX + 1)
  t.equal(
    read.reduce((sum, { connections }) => sum + connections, 0),
    1_000,
  )
  const again = make()
  again.add('a', line('new.example'))
  t.equal(again.list('a').length, DESTINATIONS_MAX + 1, 'the rest stays one')
})

t.test('a file that somebody wrote is begun anew', async (t) => {
  const { make, file } = world(t)
  for (const text of ['', '{}', '[1,null,{}]', `[{"host":"a","port":-1}]`, 'x'.repeat(TALKED_TO_BYTES + 1)]) {
    writeFileSync(file, text)
    t.strictSame(make().list('a'), [], text.slice(0, 40))
  }
})

t.test('a branch that has gone is not made again, and no place to write is told', async (t) => {
  const { directory, make, failures, file } = world(t)
  const one = make()
  one.add('a', line('x.example'))
  rmSync(join(directory, 'a'), { recursive: true })
  await one.rest('a')
  t.strictSame(readdirSync(directory), [])
  t.strictSame(failures, [])
  mkdirSync(file, { recursive: true })
  one.add('a', line('x.example'))
  await one.rest('a')
  t.strictSame(failures, ['a'])
})
