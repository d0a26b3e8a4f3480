/**
 * Where comments of code end: of a line and of a block, as each language begins them.
 * From the references of the languages named.
 * @module
 */
import type { Language } from '../unwrap/inner.ts'

const HASH_COMMENTS: ReadonlySet<Language> = new Set(['python', 'perl', 'ruby', 'php', 'awk', 'other'])
const SLASH_COMMENTS: ReadonlySet<Language> = new Set(['javascript', 'php'])

/** `#'name`, `#p"/x"` and `#(...)` of Lisp, `#define` of C: no comments. */
const HASH_FORM = /^#(?:['(:\\]|[pP]"|[ \t]{0,4}define\b)/
const HASH_FORM_CHARACTERS = 12

function beginsLine(text: string, at: number, language: Language): boolean {
  if (text.charAt(at) === '#' && HASH_COMMENTS.has(language))
    return language !== 'other' || !HASH_FORM.test(text.slice(at, at + HASH_FORM_CHARACTERS))
  if (text.startsWith('//', at)) return SLASH_COMMENTS.has(language)
  return language === 'lua' && text.startsWith('--', at) && !text.startsWith('--[[', at)
}

function blockEnd(text: string, at: number, language: Language): string {
  if (text.startsWith('/*', at) && SLASH_COMMENTS.has(language)) return '*/'
  return text.startsWith('--[[', at) && language === 'lua' ? ']]' : ''
}

/** Where the comment ends that begins at `at`; undefined where none does. */
export function commentEnd(text: string, at: number, language: Language): number | undefined {
  if (beginsLine(text, at, language)) {
    const end = text.indexOf('\n', at)
    return end < 0 ? text.length : end
  }
  const block = blockEnd(text, at, language)
  if (block === '') return undefined
  const end = text.indexOf(block, at + 2)
  return end < 0 ? text.length : end + block.length
}
