import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const ROOM = join(import.meta.dirname, '../../../src/intent/proposals')
const SOURCES = readdirSync(ROOM).map((name) => ({ name, text: readFileSync(join(ROOM, name), 'utf8') }))

/** What the code of a file says, without its comments. */
const codeOf = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')

t.test(
  'the kernel of proposals has nothing to route, wait, try again, fetch or install with (RX-41)',
  async (t) => {
    t.ok(SOURCES.length > 10)
    for (const { name, text } of SOURCES) {
      t.match(name, /^[a-z-]+\.ts$/, `${name} is pure`)
      const code = codeOf(text)
      t.notMatch(
        code,
        /\b(?:setTimeout|setInterval|setImmediate|queueMicrotask|fetch|import\()/,
        `${name}: later or elsewhere`,
      )
      t.notMatch(code, /\b(?:async|await|Promise|then\()/, `${name}: it answers at once`)
      t.notMatch(
        code,
        /\b(?:new Date|Date\.now|Math\.random|process\.|globalThis|eval\()/,
        `${name}: clock, chance, host`,
      )
      for (const [, from = ''] of code.matchAll(/from '([^']+)'/g))
        t.match(
          from,
          /^(?:\.\/|\.\.\/\.\.\/(?:base|errors|limits|ports)|\.\.\/canonical)/,
          `${name} asks ${from}`,
        )
    }
  },
)
