/**
 * Shell patterns against known text, for `${x%pattern}`, `${x#pattern}` and `${x/pattern/text}`. Matching goes back to
 * the last `*` only, so that it costs at most text times pattern.
 * Rules: POSIX.1-2024 XCU 2.14.
 * @module
 */

export type PatternToken =
  | { readonly kind: 'any' | 'one' }
  | { readonly kind: 'character'; readonly text: string }
  | { readonly kind: 'set'; readonly members: string; readonly isNegated: boolean }

/** Segments of a pattern: what is quoted stands for itself. */
export function compilePattern(
  segments: readonly { readonly text: string; readonly isQuoted: boolean }[],
): readonly PatternToken[] {
  const tokens: PatternToken[] = []
  for (const { text, isQuoted } of segments) {
    for (let at = 0; at < text.length; at += 1) {
      const character = text[at] ?? ''
      const close = character === '[' && !isQuoted ? text.indexOf(']', at + 2) : -1
      if (isQuoted) tokens.push({ kind: 'character', text: character })
      else if (character === '*') tokens.push({ kind: 'any' })
      else if (character === '?') tokens.push({ kind: 'one' })
      else if (close !== -1) {
        const isNegated = text[at + 1] === '!' || text[at + 1] === '^'
        tokens.push({ kind: 'set', members: text.slice(at + (isNegated ? 2 : 1), close), isNegated })
        at = close
      } else tokens.push({ kind: 'character', text: character })
    }
  }
  return tokens
}

function isMember(members: string, character: string): boolean {
  for (let at = 0; at < members.length; at += 1) {
    const from = members[at] ?? ''
    const to = members[at + 2]
    if (members[at + 1] === '-' && to !== undefined) {
      if (character >= from && character <= to) return true
      at += 2
    } else if (from === character) return true
  }
  return false
}

function isOne(token: PatternToken, character: string): boolean {
  switch (token.kind) {
    case 'any':
      return false
    case 'one':
      return true
    case 'character':
      return token.text === character
    case 'set':
      return isMember(token.members, character) !== token.isNegated
  }
}

/** Whether the whole of `text` fits. */
export function matches(tokens: readonly PatternToken[], text: string): boolean {
  let at = 0
  let token = 0
  let star = -1
  let resume = 0
  while (at < text.length) {
    const here = tokens[token]
    if (here?.kind === 'any') {
      star = token
      resume = at
      token += 1
    } else if (here !== undefined && isOne(here, text[at] ?? '')) {
      at += 1
      token += 1
    } else if (star >= 0) {
      resume += 1
      at = resume
      token = star + 1
    } else return false
  }
  while (tokens[token]?.kind === 'any') token += 1
  return token === tokens.length
}

/** The end of the shortest or longest beginning of `text` from `start` that fits; -1 for none. */
export function matchFrom(
  tokens: readonly PatternToken[],
  text: string,
  start: number,
  isLongest: boolean,
): number {
  for (let length = 0; length <= text.length - start; length += 1) {
    const end = isLongest ? text.length - length : start + length
    if (matches(tokens, text.slice(start, end))) return end
  }
  return -1
}

/** The start of the shortest or longest ending of `text` that fits; -1 for none. */
export function matchEnd(tokens: readonly PatternToken[], text: string, isLongest: boolean): number {
  for (let index = 0; index <= text.length; index += 1) {
    const start = isLongest ? index : text.length - index
    if (matches(tokens, text.slice(start))) return start
  }
  return -1
}
