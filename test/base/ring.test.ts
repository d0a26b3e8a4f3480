import fc from 'fast-check'
import t from 'tap'
import { createRing } from '../../src/base/ring.ts'
import { RING_BYTES } from '../../src/limits.ts'

type Operation = { kind: 'write'; bytes: Uint8Array } | { kind: 'read'; at: number; count: number }

const operations: fc.Arbitrary<Operation> = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((bytes) => ({ kind: 'write', bytes }) as const),
  fc
    .record({ at: fc.nat({ max: 200 }), count: fc.nat({ max: 40 }) })
    .map((read) => ({ kind: 'read', ...read }) as const),
)

function copyOf(ring: ReturnType<typeof createRing>, offset: number, count: number): number[] {
  const target = new Uint8Array(count)
  ring.copyOut(offset, target)
  return [...target]
}

t.test('is the end of everything that was written, whatever the sizes (SS-24)', async (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 17 }), fc.array(operations, { maxLength: 60 }), (size, steps) => {
      const ring = createRing(new Uint8Array(size))
      const all: number[] = []
      for (const step of steps) {
        if (step.kind === 'write') {
          ring.write(step.bytes)
          all.push(...step.bytes)
        } else {
          const isHere = step.at >= ring.oldestOffset && step.at + step.count <= all.length
          let read: number[] | undefined
          try {
            read = copyOf(ring, step.at, step.count)
          } catch {
            read = undefined
          }
          if ((read !== undefined) !== isHere) return false
          if (read !== undefined && read.join() !== all.slice(step.at, step.at + step.count).join())
            return false
        }
        if (ring.totalBytes !== all.length) return false
        if (ring.oldestOffset !== Math.max(0, all.length - size)) return false
        if (
          copyOf(ring, ring.oldestOffset, all.length - ring.oldestOffset).join() !== all.slice(-size).join()
        )
          return false
      }
      return true
    }),
    { numRuns: 500 },
  )
  t.pass()
})

t.test(
  'drops the oldest bytes first, and gives each byte by its offset for as long as it is there',
  async (t) => {
    const ring = createRing(new Uint8Array(4))
    ring.write(Uint8Array.of(1, 2, 3))
    t.equal(ring.oldestOffset, 0)
    ring.write(Uint8Array.of(4, 5, 6))
    t.equal(ring.oldestOffset, 2)
    t.strictSame(copyOf(ring, 2, 4), [3, 4, 5, 6])
    t.strictSame(copyOf(ring, 5, 1), [6])
    t.strictSame(copyOf(ring, 6, 0), [], 'the end is a position too')
    t.throws(() => copyOf(ring, 1, 1), { code: 'INTERNAL' })
    t.throws(() => copyOf(ring, 6, 1), { code: 'INTERNAL' })
    ring.write(Uint8Array.of(7, 8, 9, 10, 11, 12))
    t.strictSame(copyOf(ring, 8, 4), [9, 10, 11, 12], 'more than the ring at once leaves its end')
  },
)

t.test('counts on past 32 bits, and what it holds stays addressable there', async (t) => {
  const ring = createRing(new Uint8Array(8))
  // Only its last bytes are ever read, so the pages behind the others are never touched.
  const much = new Uint8Array(2 ** 28 + 3)
  much.set([1, 2, 3, 4], much.length - 4)
  for (let i = 0; i < 17; i++) ring.write(much)
  const total = 17 * (2 ** 28 + 3)
  t.ok(total > 2 ** 32)
  t.equal(ring.totalBytes, total)
  t.equal(ring.oldestOffset, total - 8)
  t.strictSame(copyOf(ring, total - 4, 4), [1, 2, 3, 4])
})

t.test('starts again from 0 when reset, and never grows', async (t) => {
  const memory = new Uint8Array(RING_BYTES)
  const ring = createRing(memory)
  t.equal(ring.sizeBytes, 1_048_576, 'the size that the draft recommends')
  ring.write(new Uint8Array(3 * RING_BYTES))
  ring.reset()
  t.equal(ring.totalBytes, 0)
  t.equal(ring.oldestOffset, 0)
  ring.write(Uint8Array.of(7))
  t.strictSame(copyOf(ring, 0, 1), [7])
  t.equal(memory[0], 7, 'it writes where it was told to')
})
