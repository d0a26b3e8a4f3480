/**
 * Tables and short forms for people: columns of one width, times as short as they can be read, ids as short as they
 * are told apart.
 * @module
 */
import { misuse, SassError } from '../../errors.ts'

/** Rows of cells as lines; every column but the last is as wide as its widest cell. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = []
  for (const row of rows)
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length)
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  )
}

/** `75s`, `12m`, `3h`: enough to know which one is meant. */
export function shortDuration(seconds: number): string {
  if (seconds < 120) return `${seconds}s`
  return seconds < 7_200 ? `${Math.floor(seconds / 60)}m` : `${Math.floor(seconds / 3_600)}h`
}

/** Shorter ones are guessed too easily by mistake. */
const SHORTEST_PREFIX = 4
const SHORT_ID = 8
const WHOLE_ID = /^[0-9a-f]{32}$/

/**
 * An id, or its beginning, as it is listed: people also have it from logs and tools that write a UUID, in groups with
 * dashes (RFC 9562, section 4), in capitals or in braces. Whatever is no id stays as it is.
 */
export function plainId(text: string): string {
  const bare = text.replace(/^(?:urn:uuid:|\{)/i, '').replace(/\}$/, '')
  const digits = bare.replaceAll('-', '')
  const isGrouped = !bare.includes('-') || /^[0-9a-f]{8}(?:-[0-9a-f]{0,12}){1,4}$/i.test(bare)
  return isGrouped && /^[0-9a-f]{4,32}$/i.test(digits) ? digits.toLowerCase() : text
}

/** As many digits as tell these ids apart, and no fewer than people expect. */
export function shortIds(ids: readonly string[]): (id: string) => string {
  for (let length = SHORT_ID; length < 32; length++) {
    if (new Set(ids.map((id) => id.slice(0, length))).size === ids.length) return (id) => id.slice(0, length)
  }
  return (id) => id
}

/** What kind of id it is, and the command that lists them: `execution`, `sass-edge jobs --all`. */
export type IdKind = { readonly name: string; readonly listedBy: string }

/**
 * Says no to what is no id and no beginning of one; true for a whole one.
 * @throws SassError USAGE
 */
export function isWholeId(text: string, { listedBy }: IdKind): boolean {
  if (WHOLE_ID.test(text)) return true
  if (/^[0-9a-f]{4,31}$/.test(text)) return false
  throw misuse(
    `${JSON.stringify(text.slice(0, 40))} is no id: copy at least ${SHORTEST_PREFIX} digits of one from ${listedBy}.`,
  )
}

/** A whole id as it is; of a beginning the one that is listed. Errors as of `pickId`. */
export async function findId(
  given: string,
  list: () => Promise<readonly string[]>,
  kind: IdKind,
): Promise<string> {
  const text = plainId(given)
  return isWholeId(text, kind) ? text : pickId(text, await list(), kind)
}

/** `1 rule`, `2 rules`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

/**
 * The one of `ids` that begins so.
 * @throws SassError USAGE for what is no id, PROCESS_NOT_FOUND where none or more than one begins so
 */
export function pickId(given: string, ids: readonly string[], kind: IdKind): string {
  const text = plainId(given)
  isWholeId(text, kind)
  const found = ids.filter((id) => id.startsWith(text))
  const [only] = found
  if (found.length === 1 && only !== undefined) return only
  const what = found.length === 0 ? `No ${kind.name}` : `More than one ${kind.name}`
  throw new SassError(
    'PROCESS_NOT_FOUND',
    `${what} has an id that begins with ${text}; see ${kind.listedBy}.`,
  )
}
