import { join } from 'node:path'
import t from 'tap'
import { openReplayIndex } from '../../../src/edge/intent/replay-index.node.ts'
import { DETAILS_KEPT_MS, HOUR_MS } from '../../../src/intent/spool/limits.ts'
import type { Accepted } from '../../../src/intent/spool/room.ts'

const NOW = 1_800_000_000_000
const BYTES = new Uint8Array([123, 125])
const of = (id: string, more: Partial<Accepted> = {}): Accepted => ({
  ...{ id, session: 's1', sender: 'ci', receiver: 'helper', template: 'blog v1', digest: `d${id}` },
  ...{ size: 2, acceptedAtMs: NOW },
  ...more,
})

t.test('the store itself takes an id once, for ever (SA-51)', async (t) => {
  const path = join(t.testdir(), 'index.sqlite')
  const first = await openReplayIndex(path)
  t.strictSame(
    [first.accept(of('e1'), BYTES), first.accept(of('e1'), BYTES), first.wasSeen('e1')],
    [true, false, true],
  )
  first.take('e1', NOW)
  first.forgetTaken(NOW)
  t.strictSame(first.contentOf('e1'), BYTES, 'it can be fetched again for a while')
  first.forgetTaken(NOW + 1)
  t.equal(first.contentOf('e1'), undefined)
  first.expire(NOW + 2 * DETAILS_KEPT_MS)
  t.equal(first.find('e1'), undefined, 'what is known of it goes')
  first.close()
  const second = await openReplayIndex(path)
  t.strictSame([second.wasSeen('e1'), second.accept(of('e1'), BYTES)], [true, false], 'its id does not')
  second.close()
})

t.test('an hour is an hour, whatever day or hour it lies in', async (t) => {
  const index = await openReplayIndex(join(t.testdir(), 'index.sqlite'))
  for (const [id, ago] of [
    ['old', 6 * HOUR_MS],
    ['edge', HOUR_MS],
    ['young', HOUR_MS - 1],
  ] as const)
    index.accept(of(id, { acceptedAtMs: NOW - ago }), BYTES)
  index.accept(of('other', { sender: 'helper' }), BYTES)
  t.equal(index.acceptedInHour('ci', NOW), 1)
  index.accept(of('now'), BYTES)
  index.accept(of('later', { acceptedAtMs: NOW + 1 }), BYTES)
  t.equal(index.acceptedInHour('ci', NOW), 2, 'what is later than now is of no hour before it')
  index.close()
})

t.test('what is begun together is done together, or not at all', async (t) => {
  const index = await openReplayIndex(join(t.testdir(), 'index.sqlite'))
  t.throws(() =>
    index.whole(() => {
      index.accept(of('e1'), BYTES)
      throw new Error('the record cannot be written')
    }),
  )
  t.strictSame([index.wasSeen('e1'), index.waiting(undefined)], [false, []])
  t.strictSame([index.take('e1', NOW), index.load('helper').count], [false, 0])
  index.close()
})

t.test(
  'with as many ids as may be nothing further is accepted; what was undone counts for none',
  async (t) => {
    const path = join(t.testdir(), 'index.sqlite')
    const first = await openReplayIndex(path, 2)
    t.equal(first.accept(of('e1'), BYTES), true)
    t.throws(() =>
      first.whole(() => {
        first.accept(of('e2'), BYTES)
        throw new Error('the record cannot be written')
      }),
    )
    t.equal(first.hasRoom, true)
    t.equal(first.accept(of('e2'), BYTES), true)
    t.strictSame([first.hasRoom, first.accept(of('e3'), BYTES), first.wasSeen('e3')], [false, false, false])
    first.close()
    const second = await openReplayIndex(path, 2)
    t.strictSame([second.hasRoom, second.accept(of('e3'), BYTES)], [false, false])
    second.close()
  },
)

t.test('what the device has to do is due until it was done, and what it says is kept so long', async (t) => {
  const path = join(t.testdir(), 'index.sqlite')
  const first = await openReplayIndex(path)
  first.accept(of('e2', { acceptedAtMs: NOW + 1 }), BYTES, true)
  first.accept(of('e1'), BYTES, true)
  first.accept(of('e3'), BYTES)
  first.take('e1', NOW)
  first.close()
  const index = await openReplayIndex(path)
  t.strictSame(
    index.due().map(({ id, isTaken }) => [id, isTaken]),
    [
      ['e1', true],
      ['e2', false],
    ],
  )
  t.strictSame([index.isDue('e1'), index.isDue('e3')], [true, false])
  index.forgetTaken(NOW + 1)
  t.strictSame(index.contentOf('e1'), BYTES)
  index.done('e1')
  index.forgetTaken(NOW + 1)
  t.strictSame([index.isDue('e1'), index.contentOf('e1')], [false, undefined])
  index.close()
})

t.test('how much waits is counted for each receiver and for all, without what was taken', async (t) => {
  const index = await openReplayIndex(join(t.testdir(), 'index.sqlite'))
  for (const [id, receiver, size] of [
    ['e1', 'helper', 5],
    ['e2', 'helper', 7],
    ['e3', 'other', 11],
    ['e4', 'other', 13],
  ] as const)
    index.accept(of(id, { receiver, size }), BYTES)
  index.take('e4', NOW)
  t.strictSame(
    [index.load('helper'), index.load('other'), index.load(undefined), index.load('nobody')],
    [
      { count: 2, bytes: 12 },
      { count: 1, bytes: 11 },
      { count: 3, bytes: 23 },
      { count: 0, bytes: 0 },
    ],
  )
  t.strictSame([index.wasAccepted('de4', 'other'), index.wasAccepted('de4', 'helper')], [true, false])
  index.close()
})
