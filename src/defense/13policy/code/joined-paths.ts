/**
 * Whole paths that code puts together of texts wherever it does so: `[os.path.join("/", "etc")]`, `["", "etc"].join("/")`.
 * What is used otherwise than by its name may be any of them. Asked for only where something is used in such a way.
 * @module
 */
import { looksAbsolute, mark, type Reading } from './reading.ts'
import { CONCATENATORS, JOINERS, PLACES } from './value-calls.ts'
import { readSingle, readValue, resolve } from './values.ts'

/** Values that are tried; people write a few. */
const TRIED_MAX = 64
const LIST_JOINERS: ReadonlySet<string> = new Set([
  'join',
  'String.join',
  'implode',
  'table.concat',
  'sprintf',
  'format',
])

/** Whether a value that is put together may begin at `index`. */
function begins(reading: Reading, index: number): boolean {
  const { kind = 'mark', text = '' } = reading.tokens[index] ?? {}
  if (kind === 'string') return text === '' || text === '~' || text.startsWith('/')
  if (kind === 'mark') return text === '[' || (text === '{' && reading.language === 'lua')
  if (kind !== 'name') return false
  const name = resolve(reading, text)
  return (
    PLACES.has(name) ||
    JOINERS.has(name) ||
    CONCATENATORS.has(name) ||
    LIST_JOINERS.has(name) ||
    name.endsWith('.sep.join')
  )
}

export function joinedPaths(reading: Reading): readonly string[] {
  const paths: string[] = []
  let tried = 0
  for (let index = 0; index < reading.tokens.length && tried < TRIED_MAX; index++) {
    if (!begins(reading, index) || mark(reading, index - 1) === '+') continue
    tried += 1
    // What is called on it may hand it on, and changes nothing of what was put together.
    for (const read of [readSingle, readValue]) {
      const { value, next } = read(reading, index)
      if (next <= index + 1 || value.kind !== 'text' || value.isOpaque) continue
      if (looksAbsolute(value.text)) paths.push(value.text)
    }
  }
  return paths
}
