/**
 * One part of a path that a shell would expand (`e*c`, `?tc`, `[a-f]*`): could it expand to a name that a pattern fits?
 * Wild are `*`, `?` and `[`; what a bracket holds is read as POSIX has it, and taken for any character where it is not
 * plain. A part too long to compare is taken to fit where its known beginning does.
 * Rules: POSIX.1-2024 XCU 2.14, pattern matching notation.
 * @module
 */
import { compileWord, fitsWord, type WordPattern } from './word-pattern.ts'

/** Of a pattern's part times a path's part, in tokens; names have at most 255 characters. */
const CELLS_MAX = 4_096

/** A part of a path, read once for all that it is compared with. */
export type GlobPart = {
  readonly text: string
  readonly tokens: readonly Token[]
  /** The shortest name that it can stand for. */
  readonly least: number
  /** What stands before its first wild character. */
  readonly head: string
}

type Token = { readonly kind: 'run' } | { readonly kind: 'one'; readonly may: (char: string) => boolean }

const RUN: Token = Object.freeze({ kind: 'run' })

export function hasWild(part: string): boolean {
  return part.includes('*') || part.includes('?') || part.includes('[')
}

/** Where the bracket that opens at `open` ends, or -1 where it is not one. */
function bracketEnd(part: string, open: number): number {
  let from = open + 1
  if (part[from] === '!' || part[from] === '^') from++
  // A `]` that comes first is a member.
  return part.indexOf(']', from + 1)
}

function bracketToken(body: string): Token {
  const isNegated = body[0] === '!' || body[0] === '^'
  const members = isNegated ? body.slice(1) : body
  if (members.includes('[') || members.includes('\\')) return { kind: 'one', may: () => true }
  const may = (char: string): boolean => {
    for (let index = 0; index < members.length; index++) {
      const low = members.charAt(index)
      const high = members[index + 1] === '-' ? members[index + 2] : undefined
      if (high === undefined ? char === low : char >= low && char <= high) return true
      if (high !== undefined) index += 2
    }
    return false
  }
  return { kind: 'one', may: isNegated ? (char) => !may(char) : may }
}

function tokensOf(part: string): Token[] {
  const tokens: Token[] = []
  for (let at = 0; at < part.length; at++) {
    const char = part.charAt(at)
    const end = char === '[' ? bracketEnd(part, at) : -1
    if (char === '*') {
      if (tokens.at(-1) !== RUN) tokens.push(RUN)
    } else if (char === '?') tokens.push({ kind: 'one', may: () => true })
    else if (end !== -1) {
      tokens.push(bracketToken(part.slice(at + 1, end)))
      // `[[:alpha:]]` has a second end.
      at = part.slice(at + 1, end).includes('[') && part[end + 1] === ']' ? end + 1 : end
    } else tokens.push({ kind: 'one', may: (other) => other === char })
  }
  return tokens
}

/** Whether the languages of both have a name in common; the cost is the product of their lengths. */
function intersects(pattern: string, glob: readonly Token[]): boolean {
  // reachable[j]: the first i characters of the pattern and the first j tokens can be the same name.
  let reachable = new Array<boolean>(glob.length + 1).fill(false)
  reachable[0] = true
  spread(reachable, glob)
  for (let i = 0; i < pattern.length; i++) {
    const next = new Array<boolean>(glob.length + 1).fill(false)
    const isRun = pattern[i] === '*'
    for (let j = 0; j <= glob.length; j++) {
      const token = glob[j]
      if (isRun) next[j] = reachable[j] === true || (j > 0 && next[j - 1] === true)
      else if (reachable[j] === true && token !== undefined) {
        if (token.kind === 'run') next[j] = true
        else if (token.may(pattern.charAt(i))) next[j + 1] = true
      }
    }
    spread(next, glob)
    reachable = next
  }
  return reachable[glob.length] === true
}

/** A run may be empty. */
function spread(reachable: boolean[], glob: readonly Token[]): void {
  for (let j = 0; j < glob.length; j++)
    if (reachable[j] === true && glob[j]?.kind === 'run') reachable[j + 1] = true
}

/** What stands before the first wild character. */
export function headOf(part: string): string {
  const at = part.search(/[*?[]/)
  return at === -1 ? part : part.slice(0, at)
}

export function compileGlob(part: string): GlobPart {
  const tokens = tokensOf(part)
  return {
    text: part,
    tokens,
    least: tokens.reduce((count, { kind }) => count + (kind === 'one' ? 1 : 0), 0),
    head: headOf(part),
  }
}

/**
 * Whether some name fits both the pattern's part (`*` alone is wild) and the path's part as a shell expands it.
 * @param hidden whether a wild character at the beginning also stands for a dot, as under `dotglob`
 */
export function couldFit(pattern: string, part: GlobPart, hidden: boolean): boolean {
  const { tokens, least, head } = part
  if (!hidden && pattern.startsWith('.') && !part.text.startsWith('.')) return false
  const star = pattern.indexOf('*')
  const known = star === -1 ? pattern : pattern.slice(0, star)
  if (!known.startsWith(head) && !head.startsWith(known)) return false
  const isName = known.length === pattern.length
  // A name as long as it is has no room for more; so what is compared is bounded by the name.
  if (isName && least > pattern.length) return false
  return tokens.length * pattern.length > CELLS_MAX || intersects(pattern, tokens)
}

/** Endings of text that is no copy of a secret: unlike `.bak` or `~`, nobody gives them to one. */
const PLAIN_ENDINGS =
  /(?:[-_]release|\.(?:conf|cfg|ini|log|md|txt|json|ya?ml|toml|xml|service|timer|list|sh))$/

/**
 * Whether the two only have names in common that nobody uses: `shadow*` is for the copies of a file, and of those
 * `*-release` finds none.
 */
export function isFarFetched(pattern: string, part: GlobPart): boolean {
  if (!pattern.endsWith('*') || part.head !== '' || !PLAIN_ENDINGS.test(part.text)) return false
  const file = pattern.slice(0, -1)
  return !PLAIN_ENDINGS.test(file) && !couldFit(file, part, true)
}

/** Whether every name that the path's part could expand to fits the pattern's part. */
export function alwaysFits(pattern: string, part: string): boolean {
  return isAlwaysFitting(pattern, compileWord(pattern), part)
}

/** As `alwaysFits`, with the pattern as it was compiled beside it as it was written. */
export function isAlwaysFitting(pattern: string, word: WordPattern, part: string): boolean {
  // The wild characters of the part can only fall under the stars of the pattern, which take whatever they stand for.
  if (!fitsWord(word, part)) return false
  return !hasWild(part) || !(pattern.includes('?') || pattern.includes('['))
}
