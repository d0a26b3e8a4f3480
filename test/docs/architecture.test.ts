/**
 * The page that walks one command through the house names files that are there, in at most fifteen steps.
 * @module
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../..')
const STEPS_MAX = 15

t.test('every file of the way is there, and the way is short', (t) => {
  const text = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  const steps = text.split('\n').filter((line) => /^[0-9]+\. /.test(line))
  t.ok(steps.length > 0 && steps.length <= STEPS_MAX, `${steps.length} steps`)
  const named = [...text.matchAll(/`([\w./-]+\.ts)`/g)].map(([, path = '']) => path)
  t.ok(named.length >= steps.length, 'each step names a file')
  t.strictSame(
    named.filter((path) => !existsSync(join(root, 'src', path))),
    [],
  )
  t.end()
})
