/**
 * Patches as `git diff --binary` writes them and `git apply` takes them: heads with modes, renames and blob names, hunks,
 * and literal binary content. Text has one character for each byte, as the names and lines of a patch need not be UTF-8.
 * Sources: git's diff-format and diff-generate-patch; apply.c and base85.c of git.
 * @module
 */

import type { BytePath } from '../files/paths.ts'

/** What git keeps of a file. */
export type GitMode = '100644' | '100755' | '120000'

export type GitSide = {
  readonly path: BytePath
  readonly mode: GitMode
  /** SHA-1 of the blob, lower-case hex. */
  readonly blob: string
}

export type GitBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'hunks'; readonly text: string }
  /** Of the new content. */
  | { readonly kind: 'binary'; readonly sizeBytes: number; readonly deflated: Uint8Array }
  /** Too large to be written out: git cannot apply this. */
  | { readonly kind: 'omitted' }

const NO_BLOB = '0'.repeat(40)
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~'
const LINE_BYTES = 52
const LETTERS = 26

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ '\x07': '\\a', '\b': '\\b', '\t': '\\t', '\n': '\\n', '\v': '\\v' },
  ...{ '\f': '\\f', '\r': '\\r', '"': '\\"', '\\': '\\\\' },
}

/** A name as git quotes it (quote.c, core.quotePath=true). */
export function quotedPath(path: BytePath): string {
  let isPlain = true
  let quoted = ''
  for (const char of path) {
    const code = char.charCodeAt(0)
    const escaped =
      ESCAPES[char] ?? (code < 0x20 || code >= 0x7f ? `\\${code.toString(8).padStart(3, '0')}` : undefined)
    if (escaped !== undefined) isPlain = false
    quoted += escaped ?? char
  }
  return isPlain ? path : `"${quoted}"`
}

/** Behind `---` and `+++` a name with a space is followed by a tab, so that it is seen where it ends. */
function fileName(prefix: string, path: BytePath): string {
  const quoted = quotedPath(prefix + path)
  return quoted.startsWith('"') || !path.includes(' ') ? quoted : `${quoted}\t`
}

/** Lines of at most 52 bytes, each with its length as a letter (base85.c). */
export function base85Lines(bytes: Uint8Array): string {
  let text = ''
  for (let start = 0; start < bytes.length; start += LINE_BYTES) {
    const length = Math.min(LINE_BYTES, bytes.length - start)
    text += String.fromCharCode(length <= LETTERS ? 0x40 + length : 0x60 + length - LETTERS)
    for (let at = start; at < start + length; at += 4) {
      let word = 0
      for (let byte = 0; byte < 4; byte++)
        word = word * 256 + (at + byte < start + length ? (bytes[at + byte] ?? 0) : 0)
      let group = ''
      for (let digit = 0; digit < 5; digit++) {
        group = ALPHABET.charAt(word % 85) + group
        word = Math.floor(word / 85)
      }
      text += group
    }
    text += '\n'
  }
  return text
}

/** @param similarity of a rename, in percent */
export function gitPatch(
  before: GitSide | undefined,
  after: GitSide | undefined,
  body: GitBody,
  similarity: number | undefined,
): string {
  const oldPath = before?.path ?? after?.path ?? ''
  const newPath = after?.path ?? before?.path ?? ''
  let text = `diff --git ${quotedPath(`a/${oldPath}`)} ${quotedPath(`b/${newPath}`)}\n`
  const mode =
    before !== undefined && after !== undefined && before.mode === after.mode ? ` ${after.mode}` : ''
  if (before === undefined && after !== undefined) text += `new file mode ${after.mode}\n`
  else if (after === undefined && before !== undefined) text += `deleted file mode ${before.mode}\n`
  else if (before !== undefined && after !== undefined && before.mode !== after.mode)
    text += `old mode ${before.mode}\nnew mode ${after.mode}\n`
  if (similarity !== undefined)
    text += `similarity index ${similarity}%\nrename from ${quotedPath(oldPath)}\nrename to ${quotedPath(newPath)}\n`
  const blobs = [before?.blob ?? NO_BLOB, after?.blob ?? NO_BLOB]
  if (blobs[0] !== blobs[1]) text += `index ${blobs[0]}..${blobs[1]}${mode}\n`
  const [oldName, newName] = [
    before === undefined ? '/dev/null' : fileName('a/', oldPath),
    after === undefined ? '/dev/null' : fileName('b/', newPath),
  ]
  switch (body.kind) {
    case 'none':
      return text
    case 'hunks':
      return body.text === '' ? text : `${text}--- ${oldName}\n+++ ${newName}\n${body.text}`
    case 'binary':
      return `${text}GIT binary patch\nliteral ${body.sizeBytes}\n${base85Lines(body.deflated)}\n`
    case 'omitted':
      return `${text}Binary files ${oldName.trimEnd()} and ${newName.trimEnd()} differ\n`
  }
}

/** How much of a file has stayed, as git says it of a rename. */
export function similarityOf(oldLines: number, newLines: number, inserted: number, deleted: number): number {
  const most = Math.max(oldLines, newLines)
  if (most === 0) return 100
  const kept = Math.min(oldLines - deleted, newLines - inserted)
  return Math.max(1, Math.min(99, Math.floor((kept * 100) / most)))
}
