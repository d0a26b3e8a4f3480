/**
 * The hidden name of a file that is not whole yet, beside its place. Whoever lists, shows or merges what a session has
 * changed leaves such names out: they are the daemon's own.
 * @module
 */

const HEAD = '.sass-edge-'
const TAIL = '.part'
const KEY = /^[0-9a-f]{2,64}$/

/** `key` is lower-case hex. */
export function partialName(key: string): string {
  return `${HEAD}${key}${TAIL}`
}

/** True for a name that `partialName` makes. */
export function isPartialName(name: string): boolean {
  return (
    name.startsWith(HEAD) &&
    name.endsWith(TAIL) &&
    KEY.test(name.slice(HEAD.length, name.length - TAIL.length))
  )
}
