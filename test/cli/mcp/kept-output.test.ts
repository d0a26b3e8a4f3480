import fc from 'fast-check'
import t from 'tap'
import { encodeUtf8 } from '../../../src/base/encoding/utf8.ts'
import { createKeeper } from '../../../src/cli/mcp/kept-output.ts'

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1')

t.test('the end is kept, whatever pieces it comes in', async (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 30 }),
      fc.nat(60),
      (pieces, limit) => {
        const keeper = createKeeper(limit)
        let at = 0
        for (const piece of pieces) {
          keeper.take(piece, at)
          at += piece.length
        }
        const whole = Buffer.concat(pieces)
        const kept = keeper.kept()
        const expected = whole.subarray(Math.max(0, whole.length - limit))
        return (
          Buffer.from(kept.bytes).equals(expected) &&
          kept.offset === whole.length - expected.length &&
          kept.total === whole.length &&
          keeper.seenBytes === whole.length
        )
      },
    ),
  )
  t.pass('for every cut')
})

t.test('from an offset the first bytes are kept, and it says when it is full', async (t) => {
  const keeper = createKeeper(4, 100)
  t.strictSame(keeper.kept(), { bytes: new Uint8Array(0), offset: 100, total: 100 })
  keeper.take(encodeUtf8('abc'), 100)
  t.equal(keeper.isFull, false)
  keeper.take(encodeUtf8('def'), 103)
  t.equal(keeper.isFull, true)
  keeper.take(encodeUtf8('gh'), 106)
  const kept = keeper.kept()
  t.strictSame([text(kept.bytes), kept.offset, kept.total], ['abcd', 100, 108])
})

t.test('a gap is never passed over: what is kept is one piece', async (t) => {
  const end = createKeeper(10)
  end.take(encodeUtf8('lost'), 0)
  end.take(encodeUtf8('rest'), 50)
  t.match(end.kept(), { offset: 50, total: 54 })
  t.equal(text(end.kept().bytes), 'rest')
  const forward = createKeeper(10, 0)
  forward.take(encodeUtf8('ab'), 5)
  forward.take(encodeUtf8('cd'), 20)
  t.match(forward.kept(), { offset: 5, total: 22 })
  t.equal(text(forward.kept().bytes), 'ab')
})

t.test('lines are counted, and nothing is kept where nothing is wanted', async (t) => {
  const keeper = createKeeper(0)
  keeper.take(encodeUtf8('a\nb\nc'), 0)
  t.equal(keeper.lines, 2)
  t.strictSame(keeper.kept(), { bytes: new Uint8Array(0), offset: 5, total: 5 })
})
