/**
 * JSON for people: two spaces, one member a line, and lists of plain values on one line where they fit.
 * The result is what the formatter of this repository would write, so generated files pass it unchanged.
 * @module
 */

/** Width of a line that still holds a list in one piece. */
const LINE_CHARS = 110

function isPlain(value: unknown): boolean {
  return value === null || typeof value !== 'object'
}

function render(value: unknown, indent: string, usedChars: number): string {
  if (isPlain(value)) return JSON.stringify(value)
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    if (value.every(isPlain)) {
      const line = `[${value.map((item) => JSON.stringify(item)).join(', ')}]`
      // One more for the comma that may follow.
      if (usedChars + line.length + 1 <= LINE_CHARS) return line
    }
    return `[\n${value.map((item) => inner + render(item, inner, inner.length)).join(',\n')}\n${indent}]`
  }
  const members = Object.entries(value as object).map(([key, member]) => {
    const head = `${inner}${JSON.stringify(key)}: `
    return head + render(member, inner, head.length)
  })
  return members.length === 0 ? '{}' : `{\n${members.join(',\n')}\n${indent}}`
}

/**
 * The text of a JSON value, without a newline at the end.
 * @param indent the blanks before the line in which the value begins
 */
export function formatJson(value: unknown, indent = ''): string {
  return render(value, indent, indent.length)
}
