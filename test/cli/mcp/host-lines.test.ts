import fc from 'fast-check'
import t from 'tap'
import { createHostLines } from '../../../src/cli/mcp/host-lines.ts'

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text))

t.test('lines come whole, however they are cut', async (t) => {
  const all = bytesOf('{"a":1}\r\n\n\r\nä\nlast')
  for (let size = 1; size <= all.length; size++) {
    const lines = createHostLines(20)
    const found = []
    for (let at = 0; at < all.length; at += size) found.push(...lines(all.subarray(at, at + size)))
    t.strictSame(
      found.map(({ text }) => text),
      ['{"a":1}', 'ä'],
      `pieces of ${size}`,
    )
  }
})

t.test('what is too long is passed over to its end, and no more of it is held', async (t) => {
  const lines = createHostLines(8)
  t.strictSame(lines(bytesOf('12345678\n')), [{ text: '12345678', problem: '' }])
  for (let times = 0; times < 1_000; times++) t.strictSame(lines(bytesOf('123456789')), [])
  const [long, next] = lines(bytesOf('\nnext\n'))
  t.match(long, { text: undefined, problem: /more than 8 bytes/ })
  t.match(next, { text: 'next' })
})

t.test('what is no UTF-8 is no text', async (t) => {
  const lines = createHostLines(8)
  t.match(lines(new Uint8Array([0xc3, 0x28, 0x0a])), [{ text: undefined, problem: /no UTF-8/ }])
})

t.test('bytes are copied: the caller may use its buffer again', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-z]{1,6}$/), { minLength: 1, maxLength: 5 }), (words) => {
      const lines = createHostLines(100)
      const found: (string | undefined)[] = []
      const buffer = new Uint8Array(3)
      const all = bytesOf(words.map((word) => `${word}\n`).join(''))
      for (let at = 0; at < all.length; at += 3) {
        const piece = all.subarray(at, at + 3)
        buffer.fill(0)
        buffer.set(piece)
        found.push(...lines(buffer.subarray(0, piece.length)).map(({ text }) => text))
      }
      return found.join() === words.join()
    }),
  )
  t.pass('for every list of words')
})
