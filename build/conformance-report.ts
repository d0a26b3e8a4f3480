/**
 * From the TAP of a test run and the list of requirements to docs/conformance.md, as pure functions.
 * Reads the indented subtests that tap 21 writes with `--reporter=tap` (TAP 14). Counts as proof only what really
 * ran: a test that was skipped, is marked TODO or made no passing assertion proves nothing, and one failing test
 * that names a row keeps it open. A row that says itself why it is open stays so.
 * @module
 */
import type { RequirementList, Row } from './conformance-list.ts'
import { CLASS_MEANINGS, OPEN, rowIds, sourcePrefix, WITHOUT_DAEMON } from './conformance-list.ts'

/** One test (a subtest of a file, at any depth) and what became of it. */
export interface TestResult {
  readonly file: string
  readonly name: string
  readonly outcome: 'passed' | 'failed' | 'skipped' | 'todo'
}

export interface TestRun {
  readonly tests: readonly TestResult[]
  /** The reason of a `Bail out!`, where there was one: the run says nothing about what came after. */
  readonly bailedOut: string | undefined
}

export interface Report {
  readonly markdown: string
  readonly proven: number
  readonly open: number
  /** Ids that tests name and the list does not have, sorted. */
  readonly unknownIds: readonly string[]
  /** Where the list and the tests do not say the same, one sentence each. */
  readonly contradictions: readonly string[]
}

/** A subtest that is still open while its lines are read. */
interface OpenTest {
  readonly indent: number
  /** As written, with its escapes: the closing test point repeats it. */
  readonly rawName: string
  /** Passing assertions and passing subtests in it. */
  proofs: number
  /** Has a comment `# skipped: ...` of its own: what it needs was not there. */
  saidSkipped: boolean
}

/** TAP 14: a subtest is indented by four spaces, the diagnostics of a test point by two. */
const SUBTEST_INDENT = 4
const DIAGNOSTICS_INDENT = 2
const TEST_POINT = /^(not )?ok\b(?: \d+)?(?: - )?(.*)$/
/** A `#` of the description itself is escaped, so one after white space begins what TAP adds. */
const AFTER_DESCRIPTION = /(?:^|\s)#\s*(?:SKIP\b|TODO\b|time=).*$/i
const DIRECTIVE = /(?:^|\s)#\s*(SKIP|TODO)\b/i
const ROW_LIST_AT_END = /\s*\((?:(?:SS|SA|OS|RX|JF)-[A-Z]?\d+[a-z]?(?:, ?)?)+\)$/
/** A row of the report names no more passing tests than these. */
const TESTS_SHOWN = 3
/** Tests here have a whole daemon, as it is built. */
const WHOLE_DAEMON = ['test/integration/', 'test/effects/']

/**
 * The tests of a TAP text: a top-level subtest for each file and the tests in it as subtests. A subtest without its
 * closing test point (a crash, a kill) has failed. A test is `skipped` when it has the SKIP directive, made no
 * passing assertion, or has a comment of its own that begins with `skipped:`. Never throws.
 */
