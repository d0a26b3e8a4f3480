/**
 * Code that stands within a text and runs when the text is made: `f"{f(x)}"` of Python, `${f(x)}` of JavaScript and
 * PHP, `#{f(x)}` of Ruby, `@{[f(x)]}` of Perl, and what Groovy, Kotlin and
 * Elixir have for it. What only names a value is left out.
 * From the references of these languages: formatted string literals, template literals, interpolation.
 * @module
 */
import type { Language } from '../unwrap/inner.ts'

/** What opens code within a text; what closes it is the bracket that belongs to it. */
const OPENINGS: Readonly<Partial<Record<Language, RegExp>>> = Object.freeze({
  python: /\{/g,
  javascript: /\$\{/g,
  ruby: /#\{/g,
  perl: /[@$]\{/g,
  php: /\{(?=\$)|\$\{/g,
  other: /[#$]\{/g,
})

/** Of one part, so far its end is looked for. */
const PART_CHARACTERS = 1_024

/** Something is called there, or given to a shell; in Perl that needs no brackets. */
const RUNS = /[(`]/
const RUNS_BARE = /[(`]|\b(?:system|exec|do|qx|unlink|eval)\b/

/** Where the bracket closes that is open at `from`; -1 where it does not. */
function closingBrace(text: string, from: number): number {
  let depth = 1
  const limit = Math.min(text.length, from + PART_CHARACTERS)
  for (let at = from; at < limit; at++) {
    const letter = text.charAt(at)
    if (letter === '{') depth += 1
    else if (letter === '}' && --depth === 0) return at
  }
  return -1
}

/** The code within a text of the language, part by part. */
export function interpolatedCode(text: string, language: Language): readonly string[] {
  const opening = OPENINGS[language]
  const runs = language === 'perl' || language === 'ruby' ? RUNS_BARE : RUNS
  if (opening === undefined || !runs.test(text)) return []
  const parts: string[] = []
  let past = 0
  for (const found of text.matchAll(opening)) {
    const from = found.index + found[0].length
    if (from < past) continue
    const end = closingBrace(text, from)
    const part = text.slice(from, end < 0 ? undefined : end)
    if (runs.test(part)) {
      parts.push(part)
      // Where the language has no such texts, the quotes within end one text and begin another.
      if (language === 'other' && part.includes('"')) parts.push(`"${part}"`)
    }
    if (end < 0) break
    past = end
  }
  return parts
}

/**
 * Where the code ends that opens at `at` of a string of Python, JavaScript or Ruby: the place of its closing bracket;
 * `at` where none opens there, -1 where it does not close.
 */
export function pastInterpolation(text: string, at: number, language: Language): number {
  if (language === 'python') {
    if (text.charAt(at) !== '{') return at
    return text.charAt(at + 1) === '{' ? at + 1 : closingBrace(text, at + 1)
  }
  const isOpen = (opening: string, ...languages: readonly Language[]) =>
    languages.includes(language) && text.startsWith(opening, at)
  if (isOpen('{$', 'php')) return closingBrace(text, at + 1)
  const opens = isOpen('#{', 'ruby', 'other') || isOpen('${', 'javascript', 'other', 'php')
  return opens ? closingBrace(text, at + 2) : at
}
