/**
 * mistakeText: where a text stops being JSON and what to write instead, for every file that is no configuration.
 * @module
 */
import t from 'tap'
import { parseStrictJson } from '../../src/base/encoding/strict-json.ts'
import { encodeUtf8 } from '../../src/base/encoding/utf8.ts'
import { mistakeText } from '../../src/config/syntax.ts'

function told(input: string | Uint8Array, size = 1_000): string {
  const parsed = parseStrictJson(input, { size, integersOnly: true })
  return parsed.ok ? '' : mistakeText(input, parsed)
}

t.test('a mistake has its line, its column and what to do about it', async (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['{"task":1,}', 'at line 1, column 10 a comma stands before the closing } (take the comma out)'],
    [
      '{\n  "a": 1\n  "b": 2\n}',
      'at line 2, column 9 a comma or the end of the object must follow (put a comma before it)',
    ],
    ['{"a": True}', 'at line 1, column 7 True is not a JSON value (write true)'],
    [
      '{"a": 1, "a": 2}',
      'at line 1, column 10 the key stands twice in one object: "a" (keep one of the two)',
    ],
    ['', 'it is empty'],
    ['\n', 'it is empty'],
  ]
  for (const [text, wanted] of rows) {
    t.equal(told(text), wanted, text)
    t.equal(told(encodeUtf8(text)), wanted, text)
  }
})

t.test('of an input that is refused as a whole no place is told', async (t) => {
  t.equal(told('[1,2,3]', 3), 'the JSON text is larger than the limit of 3')
  t.equal(told(Uint8Array.of(0x22, 0xff, 0x22)), 'the JSON text is not valid UTF-8')
})

t.test('what has no hint of its own is told without one, and nothing steers a terminal', async (t) => {
  t.match(told('{"a": 1.5}'), /^at line 1, column \d+ [^(]*$/)
  t.equal(
    told(`{${'k'.repeat(500)}: 1}`),
    'at line 1, column 2 a key in quotes must stand here',
    'a word that is long is not told again',
  )
  t.notOk(told('{"a": \u001b[31m}').includes('\u001b'))
})
