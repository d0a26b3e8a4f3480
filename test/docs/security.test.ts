/**
 * docs/security.md: the limits that the draft names, as they apply here, and no claim beyond what is shown.
 * @module
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { LEVELS } from '../../src/defense/level.ts'
import { LAYER_NAMES, RESPONSES } from '../../src/defense/verdict.ts'

const docs = join(import.meta.dirname, '../../docs')

t.test(
  'the page has each limit of the draft as it applies here, and no page claims superiority (SS-53)',
  async (t) => {
    const page = readFileSync(join(docs, 'security.md'), 'utf8')
    const section = page.slice(
      page.indexOf('## The limits that the draft names'),
      page.indexOf('## Reporting'),
    )
    for (const limit of [
      /^1\. .*sandbox/m,
      /^2\. .*branch does not hold back what is no file/m,
      /^3\. .*can be noticed/m,
      /^4\. .*ring that overflows loses output/m,
      /^5\. .*Channel binding needs both ends/m,
      /^6\. .*screen of R4/m,
    ])
      t.match(section, limit)
    for (const [, referred = ''] of section.matchAll(/See "([^"]+)"/gi))
      t.ok(page.includes(`**${referred}.**`) || page.includes(`**${referred}`), `it refers to ${referred}`)
    const pages = readdirSync(docs).filter((name) => name.endsWith('.md') && name !== 'conformance.md')
    const texts = pages.map((name) => [name, readFileSync(join(docs, name), 'utf8')] as const)
    const readme = ['README.md', readFileSync(join(docs, '../README.md'), 'utf8')] as const
    for (const [name, text] of [...texts, readme]) {
      const claims = text.split('\n').filter((line) => /superior|dominan|\bMAS\b/i.test(line))
      t.strictSame(
        claims.filter((line) => !line.startsWith('No claim is made here')),
        [],
        name,
      )
    }
  },
)

t.test(
  'who is trusted with what, every layer, level and response, and what stands against which attack (JF-001, JF-N13)',
  async (t) => {
    const root = join(docs, '..')
    const page = readFileSync(join(docs, 'security.md'), 'utf8')
    const sections = [...page.matchAll(/^## (.+)$/gm)].map(([, name]) => name)
    for (const name of ['What is trusted', 'What is not trusted', 'Attack, defence, test', 'Known limits'])
      t.ok(sections.includes(name), name)

    const table = page.slice(page.indexOf('## Attack, defence, test'), page.indexOf('## Single things'))
    const rows = table.split('\n').filter((line) => /^\| (?!attack|---)/.test(line))
    t.ok(rows.length >= 30, `${rows.length} attacks`)
    for (const row of rows) {
      const [, attack = '', defence = '', tests = ''] = row.split(/(?<!\\)\|/).map((cell) => cell.trim())
      const named = [...tests.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path)
      t.ok(defence !== '' && named.length > 0, attack)
      for (const path of named) t.ok(existsSync(join(root, path)), path)
    }

    const responses = readFileSync(join(docs, 'responses.md'), 'utf8')
    const layers = responses.slice(responses.indexOf('## The layers'), responses.indexOf('## Warrants'))
    const named = [...layers.matchAll(/^\| \d+ \| `([^`]+)` \|/gm)].map(([, name]) => name)
    t.strictSame(named, [...LAYER_NAMES], 'the layers in their order')
    for (const response of RESPONSES)
      t.match(responses, new RegExp(`\\| R[1-6] \\| ${response} \\|`), response)
    for (const level of LEVELS) t.ok(layers.includes(level), level)

    const pages = readdirSync(docs).filter((name) => name.endsWith('.md'))
    for (const name of [...pages.map((each) => join('docs', each)), 'README.md']) {
      const text = readFileSync(join(root, name), 'utf8')
      for (const [, link = ''] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g))
        t.ok(existsSync(join(root, name, '..', link)), `${name} leads to ${link}`)
    }
  },
)
