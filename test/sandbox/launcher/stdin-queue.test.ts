import fc from 'fast-check'
import t from 'tap'
import { createStdinQueue } from '../../../src/sandbox/launcher/stdin-queue.ts'
import { STDIN_BLOCK_BYTES } from '../../../src/sandbox/limits.ts'

t.test('what goes in comes out in order, however it is cut on either side', (t) => {
  const step = fc.oneof(
    fc.record({ push: fc.integer({ min: 0, max: 2 * STDIN_BLOCK_BYTES }) }),
    fc.record({ push: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ take: fc.integer({ min: 1, max: STDIN_BLOCK_BYTES }) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const queue = createStdinQueue()
      let pushed = 0
      let taken = 0
      for (const one of steps) {
        if ('push' in one) {
          queue.push(Uint8Array.from({ length: one.push }, () => pushed++ % 251))
        } else {
          const bytes = queue.peek()?.subarray(0, one.take)
          if (bytes === undefined) continue
          if (bytes.some((byte) => byte !== taken++ % 251)) return false
          queue.consume(bytes.length)
        }
        if (queue.bytes !== pushed - taken || (queue.peek() === undefined) !== (queue.bytes === 0))
          return false
      }
      return true
    }),
  )
  t.end()
})

t.test('pieces come out as they went in, and what is left of one that was begun', (t) => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: STDIN_BLOCK_BYTES }), { maxLength: 20 }), (lengths) => {
      const queue = createStdinQueue(true)
      for (const [index, length] of lengths.entries()) queue.push(new Uint8Array(length).fill(index))
      return lengths.every((length, index) => {
        const first = queue.peek()
        queue.consume(length >> 1)
        const rest = length < 2 ? first : queue.peek()
        queue.consume(length - (length >> 1))
        return (
          first?.length === length &&
          rest?.length === length - (length >> 1) &&
          [...first, ...rest].every((byte) => byte === index)
        )
      })
    }),
  )
  t.end()
})

t.test('single bytes lie together, and a large piece is not copied', (t) => {
  const queue = createStdinQueue()
  for (let count = 0; count < STDIN_BLOCK_BYTES; count++) queue.push(Uint8Array.of(1))
  t.equal(queue.peek()?.length, STDIN_BLOCK_BYTES)
  const large = new Uint8Array(STDIN_BLOCK_BYTES)
  queue.push(large)
  queue.consume(STDIN_BLOCK_BYTES)
  t.equal(queue.peek()?.buffer, large.buffer)
  queue.clear()
  t.strictSame([queue.bytes, queue.peek()], [0, undefined])
  t.end()
})
