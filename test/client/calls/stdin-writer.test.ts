import fc from 'fast-check'
import t from 'tap'
import { createStdinWriter, type StdinConnection } from '../../../src/client/calls/stdin-writer.ts'
import { CHUNK_BYTES, CLIENT_STDIN_BYTES } from '../../../src/limits.ts'
import type { Stream } from '../../../src/wire/streams.ts'

type Staged = StdinConnection & {
  readonly sent: (number | string)[]
  readonly bytes: number[]
  allowed: number
  used: number
}

/** A stream with `credit` bytes of credit, and what was sent on it: sizes of data, `resize`, `end`. */
function connection(credit: number): Staged {
  const made: Staged = {
    sent: [],
    bytes: [],
    allowed: credit,
    used: 0,
    credit: () => made.allowed - made.used,
    stream: () => ({ sendLimitBytes: made.allowed }) as Stream,
    message(_id, payload, dataBytes = 0) {
      made.used += dataBytes
      made.sent.push(dataBytes === 0 ? 'resize' : dataBytes)
      const data: unknown = payload instanceof Map ? payload.get(1) : undefined
      if (data instanceof Uint8Array) made.bytes.push(...data)
    },
    end: () => void made.sent.push('end'),
  }
  return made
}

function staged(credit: number) {
  const writer = createStdinWriter()
  const state = connection(credit)
  writer.join(state, 1, true)
  return { writer, state }
}

t.test(
  'sends in chunks as far as the credit goes, the rest when there is more, and then the end',
  async (t) => {
    const { writer, state } = staged(CHUNK_BYTES + 10)
    t.equal(writer.write(new Uint8Array(CHUNK_BYTES + 30)), true)
    writer.end()
    t.strictSame(state.sent, [CHUNK_BYTES, 10])
    state.allowed += 100
    writer.credit()
    t.strictSame(state.sent, [CHUNK_BYTES, 10, 20, 'end'])
    await writer.drained()
  },
)

t.test('a writer waits from the limit on, and is let go when all is sent', async (t) => {
  const { writer, state } = staged(0)
  t.equal(writer.write(new Uint8Array(CLIENT_STDIN_BYTES - 1)), true)
  t.equal(writer.write(new Uint8Array(1)), false)
  let isDrained = false
  const drained = writer.drained().then(() => {
    isDrained = true
  })
  state.allowed += CLIENT_STDIN_BYTES - 1
  writer.credit()
  await Promise.resolve()
  t.equal(isDrained, false)
  state.allowed += 1
  writer.credit()
  await drained
  t.equal(isDrained, true)
})

t.test('a resize goes ahead of what waits, and not after the end', (t) => {
  const { writer, state } = staged(0)
  writer.write(new Uint8Array(5))
  writer.resize(24, 80)
  writer.end()
  writer.resize(24, 80)
  t.equal(writer.write(new Uint8Array(5)), true, 'dropped after the end')
  t.strictSame(state.sent, ['resize'])
  t.end()
})

t.test('when it is over nothing is sent any more, and nobody waits', async (t) => {
  const { writer, state } = staged(0)
  writer.write(new Uint8Array(5))
  const drained = writer.drained()
  writer.stop()
  state.allowed += 100
  await drained
  await writer.drained()
  t.equal(writer.write(new Uint8Array(5)), true)
  writer.end()
  writer.resize(24, 80)
  t.strictSame(state.sent, [])
})

t.test('the next stream begins where the device says, with the size that holds and the end', (t) => {
  const { writer, state } = staged(5)
  writer.write(Uint8Array.of(0, 1, 2))
  writer.write(Uint8Array.of(3, 4, 5, 6))
  writer.resize(24, 80)
  writer.end()
  t.strictSame(state.bytes, [0, 1, 2, 3, 4])
  writer.leave()
  const next = connection(100)
  writer.join(next, 3, false)
  t.strictSame(next.sent, [], 'nothing before it has said so')
  t.equal(writer.resume(4), true)
  t.strictSame(next.sent, ['resize', 3, 'end'])
  t.strictSame(next.bytes, [4, 5, 6])
  t.end()
})

t.test(
  'who attaches counts from what others wrote before, and cannot go back before what was let go',
  (t) => {
    const writer = createStdinWriter()
    const first = connection(100)
    writer.write(Uint8Array.of(7, 8))
    writer.join(first, 1, false)
    t.equal(writer.resume(1_000), true)
    t.strictSame(first.bytes, [7, 8])
    first.allowed += 2
    writer.credit()
    writer.leave()
    const second = connection(100)
    writer.join(second, 3, false)
    t.equal(writer.resume(1_001), false, 'that byte is here no more')
    t.equal(writer.resume(1_003), false, 'that one was never written')
    t.equal(writer.resume(1_002), true)
    writer.write(Uint8Array.of(9))
    t.strictSame(second.bytes, [9])
    t.end()
  },
)

t.test('cut anywhere, any number of times, every byte is given once and in order', (t) => {
  const cut = fc.record({
    grant: fc.nat(40),
    taken: fc.nat(100),
    writes: fc.array(fc.nat(30), { maxLength: 4 }),
  })
  fc.assert(
    fc.property(fc.array(cut, { minLength: 1, maxLength: 12 }), (cuts) => {
      const writer = createStdinWriter()
      const given: number[] = []
      let written = 0
      const write = (count: number) => {
        writer.write(Uint8Array.from({ length: count }, (_, index) => (written + index) & 255))
        written += count
      }
      cuts.forEach(({ grant, taken, writes }, index) => {
        const stream = connection(10)
        writer.leave()
        writer.join(stream, 2 * index + 1, index === 0)
        if (!writer.resume(given.length)) throw new Error('it cannot go on')
        for (const count of writes) write(count)
        // The device takes some of what arrives, and allows as much again, before the link is cut.
        const allow = Math.min(grant, stream.bytes.length)
        stream.allowed += allow
        writer.credit()
        given.push(...stream.bytes.slice(0, Math.max(allow, Math.min(taken, stream.bytes.length))))
      })
      const last = connection(100_000)
      writer.leave()
      writer.join(last, 99, false)
      writer.resume(given.length)
      given.push(...last.bytes)
      return given.length === written && given.every((byte, index) => byte === (index & 255))
    }),
  )
  t.end()
})
