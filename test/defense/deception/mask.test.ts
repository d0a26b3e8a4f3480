/**
 * The mask: shape kept, meaning gone, cut anywhere.
 * @module
 */
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { createMask } from '../../../src/defense/deception/mask.ts'

const maskText = (text: string): string =>
  new TextDecoder('utf-8', { fatal: true }).decode(
    createMask(randomBytes).push(new TextEncoder().encode(text)),
  )

/** What must be the same before and after: what kind of thing stands where. */
function shapeOf(text: string): string {
  return text.replace(/[0-9]/g, '9').replace(/[A-Z]/g, 'A').replace(/[a-z]/g, 'a')
}

t.test('digits stay digits, letters keep their case, and everything else stays as it is', (t) => {
  const text = 'root:x:0:0:Root User:/root:/bin/bash\n-rw-r--r-- 1 root 4.0K\t~$HOME\r\n\x1b[1m"%"\x1b[0m\0'
  t.equal(shapeOf(maskText(text)), shapeOf(text))
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii' }), (any) => shapeOf(maskText(any)) === shapeOf(any)),
  )
  t.end()
})

t.test('valid UTF-8 stays valid, as long in bytes and in characters, and its letters become others', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (any) => {
      const text = any.toWellFormed()
      const masked = maskText(text)
      return Buffer.byteLength(masked) === Buffer.byteLength(text) && [...masked].length === [...text].length
    }),
  )
  const text = 'Grüße 日本語 Привет 🚀🚀'.repeat(50)
  const same = [...maskText(text)].filter(
    (character, index) => character === [...text][index] && character !== ' ',
  )
  t.ok(same.length < 60, `${same.length} of 850 characters are by chance what they were`)
  t.equal(maskText('‘a’ — │ → •').replace(/[a-z]/, 'a'), '‘a’ — │ → •', 'quotes, dashes and boxes stay')
  t.end()
})

t.test('any bytes keep their number, and their side of the line between text and binary', (t) => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const masked = createMask(randomBytes).push(bytes)
      return (
        masked.length === bytes.length &&
        masked.every((byte, at) => byte >= 0x80 === (bytes[at] ?? 0) >= 0x80)
      )
    }),
  )
  const input = Uint8Array.of(0x61)
  createMask(randomBytes).push(input)
  t.same(input, [0x61], 'the bytes given are only borrowed')
  t.end()
})

t.test('how the stream is cut does not matter', (t) => {
  // With the same random bytes the whole and the pieces have to come out alike.
  const same = (): ((count: number) => Uint8Array) => {
    let next = 0
    return (count) => Uint8Array.from({ length: count }, () => (next = (next * 5 + 3) & 0xff))
  }
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.array(fc.nat(6), { minLength: 1 }), (text, cuts) => {
      const bytes = new TextEncoder().encode(text)
      const whole = createMask(same()).push(bytes)
      const mask = createMask(same())
      const pieces: number[] = []
      for (let at = 0, turn = 0; at < bytes.length; turn++) {
        const end = at + (cuts[turn % cuts.length] ?? 0) + (turn % cuts.length === 0 ? 1 : 0)
        pieces.push(...mask.push(bytes.subarray(at, end)))
        at = end
      }
      return Buffer.compare(whole, Uint8Array.from(pieces)) === 0
    }),
  )
  t.end()
})

t.test('every digit and every letter comes as often as another, whatever it was', (t) => {
  const masked = maskText(`${'7'.repeat(20_000)}${'e'.repeat(52_000)}${'E'.repeat(52_000)}`)
  const counts = new Map<string, number>()
  for (const character of masked) counts.set(character, (counts.get(character) ?? 0) + 1)
  t.equal(counts.size, 10 + 26 + 26)
  // 2,000 each; six standard deviations are 270.
  for (const [character, count] of counts) t.ok(Math.abs(count - 2_000) < 300, `${character}: ${count}`)
  t.end()
})

t.test('the same word twice is not the same word twice', (t) => {
  const [one, other] = maskText('correcthorsebattery correcthorsebattery').split(' ')
  t.not(one, other)
  t.end()
})
