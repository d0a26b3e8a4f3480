/**
 * What `echo` and `printf` would print, where that is known: so that `$(echo rm)` is no other than `rm`. Of escapes only
 * a newline is known, of directives only `%s` and `%%`.
 * Rules: POSIX.1-2024 XCU echo and printf.
 * @module
 */

/** Output of a command with known words; undefined where it is not known. The shell takes the last newlines off. */
export function outputOf([program, ...operands]: readonly string[]): string | undefined {
  if (program === 'echo') return echoOf(operands)
  return program === 'printf' ? printfOf(operands) : undefined
}

/** How long that output is at most, in characters; 0 of other programs. */
export function outputSize([program, format = '', ...values]: readonly string[]): number {
  if (program !== 'echo' && program !== 'printf') return 0
  let size = format.length
  for (const value of values) size += value.length + 1
  // The format is used again for each value that is left.
  return program === 'echo' ? size : size + format.length * values.length
}

function echoOf(operands: readonly string[]): string | undefined {
  const from = operands.findIndex((word) => !/^-[neE]+$/.test(word))
  const words = from === -1 ? [] : operands.slice(from)
  const options = (from === -1 ? operands : operands.slice(0, from)).join('')
  const text = words.join(' ') + (options.includes('n') ? '' : '\n')
  // bash prints a backslash as it is and dash takes it for an escape.
  const known = options.includes('e') ? text.replaceAll('\\n', '\n') : text
  return known.includes('\\') ? undefined : known
}

function printfOf(operands: readonly string[]): string | undefined {
  const [given, ...values] = operands[0] === '--' ? operands.slice(1) : operands
  if (given === undefined || (operands[0] !== '--' && given.startsWith('-'))) return undefined
  const format = given.replaceAll('\\n', '\n')
  if (format.includes('\\') || /%(?![s%])/.test(format)) return undefined
  let used = 0
  let text = ''
  do {
    const before = used
    text += format.replaceAll(/%[s%]/g, (directive) => (directive === '%%' ? '%' : (values[used++] ?? '')))
    if (used === before) break
  } while (used < values.length)
  return text
}
