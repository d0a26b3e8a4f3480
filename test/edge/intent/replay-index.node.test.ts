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
