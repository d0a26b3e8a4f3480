/**
 * How programs read their arguments: which options take a value, and which values and operands are paths, read or
 * written. The data are in program-table.ts, a line for each program:
 *
 *     NAMES  |  OPTIONS  |  OPERANDS  |  FLAGS
 *
 * An option that takes a value ends in `:`, and in `:?` where only an attached one counts. After that comes what the
 * value is: `r` and `w` a path that is read or written, `s` a text that a shell runs, `p` a program alone, `x` code of
 * an interpreter, nothing for any other text. Operands are `r`, `w`, `m` (a path, use unknown), `d` (a path that is
 * only looked at), `?` (a path where it looks like one) or `-` (no path); one of them may have a star, and those behind it are counted from the end.
 * Flags: `stops` ends the options at the first operand; `words` have long names after a single dash; `plain` takes no
 * options; `plus` also takes `+x`; `ends=-c,-m` are options after which none follows; `given=-e,-f` are options that
 * take the place of the first operand.
 * @module
 */
import type { PathUse } from '../effective.ts'
import { PROGRAM_LINES } from './program-table.ts'

/** What the value of an option is. `unknown`: the table does not have the option. */
export type OptionUse = PathUse | 'text' | 'shell' | 'program' | 'code' | 'unknown'
export type OperandUse = PathUse | 'text' | 'unknown'

export type ProgramForm = {
  readonly options: ReadonlyMap<string, { readonly use: OptionUse; readonly isAttached: boolean }>
  /** Undefined: the program is not known, and a word counts as a path where it looks like one. */
  readonly operands: OperandForm | undefined
  readonly stops: boolean
  readonly words: boolean
  readonly plain: boolean
  readonly plus: boolean
  readonly ends: ReadonlySet<string>
  readonly given: readonly string[]
}

export type OperandForm = {
  readonly first: readonly OperandUse[]
  readonly repeated: OperandUse | undefined
  readonly last: readonly OperandUse[]
}

const OPTION_USES: ReadonlyMap<string, OptionUse> = new Map([
  ['', 'text'],
  ['r', 'read'],
  ['w', 'write'],
  ['m', 'mention'],
  ['s', 'shell'],
  ['p', 'program'],
  ['x', 'code'],
])
const OPERAND_USES: ReadonlyMap<string, OperandUse> = new Map([
  ['r', 'read'],
  ['w', 'write'],
  ['m', 'mention'],
  ['d', 'mention'],
  ['-', 'text'],
  ['?', 'unknown'],
])

/** Options that name a file to write, whatever the program. */
const OUTPUTS: ProgramForm['options'] = new Map(
  '-o --output --output-file --outfile --out-file --out --logfile --log-file --output-dir --outdir --out-dir --outputpath --output-path --result-file --export-dir'
    .split(' ')
    .map((name) => [name, { use: 'write', isAttached: false }]),
)

export const UNKNOWN_FORM: ProgramForm = Object.freeze({
  options: OUTPUTS,
  operands: undefined,
  stops: false,
  words: false,
  plain: false,
  plus: false,
  ends: new Set<string>(),
  given: [],
})

function parseOptions(text: string): ProgramForm['options'] {
  const options = new Map<string, { use: OptionUse; isAttached: boolean }>()
  for (const entry of text.split(' ')) {
    const colon = entry.indexOf(':')
    if (colon <= 0) continue
    const isAttached = entry[colon + 1] === '?'
    const use = OPTION_USES.get(entry.slice(colon + (isAttached ? 2 : 1))) ?? 'text'
    options.set(entry.slice(0, colon), { use, isAttached })
  }
  return options
}

function parseOperands(text: string): OperandForm | undefined {
  if (text === '') return undefined
  const first: OperandUse[] = []
  const last: OperandUse[] = []
  let repeated: OperandUse | undefined
  for (const entry of text.split(' ')) {
    const use = OPERAND_USES.get(entry.charAt(0)) ?? 'text'
    if (entry.endsWith('*')) repeated = use
    else if (repeated === undefined) first.push(use)
    else last.push(use)
  }
  return { first, repeated, last }
}

function parseLine(line: string): readonly [readonly string[], ProgramForm] {
  const [names = '', options = '', operands = '', flags = ''] = line.split('|').map((part) => part.trim())
  const words = flags.split(' ')
  const listed = (name: string) =>
    words.flatMap((word) => (word.startsWith(`${name}=`) ? word.slice(name.length + 1).split(',') : []))
  const form: ProgramForm = {
    options: parseOptions(options),
    operands: parseOperands(operands),
    stops: words.includes('stops'),
    words: words.includes('words'),
    plain: words.includes('plain'),
    plus: words.includes('plus'),
    ends: new Set(listed('ends')),
    given: listed('given'),
  }
  return [names.split(' '), form]
}

const FORMS: ReadonlyMap<string, ProgramForm> = new Map(
  PROGRAM_LINES.flatMap((line) => {
    const [names, form] = parseLine(line)
    return names.map((name) => [name, form] as const)
  }),
)

/** The form of the first of `names` that the table has. */
export function formOf(names: readonly string[]): ProgramForm {
  for (const name of names) {
    const form = FORMS.get(name)
    if (form !== undefined) return form
  }
  return UNKNOWN_FORM
}

/** What the operand at `index` of `count` is, where the first `given` ones are given by options instead. */
export function operandUse(form: OperandForm, index: number, count: number): OperandUse {
  // The last ones win: `cp a b` has its target, `cp a` has none.
  const fromEnd = index - (count - form.last.length)
  if (fromEnd >= 0 && index >= form.first.length && count > 1) return form.last[fromEnd] ?? 'text'
  return form.first[index] ?? form.repeated ?? 'text'
}
