/**
 * Which lines count and which ran, from sources and ranges as V8 reports them, and from a real report of V8.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import {
  countedLines,
  lineList,
  linesRun,
  origins,
  originsRun,
  percent,
  type RunRange,
  shares,
} from '../../build/line-coverage.ts'

const SOURCE = `/** What it is. */
import { a } from './a.ts'
import type { B } from './b.ts'
export * from './c.ts'
export { a }

export interface Shape {
  readonly x: number
}
// A remark.
export const texts = [
  'one',
  \`two
  and three\`,
]

export function f(x: number): number {
  if (x > 1) {
    return (
      x
    )
  } else {
    return 0 // never
  }
}
`
const LINES = [11, 12, 13, 14, 17, 18, 19, 20, 22, 23]

const range = (startOffset: number, endOffset: number, count: number): RunRange => ({
  startOffset,
  endOffset,
  count,
})
const numbers = (lines: readonly { readonly line: number }[]): number[] => lines.map(({ line }) => line)

t.test('what is code counts; imports, types, comments and brackets alone do not', async (t) => {
  t.strictSame(numbers(countedLines(stripTypeScriptTypes(SOURCE))), LINES)
  t.strictSame(countedLines(''), [])
  t.strictSame(countedLines('// nothing\n/* and\nnothing */\n'), [])
  t.strictSame(countedLines('f( 1 )'), [{ line: 1, from: 0, to: 4 }])
})

t.test('the innermost range that holds a character decides, in whatever order they come', async (t) => {
  const lines = countedLines('one\ntwo\nthree\nfour')
  const ranges = [range(0, 18, 1), range(4, 13, 0), range(8, 13, 2)]
  for (const order of [ranges, [...ranges].reverse()])
    t.strictSame(numbers(linesRun(lines, order)), [1, 3, 4])
  t.strictSame(linesRun(lines, []), [])
  t.strictSame(linesRun([], ranges), [])
  t.strictSame(numbers(linesRun(lines, [range(2, 5, 1)])), [1, 2], 'one character of a line is enough')
  t.strictSame(numbers(linesRun(lines, [range(3, 4, 1)])), [], 'a line feed is none')
})

t.test('of a program that really ran, the lines that nothing reached are left', async (t) => {
  const place = t.testdir({
    'source.ts': `export const twice = (x: number): number => x * 2
export function sign(x: number): string {
  if (x < 0) return 'less'
  if (x === 0) {
    return 'none'
  }
  for (const one of []) {
    twice(one)
  }
  return x > 1 ? 'more' : 'one'
}
console.log(sign(twice(1)))
`,
  })
  const path = join(place, 'source.ts')
  execFileSync(process.execPath, [path], { env: { NODE_V8_COVERAGE: join(place, 'reports') } })
  const [report = ''] = readdirSync(join(place, 'reports'))
  const { result } = JSON.parse(readFileSync(join(place, 'reports', report), 'utf8')) as {
    readonly result: readonly {
      readonly url: string
      readonly functions: readonly { readonly ranges: RunRange[] }[]
    }[]
  }
  const functions = result.find(({ url }) => url.endsWith('/source.ts'))?.functions ?? []
  const lines = countedLines(stripTypeScriptTypes(readFileSync(path, 'utf8')))
  const ran = linesRun(
    lines,
    functions.flatMap(({ ranges }) => ranges),
  )
  t.strictSame(numbers(lines), [1, 2, 3, 4, 5, 7, 8, 10, 12])
  t.strictSame(numbers(ran), [1, 2, 3, 4, 7, 10, 12])
})

t.test('a source map tells where each part of a bundle comes from', async (t) => {
  // Column 0 of the first line: line 1 of source 0; column 5: line 3 of source 1; then a line of nobody; then line 2.
  const parts = origins('aaaa bbbb\nnobody\n  cc', 'AAAA,KCEA;;EAAA')
  t.strictSame(parts, [
    { offset: 0, source: 0, line: 1 },
    { offset: 5, source: 1, line: 3 },
    { offset: 19, source: 1, line: 3 },
  ])
  t.strictSame(
    originsRun(parts, [range(0, 21, 1), range(5, 9, 0)]).map(({ offset }) => offset),
    [0, 19],
  )
  t.strictSame(origins('a', 'gCAAA,DAAA'), [
    { offset: 32, source: 0, line: 1 },
    { offset: 31, source: 0, line: 1 },
  ])
})

t.test('shares are told by room, and a floor is not reached by rounding', async (t) => {
  const { rooms, all } = shares([
    { path: 'src/main.ts', lines: 10, missed: [1] },
    { path: 'src/base/a.ts', lines: 4, missed: [] },
    { path: 'src/base/deep/b.ts', lines: 6, missed: [2, 3] },
  ])
  t.strictSame(rooms, [
    { name: 'src', lines: 10, ran: 9 },
    { name: 'src/base', lines: 10, ran: 8 },
  ])
  t.strictSame(all, { name: 'all', lines: 20, ran: 17 })
  t.equal(percent({ lines: 10_000, ran: 9_499 }), 94.9)
  t.equal(percent({ lines: 20, ran: 19 }), 95)
  t.equal(percent({ lines: 0, ran: 0 }), 100)
})

t.test(
  'lines that follow each other are one span, whatever stands between that does not count',
  async (t) => {
    t.equal(lineList([3, 4, 7, 9], [1, 3, 4, 7, 8, 9]), '3-7, 9')
    t.equal(lineList([], [1]), '')
  },
)
