/**
 * docs/quick-start-raspberry-pi.md: it tells to type what exists, and what it writes into a configuration is accepted.
 * @module
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SUMMARIES } from '../../src/cli/words/summaries.ts'
import { parseConfig } from '../../src/config/config.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/quick-start-raspberry-pi.md'), 'utf8')

t.test('every command of the page is one, and every other page that it names is there', async (t) => {
  const words = [...page.matchAll(/^ {4}(?:sudo )?sass-edge ([a-z]+)/gm)].map(([, word = '']) => word)
  t.ok(words.length > 12)
  t.same(
    words.filter((word) => !Object.hasOwn(SUMMARIES, word)),
    [],
  )
  for (const [, name = ''] of page.matchAll(/\]\(([a-z-]+\.md)\)/g))
    t.ok(readFileSync(join(import.meta.dirname, '../../docs', name)).length > 0, name)
})

t.test('its pieces of a configuration are accepted together', async (t) => {
  const pieces = page
    .split(/\n(?! {4})/)
    .map((block) => block.replace(/^[^\n]*\n/, ''))
    .filter((block) => /^ {4}"(?:listen|sensors)"/.test(block))
  const [access = '', set = ''] = pieces.map((piece) => piece.trim().replace(/,$/, ''))
  const text = `{${access}, "capabilities": {${set}}, "agents": []}`
  const parsed = parseConfig(JSON.parse(text), { configDirectory: '/etc/sass-edge' })
  t.same(parsed.ok ? [] : parsed.problems, [])
  t.ok(parsed.ok && parsed.config.capabilities['sensors'] !== undefined)
})
