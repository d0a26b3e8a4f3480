import t from 'tap'
import { createStdinWriter } from '../../src/client/stdin-writer.ts'
import { CHUNK_BYTES, CLIENT_STDIN_BYTES } from '../../src/limits.ts'

/** A stream with `credit` bytes of credit, and what was sent on it: sizes of data, `resize`, `end`. */
function staged(credit: number) {
  const sent: (number | string)[] = []
  const state = { credit, sent }
  const writer = createStdinWriter(
    {
      credit: () => state.credit,
      message(_id, _payload, dataBytes = 0) {
        state.credit -= dataBytes
        sent.push(dataBytes === 0 ? 'resize' : dataBytes)
      },
      end: () => void sent.push('end'),
    },
    1,
  )
  return { writer, state }
}

t.test(
  'sends in chunks as far as the credit goes, the rest when there is more, and then the end',
  async (t) => {
    const { writer, state } = staged(CHUNK_BYTES + 10)
    t.equal(writer.write(new Uint8Array(CHUNK_BYTES + 30)), true)
    writer.end()
    t.strictSame(state.sent, [CHUNK_BYTES, 10])
    state.credit = 100
    writer.flush()
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
  state.credit = CLIENT_STDIN_BYTES - 1
  writer.flush()
  await Promise.resolve()
  t.equal(isDrained, false)
  state.credit = 1
  writer.flush()
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

t.test('when the stream is over nothing is sent any more, and nobody waits', async (t) => {
  const { writer, state } = staged(0)
  writer.write(new Uint8Array(5))
  const drained = writer.drained()
  writer.stop()
  state.credit = 100
  await drained
  await writer.drained()
  t.equal(writer.write(new Uint8Array(5)), true)
  writer.end()
  writer.resize(24, 80)
  t.strictSame(state.sent, [])
})
