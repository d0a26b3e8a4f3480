/** What is worth reading as text, and what is none. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { isReadable } from '../../../../src/defense/firewall/injections/text-share.ts'

const readable = (bytes: Uint8Array | string): boolean => {
  const all = Buffer.from(bytes)
  return isReadable(all, 0, all.length)
}

t.test('text in every script, with what terminals know, is readable', (t) => {
  for (const text of [
    ...[
      '',
      'plain',
      'a\tb\r\nc',
      '\x1b[1mbold\x1b[0m\x07\x08',
      'Öfen und Übung',
      '漢字かな',
      '\u{1f600}'.repeat(9),
    ],
    ...['\u200bzero\u200bwidth\u200b', '\u{e0041}\u{e0042}tags'],
  ])
    t.ok(readable(text), JSON.stringify(text))
  t.end()
})

t.test('programs, noise and zeros are not', (t) => {
  t.notOk(readable(readFileSync(process.execPath).subarray(20_000_000, 20_004_096)))
  t.notOk(readable(new Uint8Array(4_096)))
  t.notOk(readable(Uint8Array.from({ length: 4_096 }, (_, at) => (at * 73 + (at >> 3)) & 0xff)))
  t.end()
})

t.test('a third of it: less is text with dirt in it, as much is none', (t) => {
  t.ok(readable('ab\0'.repeat(100)))
  t.notOk(readable(`${'ab\0'.repeat(100)}\0`))
  t.end()
})

t.test('characters that a window cuts are no dirt', (t) => {
  const bytes = Buffer.from('漢字')
  t.ok(isReadable(bytes, 0, 5))
  t.ok(isReadable(bytes, 0, 4))
  t.notOk(isReadable(bytes, 1, 3), 'but for what is nothing else')
  t.end()
})

t.test('the share is counted as it is defined, whatever the bytes', (t) => {
  const whole = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/g
  const cutOff = /(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})$/
  // What terminals know of the controls.
  const known = '\x07\x08\t\n\r\x1b'
  const isUnread = (letter: string) => (letter < ' ' && !known.includes(letter)) || letter > '~'
  const answers = { yes: 0, no: 0 }
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...'a\0é漢\u{1f600}', '\n'), { maxLength: 700, size: 'max' }),
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 900, size: 'max' }),
      fc.nat(4),
      (text, noise, start) => {
        const bytes = Buffer.from(text.join(''))
        if (bytes.length <= start) return true
        for (const [at, byte] of noise) bytes[at % bytes.length] = byte
        const latin = bytes.subarray(start).toString('latin1')
        const rest = latin.replace(cutOff, '').replace(whole, '')
        const expected = [...rest].filter(isUnread).length <= Math.floor(latin.length / 3)
        if (expected) answers.yes++
        else answers.no++
        return isReadable(bytes, start, bytes.length) === expected
      },
    ),
    { numRuns: 1_000 },
  )
  t.ok(answers.yes > 50 && answers.no > 50, JSON.stringify(answers))
  t.end()
})
