/**
 * The escapes in the strings of code: `\n`, `\x2f`, `\u{2f}`, `\057`.
 * From the references of Python, JavaScript, Perl, Ruby and PHP.
 * @module
 */

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
  ['e', '\x1b'],
  ['0', '\0'],
  ['\n', ''],
])

/** The character whose escape has its letter at `at`, and where the escape ends. */
export function readEscape(text: string, at: number): { readonly text: string; readonly end: number } {
  const letter = text.charAt(at)
  const length = letter === 'x' ? 2 : letter === 'u' ? 4 : letter === 'U' ? 8 : 0
  if (length > 0) {
    const isBraced = text.charAt(at + 1) === '{'
    const close = isBraced ? text.indexOf('}', at) : -1
    const digits = isBraced
      ? text.slice(at + 2, close < 0 || close > at + 10 ? at + 10 : close)
      : text.slice(at + 1, at + 1 + length)
    const code = /^[0-9a-fA-F]+$/.test(digits) ? Number.parseInt(digits, 16) : -1
    if (code >= 0 && code <= 0x10ffff) {
      return {
        text: String.fromCodePoint(code),
        end: isBraced ? at + 3 + digits.length : at + 1 + digits.length,
      }
    }
  }
  const octal = /^[0-7]{1,3}/.exec(text.slice(at, at + 3))?.[0]
  if (octal !== undefined)
    return { text: String.fromCharCode(Number.parseInt(octal, 8)), end: at + octal.length }
  return { text: ESCAPES.get(letter) ?? letter, end: at + Math.max(1, letter.length) }
}

/** As `readEscape` in Lua, where digits are those of a decimal number: `\47`. */
export function readDecimal(text: string, at: number): { readonly text: string; readonly end: number } {
  const digits = /^\d{1,3}/.exec(text.slice(at, at + 3))?.[0]
  if (digits === undefined) return readEscape(text, at)
  return { text: String.fromCharCode(Number(digits)), end: at + digits.length }
}
