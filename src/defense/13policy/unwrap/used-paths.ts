/**
 * Words as paths: absolute, normalised lexically, and how far they are known. No file is looked at and no link is
 * followed here.
 * @module
 */
import { resolvePath } from '../../../base/lexical-path.ts'
import type { PathUse, UsedPath } from '../effective.ts'
import { joinPath } from '../join-path.ts'
import type { ShellWord } from '../shell/shell.ts'
import { PART_MARK } from '../shell/words.ts'

/** Longer than any path that Linux takes, PATH_MAX; what is longer is no path. */
const PATH_CHARACTERS = 4_096

export type Place = { readonly cwd: string | undefined; readonly home: string }

/** Whether a word that may be anything is meant as a path: a slash, a tilde, a dot at its start; and no URL. */
export function looksLikePath(text: string): boolean {
  if (text.length === 0 || text.length > PATH_CHARACTERS) return false
  const first = text.charAt(0)
  if (first === '/' || first === '~') return true
  if (text.includes('://') || text.includes('\n')) return false
  return first === '.' || text.includes('/')
}

/** The directories of a process, which lie elsewhere than they say. */
const PROCESS_LINK = /^\/+proc\/[^/]+\/(?:task\/[^/]+\/)?(?:cwd|root|fd\/[^/]+)(?=\/)/

/**
 * `word` as paths: one, or two where a program may itself read a tilde as the home directory. A word that is too long
 * for a path gives none.
 */
export function pathsOf(word: ShellWord, use: PathUse, place: Place): readonly UsedPath[] {
  let { text } = word
  if (text === '' && word.opaque === undefined) return []
  if (text.length > PATH_CHARACTERS || text.includes('\0')) return []
  if (text.startsWith('file://')) text = text.slice('file://'.length)
  else if (text.includes('://')) return []
  let isOpaque = false
  if (word.opaque !== undefined) {
    // One name that is not known is what a `*` stands for.
    const parts = word.stands?.includes(PART_MARK) ? word.stands.replaceAll(PART_MARK, '*') : undefined
    if (parts !== undefined && !parts.includes('<') && place.cwd !== undefined)
      return pathsOf({ text: parts, isGlob: true, opaque: undefined }, use, place)
    isOpaque = true
    // Of an expanded word the beginning is known, and of that what stands before the last slash is a directory.
    if (text === '') return [{ path: '/', use, isGlob: false, isOpaque }]
    // What follows may be nothing, or the known part one of several values.
    const whole = text.endsWith('/') ? [] : pathsOf({ ...word, text, opaque: undefined }, use, place)
    if (whole.length > 0)
      return [
        ...whole,
        ...pathsOf({ ...word, text: text.slice(0, text.lastIndexOf('/') + 1) || './' }, use, place),
      ]
    text = text.slice(0, text.lastIndexOf('/') + 1) || './'
  }
  if (text.startsWith('/')) {
    // What stands behind such a link goes up from where it leads to.
    const link = text.includes('..') ? PROCESS_LINK.exec(text)?.[0] : undefined
    return [{ path: joinPath('/', link ?? text), use, isGlob: word.isGlob, isOpaque }]
  }
  const paths: UsedPath[] = []
  if (text === '~' || text.startsWith('~/')) {
    paths.push({ path: resolvePath(place.home, `.${text.slice(1)}`), use, isGlob: word.isGlob, isOpaque })
  }
  if (place.cwd === undefined) paths.push({ path: '/', use, isGlob: false, isOpaque: true })
  else paths.push({ path: joinPath(place.cwd, text), use, isGlob: word.isGlob, isOpaque })
  return paths
}
