/**
 * Texts for a shell in a language that is not told apart: what stands in quotes right behind a name that runs it
 * (`spawn, "x y"`, `Run["x y"]`, `ADDRESS SYSTEM 'x y'`).
 * From the references of IDL, Yorick, Rexx, Wolfram, MATLAB and Scilab.
 * @module
 */

const NAMED =
  /\b(?:system|spawn|run|runprocess|process|exec|execsync|unix|unixcmd|host|dos|shell|address\s{1,4}\w{1,12})\s{0,4}[,([]?\s{0,4}(["'`])/gi
/** What people write has one. */
const TEXTS_MAX = 64
const STATEMENT_MAX = 4_096
/** Longer texts are programs in files. */
const CHARACTERS_MAX = 32_768
/** A command and more, so that the name of a file or of a table is none. */
const COMMAND = /^\s{0,8}[a-z./][\w./+-]{0,64}\s/

/** What stands in backticks, or in the round brackets of `%x`. */
const TICKED = /`([^`]{3,256})`|%x\(([^)]{3,256})\)/g
/** `["x", "y"]`: words of a command, as a list. */
const LISTED = /\[\s{0,4}"([a-z]{1,16})"((?:\s{0,4},\s{0,4}"[^"]{0,256}"){1,32})\s{0,4}\]/g

export function namedTexts(whole: string): readonly string[] {
  const text = whole.slice(0, CHARACTERS_MAX)
  const texts: string[] = []
  for (const [, ticked, bracketed] of text.includes('`') || text.includes('%x(')
    ? text.matchAll(TICKED)
    : []) {
    const inside = ticked ?? bracketed ?? ''
    if (COMMAND.test(inside)) texts.push(inside)
    if (texts.length >= TEXTS_MAX) break
  }
  if (/(?:run|call|exec|spawn|system)\w{0,16}\s?\(/i.test(text))
    for (const [, name = '', others = ''] of text.matchAll(LISTED)) {
      texts.push(`${name} ${others.replaceAll(/[",]/g, ' ')}`)
      if (texts.length >= TEXTS_MAX) break
    }
  let count = 0
  for (const found of text.matchAll(NAMED)) {
    count += 1
    if (count > TEXTS_MAX) break
    const from = found.index + found[0].length
    const end = text.indexOf(found[1] ?? '"', from)
    const inside = text.slice(from, end < 0 ? undefined : end)
    if (COMMAND.test(inside)) texts.push(inside)
  }
  return texts
}

const BUILDER = 'Command::new('

/** `Command::new("x").arg("y")` of Rust: all that stands in quotes up to the end of the statement. */
export function builtTexts(text: string): readonly string[] {
  const texts: string[] = []
  let at = text.indexOf(BUILDER)
  for (let count = 0; at >= 0 && count < TEXTS_MAX; count++) {
    const end = text.indexOf(';', at)
    const parts = text.slice(at, Math.min(end < 0 ? text.length : end, at + STATEMENT_MAX)).split('"')
    const given = parts.filter((_, index) => index % 2 === 1).join(' ')
    if (given.includes(' ')) texts.push(given)
    at = text.indexOf(BUILDER, at + 1)
  }
  return texts
}

const BRACKETED =
  /\b(?:Delete|Remove|Rename|Copy|Put|Export|Write|Truncate)\w{0,24}\[\s{0,4}"((?:\/|~\/)[^"]{0,1024})"/g

/** Of Lisp: `(delete-directory/files "/x")`. */
const OF_LISP =
  /\((?:delete|rename|truncate|make|copy)-(?:file|directory)(?:-or-directory)?(?:\/files|\*)?\s{1,4}"((?:\/|~\/)[^"]{0,1024})"/g

/** `DeleteFile["/x"]`: the files that a call in brackets writes or removes. */
export function bracketedWrites(text: string): readonly string[] {
  const files: string[] = []
  for (const pattern of [
    ...(text.includes('["') ? [BRACKETED] : []),
    ...(text.includes('(') ? [OF_LISP] : []),
  ])
    for (const [, file = ''] of text.matchAll(pattern)) {
      files.push(file)
      if (files.length >= TEXTS_MAX) return files
    }
  return files
}

/** Where programs keep what they log in with, below a home directory. */
const SECRET_PLACES = [
  'ssh|aws|gnupg|azure|kube|oci|fly|password-store|mozilla|npmrc|yarnrc\\.yml|pypirc|netrc|authinfo(?:\\.gpg)?|pgpass',
  'my\\.cnf|mylogin\\.cnf|git-credentials|docker\\/config\\.json|terraformrc|terraform\\.d|vault-token|s3cfg|boto',
  'm2\\/settings(?:-security)?\\.xml|gradle\\/gradle\\.properties|(?:cargo|gem)\\/credentials(?:\\.toml)?',
  'local\\/share\\/keyrings|ansible\\/vault\\w{0,32}',
  'config\\/(?:gcloud|gh|hub|glab-cli|rclone|doctl|hcloud|heroku|op|sops|age|containers|git\\/credentials|google-chrome|chromium)',
].join('|')
const SECRET_PLACE = new RegExp(`^[^\\s]{0,64}?(\\.(?:${SECRET_PLACES})(?:\\/[\\w./*?-]{0,128})?)$`)
/** How code asks for a home directory. */
const ASKS_HOME = /[hH]ome|HOME|expanduser|USERPROFILE|pw_dir|getpw|userInfo/

/** The secrets whose places `texts`, the strings of a code, name by their ends: below the home directory, or in /etc. */
export function secretPlaces(code: string, texts: readonly string[]): readonly string[] {
  const ofSystem = texts.includes('etc') ? texts.filter((text) => SECRETS_OF_SYSTEM.has(text)) : NO_PLACES
  if (ofSystem.length > 0) return ofSystem.map((name) => `/etc/${name}`)
  if (!ASKS_HOME.test(code)) return NO_PLACES
  return texts.flatMap((text) => {
    const place = text.includes('.') ? SECRET_PLACE.exec(text)?.[1] : undefined
    return place === undefined ? NO_PLACES : `~/${place}`
  })
}

const SECRETS_OF_SYSTEM: ReadonlySet<string> = new Set(['shadow', 'gshadow', 'sudoers'])
const NO_PLACES: readonly string[] = Object.freeze([])
