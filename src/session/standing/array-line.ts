/**
 * A line of a kept file: one JSON array.
 * @module
 */

/** Its members; none where it is no such line. */
export function membersOf(line: string): unknown[] {
  try {
    const value: unknown = JSON.parse(line)
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

export const areTexts = (values: readonly unknown[]): values is string[] =>
  values.every((value) => typeof value === 'string')
