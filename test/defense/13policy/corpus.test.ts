/**
 * Two corpora of command lines judge the packaged rules: what an agent could do to the machine is stopped, however it
 * is written, and honest work in a workspace is not. Every line is tried in three forms: as its own argv where it is
 * one plain command, and as what `sh -c` and `bash -c` are given.
 * @module
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { EXAMPLE_CWD, EXAMPLE_HOME, exampleArgv } from '../../../src/defense/13policy/examples.ts'
import { createMatcher, type Matcher } from '../../../src/defense/13policy/matcher.ts'
import { strictness } from '../../../src/defense/13policy/rule-set.ts'
import { readRules, rulesProblemText } from '../../../src/defense/13policy/rules-file.ts'
import { effectiveCommands } from '../../../src/defense/13policy/unwrap.ts'

const CWD = '/home/dev/project'
const HOME = '/home/dev'
/** Of the lines of honest work, so many may be stopped. */
const EVERYDAY_STOPPED_SHARE = 0.03
/** Fewer lines would prove little. */
const CORPUS_LINES = 600
const SHOWN_LINES = 200

const POLICY = new URL('../../../policy/', import.meta.url)
const CORPUS = new URL('corpus/', import.meta.url)

type Outcome = 'denied' | 'challenged' | 'passed'

type CorpusLine = { readonly group: string; readonly text: string }

type Judged = CorpusLine & {
  readonly form: 'own' | 'sh' | 'bash'
  readonly outcome: Outcome
  readonly rule: string | undefined
}

/** One command line each; `# group: ` names the lines behind it, and `⏎` stands for a line feed. */
function readCorpus(name: string): readonly CorpusLine[] {
  let group = ''
  return readFileSync(new URL(name, CORPUS), 'utf8')
    .split('\n')
    .flatMap((line) => {
      if (line.startsWith('# group: ')) group = line.slice('# group: '.length)
      return line.trim() === '' || line.startsWith('# ') ? [] : [{ group, text: line.replaceAll('⏎', '\n') }]
    })
}

function packagedMatcher(): Matcher {
  const read = readRules(readFileSync(new URL('default-rules.json', POLICY), 'utf8'), 'default-rules.json')
  if (!read.ok) throw new Error(read.problems.map(rulesProblemText).join('; '))
  return createMatcher(read.rules, HOME)
}

/** `exampleArgv` expands `~` for the surroundings of examples; these are others. */
function ownArgv(text: string): readonly string[] {
  return exampleArgv(text).map((word) => word.replaceAll(EXAMPLE_HOME, HOME).replaceAll(EXAMPLE_CWD, CWD))
}

function judge(matcher: Matcher, argv: readonly string[]): Pick<Judged, 'outcome' | 'rule'> {
  const match = matcher.strictest(
    effectiveCommands(argv, { cwd: CWD, home: HOME, resolved: undefined, terminal: false, stdin: false }),
  )
  if (match === undefined) return { outcome: 'passed', rule: undefined }
  const { id: rule, action } = match.rule
  if (strictness(match.rule) >= strictness({ action: 'deny', severity: 'low' }))
    return { outcome: 'passed', rule }
  return { outcome: action === 'challenge' ? 'challenged' : 'denied', rule }
}

function judgeAll(matcher: Matcher, lines: readonly CorpusLine[]): readonly Judged[] {
  return lines.flatMap((line) => [
    { ...line, form: 'own' as const, ...judge(matcher, ownArgv(line.text)) },
    { ...line, form: 'sh' as const, ...judge(matcher, ['sh', '-c', line.text]) },
    { ...line, form: 'bash' as const, ...judge(matcher, ['bash', '-c', line.text]) },
  ])
}

const told = ({ group, form, rule, text }: Judged) =>
  `[${group}] ${form}${rule === undefined ? '' : ` (${rule})`}: ${JSON.stringify(text)}`

const matcher = packagedMatcher()

t.test(
  'every dangerous command line is stopped, as itself and inside sh -c and bash -c (JF-T06)',
  async (t) => {
    const lines = readCorpus('dangerous.txt')
    t.ok(lines.length >= CORPUS_LINES, 'the corpus is large enough to judge by')
    const judged = judgeAll(matcher, lines)
    const passed = judged.filter(({ outcome }) => outcome === 'passed')
    const challenged = judged.filter(({ outcome }) => outcome === 'challenged')
    t.comment(
      `${lines.length} lines in three forms: ${passed.length} passed, ${challenged.length} challenged`,
    )
    for (const each of challenged.slice(0, SHOWN_LINES)) t.comment(`challenged ${told(each)}`)
    t.same(passed.slice(0, SHOWN_LINES).map(told), [], 'nothing dangerous passes')
  },
)

/** Programs of a line that nothing is known of; those beneath the working directory are the caller's own. */
function unknownPrograms(matcher: Matcher, text: string): readonly string[] {
  const surroundings = { cwd: CWD, home: HOME, resolved: undefined, terminal: false, stdin: false }
  return effectiveCommands(ownArgv(text), surroundings)
    .commands.filter((command) => !matcher.knows(command) && command.path?.startsWith(CWD) !== true)
    .map(({ argv }) => argv[0] ?? '')
}

t.test(
  'honest work is stopped in at most 3 of 100 command lines, questions about programs included',
  async (t) => {
    const lines = readCorpus('everyday.txt')
    t.ok(lines.length >= CORPUS_LINES, 'the corpus is large enough to judge by')
    const stopped = judgeAll(matcher, lines).filter(({ outcome }) => outcome !== 'passed')
    const asked = lines.filter(({ text }) => unknownPrograms(matcher, text).length > 0)
    for (const { text } of asked.slice(0, SHOWN_LINES)) t.comment(`asked ${text}`)
    const stoppedLines = new Set([...stopped, ...asked].map(({ text }) => text))
    for (const each of stopped.slice(0, SHOWN_LINES)) t.comment(`${each.outcome} ${told(each)}`)
    t.ok(
      stoppedLines.size <= lines.length * EVERYDAY_STOPPED_SHARE,
      `${stoppedLines.size} of ${lines.length} lines are stopped in at least one form`,
    )
  },
)

t.test('no command line is in both corpora, and none is twice in one', async (t) => {
  const all = [...readCorpus('dangerous.txt'), ...readCorpus('everyday.txt')].map(({ text }) => text)
  t.same(
    all.filter((text, index) => all.indexOf(text) !== index),
    [],
  )
})
