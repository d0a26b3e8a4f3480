/**
 * Interpreters: the scripts of sed and awk, which are read, and where all others have their code from. What that code
 * does nobody reads.
 * Rules: docs/policy.md, "What is not read"; sed(1), awk(1) and the manual pages of the interpreters.
 * @module
 */

import { tableOf } from '../../../base/table.ts'
import { type Call, has, type Inner } from '../arguments/inner.ts'
import { programClass } from '../programs/program-classes.ts'
import { innerOfScript, isStandardInput, unreadStdin } from './shell-invocation.ts'

const FILTERS = ['awk', 'sed'] as const
/** Options by which these are given their script. */
const SCRIPT_OPTIONS: readonly string[] = ['-e', '--expression', '--source', '-f', '--file', '-E', '--exec']
/** And those that name a file of it. */
export const SCRIPT_FILES = tableOf<readonly string[]>({
  awk: ['-f', '--file', '-E', '--exec', '-i', '--include', '-l', '--load'],
  sed: ['-f', '--file'],
})
/** What of the words may be a file: some tools have words of their own in its place (`deno test`). */
const FILE = /[./]/
const CODE_OPTIONS: readonly string[] = [
  '-e',
  '--e',
  '-E',
  '-c',
  '-r',
  '-eval',
  '--eval',
  '-p',
  '--print',
  '--exec',
]
/** They say what to do in place of a program. */
const INFORMATION: readonly string[] = ['--version', '-V', '-v', '--help', '-h', '-m']

/** What the interpreter that `call` is runs; nothing where it is none. */
export function innerOfInterpreter(call: Call): readonly Inner[] {
  const filter = FILTERS.find((name) => call.names.includes(name))
  if (filter !== undefined) return innerOfFilter(call, filter)
  if (programClass(call.names) !== 'interpreter') return NOTHING
  const { values, operands } = call.parsed
  const codes = values.filter(({ option, use }) => use === 'code' || CODE_OPTIONS.includes(option))
  if (codes.length > 0)
    return codes.map(({ option, word }) => ({
      kind: 'code',
      filter: undefined,
      word,
      via: `${call.names[0]} ${option}`,
    }))
  const [first] = operands
  if (first === undefined)
    return values.length > 0 || has(call.parsed, ...INFORMATION) ? NOTHING : unreadStdin(call.stdin)
  if (isStandardInput(first.text)) return unreadStdin(call.stdin)
  return FILE.test(first.text) || first.opaque !== undefined ? innerOfScript(first) : NOTHING
}

function innerOfFilter(call: Call, filter: (typeof FILTERS)[number]): readonly Inner[] {
  const { values, operands } = call.parsed
  const inner: Inner[] = []
  for (const { option, word, use } of values) {
    if (use === 'code') inner.push({ kind: 'code', filter, word, via: `${filter} ${option}` })
    else if (SCRIPT_FILES[filter]?.includes(option))
      inner.push(...(isStandardInput(word.text) ? unreadStdin(call.stdin) : innerOfScript(word)))
  }
  const [first] = operands
  if (first !== undefined && !has(call.parsed, ...SCRIPT_OPTIONS))
    inner.push({ kind: 'code', filter, word: first, via: filter })
  return inner
}

const NOTHING: readonly Inner[] = Object.freeze([])
