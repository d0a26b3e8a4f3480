/**
 * Whether what a command does with a path may touch a place: a file, or a directory with all beneath it. A path that a
 * shell would expand touches what it could expand to, one of which only the beginning is known touches everything
 * beneath that, and one that is written or removed touches what lies in it. Whoever only reads or names a directory
 * does not touch what lies deeper: `ls /srv` must remain possible where /srv/secret is denied.
 * Rules: docs/responses.md, how a capability set is read.
 * @module
 */
import { isWithin } from '../base/text/lexical-path.ts'
import type { UsedPath } from './13policy/effective.ts'
import { compileGlob, couldFit, hasWild } from './13policy/rules/glob-part.ts'

/** In some shells it also stands for any number of directories. */
const ANY_DEPTH = '**'

/** Whether the part of the path could expand to that of the place, which may have stars of its own. */
function couldBe(part: string, glob: string): boolean {
  return part === glob || ((hasWild(glob) || hasWild(part)) && couldFit(part, compileGlob(glob), true))
}

/** Part by part; the place itself, what is beneath it, and with `above` also what it lies in. */
function couldExpandTo(place: string, path: string, above: boolean): boolean {
  const parts = path.split('/')
  const wanted = place.split('/')
  const deep = parts.findIndex((part) => part.includes(ANY_DEPTH))
  const known = deep === -1 ? parts : parts.slice(0, deep)
  if (deep === -1 && !above && parts.length < wanted.length) return false
  return wanted.every((part, index) => {
    const glob = known[index]
    return glob === undefined || couldBe(part, glob)
  })
}

/** `place` is absolute and normalised, or `*` for everything. */
export function mayTouch(place: string, { path, use, isGlob, isOpaque }: UsedPath): boolean {
  if (place === '*' || isWithin(place, path)) return true
  if (isOpaque && isWithin(path, place)) return true
  const isChanged = use === 'write'
  return isGlob ? couldExpandTo(place, path, isChanged || isOpaque) : isChanged && isWithin(path, place)
}
