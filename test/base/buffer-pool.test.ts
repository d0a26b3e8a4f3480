import fc from 'fast-check'
import t from 'tap'
import { createBufferPool } from '../../src/base/buffer-pool.ts'

t.test('cuts its memory into equal buffers that do not overlap', async (t) => {
  const memory = new Uint8Array(10)
  const pool = createBufferPool(memory, 3)
  t.equal(pool.free, 3, 'what is left over is not used')
  const buffers = [pool.take(), pool.take(), pool.take()]
  t.equal(pool.take(), undefined)
  buffers.forEach((buffer, index) => {
    t.equal(buffer?.length, 3)
    buffer?.fill(index + 1)
  })
  t.strictSame([...memory], [1, 1, 1, 2, 2, 2, 3, 3, 3, 0])
})

t.test('hands out first what was given back last', async (t) => {
  const pool = createBufferPool(new Uint8Array(30), 10)
  const first = pool.take()
  const second = pool.take()
  if (first === undefined || second === undefined) throw new Error('there are three')
  pool.give(first)
  t.equal(pool.take(), first)
  pool.give(second)
  t.equal(pool.free, 2)
  t.equal(pool.take(), second)
})

t.test('calls those who wait one by one, in their order, each once', async (t) => {
  const pool = createBufferPool(new Uint8Array(1), 1)
  const buffer = pool.take()
  if (buffer === undefined) throw new Error('there is one')
  const called: string[] = []
  const taking = (name: string) => () => {
    called.push(name)
    t.equal(pool.take(), buffer, 'it can be taken in the call')
  }
  const again = taking('a')
  pool.wait(again)
  pool.wait(again)
  pool.wait(taking('b'))
  pool.give(buffer)
  t.strictSame(called, ['a'])
  pool.give(buffer)
  t.strictSame(called, ['a', 'b'])
})

t.test('passes a buffer by whoever does not want it any more, to the next who waits', async (t) => {
  const pool = createBufferPool(new Uint8Array(1), 1)
  const buffer = pool.take()
  if (buffer === undefined) throw new Error('there is one')
  const called: string[] = []
  pool.wait(() => called.push('gone'))
  pool.wait(() => {
    called.push('waiting')
    pool.take()
  })
  pool.wait(() => called.push('later'))
  pool.give(buffer)
  t.strictSame([called, pool.free], [['gone', 'waiting'], 0])
  pool.give(buffer)
  t.strictSame([called, pool.free], [['gone', 'waiting', 'later'], 1])
})

t.test('never has more or fewer buffers than at the start, whatever is done', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 60 }), (takes) => {
      const pool = createBufferPool(new Uint8Array(40), 8)
      const held = new Set<Uint8Array>()
      for (const isTake of takes) {
        if (isTake) {
          const buffer = pool.take()
          if ((buffer === undefined) !== (held.size === 5)) return false
          if (buffer !== undefined && held.has(buffer)) return false
          if (buffer !== undefined) held.add(buffer)
        } else {
          const [buffer] = held
          if (buffer === undefined) continue
          held.delete(buffer)
          pool.give(buffer)
        }
        if (pool.free + held.size !== 5) return false
      }
      return true
    }),
    { numRuns: 200 },
  )
  t.pass()
})