export function parseTap(text: string): TestRun {
  const tests: TestResult[] = []
  const open: OpenTest[] = []
  let bailedOut: string | undefined
  let lastPointIndent = -1
  /** Indent of the YAML diagnostics being passed over, or -1. */
  let diagnosticsIndent = -1

  const record = (rawName: string, outcome: TestResult['outcome']) => {
    tests.push({ file: unescapeTap(open[0]?.rawName ?? ''), name: unescapeTap(rawName), outcome })
  }
  const closeUnfinished = (indent: number) => {
    for (let last = open.at(-1); last !== undefined && last.indent >= indent; last = open.at(-1)) {
      if (open.length > 1) record(last.rawName, 'failed')
      open.pop()
    }
  }
  const ownerAt = (indent: number) => open.findLast((test) => test.indent === indent - SUBTEST_INDENT)

  const takePoint = (indent: number, failed: boolean, description: string) => {
    closeUnfinished(indent + 1)
    const rawName = description.replace(AFTER_DESCRIPTION, '').trim()
    const directive = DIRECTIVE.exec(description)?.[1]?.toUpperCase()
    const last = open.at(-1)
    const subtest = last?.indent === indent && last.rawName === rawName ? last : undefined
    let outcome: TestResult['outcome'] = failed ? 'failed' : 'passed'
    if (directive === 'TODO') outcome = 'todo'
    else if (directive === 'SKIP') outcome = 'skipped'
    else if (!failed && (subtest?.proofs === 0 || subtest?.saidSkipped)) outcome = 'skipped'
    const owner = ownerAt(indent)
    if (owner !== undefined && outcome === 'passed') owner.proofs += 1
    // Without a subtest it is an assertion, or a test that did not run: tap opens no subtest for these.
    const isTest = subtest !== undefined ? open.length > 1 : directive !== undefined
    if (isTest) record(rawName, outcome)
    if (subtest !== undefined) open.pop()
  }

  for (const line of text.split('\n')) {
    const body = line.trim()
    if (body === '') continue
    const indent = line.length - line.trimStart().length
    if (diagnosticsIndent >= 0 && indent >= diagnosticsIndent) {
      if (indent === diagnosticsIndent && body === '...') diagnosticsIndent = -1
      continue
    }
    diagnosticsIndent = -1
    const point = TEST_POINT.exec(body)
    if (body === '---' && indent === lastPointIndent + DIAGNOSTICS_INDENT) {
      diagnosticsIndent = indent
    } else if (body.startsWith('# Subtest: ')) {
      closeUnfinished(indent)
      open.push({ indent, rawName: body.slice('# Subtest: '.length).trim(), proofs: 0, saidSkipped: false })
    } else if (body.startsWith('# skipped:')) {
      const owner = ownerAt(indent)
      if (owner !== undefined) owner.saidSkipped = true
    } else if (body.startsWith('Bail out!')) {
      bailedOut ??= body.slice('Bail out!'.length).trim()
    } else if (point !== null) {
      takePoint(indent, point[1] !== undefined, point[2] ?? '')
    }
    lastPointIndent = point === null ? -1 : indent
  }
  closeUnfinished(0)
  return { tests, bailedOut }
}

/** docs/conformance.md for a list and the tests of a run; the same tests in any order of files give the same bytes. */
export function renderReport(list: RequirementList, tests: readonly TestResult[]): Report {
  const testsById = new Map<string, TestResult[]>()
  const byFile = [...tests].sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0))
  for (const test of byFile) {
    for (const id of rowIds(test.name)) {
      const named = testsById.get(id)
      if (named === undefined) testsById.set(id, [test])
      else named.push(test)
    }
  }
  const testsOf = (row: Row) => testsById.get(row.id) ?? []
  const countProven = (rows: readonly Row[]) => rows.filter((row) => isProven(row, testsOf(row))).length

  const counts: string[] = []
  const sections: string[] = []
  for (const [prefix, name] of Object.entries(list.sources)) {
    const rows = list.rows.filter((row) => sourcePrefix(row.id) === prefix)
    const proven = countProven(rows)
    counts.push(`| ${prefix} | ${cell(name)} | ${rows.length} | ${proven} | ${rows.length - proven} |`)
    sections.push('', `## ${prefix}: ${name}`, '', ...SECTION_HEAD)
    for (const row of rows) sections.push(renderRow(row, testsOf(row)))
  }
  const proven = countProven(list.rows)
  const open = list.rows.length - proven
  counts.push(`| | all | ${list.rows.length} | ${proven} | ${open} |`)
  const lines = [...HEAD, ...counts, '', ...openCounts(list.rows), '', ...MEANINGS, ...sections]
  const known = new Set(list.rows.map((row) => row.id))
  const unknownIds = [...testsById.keys()].filter((id) => !known.has(id)).sort()
  const contradictions = list.rows.flatMap((row) => contradictionsOf(row, testsOf(row)))
  return { markdown: `${lines.join('\n')}\n`, proven, open, unknownIds, contradictions }
}

function openCounts(rows: readonly Row[]): readonly string[] {
  const counts = OPEN.map((kind) => `${rows.filter(({ open }) => open === kind).length} ${kind}`)
  return [`Open rows: ${counts.join(', ')}.`]
}

