import fc from 'fast-check'
import t from 'tap'
import { STREAMS_PER_CONNECTION } from '../../src/limits.ts'
import { methodNamed } from '../../src/wire/methods.ts'
import { createStreams } from '../../src/wire/streams.ts'

const ping = methodNamed('Ping')

t.test('ids are odd and increase; what is refused uses up nothing', async (t) => {
  const streams = createStreams()
  t.equal(streams.open(2, ping, false, 10), 'an even stream id')
  t.equal(streams.open(5, ping, false, 10), undefined)
  t.equal(streams.open(5, ping, false, 10), 'a stream id that does not increase')
  t.equal(streams.open(3, ping, false, 10), 'a stream id that does not increase')
  t.equal(streams.skip(7), undefined)
  t.equal(streams.open(7, ping, false, 10), 'a stream id that does not increase')
  t.equal(streams.skip(8), 'an even stream id')
  t.equal(streams.open(9, ping, false, 10), undefined)
  t.equal(streams.open(2 ** 53 - 1, ping, false, 10), undefined, 'gaps are allowed')
})

t.test('a stream is there until neither side may send, and then past', async (t) => {
  const streams = createStreams()
  streams.open(1, ping, true, 10)
  streams.closeSide(1, 'local')
  t.match(streams.get(1), { remoteOpen: true, localOpen: false, sendLimitBytes: 10, receiveLimitBytes: 10 })
  t.notOk(streams.isPast(1))
  streams.closeSide(1, 'remote')
  t.equal(streams.get(1), undefined)
  t.ok(streams.isPast(1))
  streams.closeSide(1, 'both')
  t.notOk(streams.isPast(3), 'never open')
  t.notOk(streams.isPast(0))
  streams.open(5, ping, false, 10)
  t.ok(streams.isPast(3), 'skipped by a larger id')
  t.notOk(streams.isPast(5))
  t.notOk(streams.isPast(2))
})

t.test('holds STREAMS_PER_CONNECTION at once and not one more', async (t) => {
  const streams = createStreams()
  for (let i = 0; i < STREAMS_PER_CONNECTION; i++)
    t.equal(streams.open(2 * i + 1, ping, false, 10), undefined)
  t.equal(STREAMS_PER_CONNECTION, 32)
  t.match(streams.open(999, ping, false, 10), 'more streams')
  t.equal(streams.size, 32)
  streams.closeSide(1, 'both')
  t.equal(streams.open(999, ping, false, 10), undefined)
  streams.clear()
  t.equal(streams.size, 0)
  t.strictSame([...streams.all()], [])
})

t.test('agrees with a plain record of what was opened and closed', async (t) => {
  const step = fc.record({
    id: fc.nat({ max: 99 }),
    side: fc.constantFrom('open', 'local', 'remote', 'both'),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const streams = createStreams()
      const model = new Map<number, { local: boolean; remote: boolean }>()
      let last = 0
      for (const { id, side } of steps) {
        if (side === 'open') {
          const may = id % 2 === 1 && id > last && model.size < STREAMS_PER_CONNECTION
          if ((streams.open(id, ping, true, 1) === undefined) !== may) return false
          if (may) {
            last = id
            model.set(id, { local: true, remote: true })
          }
        } else {
          streams.closeSide(id, side as 'local' | 'remote' | 'both')
          const own = model.get(id)
          if (own !== undefined) {
            if (side !== 'remote') own.local = false
            if (side !== 'local') own.remote = false
            if (!own.local && !own.remote) model.delete(id)
          }
        }
        if (streams.size !== model.size || (streams.get(id) !== undefined) !== model.has(id)) return false
        if (streams.isPast(id) !== (id % 2 === 1 && id <= last && !model.has(id))) return false
      }
      return true
    }),
    { numRuns: 300 },
  )
  t.pass()
})
