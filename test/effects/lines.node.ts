/**
 * The command lines that are run: the corpora that judge the packaged rules, those that no rule
 * stands against, the examples of these rules, and what
 * the suite of the ten agentic risks tries.
 * @module
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SHIPPED_RULES } from '../shipped-rules.ts'
import { RULE } from './figures.ts'

const ROOT = join(import.meta.dirname, '../..')
const CORPUS = join(ROOT, 'test/defense/13policy/corpus')
const RISKS = ['agentic-risks', 'agentic-risks-among', 'agentic-risks-trust']

export type Kind = 'dangerous' | 'everyday'
export type Line = { readonly text: string; readonly from: string }

/** As the corpora are written: `# group: ` names the lines behind it, and `⏎` stands for a line feed. */
function corpus(name: Kind | 'contained'): readonly Line[] {
  let group = ''
  return readFileSync(join(CORPUS, `${name}.txt`), 'utf8')
    .split('\n')
    .flatMap((line) => {
      if (line.startsWith('# group: ')) group = line.slice('# group: '.length)
      return line.trim() === '' || line.startsWith('# ')
        ? []
        : [{ text: line.replaceAll('⏎', '\n'), from: `${name}: ${group}` }]
    })
}

type Rule = {
  readonly id: string
  readonly examples?: { readonly match?: readonly string[]; readonly pass?: readonly string[] }
}

function examples(which: 'match' | 'pass'): readonly Line[] {
  const { rules } = JSON.parse(SHIPPED_RULES) as {
    readonly rules: readonly Rule[]
  }
  return rules.flatMap(({ id, examples: of }) =>
    (of?.[which] ?? []).map((text) => ({ text, from: `${RULE}${id}` })),
  )
}

/** The lists of strings that the suite's tests want stopped; each is an array of literals in their text. */
function risks(): readonly Line[] {
  return RISKS.flatMap((name) => {
    const text = readFileSync(join(ROOT, `test/integration/${name}.node.test.ts`), 'utf8')
    const lists = [...text.matchAll(/(?:unstopped\(decide, |const orders = )(\[[^\]]*?\n\s*\])/g)]
    return lists.flatMap(([, list = '[]']) => {
      const found = new Function(`return ${list}`)() as readonly string[]
      return found.map((line) => ({ text: line, from: `risk: ${name}` }))
    })
  })
}

/** Each text once, in an order that is always the same. */
export function linesOf(kind: Kind): readonly Line[] {
  const all =
    kind === 'dangerous'
      ? [...corpus(kind), ...corpus('contained'), ...risks(), ...examples('match')]
      : [...corpus(kind), ...examples('pass')]
  const seen = new Set<string>()
  return all.filter(({ text }) => {
    if (seen.has(text)) return false
    seen.add(text)
    return true
  })
}

/** Every nth, from `offset` on. */
export function sampled<T>(lines: readonly T[], every: number, offset = 0): readonly T[] {
  return lines.filter((_, index) => index % every === offset % every)
}
