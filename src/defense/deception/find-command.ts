/**
 * `find` as a mere look: paths, then an expression of tests that read names and inodes, and of printing to stdout.
 * Refused are all actions that start, delete or write (-exec, -ok, -delete, -fprint, -fls and their kin), and the
 * tests that are not certainly cheap (-regex) or read a list of files (-files0-from).
 * Source: find(1) of GNU findutils.
 * @module
 */

/** Primaries without an argument. */
const ALONE: ReadonlySet<string> = new Set([
  ...['!', '(', ')', ',', '-not', '-a', '-and', '-o', '-or', '-true', '-false', '-print', '-print0', '-ls'],
  ...['-prune', '-quit', '-depth', '-xdev', '-mount', '-empty', '-nouser', '-nogroup', '-readable'],
  ...['-writable', '-executable', '-daystart', '-noleaf', '-ignore_readdir_race'],
])
/** Primaries with one; none of these arguments names what would be opened, but for -newer, which is looked at. */
const WITH_VALUE: ReadonlySet<string> = new Set([
  ...[
    '-name',
    '-iname',
    '-path',
    '-ipath',
    '-wholename',
    '-iwholename',
    '-lname',
    '-ilname',
    '-type',
    '-xtype',
  ],
  ...['-size', '-mtime', '-atime', '-ctime', '-mmin', '-amin', '-cmin', '-user', '-group', '-uid', '-gid'],
  ...['-perm', '-links', '-inum', '-fstype', '-maxdepth', '-mindepth', '-printf'],
])

/** `args` without the program; a path is what `isHarmlessPath` says. No path means the working directory. */
export function isHarmlessFind(args: readonly string[], isHarmlessPath: (path: string) => boolean): boolean {
  let at = 0
  while (args[at] === '-P' || args[at] === '-H') at++
  for (; at < args.length && !startsExpression(args[at] ?? ''); at++)
    if (!isHarmlessPath(args[at] ?? '')) return false
  for (; at < args.length; at++) {
    const primary = args[at] ?? ''
    if (ALONE.has(primary)) continue
    at++
    const value = args[at]
    if (value === undefined) return false
    if (primary === '-newer' ? !isHarmlessPath(value) : !WITH_VALUE.has(primary)) return false
  }
  return true
}

function startsExpression(argument: string): boolean {
  return (
    argument.startsWith('-') || argument === '(' || argument === ')' || argument === '!' || argument === ','
  )
}
