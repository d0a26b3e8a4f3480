/**
 * A strict reader of Prometheus' text format 0.0.4: what it does not know it refuses, so that what we write is what the
 * format allows, and each family says what it is before its samples, once.
 * @module
 */

export type Family = {
  readonly type: 'counter' | 'gauge'
  readonly help: string
  /** Value by labels, as `a="b",c="d"`; empty without labels. */
  readonly samples: ReadonlyMap<string, number>
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const HELP = new RegExp(`^# HELP (${NAME}) (\\S.*)$`)
const TYPE = new RegExp(`^# TYPE (${NAME}) (counter|gauge)$`)
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"'
const SAMPLE = new RegExp(
  `^(${NAME})(?:\\{(${LABEL}(?:,${LABEL})*)\\})? (-?\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?)$`,
)

/** @throws Error with the line that the format does not allow */
export function readExposition(text: string): ReadonlyMap<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  const families = new Map<string, Family & { samples: Map<string, number> }>()
  const lines = text.slice(0, -1).split('\n')
  let current = ''
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? ''
    const help = HELP.exec(line)
    if (help !== null) {
      const [, name = '', said = ''] = help
      const type = TYPE.exec(lines[++index] ?? '')
      if (type?.[1] !== name) throw new Error(`no TYPE after ${line}`)
      if (families.has(name)) throw new Error(`${name} comes twice`)
      families.set(name, { type: type[2] as Family['type'], help: said, samples: new Map() })
      current = name
      continue
    }
    const sample = SAMPLE.exec(line)
    if (sample === null) throw new Error(`not of the format: ${line}`)
    const [, name = '', labels = '', value = ''] = sample
    const family = families.get(name)
    if (family === undefined || name !== current) throw new Error(`a sample without its family: ${line}`)
    if (family.samples.has(labels)) throw new Error(`twice: ${line}`)
    family.samples.set(labels, Number(value))
  }
  for (const [name, { type, samples }] of families) {
    if (samples.size === 0) throw new Error(`${name} has no samples`)
    if (name.endsWith('_total') !== (type === 'counter')) throw new Error(`${name} is a ${type}`)
  }
  return families
}

/** The value of one sample; NaN where there is none. */
export function sampleOf(families: ReadonlyMap<string, Family>, name: string, labels = ''): number {
  return families.get(name)?.samples.get(labels) ?? Number.NaN
}
