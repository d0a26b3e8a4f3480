/**
 * What all parts of a file of rules are read with: members of an object, lists of texts, words of a closed list.
 * Every problem is told with its place, and reading goes on.
 * @module
 */
import { nearest } from '../../../base/text/suggest.ts'

export type Reader = { problem(path: string, problem: string, hint: string): void }
export type Members = Readonly<Record<string, unknown>>

/** A word that somebody wrote, safe to print. */
export function shown(word: string): string {
  return JSON.stringify(word.slice(0, 64))
}

function meant(word: string, known: readonly string[], otherwise: string): string {
  const suggestion = nearest(word, known)
  return suggestion === undefined ? otherwise : `did you mean ${suggestion}?`
}

/** The members of an object; keys that are not known are problems. Undefined where it is no object. */
export function readMembers(
  reader: Reader,
  value: unknown,
  path: string,
  known: readonly string[],
): Members | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    reader.problem(path, 'is not an object', 'write { }')
    return undefined
  }
  const members = value as Members
  for (const key of Object.keys(members)) {
    if (known.includes(key)) continue
    const at = path === '' ? key.slice(0, 64) : `${path}.${key.slice(0, 64)}`
    reader.problem(at, 'is not a known key', meant(key, known, `known are ${known.join(', ')}`))
  }
  return members
}

/** One of a closed list of words. */
export function choiceOf<Word extends string>(
  reader: Reader,
  value: unknown,
  path: string,
  choices: readonly Word[],
): Word | undefined {
  const found = choices.find((choice) => choice === value)
  if (found !== undefined) return found
  const list = choices.join(', ')
  if (value === undefined) reader.problem(path, 'is missing', `write one of ${list}`)
  else
    reader.problem(
      path,
      typeof value === 'string' ? `is ${shown(value)}, which is not one of ${list}` : 'is not a text',
      typeof value === 'string' ? meant(value, choices, `write one of ${list}`) : `write one of ${list}`,
    )
  return undefined
}

/** A list of 1 to `max` texts of 1 to `chars` characters. What is not one of them is left out of the result. */
export function readStrings(
  reader: Reader,
  value: unknown,
  path: string,
  max: number,
  chars: number,
): readonly string[] {
  if (!Array.isArray(value)) {
    reader.problem(path, 'is not a list', 'write ["...", "..."]')
    return []
  }
  if (value.length === 0) reader.problem(path, 'is empty', 'name at least one, or leave the key out')
  if (value.length > max) {
    reader.problem(path, `has more than ${max} entries`, 'split it, or use *')
    return []
  }
  const texts: string[] = []
  value.forEach((entry: unknown, index) => {
    const at = `${path}[${index}]`
    if (typeof entry !== 'string') reader.problem(at, 'is not a text', 'write it in quotes')
    else if (entry === '') reader.problem(at, 'is empty', 'write something, or leave it out')
    else if (entry.length > chars) reader.problem(at, `is longer than ${chars} characters`, 'shorten it')
    else texts.push(entry)
  })
  return texts
}

/** The set of that name, or a problem with the nearest name. */
export function readSetName(
  reader: Reader,
  name: string,
  path: string,
  sets: ReadonlyMap<string, readonly string[]>,
): readonly string[] | undefined {
  const set = sets.get(name)
  if (set === undefined)
    reader.problem(
      path,
      `names the set @${name.slice(0, 64)}, which is not there`,
      meant(name, [...sets.keys()], 'add it to sets'),
    )
  return set
}
