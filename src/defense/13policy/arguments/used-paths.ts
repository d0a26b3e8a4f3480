/**
 * Words as paths: absolute, normalised lexically, and how far they are known. No file is looked at and no link is
 * followed here.
 * @module
 */
import { isWithin, resolvePath } from '../../../base/text/lexical-path.ts'
import type { PathUse, UsedPath } from '../effective.ts'
import { joinPath } from '../shell/join-path.ts'
import type { ShellWord } from '../shell/shell.ts'

/** Longer than any path that Linux takes, PATH_MAX; what is longer is no path. */
const PATH_CHARACTERS = 4_096

export type Place = {
  readonly cwd: string | undefined
  readonly home: string
  /** Where the request runs, whatever its `cd` have done; absolute. */
  readonly root: string
}

/** Whether a word that may be anything is meant as a path: a slash, a tilde, a dot at its start; and no URL. */
export function looksLikePath(text: string): boolean {
  if (text.length === 0 || text.length > PATH_CHARACTERS) return false
  const first = text.charAt(0)
  if (first === '/' || first === '~') return true
  if (text.includes('://') || text.includes('\n')) return false
  return first === '.' || text.includes('/')
}

const OF_PROCESS = /^\/proc\/(?:<\w+>)+(\/(?:task\/[^/]+\/)?(?:(?:root|cwd)\/[^<]+|environ|mem|auxv|maps))$/

/** The directories of a process, which lie elsewhere than they say. */
const PROCESS_LINK = /^\/+proc\/[^/]+\/(?:task\/[^/]+\/)?(?:cwd|root|fd\/[^/]+)(?=\/)/

/** `file:///x`, and as SQLite takes it `file:/x?mode=ro`. */
const FILE_ADDRESS = /^file:(?:\/\/)?(?:localhost(?=\/))?(?=[/~.])/

function pathOfAddress(address: string): string {
  const path = address.replace(FILE_ADDRESS, '').replace(/\?.*$/s, '')
  return path.replaceAll(/%([0-7][0-9a-f])/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
}

/**
 * `word` as paths: one, or two where a program may itself read a tilde as the home directory. A word that is too long
 * for a path gives none.
 */
export function pathsOf(word: ShellWord, use: PathUse, place: Place): readonly UsedPath[] {
  let { text } = word
  if (text === '' && word.opaque === undefined) return []
  if (text.length > PATH_CHARACTERS || text.includes('\0')) return []
  if (FILE_ADDRESS.test(text)) text = pathOfAddress(text)
  else if (text.includes('://')) return []
  let isOpaque = false
  if (word.opaque !== undefined) {
    isOpaque = true
    // The number of a process does not matter where its directories, its environment or its memory are meant.
    const inProcess = OF_PROCESS.exec(word.stands ?? '')?.[1]
    if (inProcess !== undefined)
      return pathsOf({ text: `/proc/self${inProcess}`, isGlob: word.isGlob, opaque: undefined }, use, place)
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
  const other = homeOf(text, place.home)
  if (other !== undefined) paths.push({ path: other, use, isGlob: word.isGlob, isOpaque })
  if (place.cwd === undefined) paths.push({ path: '/', use, isGlob: false, isOpaque: true })
  else {
    const isGlob = word.isGlob || place.cwd.includes('*')
    paths.push({ path: joinPath(place.cwd, text), use, isGlob, isOpaque })
  }
  return paths
}

/** `~pi/x` in the home directory of another user, who may not be there; then it is a name like any other. */
function homeOf(text: string, home: string): string | undefined {
  if (!text.startsWith('~')) return undefined
  const [start, name = ''] = /^~([A-Za-z_][\w.-]{0,63})(?=\/|$)/.exec(text) ?? []
  if (start === undefined) return undefined
  const place = name === 'root' ? '/root' : home.endsWith(`/${name}`) ? home : `/home/${name}`
  return resolvePath(place, `.${text.slice(start.length)}`)
}

/** Whether whatever a pattern stands for is the caller's own, in a directory beneath where the request runs. */
export function liesWithin(pattern: string, cwd: string | undefined, workspace: string): boolean {
  const [first = '', ...more] = pattern.replace(/^\.\//, '').split('/')
  const isPlain = more.length > 0 && /^[\w-][\w.-]*$/.test(first) && !more.includes('..')
  return isPlain && cwd !== undefined && workspace !== '/' && isWithin(workspace, cwd)
}
