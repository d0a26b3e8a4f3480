/**
 * The rules that ship, made of readable sources: `policy/*.json`, a subject a file. Each holds the sets that it needs
 * (`sets`, of which a name is given once in all files) and its rules; together they are one file of rules.
 * Pure: texts in, text out; bundle.node.ts writes it.
 * @module
 */

export type RuleSource = { readonly name: string; readonly text: string }

/** More lines are more than one subject. */
export const SOURCE_LINES_MAX = 400

type Part = { readonly sets?: Record<string, unknown>; readonly rules?: readonly unknown[] }

/**
 * @throws Error that names the file: what is no JSON, a set of which the name is taken, a file that is too long
 */
export function joinRuleSources(sources: readonly RuleSource[]): string {
  const sets: Record<string, unknown> = {}
  const rules: unknown[] = []
  for (const { name, text } of sources.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const lines = text.split('\n').length - 1
    if (lines > SOURCE_LINES_MAX)
      throw new Error(`${name} has ${lines} lines: give a part of it a file of its own`)
    let part: Part
    try {
      part = JSON.parse(text) as Part
    } catch (cause) {
      throw new Error(`${name} is no JSON`, { cause })
    }
    for (const [set, patterns] of Object.entries(part.sets ?? {})) {
      if (Object.hasOwn(sets, set)) throw new Error(`${name} names the set ${set}, which another file has`)
      sets[set] = patterns
    }
    rules.push(...(part.rules ?? []))
  }
  return `${JSON.stringify({ sets, rules }, undefined, 1)}\n`
}
