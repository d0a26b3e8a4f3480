/**
 * The list of requirements, docs/conformance.json: its shape and the check of it.
 * Refuses a list with unknown keys, ids twice, ids without a named source, classes outside the closed set, or a
 * surrogate that is missing or out of place. The rows come from the five source documents that it names.
 * @module
 */

/** What a daemon can make of a requirement; CLASS_MEANINGS says it for people. */
export const CLASSES = ['D', 'D+', 'B', 'H→', 'B/D', 'D/B', 'D/H→', 'note:', ''] as const
export type RowClass = (typeof CLASSES)[number]

export const CLASS_MEANINGS: readonly string[] = [
  '`D`: the daemon enforces it by itself, deterministically.',
  '`D+`: enforced on a fact that an agent or operator declares; the audit marks it as declared.',
  '`B`: checked when building, when starting or by a command.',
  '`H→`: has its full meaning only inside an agent harness; "Instead" says what a daemon honestly does.',
  '`note:` or none: a remark of the source.',
]

/** Why a row is open, whatever its tests say. */
export const OPEN = ['not built', 'in part', 'not tested', 'not applicable'] as const
export type Open = (typeof OPEN)[number]

/** Why a test without a whole daemon is enough to prove a row. */
export const WITHOUT_DAEMON = {
  function: 'it is a function of its input, and the daemon calls that very function',
  cases: 'every case of a table, or thousands that are made up, are tried, which no run of a daemon meets',
  source: 'it is about the text of the program, which the test reads',
  part: 'the part itself runs for real, with its kernel, files, processes or connections',
  clock: 'it takes longer than a test may, so that the test has the clock',
  work: 'it counts the work that the program does, which the times of a machine only blur',
  pages: 'it is about documents and data that ship, which the test reads',
} as const
export type WithoutDaemon = keyof typeof WITHOUT_DAEMON

/** One requirement of a source document. */
export interface Row {
  /** `SS-01`: the prefix names the source. */
  readonly id: string
  readonly class: RowClass
  /** What is asked, in one sentence. */
  readonly says: string
  /** Folders or files that hold it, relative to the root of the repository; none where it is not built. */
  readonly where: readonly string[]
  /** What a daemon does instead, exactly where the class has an `H→`. */
  readonly surrogate?: string
  /** The ruling where sources conflict, or that the row is informative. */
  readonly note?: string
  /** Absent: tests prove it. */
  readonly open?: Open
  /** What is missing, where it is open in part. */
  readonly missing?: string
  /** Keys of the configuration without which it does not happen: as it is installed they are not set. */
  readonly needs?: readonly string[]
  /** Exactly where it is proven and no test of a whole daemon names it. */
  readonly pure?: WithoutDaemon
}

export interface RequirementList {
  /** Prefix of the ids to the name of the document, in the order of the report. */
  readonly sources: Readonly<Record<string, string>>
  readonly rows: readonly Row[]
}

export type ListCheck =
  | { readonly ok: true; readonly list: RequirementList }
  | { readonly ok: false; readonly problems: readonly string[] }

const ROW_ID = /\b(?:SS|SA|OS|RX|JF)-[A-Z]?\d+[a-z]?\b/g
const ROW_KEYS: ReadonlySet<string> = new Set([
  ...['id', 'class', 'says', 'where', 'surrogate', 'note'],
  ...['open', 'missing', 'needs', 'pure'],
])

/** The ids of requirements that a text names, each once, in order of appearance. */
export function rowIds(text: string): string[] {
  return [...new Set(text.match(ROW_ID) ?? [])]
}

/** `SS` of `SS-01`. */
export function sourcePrefix(id: string): string {
  return id.slice(0, id.indexOf('-'))
}

/** The parsed docs/conformance.json as a RequirementList, or every problem at once with its place. Never throws. */
export function checkList(value: unknown): ListCheck {
  if (!isRecord(value) || !isRecord(value['sources']) || !Array.isArray(value['rows'])) {
    return { ok: false, problems: ['it must be an object with "sources" (an object) and "rows" (an array)'] }
  }
  const problems: string[] = []
  const sources = new Map<string, string>()
  for (const [prefix, name] of Object.entries(value['sources'])) {
    if (isText(name)) sources.set(prefix, name)
    else problems.push(`sources.${prefix} must be the name of a document`)
  }
  const rows: Row[] = []
  const seen = new Set<string>()
  value['rows'].forEach((row: unknown, index: number) => {
    const found = isRecord(row) ? rowProblems(row, sources, seen) : ['must be an object']
    if (found.length === 0) rows.push(row as Row)
    problems.push(...found.map((problem) => `rows[${index}]${problem.startsWith('.') ? '' : ' '}${problem}`))
  })
  if (problems.length > 0) return { ok: false, problems }
  return { ok: true, list: { sources: Object.fromEntries(sources), rows } }
}

function rowProblems(
  row: Record<string, unknown>,
  sources: ReadonlyMap<string, string>,
  seen: Set<string>,
): string[] {
  const problems: string[] = []
  const { id, class: rowClass, says, where, surrogate, note } = row
  if (!isText(id) || rowIds(id)[0] !== id) {
    problems.push('.id must be an id such as SS-01')
  } else {
    if (seen.has(id)) problems.push(`.id ${id} is there twice`)
    if (!sources.has(sourcePrefix(id))) problems.push(`.id ${id} has a prefix that sources does not name`)
    seen.add(id)
  }
  if (!CLASSES.some((known) => known === rowClass)) {
    problems.push(`.class must be one of ${CLASSES.map((known) => JSON.stringify(known)).join(' ')}`)
  }
  if (!isText(says)) problems.push('.says must be a sentence')
  const mayBeNowhere = row['open'] === 'not built' || row['open'] === 'not applicable'
  if (!Array.isArray(where) || (where.length === 0 && !mayBeNowhere) || !where.every(isText)) {
    problems.push('.where must name at least one folder or file')
  }
  const needsSurrogate = typeof rowClass === 'string' && rowClass.includes('H→')
  if (needsSurrogate ? !isText(surrogate) : surrogate !== undefined) {
    problems.push('.surrogate must be a sentence exactly where the class has H→')
  }
  if (note !== undefined && !isText(note)) problems.push('.note must be a sentence or absent')
  problems.push(...stateProblems(row))
  for (const key of Object.keys(row)) if (!ROW_KEYS.has(key)) problems.push(`.${key} is not a key of a row`)
  return problems
}

/** Of the fields that say whether a row is proven, and how. */
function stateProblems({ note, open, missing, needs, pure }: Record<string, unknown>): string[] {
  const problems: string[] = []
  if (open !== undefined && !OPEN.some((known) => known === open))
    problems.push(`.open must be one of ${OPEN.join(', ')}, or absent`)
  if (open === 'in part' ? !isText(missing) : missing !== undefined)
    problems.push('.missing must be a sentence exactly where the row is open in part')
  if (open === 'not applicable' && !isText(note)) problems.push('.note must say why it is not applicable')
  if (needs !== undefined && (!Array.isArray(needs) || needs.length === 0 || !needs.every(isText)))
    problems.push('.needs must name at least one key, or be absent')
  if (pure !== undefined && (typeof pure !== 'string' || !Object.hasOwn(WITHOUT_DAEMON, pure)))
    problems.push(`.pure must be one of ${Object.keys(WITHOUT_DAEMON).join(', ')}, or absent`)
  if (pure !== undefined && open !== undefined) problems.push('.pure is for rows that are proven')
  return problems
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}
