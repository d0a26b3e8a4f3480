/**
 * What a decision costs, counted in blocks of the program that are run through: at most so many for what people and
 * models write, and in proportion to the text for anything. The rules are those that ship. Times: bench/policy.node.ts.
 * @module
 */

import { readFileSync } from 'node:fs'
import t from 'tap'
import { exampleArgv } from '../../src/defense/13policy/rules/examples.ts'
import { createMatcher } from '../../src/defense/13policy/rules/matcher.ts'
import { readRules } from '../../src/defense/13policy/rules/rules-file.ts'
import { adjudicate } from '../../src/defense/adjudicator.ts'
import { countedWork } from '../counted-work.ts'
import { SHIPPED_RULES } from '../shipped-rules.ts'
import { executing, FACTS, HOME, LEDGER, policyWith } from './staged-facts.ts'

const read = readRules(SHIPPED_RULES, 'default-rules.json')
if (!read.ok) throw new Error('The rules that ship cannot be read.')
const POLICY = policyWith({}, {}, { rules: createMatcher(read.rules, HOME) })

function decisionWork(argv: readonly string[]): number {
  const facts = { ...FACTS, action: executing(argv) }
  return countedWork(() => adjudicate(facts, POLICY, LEDGER))
}

const shell = (text: string) => ['sh', '-c', text]
const each = (count: number, word: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => word(i))

/** Everything of which a command line may hold much: words, paths, commands, pipes, expansions, code. */
const SHAPES: Readonly<Record<string, (count: number) => readonly string[]>> = {
  words: (count) => ['echo', ...each(count, (i) => `word${i}`)],
  paths: (count) => ['rm', ...each(count, (i) => `dir${i}/x`)],
  secrets: (count) => ['cat', ...each(count, () => '~/.ssh/id')],
  options: (count) => ['curl', ...each(count, (i) => `--o${i}=v`)],
  addresses: (count) => ['curl', ...each(count, (i) => `https://h${i}.example/`)],
  variables: (count) => ['env', ...each(count, (i) => `A${i}=b`), 'ls'],
  carriers: (count) => [...each(count, () => 'nice'), 'ls'],
  length: (count) => ['echo', 'x'.repeat(10 * count)],
  stars: (count) => ['ls', '*a'.repeat(count)],
  braces: (count) => shell(`echo ${'{a,b} '.repeat(count)}`),
  commands: (count) => shell('ls x;'.repeat(count)),
  pipes: (count) => shell(`cat x${' | sort -u'.repeat(count)}`),
  settings: (count) => shell(each(count, (i) => `V${i}=a$V${i - 1}`).join(';')),
  substitutions: (count) => shell(`echo ${'$(id) '.repeat(count)}`),
  redirections: (count) => shell(`cat ${each(count, (i) => `>f${i}`).join(' ')}`),
  quotes: (count) => shell(`echo ${`'a'"b"\\c`.repeat(count)}`),
  conditions: (count) => shell('if true; then ls; fi;'.repeat(count)),
  document: (count) => shell(`cat <<E\n${'line $x\n'.repeat(count)}E\n`),
  functions: (count) => shell(each(count, (i) => `f${i}() { ls; }; f${i}`).join(';')),
  nesting: (count) => shell(`${'('.repeat(count)}ls${')'.repeat(count)}`),
  code: (count) => ['python3', '-c', 'print(os.listdir(1))\n'.repeat(count)],
  awk: (count) => ['awk', '{ print $1 } '.repeat(count), 'x'],
  search: (count) => ['find', '.', ...each(count, () => '-empty'), '-delete'],
}

/** 50 ms at 200 ns a block, which is what a small device takes; where the bench runs it is a quarter of that. */
const GATE_BLOCKS = 250_000
/** Of a line that somebody writes. */
const EVERYDAY_BLOCKS = 50_000
const LINE_CHARS = 512
/** Counting one decision takes some 50 ms, so only some of the lines are. */
const CORPUS_STEP = 60
const LONGEST = 10

t.test(
  'whatever a command line holds, its decision is some milliseconds of work, not fifty (JF-079, JF-022)',
  (t) => {
    for (const [name, shape] of Object.entries(SHAPES)) {
      let count = 1
      while (shape(2 * count).join(' ').length <= LINE_CHARS) count *= 2
      const blocks = decisionWork(shape(count))
      t.ok(blocks < GATE_BLOCKS, `${name}: ${blocks} blocks`)
    }
    const corpus = readFileSync(new URL('13policy/corpus/everyday.txt', import.meta.url), 'utf8')
    const lines = corpus.split('\n').filter((line) => line !== '' && !line.startsWith('# '))
    const longest = lines.toSorted((a, b) => b.length - a.length).slice(0, LONGEST)
    const some = [...longest, ...lines.filter((_line, index) => index % CORPUS_STEP === 0)]
    for (const line of some) {
      const blocks = decisionWork(exampleArgv(line.replaceAll('⏎', '\n')))
      t.ok(blocks < EVERYDAY_BLOCKS, `${line}: ${blocks} blocks`)
    }
    t.end()
  },
)

/** Twice the text is at most so much more work: all of it twice, and something that is there anyway. */
const DOUBLED = 2.05

t.test('twice as much of anything is twice the work and no more (JF-N03)', (t) => {
  for (const [name, shape] of Object.entries(SHAPES)) {
    const [once = 0, twice = 0] = [200, 400].map((count) => decisionWork(shape(count)))
    t.ok(twice <= DOUBLED * once, `${name}: ${once} blocks, then ${twice}`)
  }
  t.end()
})
