/**
 * The macros of m4: what its definitions and its input give to a shell or take in, also where the name or the text of
 * such a macro is put together by other macros.
 * Rules: the manual of GNU m4 1.4, "Defining and invoking macros" and "Running shell commands".
 * @module
 */
import { readEscapes } from './escapes.ts'
import { type Call, type Inner, literal, type Unwrap } from './inner.ts'
import { fromInput, inputOf } from './wrappers-editors.ts'

/** `include(/file)`, `sinclude(/file)`: what a macro reads. */
function included(text: string): readonly Inner[] {
  return [...text.matchAll(/include\([`\s]{0,8}([^'),\s]{1,4096})/g)].map(
    ([, path = '']): Inner => ({ kind: 'path', word: literal(path), use: 'read' }),
  )
}

/** Definitions that are followed, and how much text they may make. */
const DEFINITIONS_MAX = 32
const TEXT_MAX = 65_536
/** Quotes, which part nothing, and those of autoconf. */
const QUOTES = /[`']|\b(?:changequote|dnl)\b/g
/** `indir(x, y)`, `builtin(x, y)` and `defn(x)` are `x`. */
const INDIRECT =
  /\b(?:indir|builtin)\(\s{0,8}(\w{1,64})\s{0,8}(?:,\s{0,8}|(?=\)))|\bdefn\(\s{0,8}(\w{1,64})\s{0,8}\)/g
const DEFINED =
  /\b(?:define|pushdef)\(\s{0,8}(\w{1,64})\s{0,8},\s{0,8}([^(),]{0,1024}(?:\([^()]{0,1024}\)[^(),]{0,1024})?)\)/g

/** The text with its quotes taken off and its macros put in, as far as they are plain ones. */
function expanded(text: string, given: readonly (readonly [string, string])[]): string {
  let plain = text
    .replaceAll(QUOTES, '')
    .replaceAll(INDIRECT, (_, called?: string, named?: string) => named ?? `${called ?? ''}(`)
  const defined = [...plain.matchAll(DEFINED)].map(([, name = '', value = '']) => [name, value] as const)
  for (const [name, value] of [...given, ...defined].slice(0, DEFINITIONS_MAX)) {
    if (plain.length > TEXT_MAX) return plain
    if (value !== name) plain = plain.split(new RegExp(`\\b${name}\\b`)).join(value)
  }
  return plain
}

/** `-Dname=value` */
function definitionsOf({ parsed }: Call): readonly (readonly [string, string])[] {
  return parsed.values.flatMap(({ option, word }) => {
    if (option !== '-D' && option !== '--define') return []
    const [, name, value = ''] = /^(\w{1,64})=(.*)$/s.exec(word.text) ?? []
    return name === undefined ? [] : [[name, value.replaceAll(QUOTES, '')] as const]
  })
}

export const macros: Unwrap = (call) => {
  const given = definitionsOf(call)
  const texts = [inputOf(call)?.text ?? '', ...given.map(([, value]) => value)].filter((text) => text !== '')
  const whole = [...texts, ...texts.map((text) => expanded(text, given))]
  return [
    ...fromInput(call),
    ...whole.flatMap((text) => [...readEscapes(literal(text), call.name, call.work), ...included(text)]),
  ]
}
