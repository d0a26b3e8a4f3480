/**
 * What removes or empties files and is given them otherwise than as arguments: handed on as a value
 * (`map(os.remove, names)`, `each(&:unlink)`, `x |> rm`), called on a value that is not followed (`it.delete()`), or
 * called with one. What it works on is then any place that the code names.
 * From the references of Python, Node.js, Perl, Raku, Ruby, PHP, Lua, Java, Go, Rust, Erlang, Elixir, Julia, R and Lisp.
 * @module
 */
import { fileUse } from './calls.ts'
import { joinedPaths } from './joined-paths.ts'
import type { Token } from './lexer.ts'
import { looksAbsolute, mark, type Reading } from './reading.ts'
import { readValue, resolve } from './values.ts'

/** Last parts of names, in small letters and without what joins words, that nothing else is called by. */
const REMOVERS: ReadonlySet<string> = new Set(
  `unlink unlinkat unlinksync rmdir rmdirsync rmtree rmsync removetree deletetree deletefile deletedir deletedirectory
deletedirectory/files deleteifexists deleterecursively removefile removedir removedirectory removedirall removeall
removelink removeitem removerecursive removerecursively removeentry removepathforcibly removedirectoryrecursive
removedirrecurse rmdirrecurse deldir deldirr rmrf spurt spew spewutf8 writetext writebytes delete! rm! rmrf! rmr rmove
fmove dirmove`.split(/\s+/),
)
/** Those that are given what they put into the file, not the file. */
const FILLERS: ReadonlySet<string> = new Set('spurt spew spewutf8 writetext writebytes'.split(' '))
/** Functions of Java that are given a path as a value of its own. */
const OF_FILES =
  /(?:^|\.)Files\.(?:write\w*|delete\w*|move|copy|create\w*|newBufferedWriter|newOutputStream|set\w+)$/

/** The same where nothing stands behind them: of a text or a list, what is taken out does. */
const REMOVERS_ALONE: ReadonlySet<string> = new Set(['delete', 'remove', 'destroy', 'truncate', 'writer'])

/** What is shown, defined, or looked for by its name is not handed on. */
const NOT_HANDED: ReadonlySet<string> = new Set(
  'import from use require def fn fun func function sub help patch'.split(' '),
)

function lastPart(name: string): string {
  return name
    .slice(name.lastIndexOf('.') + 1)
    .toLowerCase()
    .replaceAll(/[_-]/g, '')
}

/** Whether the name at `index` removes what its arguments do not tell. */
function removesUntold(reading: Reading, { text }: Token, index: number): boolean {
  const { language, tokens } = reading
  const last = lastPart(text)
  const isAlone = REMOVERS_ALONE.has(last)
  const isRemover =
    REMOVERS.has(last) ||
    OF_FILES.test(text) ||
    (text === 'remove' && language === 'other') ||
    fileUse(resolve(reading, text), language) === 'write'
  if (!isAlone && !isRemover) return false
  const before = tokens[index - 1]
  if (before?.kind === 'name' && NOT_HANDED.has(before.text)) return false
  const isCall = mark(reading, index + 1) === '('
  if (isAlone && !isRemover)
    return isCall
      ? text.includes('.') && mark(reading, index + 2) === ')' && language !== 'python'
      : (language === 'ruby' || language === 'perl') &&
          (text.includes('.') || before?.text === ':') &&
          endsHere(tokens[index + 1])
  // What follows such a value is told by the value.
  const owner = text.slice(0, text.lastIndexOf('.'))
  const isFollowed = reading.values.get(owner)?.kind === 'text' || (owner === '' && text.startsWith('.'))
  if (isCall && isFollowed && (language === 'python' || language === 'perl')) return false
  if (isCall && (FILLERS.has(last) || OF_FILES.test(text))) return true
  if (isCall) return readValue(reading, index + 2).value.kind === 'unknown'
  const next = tokens[index + 1]
  return endsHere(next) || (next?.kind === 'mark' && next.text !== '=' && next.text !== '{')
}

/** What a statement of Perl and Ruby ends with. */
const MODIFIERS: ReadonlySet<string> = new Set([
  'for',
  'foreach',
  'if',
  'unless',
  'while',
  'until',
  'end',
  'rescue',
])

function endsHere(next: Token | undefined): boolean {
  if (next?.kind === 'name') return MODIFIERS.has(next.text)
  return next === undefined || (next.kind === 'mark' && ')}];,\n|'.includes(next.text))
}

/** Functions of PHP that are handed on by their names, and files that its objects open to write. */
function isNamed(reading: Reading, { kind, text }: Token, index: number): boolean {
  if (reading.language !== 'php' || kind === 'number') return false
  if (kind === 'name' && text.endsWith('.openFile'))
    return (
      /^[waxc+r]\+?/.test(reading.tokens[index + 2]?.text ?? '') && reading.tokens[index + 2]?.text !== 'r'
    )
  return kind === 'string' && REMOVERS.has(text) && [',', '(', '='].includes(mark(reading, index - 1))
}

/** Texts that a whole path is put together with. */
const PIECE = /^\/?(?:(?:etc|usr|var|boot|home|lib|bin|sbin|opt|root|srv|dev|sys|proc)(?:\/|$)|$)/

/** Takes down that any place which the code names may be removed. */
export function noteRemovers(reading: Reading): void {
  const { tokens, unknownUses } = reading
  if (unknownUses.has('write')) return
  const isNamedWhole = tokens.some(({ kind, text }) => kind === 'string' && looksAbsolute(text.trim()))
  if (!isNamedWhole && !tokens.some(({ kind, text }) => kind === 'string' && PIECE.test(text))) return
  const found = tokens.some(
    (token, index) =>
      (token.kind === 'name' && removesUntold(reading, token, index)) || isNamed(reading, token, index),
  )
  if (found && (isNamedWhole || joinedPaths(reading).length > 0)) unknownUses.add('write')
}
