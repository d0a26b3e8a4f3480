/**
 * A word as a POSIX shell takes it, for commands that are suggested and pasted.
 * @module
 */

/** A path as a word of the shell, for a command to paste. */
export function shellWord(path: string): string {
  return /^[A-Za-z0-9_./@%+=:,-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}
