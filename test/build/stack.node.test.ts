import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readOrigins, withOrigins } from '../../build/stack.node.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Where that stands, both counted from one. */
function placeOf(text: string, words: string): readonly [number, number] {
  const at = text.indexOf(words)
  const lines = text.slice(0, at).split('\n')
  return at < 0 ? [0, 0] : [lines.length, (lines.at(-1)?.length ?? 0) + 1]
}

t.test('a place in what the daemon runs is from a file and a line of the sources', async (t) => {
  const origins = await readOrigins()
  const words = 'start it as bin/sass-edge, which brings its own'
  const [line, column] = placeOf(readFileSync(join(ROOT, 'dist/sass-edge.mjs'), 'utf8'), words)
  const [sourceLine] = placeOf(readFileSync(join(ROOT, 'src/main.ts'), 'utf8'), words)
  t.ok(line > 0 && sourceLine > 0, 'the sentence is there')
  const place = `file:///opt/sass-edge/dist/sass-edge.mjs:${line}:${column}`
  t.equal(
    withOrigins(`TypeError: no\n    at aB (${place})\n`, origins),
    `TypeError: no\n    at aB (${place} = src/main.ts:${sourceLine})\n`,
  )
  t.match(withOrigins('at x ([worker eval]:2:3000)', origins), /keeper-thread\.node\.cjs: \S+\.ts:\d+/)
  t.equal(withOrigins('at y (node:fs:2:300)', origins), 'at y (node:fs:2:300)', 'others stay')
})
