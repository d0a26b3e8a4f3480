/** What is worth reading as text, and what is none. */
import { readFileSync } from 'node:fs'
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
