/**
 * Paths in code of which a part is put in when it runs: `/proc/${p}/environ`, `"/etc/%s/x" % n`, `dir + "/.netrc"`.
 * The part may be anything, so a `*` stands for it, and the path is judged as one that a shell would expand.
 * Rules: docs/policy.md, "Effective commands".
 * @module
 */

/** What stands for a part that is not known. */
export const HOLE = '*'

/**
 * Where a part is put into a text: `${x}`, `#{x}`, `$(x)`, `{x}`, `$x`, `@{x}`, `\(x)` without its stroke, `%s`, `%-5.2f`.
 * Of what stands in brackets no more is looked at than a short expression.
 */
const PUT_IN =
  /[$#@]\{[^}]{0,128}\}|\$?\{[^{}/]{0,64}\}|\$?\((?:[^()/]|\([^()/]{0,64}\)){0,64}\)|[$@]\w{1,64}(?:->)?(?:\[[^\]/]{0,32}\]|\{[^}/]{0,32}\})?|%(?:\(\w{1,32}\))?[-+0#]?\d{0,4}(?:\.\d{1,4})?[a-zA-Z]|~[apsw](?=\/|$)/g

/** A text that begins with the home directory, however the language puts it in. */
const HOME_PUT_IN =
  /^(?:\$\{(?:process\.env\.HOME|process\.env\[['"]HOME['"]\]|(?:require\(['"](?:node:)?os['"]\)|os)\.homedir\(\)|homedir\(\)|Bun\.env\.HOME|Deno\.env\.get\(['"]HOME['"]\))\}|\{(?:os\.environ\[['"]HOME['"]\]|os\.environ\.get\(['"]HOME['"]\)|os\.getenv\(['"]HOME['"]\)|(?:pathlib\.)?Path\.home\(\)|os\.path\.expanduser\(['"]~['"]\)|\$_(?:SERVER|ENV)\[['"]HOME['"]\])\}|#\{(?:ENV\[['"]HOME['"]\]|ENV\.fetch\(['"]HOME['"]\)|Dir\.home|Etc\.getpwuid\.dir|System\.user_home!?(?:\(\))?)\}|\$ENV\{['"]?HOME['"]?\}|\$_(?:SERVER|ENV)\[['"]?HOME['"]?\]|\$\((?:ENV\["HOME"\]|homedir\(\))\)|\$\{System\.getenv\(['"]HOME['"]\)\})(?=\/)/

/** The mark between the parts of a path, as a language puts it in. */
const SEPARATOR_PUT_IN = /[$#]?\{(?:os\.(?:path\.)?sep|path\.sep|File::SEPARATOR)\}/g

/** `${"etc"}`: a text that is put into another is a part of it. */
const TEXT_PUT_IN = /[$#]?\{ ?(["'])([\w./ -]{0,128})\1 ?\}/g

export function withHome(text: string): string {
  const written = /\{ ?["']/.test(text) ? text.replaceAll(TEXT_PUT_IN, '$2') : text
  const separated = /\b(?:sep|SEPARATOR)\}/.test(written)
    ? written.replaceAll(SEPARATOR_PUT_IN, '/')
    : written
  return /HOME|home/.test(separated) ? separated.replace(HOME_PUT_IN, '~') : separated
}

/** A text with a `*` in place of each part that is put in. */
export function withHoles(text: string): string {
  return /[$#@{(%~]/.test(text) ? text.replaceAll(PUT_IN, HOLE).replaceAll(/\*{2,}/g, HOLE) : text
}

/** A name of which so much is known at its start may be looked for among the names that there are. */
const NAME_START_CHARACTERS = 2

/**
 * Whether a path with holes says more than its beginning: a part is known behind a hole, or the start of a name before
 * it. A path whose first part is not known could be any.
 */
export function tellsMore(pattern: string): boolean {
  const hole = pattern.indexOf(HOLE)
  if (hole < 0) return false
  if (/[^*/.]/.test(pattern.slice(hole))) return true
  return hole - pattern.lastIndexOf('/', hole) > NAME_START_CHARACTERS
}

/** Whether a text of the code, by itself, is a path with a hole whose top directory is named. */
export function isHoledPath(pattern: string): boolean {
  return pattern.length <= PATH_CHARACTERS && /^(?:~|\/[\w.-]+)\/[^\s]*$/.test(pattern) && tellsMore(pattern)
}

/** Longer texts are no paths. */
const PATH_CHARACTERS = 4_096
