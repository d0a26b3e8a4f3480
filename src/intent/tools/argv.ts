/**
 * From the arguments of a call to the words of a command, by the template of the tool's manifest: a list of texts and of
 * places for arguments. There is no shell, and no text of a caller becomes an option: a word that begins with `-` and
 * comes from an argument is refused, unless the template has `--` before it.
 * Rules: docs/plans.md.
 * @module
 */
import type { Json } from '../../base/encoding/strict-json.ts'
import { isJsonObject, type JsonObject } from '../canonical/python-json.ts'
import { TOOL_ARGV_WORDS, TOOL_WORD_CHARS } from './limits.ts'

/** `flag`: the word that goes before the value; of a boolean it is all that there is. */
export type ArgvPart = string | { readonly arg: string; readonly flag?: string }

export type ArgvTemplate = readonly ArgvPart[]

export type TemplateResult =
  | { readonly ok: true; readonly template: ArgvTemplate }
  | { readonly ok: false; readonly problem: string }
export type WordsResult =
  | { readonly ok: true; readonly words: readonly string[] }
  | { readonly ok: false; readonly arg: string; readonly problem: string }

/** After it nothing is an option (POSIX.1-2017, 12.2, guideline 10). */
const END_OF_OPTIONS = '--'

function isWord(value: Json | undefined): value is string {
  return typeof value === 'string' && value.length <= TOOL_WORD_CHARS && !value.includes('\0')
}

function readPart(value: Json): ArgvPart | undefined {
  if (isWord(value)) return value
  if (!isJsonObject(value)) return undefined
  const { arg, flag, ...rest } = value
  if (!isWord(arg) || arg === '' || Object.keys(rest).length > 0) return undefined
  if (flag === undefined) return { arg }
  return isWord(flag) && flag !== '' ? { arg, flag } : undefined
}

/** @param declared the names of the arguments that the schema has: each must have its place, and no other may */
export function readTemplate(value: Json | undefined, declared: readonly string[]): TemplateResult {
  if (!Array.isArray(value) || value.length > TOOL_ARGV_WORDS)
    return { ok: false, problem: `argv must be a list of at most ${TOOL_ARGV_WORDS} words` }
  const template: ArgvPart[] = []
  for (const [at, item] of (value as readonly Json[]).entries()) {
    const part = readPart(item)
    if (part === undefined)
      return { ok: false, problem: `argv[${at}] must be a text, or {"arg": NAME} with or without a "flag"` }
    if (typeof part !== 'string' && !declared.includes(part.arg))
      return { ok: false, problem: `argv[${at}] names ${part.arg}, which args_schema does not have` }
    template.push(part)
  }
  const placed = new Set(template.flatMap((part) => (typeof part === 'string' ? [] : [part.arg])))
  const unplaced = declared.find((name) => !placed.has(name))
  if (unplaced !== undefined)
    return { ok: false, problem: `args_schema has ${unplaced}, which argv has no place for` }
  return { ok: true, template }
}

/** The words of a value; undefined: it is nothing that can be one. */
function textsOf(value: Json): readonly string[] | undefined {
  if (typeof value === 'string') return value.includes('\0') ? undefined : [value]
  if (typeof value === 'number' || typeof value === 'boolean') return [String(value)]
  if (!Array.isArray(value)) return undefined
  const all = (value as readonly Json[]).map((item) => (Array.isArray(item) ? undefined : textsOf(item)))
  return all.some((one) => one === undefined) ? undefined : all.flatMap((one) => one ?? [])
}

/** The words of one part; `isFree`: nothing is an option any more. */
function wordsOf(part: Exclude<ArgvPart, string>, value: Json, isFree: boolean): readonly string[] | string {
  const { flag } = part
  if (flag !== undefined && typeof value === 'boolean') return value ? [flag] : []
  const texts = textsOf(value)
  if (texts === undefined) return 'is nothing that can be a word of a command'
  const isOption = (text: string): boolean => text.startsWith('-') && text !== '-'
  if (!isFree && texts.some(isOption)) return 'begins with "-", which would make it an option'
  return flag === undefined ? texts : texts.flatMap((text) => [flag, text])
}

/** The words after the program, of arguments that the schema has let through. An argument that is absent leaves none. */
export function argvOf(template: ArgvTemplate, args: JsonObject): WordsResult {
  const words: string[] = []
  let isFree = false
  for (const part of template) {
    if (typeof part === 'string') {
      words.push(part)
      isFree ||= part === END_OF_OPTIONS
      continue
    }
    const value = Object.hasOwn(args, part.arg) ? args[part.arg] : undefined
    if (value === undefined) continue
    const more = wordsOf(part, value, isFree)
    if (typeof more === 'string') return { ok: false, arg: part.arg, problem: more }
    words.push(...more)
    if (words.length > TOOL_ARGV_WORDS)
      return { ok: false, arg: part.arg, problem: `makes more than ${TOOL_ARGV_WORDS} words` }
  }
  return { ok: true, words }
}
