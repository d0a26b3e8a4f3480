/**
 * Backslash escapes of `$'...'`: `\n`, `\x41`, `\101`, `\u263a`, `\cA`.
 * Rules: bash 5.2 manual, "ANSI-C Quoting".
 * @module
 */

const SINGLE: Readonly<Record<string, string>> = Object.freeze({
  ...{ a: '\u0007', b: '\b', e: '\u001b', E: '\u001b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' },
  ...{ '\\': '\\', "'": "'", '"': '"', '?': '?' },
})

/** The escape whose letter is at `at`, and where it ends. What is no escape stays. */
export function ansiEscape(text: string, at: number): { text: string; end: number } {
  const letter = text[at]
  if (letter === undefined) return { text: '\\', end: at }
  const digits = DIGITS[letter]
  if (digits !== undefined) return numeric(text, at + 1, 16, digits, `\\${letter}`)
  if (letter === 'c' && text[at + 1] !== undefined)
    return { text: String.fromCharCode(text.charCodeAt(at + 1) & 31), end: at + 2 }
  if (letter >= '0' && letter <= '7') return numeric(text, at, 8, 3, '\0')
  return { text: SINGLE[letter] ?? `\\${letter}`, end: at + 1 }
}

/** Hexadecimal digits at most, by the letter before them. */
const DIGITS: Readonly<Record<string, number>> = Object.freeze({ x: 2, u: 4, U: 8 })

function numeric(
  text: string,
  start: number,
  base: 8 | 16,
  digits: number,
  none: string,
): { text: string; end: number } {
  const allowed = base === 8 ? '01234567' : '0123456789abcdefABCDEF'
  let end = start
  while (end < start + digits && end < text.length && allowed.includes(text[end] ?? ' ')) end += 1
  if (end === start) return { text: none, end }
  const code = Number.parseInt(text.slice(start, end), base)
  const isOctet = base === 8 || digits === 2
  return { text: code > 0x10ffff ? '\ufffd' : String.fromCodePoint(isOctet ? code & 255 : code), end }
}
