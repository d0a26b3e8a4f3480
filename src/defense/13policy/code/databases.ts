/**
 * Databases that code keeps in files: opened by name, and written where a text of the code is a statement that changes
 * one.
 * From the references of Python's sqlite3, PHP's SQLite3 and PDO, Ruby's sqlite3 and SQLite's interface for Tcl.
 * @module
 */
import { addPath, type Reading } from './reading.ts'

/** What opens a file that holds a database; the file stands first. */
const OPENERS: ReadonlySet<string> = new Set(['sqlite3.connect', 'SQLite3', 'SQLite3.Database.new', 'PDO'])
/** `sqlite:/x` of PDO. */
const DATA_SOURCE = /^sqlite2?:/

const CHANGING_STATEMENT = /^\s{0,8}(?:insert|update|delete|drop|alter|create|replace)\s/i
/** A file beside the one that is opened: used as that is, or written. */
const ATTACHED = /\battach\s{1,8}(?:database\s{1,8})?'([^']{1,4096})'/i
const COPIED_INTO = /\bvacuum\s{1,8}(?:\w{1,64}\s{1,8})?into\s{1,8}'([^']{1,4096})'/i

/** In the braces of Tcl. */
const CHANGING_BLOCK = /[{"]\s{0,8}(?:insert|update|delete|drop|alter|create|replace)\s/i

export function opensDatabase(name: string): boolean {
  return OPENERS.has(name)
}

/** Whether a text of Tcl holds a statement that changes a database. */
export function changesInBlock(text: string): boolean {
  return CHANGING_BLOCK.test(text)
}

/** Adds how the files of databases are used. */
export function settleDatabases(reading: Reading): void {
  const { databases, tokens } = reading
  if (databases.length === 0) return
  const changes = tokens.some(({ kind, text }) => kind === 'string' && CHANGING_STATEMENT.test(text))
  for (const { kind, text } of tokens) {
    if (kind !== 'string') continue
    const attached = ATTACHED.exec(text)?.[1]
    if (attached !== undefined) databases.push({ kind: 'text', text: attached, isOpaque: false })
    const copy = COPIED_INTO.exec(text)?.[1]
    if (copy !== undefined) addPath(reading, { kind: 'text', text: copy, isOpaque: false }, 'write')
  }
  for (const source of databases) {
    const file = source.kind === 'text' ? { ...source, text: source.text.replace(DATA_SOURCE, '') } : source
    addPath(reading, file, changes ? 'write' : 'read')
  }
}
