/**
 * What `echo` and `printf` would print, where that is known: so that `$(echo rm)` is no other than `rm`.
 * Rules: POSIX.1-2024 XCU echo and printf; bash 5.2 for `-e`.
 * @module
 */
import { ansiEscape } from './escapes.ts'

/** Output of a command with known words; undefined where it is not known. The shell takes the last newlines off. */
export function outputOf(words: readonly string[]): string | undefined {
  const [program, ...operands] = words
  if (program === 'echo') return echoOf(operands)
  if (program === 'printf') return printfOf(operands)
  return undefined
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
  let isEscaped = false
  let hasNewline = true
  let at = 0
  for (; at < operands.length; at += 1) {
    const option = operands[at] ?? ''
    if (!/^-[neE]+$/.test(option)) break
    if (option.includes('n')) hasNewline = false
    if (option.includes('e')) isEscaped = true
    if (option.includes('E')) isEscaped = false
  }
  const text = operands.slice(at).join(' ')
  // bash prints a backslash as it is and dash takes it for an escape.
  if (text.includes('\\') && !isEscaped) return undefined
  return (isEscaped ? unescaped(text) : text) + (hasNewline ? '\n' : '')
}

function unescaped(text: string): string {
  const pieces: string[] = []
  let start = 0
  for (let at = text.indexOf('\\'); at !== -1; at = text.indexOf('\\', start)) {
    pieces.push(text.slice(start, at))
    if (text[at + 1] === 'c') return pieces.join('')
    const found = ansiEscape(text, at + 1, 'argument')
    pieces.push(found.text)
    start = found.end
  }
  pieces.push(text.slice(start))
  return pieces.join('')
}

function printfOf(operands: readonly string[]): string | undefined {
  const [format, ...values] = operands[0] === '--' ? operands.slice(1) : operands
  if (format === undefined || (operands[0] !== '--' && format.startsWith('-'))) return undefined
  const pieces: string[] = []
  let used = 0
  do {
    const before = used
    for (let at = 0; at < format.length; ) {
      const character = format[at] ?? ''
      if (character === '\\') {
        if (format[at + 1] === 'c') return pieces.join('')
        const found = ansiEscape(format, at + 1, 'format')
        pieces.push(found.text)
        at = found.end
      } else if (character === '%') {
        const directive = format[at + 1]
        if (directive === '%') pieces.push('%')
        else {
          const value = directiveText(directive, values[used] ?? '')
          if (value === undefined) return undefined
          pieces.push(value)
          used += 1
        }
        at += 2
      } else {
        pieces.push(character)
        at += 1
      }
    }
    if (used === before) break
  } while (used < values.length)
  return pieces.join('')
}

function directiveText(directive: string | undefined, value: string): string | undefined {
  switch (directive) {
    case 's':
      return value
    case 'b':
      return unescaped(value)
    case 'c':
      return value.slice(0, 1)
    case 'd':
    case 'i':
      return /^-?(?:0|[1-9][0-9]{0,14})$/.test(value) ? value : undefined
    default:
      return undefined
  }
}
