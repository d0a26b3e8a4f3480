/**
 * What one connection holds of the buffers for bulk output.
 * @module
 */
import t from 'tap'
import { createBufferPool } from '../../../src/base/buffer-pool.ts'
import { OUTPUT_BUFFERS_PER_CONNECTION } from '../../../src/limits.ts'
import { createBufferShare } from '../../../src/session/common/buffer-share.ts'
import { stageTransport } from '../stage.ts'

function stage(places = OUTPUT_BUFFERS_PER_CONNECTION + 1) {
  const pool = createBufferPool(new Uint8Array(places * 8), 8)
  const transport = stageTransport()
  transport.takesAtOnce = false
  const share = createBufferShare(pool, transport)
  const called: string[] = []
  const take = (name: string) => share.take(() => called.push(name))
  const takeAll = () => {
    const held: Uint8Array[] = []
    for (let buffer = take('more'); buffer !== undefined; buffer = take('more')) held.push(buffer)
    return held
  }
  return { pool, transport, share, called, take, takeAll }
}

t.test('a connection holds a few at most, and who waits is called when one comes back', (t) => {
  const { pool, transport, share, called, takeAll } = stage()
  const [first, ...rest] = takeAll()
  t.equal(rest.length + 1, OUTPUT_BUFFERS_PER_CONNECTION)
  t.equal(pool.free, 1, 'others find one')
  if (first === undefined) throw new Error('none')
  share.send(first, 5)
  t.equal(transport.writes[0]?.bytes.length, 5)
  t.strictSame(called, [], 'not before it was taken')
  transport.writes[0]?.taken?.()
  t.strictSame([called, pool.free], [['more'], 2])
  t.end()
})

t.test('what a person waits for finds one where bulk has them all, and has its turn first', (t) => {
  const { transport, share, called, takeAll } = stage(OUTPUT_BUFFERS_PER_CONNECTION + 2)
  const held = takeAll()
  const again = () => called.push('typed')
  const echo = share.take(again, true)
  if (echo === undefined) throw new Error('none')
  t.equal(share.take(again, true), undefined, 'one more, and not two')
  for (const buffer of [...held, echo]) share.send(buffer, 1)
  transport.writes[0]?.taken?.()
  t.strictSame(called, ['typed', 'more'])
  t.end()
})

t.test('with none in the pool whoever waits is called when another connection gives one back', (t) => {
  const { pool, take, called } = stage(1)
  const elsewhere = pool.take()
  t.equal(take('here'), undefined)
  if (elsewhere === undefined) throw new Error('none')
  pool.give(elsewhere)
  t.strictSame(called, ['here'])
  t.end()
})

t.test('after the end none is given and nobody is called, and what is out still comes back', (t) => {
  const { pool, transport, share, called, take, takeAll } = stage()
  for (const buffer of takeAll()) share.send(buffer, 1)
  share.end()
  t.equal(take('late'), undefined)
  for (const { taken } of transport.writes) taken?.()
  t.strictSame([called, pool.free], [[], OUTPUT_BUFFERS_PER_CONNECTION + 1])
  t.end()
})
