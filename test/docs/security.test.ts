/**
 * docs/security.md: the limits that the draft names, as they apply here, and no claim beyond what is shown.
 * @module
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

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
