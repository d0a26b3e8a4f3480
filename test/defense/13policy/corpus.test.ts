/**
 * Two corpora of command lines judge the packaged rules: what an agent could do to the machine leaves at least a line
 * in the record, however it is written, and honest work in a workspace is never taken for hostile and hardly ever asked
 * about. Every line is tried in three forms: as its own argv where it is one plain command, and as what `sh -c` and
 * `bash -c` are given.
 * @module
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { EXAMPLE_CWD, EXAMPLE_HOME, exampleArgv } from '../../../src/defense/13policy/rules/examples.ts'
import { createMatcher, type Matcher } from '../../../src/defense/13policy/rules/matcher.ts'
import { meaningOf } from '../../../src/defense/13policy/rules/rule-set.ts'
import { readRules, rulesProblemText } from '../../../src/defense/13policy/rules/rules-file.ts'
import { effectiveCommands } from '../../../src/defense/13policy/unwrap.ts'
import { SHIPPED_RULES } from '../../shipped-rules.ts'

const CWD = '/home/dev/project'
const HOME = '/home/dev'
/** Of the lines of honest work, so many may be asked about. */
const EVERYDAY_ASKED_SHARE = 0.01
/** Of the dangerous lines, so many at least are hostile or asked about: a corpus that is only noted proves little. */
const DANGEROUS_STOPPED_SHARE = 0.8
/** Fewer lines would prove little. */
const CORPUS_LINES = 600
const SHOWN_LINES = 200

const _POLICY = new URL('../../../policy/', import.meta.url)
const CORPUS = new URL('corpus/', import.meta.url)

type Outcome = 'hostile' | 'asked' | 'noted' | 'passed'

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
  const read = readRules(SHIPPED_RULES, 'default-rules.json')
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
  const { id: rule } = match.rule
  const meaning = meaningOf(match.rule)
  if (meaning === 'allow') return { outcome: 'passed', rule }
  if (meaning === 'note') return { outcome: 'noted', rule }
  return { outcome: meaning === 'ask' ? 'asked' : 'hostile', rule }
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
  'no dangerous command line runs without a note, as itself and inside sh -c and bash -c (JF-T06)',
  async (t) => {
    const lines = readCorpus('dangerous.txt')
    t.ok(lines.length >= CORPUS_LINES, 'the corpus is large enough to judge by')
    const judged = judgeAll(matcher, lines)
    const passed = judged.filter(({ outcome }) => outcome === 'passed')
    const stopped = judged.filter(({ outcome }) => outcome === 'hostile' || outcome === 'asked')
    const hostile = judged.filter(({ outcome }) => outcome === 'hostile')
    t.comment(
      `${lines.length} lines in three forms: ${hostile.length} hostile, ${stopped.length - hostile.length} asked, ${passed.length} passed`,
    )
    t.same(passed.slice(0, SHOWN_LINES).map(told), [], 'nothing dangerous passes')
    t.ok(stopped.length >= judged.length * DANGEROUS_STOPPED_SHARE)
  },
)

t.test('honest work is never hostile, and asked about in at most one of 100 command lines', async (t) => {
  const lines = readCorpus('everyday.txt')
  t.ok(lines.length >= CORPUS_LINES, 'the corpus is large enough to judge by')
  const judged = judgeAll(matcher, lines)
  t.same(judged.filter(({ outcome }) => outcome === 'hostile').map(told), [])
  const asked = judged.filter(({ outcome }) => outcome === 'asked')
  for (const each of asked.slice(0, SHOWN_LINES)) t.comment(`asked ${told(each)}`)
  const askedLines = new Set(asked.map(({ text }) => text))
  t.ok(
    askedLines.size <= lines.length * EVERYDAY_ASKED_SHARE,
    `${askedLines.size} of ${lines.length} lines are asked about in at least one form`,
  )
})

t.test(
  'a shipped rule is hostile, asks, notes or allows: none leaves a human out by a challenge',
  async (t) => {
    const read = readRules(SHIPPED_RULES, 'default-rules.json')
    if (!read.ok) throw new Error('the packaged rules cannot be read')
    t.same(
      read.rules.rules.filter(({ action }) => action === 'challenge').map(({ id }) => id),
      [],
    )
    // A low denial would be a note under another name.
    t.same(
      read.rules.rules.filter(({ action, severity }) => action === 'deny' && severity === 'low'),
      [],
    )
  },
)

t.test('no command line is in two corpora, and none is twice in one', async (t) => {
  const all = ['dangerous.txt', 'contained.txt', 'everyday.txt'].flatMap(readCorpus).map(({ text }) => text)
  t.same(
    all.filter((text, index) => all.indexOf(text) !== index),
    [],
  )
})