function contradictionsOf({ id, open, pure }: Row, tests: readonly TestResult[]): readonly string[] {
  const passed = tests.filter(({ outcome }) => outcome === 'passed')
  if (open !== undefined)
    return open !== 'in part' && passed.length > 0 ? [`${id} is ${open}, and tests that pass name it.`] : []
  if (tests.length === 0) return [`${id} has no test, and does not say why it is open.`]
  // What was skipped or failed says nothing of how it would be proven.
  if (passed.length < tests.length) return []
  const isWhole = passed.some(({ file }) => WHOLE_DAEMON.some((place) => file.startsWith(place)))
  if (isWhole && pure !== undefined) return [`${id} says why no daemon is needed, and a test has one.`]
  return isWhole || pure !== undefined
    ? []
    : [`${id} is proven without a daemon, and does not say why that is enough.`]
}

const HEAD: readonly string[] = [
  '# Conformance',
  '',
  'Every requirement of the five source documents in our own words, where the tree holds it, and the tests that',
  'prove it. Made by `npm run conformance` from `docs/conformance.json` and the results of the last `npm test`;',
  'what is edited here is lost.',
  '',
  'A row is proven when at least one test that names it ran and passed and none that names it failed. A test that',
  'was skipped or made no passing assertion proves nothing. Every other row is open, and says whether it is not built,',
  'built in part (then what is missing), not tested, or not applicable to a daemon.',
  '',
  'What a proven row says happens as the daemon is installed, or it needs the keys of `sass.edge.json` that the row',
  'names. At least one of its tests is of a whole daemon, under `test/integration` or `test/effects`; where none is, the row says why.',
  '',
  '| | source | rows | proven | open |',
  '|---|---|---|---|---|',
]

const MEANINGS: readonly string[] = [
  ...CLASS_MEANINGS.map((meaning) => `- ${meaning}`),
  '',
  'Without a daemon a row is proven where',
  '',
  ...Object.entries(WITHOUT_DAEMON).map(([name, meaning]) => `- \`${name}\`: ${meaning}.`),
]

const SECTION_HEAD: readonly string[] = [
  '| row | what it asks | where | tests | state |',
  '|---|---|---|---|---|',
]

function isProven({ open }: Row, tests: readonly TestResult[]): boolean {
  if (open !== undefined) return false
  return tests.some((test) => test.outcome === 'passed') && !tests.some((test) => test.outcome === 'failed')
}

function renderRow(row: Row, tests: readonly TestResult[]): string {
  const id = row.class === '' ? row.id : `${row.id} ${code(row.class)}`
  const asks = [cell(row.says)]
  // What is not there is not told as if it were.
  const isMeant = row.open === 'not built'
  if (row.surrogate !== undefined)
    asks.push(`${isMeant ? 'Meant instead' : 'Instead'}: ${cell(row.surrogate)}`)
  if (row.note !== undefined) asks.push(`${isMeant ? 'As it is meant' : 'Note'}: ${cell(row.note)}`)
  if (row.missing !== undefined) asks.push(`Missing: ${cell(row.missing)}`)
  if (row.needs !== undefined) asks.push(`Needs: ${row.needs.map(code).join(', ')}`)
  const where = row.where.map(code).join(', ')
  const proof = row.pure === undefined ? 'proven' : `proven, \`${row.pure}\``
  const state = isProven(row, tests) ? proof : `open${row.open === undefined ? '' : `: ${row.open}`}`
  return `| ${id} | ${asks.join('<br>')} | ${where} | ${renderTests(tests)} | ${state} |`
}

/** Failing tests first and all of them, since they keep the row open; then the first passing ones. */
function renderTests(tests: readonly TestResult[]): string {
  const line = (test: TestResult) => `${code(test.file)}: ${cell(test.name.replace(ROW_LIST_AT_END, ''))}`
  const failed = tests.filter((test) => test.outcome === 'failed').map((test) => `failed: ${line(test)}`)
  const passed = tests.filter((test) => test.outcome === 'passed').map(line)
  const more = passed.length - TESTS_SHOWN
  const rest = more > 0 ? [`and ${more} more`] : []
  return [...failed, ...passed.slice(0, TESTS_SHOWN), ...rest].join('<br>')
}

/** Text that stays text in a cell of a Markdown table. */
function cell(text: string): string {
  return text.replace(/[\\|*`<]/g, (sign) => (sign === '<' ? '&lt;' : `\\${sign}`))
}

function code(text: string): string {
  return `\`${text.replaceAll('`', '').replaceAll('|', '\\|')}\``
}

/** TAP 14 escapes `#` and the backslash in descriptions. */
function unescapeTap(text: string): string {
  return text.replace(/\\([\\#])/g, '$1')
}
