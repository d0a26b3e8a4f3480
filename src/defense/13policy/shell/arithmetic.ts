/**
 * Arithmetic of a shell where every value is known: integers, `+ - * / %`, signs and parentheses. Anything else has no
 * value here. Also which variables an expression may change.
 * Rules: POSIX.1-2024 XCU 2.6.4.
 * @module
 */

/** An expression longer than this has no known value, so that recursion over it stays shallow. */
const EXPRESSION_CHARACTERS = 256

/** Undefined where it is not simple, or a name in it has no known value. */
export function evaluate(text: string, variableOf: (name: string) => string | undefined): number | undefined {
  if (text.length > EXPRESSION_CHARACTERS) return undefined
  const tokens = text.match(/[A-Za-z_][A-Za-z0-9_]*|0[xX][0-9a-fA-F]+|[0-9]+#?|\*\*|[^\s]/g) ?? []
  let at = 0
  const sum = (): number => {
    let value = product()
    for (let sign = tokens[at]; sign === '+' || sign === '-'; sign = tokens[at]) {
      at += 1
      const right = product()
      value = sign === '+' ? value + right : value - right
    }
    return value
  }
  const product = (): number => {
    let value = unary()
    for (let sign = tokens[at]; sign === '*' || sign === '/' || sign === '%'; sign = tokens[at]) {
      at += 1
      const right = unary()
      value = sign === '*' ? value * right : sign === '/' ? Math.trunc(value / right) : value % right
    }
    return value
  }
  const unary = (): number => {
    const token = tokens[at]
    at += 1
    if (token === undefined) return Number.NaN
    if (token === '-') return -unary()
    if (token === '+') return unary()
    if (token === '(') {
      const value = sum()
      if (tokens[at] !== ')') return Number.NaN
      at += 1
      return value
    }
    if (/^[A-Za-z_]/.test(token)) return integerOf(variableOf(token) ?? '?')
    return integerOf(token)
  }
  const value = tokens.length === 0 ? 0 : sum()
  return at === tokens.length && Number.isSafeInteger(value) ? value : undefined
}

function integerOf(text: string): number {
  if (text === '') return 0
  if (/^0[xX][0-9a-fA-F]+$/.test(text)) return Number.parseInt(text, 16)
  if (/^0[0-7]+$/.test(text)) return Number.parseInt(text, 8)
  return /^[0-9]+$/.test(text) ? Number.parseInt(text, 10) : Number.NaN
}

/** The names an expression may set: all that are in it, where it assigns at all. */
export function assignedNames(text: string): readonly string[] {
  if (!text.includes('=') && !text.includes('++') && !text.includes('--')) return []
  return text.match(/[A-Za-z_][A-Za-z0-9_]*/g) ?? []
}
