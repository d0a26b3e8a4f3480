/**
 * Parameter expansion: `$x`, `${x:-d}`, `${x%pattern}`, `${x:0:2}`, `${x/a/b}`, `${#x}`, `${!x}`, arrays, `$@`. What is
 * not known gives an opaque word with the beginning that is.
 * Rules: POSIX.1-2024 XCU 2.6.2; bash 5.2 manual, "Shell Parameter Expansion".
 * @module
 */
import { evaluate } from './arithmetic.ts'
import { compilePattern, matchEnd, matchFrom, type PatternToken } from './pattern.ts'
import { known, type State, setVariable, UNKNOWN, type Value, variableOf } from './state.ts'
import type { List, Parameter, ShellWord, Word } from './syntax.ts'

/** What expansion needs of the walk over the commands. */
export type Expander = {
  readonly state: State
  readonly home: string
  /** Pays for work, and for text that is made; false where nothing more is looked at. */
  readonly charge: (steps: number) => boolean
  readonly hold: (characters: number) => boolean
  /** Runs a substitution; its output where it is known. */
  readonly substitute: (body: List) => string | undefined
  readonly substituted: (body: List, isInput: boolean) => void
  /** Expands without splitting. */
  readonly single: (word: Word) => ShellWord
  /** The parts of a pattern, expanded; undefined where one is not known. */
  readonly segments: (
    word: Word,
  ) => readonly { readonly text: string; readonly isQuoted: boolean }[] | undefined
}

/** `splice`: the parts of that word take the parameter's place. `isList`: each item is a word, even in quotes. */
export type Expansion =
  | {
      readonly kind: 'items'
      readonly items: readonly ShellWord[]
      readonly isList: boolean
      readonly isStar: boolean
    }
  | { readonly kind: 'splice'; readonly word: Word }

type Found = {
  readonly items: readonly ShellWord[]
  readonly isList: boolean
  readonly isStar: boolean
  readonly isUnset: boolean
}

const NOT_KNOWN: Found = Object.freeze({ items: [UNKNOWN], isList: false, isStar: false, isUnset: false })
const UNSET: Found = Object.freeze({ items: [known('')], isList: false, isStar: false, isUnset: true })

/** A pattern longer than this is not compiled. */
const PATTERN_CHARACTERS = 1_024
/** Comparisons of a character that one step makes. */
const COMPARED_A_STEP = 16
/** Work on one value beyond which its result counts as not known. */
const PATTERN_STEPS = 1_000_000

const RUN: ShellWord = Object.freeze({ ...UNKNOWN, opaque: 'eval' })

export function expandParameter(expander: Expander, parameter: Parameter): Expansion {
  const { operator, argument } = parameter
  let found = find(expander, parameter)
  if (parameter.form === 'length') found = lengthOf(found, parameter)
  if (operator === undefined) return itemsOf(found)
  if (operator === 'bad') {
    expander.single(argument)
    // `${(e)x}` of zsh runs what is in the value, as a text in quotes does.
    return itemsOf({ ...NOT_KNOWN, items: [RUN] })
  }
  // Plain text of `${x:-text}`, which is split as a value is.
  if (operator === 'text') return itemsOf({ ...UNSET, items: [globbed(expander.single(argument))] })
  if (operator === ':' && found.isList) {
    expander.single(argument)
    return itemsOf(NOT_KNOWN)
  }
  const isOpaque = found.items.some((item) => item.opaque !== undefined)
  const isNull = found.isUnset || (operator.startsWith(':') && found.items.every((item) => item.text === ''))
  switch (operator) {
    case ':-':
    case '-':
    case ':=':
    case '=': {
      const assigns = operator.endsWith('=')
      if (isOpaque) {
        const word = expander.single(argument)
        const likely = found.items[0]?.text === '' ? word.text : (found.items[0]?.text ?? '')
        const value: ShellWord = { text: likely, isGlob: word.isGlob, opaque: word.opaque ?? 'expansion' }
        if (assigns) setVariable(expander.state, parameter.name, { kind: 'text', word: value })
        return itemsOf({ ...NOT_KNOWN, items: [value] })
      }
      if (!isNull) return itemsOf(found)
      if (!assigns) return { kind: 'splice', word: argument }
      const word = expander.single(argument)
      setVariable(expander.state, parameter.name, { kind: 'text', word })
      return itemsOf({ ...NOT_KNOWN, items: [word] })
    }
    case ':+':
    case '+':
      if (isOpaque && argument.length > 0) {
        return itemsOf({ ...NOT_KNOWN, items: [{ ...expander.single(argument), opaque: 'expansion' }] })
      }
      return isNull ? itemsOf(UNSET) : { kind: 'splice', word: argument }
    case ':?':
    case '?':
      expander.single(argument)
      return itemsOf(found)
    default:
      return itemsOf({ ...found, items: found.items.map((item) => transform(expander, parameter, item)) })
  }
}

function itemsOf({ items, isList, isStar }: Found): Expansion {
  return { kind: 'items', items, isList, isStar }
}

/** What was not quoted can still be a glob. */
function globbed(word: ShellWord): ShellWord {
  const hasSet = word.text.includes('[') && word.text.includes(']')
  return { ...word, isGlob: word.isGlob || hasSet || word.text.includes('*') || word.text.includes('?') }
}

function lengthOf(found: Found, { name, index }: Parameter): Found {
  const isOpaque = found.items.some((item) => item.opaque !== undefined || item.isGlob)
  if (isOpaque) return NOT_KNOWN
  const isCount = found.isList || name === '@' || name === '*' || index !== undefined
  const length = isCount && found.isList ? found.items.length : (found.items[0]?.text.length ?? 0)
  return { ...UNSET, items: [known(String(length))], isUnset: false }
}

function find(expander: Expander, parameter: Parameter): Found {
  const { state } = expander
  const { index, form } = parameter
  // Its substitutions run whatever the value is.
  const element = index === undefined ? undefined : expander.single(index)
  let { name } = parameter
  if (form === 'indirect') {
    const value = variableOf(state, name)
    const isName =
      value?.kind === 'text' &&
      value.word.opaque === undefined &&
      /^(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#])$/.test(value.word.text)
    if (!isName || index !== undefined) return NOT_KNOWN
    name = value.word.text
  }
  if (name === '@' || name === '*') {
    if (state.positional === undefined) return NOT_KNOWN
    return {
      items: state.positional,
      isList: true,
      isStar: name === '*',
      isUnset: state.positional.length === 0,
    }
  }
  if (name === '#') {
    const count = state.positional?.length
    return count === undefined ? NOT_KNOWN : { ...UNSET, items: [known(String(count))], isUnset: false }
  }
  if (/^[1-9][0-9]*$/.test(name) && state.positional !== undefined) {
    const item = state.positional[Number.parseInt(name, 10) - 1]
    return item === undefined ? UNSET : { ...UNSET, items: [item], isUnset: false }
  }
  const value = variableOf(state, name)
  if (value === undefined) return NOT_KNOWN
  return element === undefined ? scalarOf(value) : elementOf(expander, value, element)
}

function scalarOf(value: Value): Found {
  const item = value.kind === 'text' ? value.word : value.kind === 'array' ? value.items[0] : undefined
  return item === undefined ? UNSET : { ...UNSET, items: [item], isUnset: false }
}

function elementOf(expander: Expander, value: Value, { text, opaque }: ShellWord): Found {
  if (opaque !== undefined) return NOT_KNOWN
  const items = value.kind === 'array' ? value.items : value.kind === 'text' ? [value.word] : []
  if (text === '@' || text === '*')
    return { items, isList: true, isStar: text === '*', isUnset: items.length === 0 }
  const number = numberOf(expander, text)
  if (number === undefined) return NOT_KNOWN
  const item = items[number < 0 ? items.length + number : number]
  return item === undefined ? UNSET : { ...UNSET, items: [item], isUnset: false }
}

function numberOf(expander: Expander, text: string): number | undefined {
  return evaluate(text, (name) => {
    const value = variableOf(expander.state, name)
    if (value?.kind === 'unset') return '0'
    return value?.kind === 'text' && value.word.opaque === undefined ? value.word.text : undefined
  })
}

function transform(expander: Expander, parameter: Parameter, item: ShellWord): ShellWord {
  const { operator = '', argument, second } = parameter
  // What a substitution in the argument runs must be seen even where the value is not known.
  if (item.opaque !== undefined || item.isGlob) {
    expander.single(argument)
    if (second !== undefined) expander.single(second)
    // A glob with an end taken off, or a piece put in, may be anything in its directory.
    return { ...UNKNOWN, opaque: item.opaque ?? 'expansion' }
  }
  if (operator === ':') return substringOf(expander, parameter, item.text)
  if (operator === '@') {
    // What is in it runs, as in a prompt.
    return /[$`]/.test(item.text) ? RUN : UNKNOWN
  }
  if (/[\^,~]/.test(operator)) return UNKNOWN
  const segments = expander.segments(argument)
  const replacement = expander.single(second ?? [])
  // `&` is what was found in some versions of bash, `+(a)` a pattern in some settings.
  const isPlain = !replacement.text.includes('&') && segments?.every(({ text }) => !/[?*+@!]\(/.test(text))
  if (segments === undefined || !isPlain || replacement.opaque !== undefined) return UNKNOWN
  if (segments.reduce((sum, { text }) => sum + text.length, 0) > PATTERN_CHARACTERS) return UNKNOWN
  const pattern = compilePattern(segments)
  const size = item.text.length + 1
  const cost = size * size * (pattern.length + 1)
  if (cost > PATTERN_STEPS || !expander.charge(Math.floor(cost / COMPARED_A_STEP))) return UNKNOWN
  const result = changed(operator, pattern, item.text, replacement.text)
  return known(result)
}

function changed(
  operator: string,
  pattern: readonly PatternToken[],
  text: string,
  replacement: string,
): string {
  switch (operator) {
    case '#':
    case '##':
    case '/#': {
      const end = matchFrom(pattern, text, 0, operator !== '#')
      return end === -1 ? text : (operator === '/#' ? replacement : '') + text.slice(end)
    }
    case '%':
    case '%%':
    case '/%': {
      const start = matchEnd(pattern, text, operator !== '%')
      return start === -1 ? text : text.slice(0, start) + (operator === '/%' ? replacement : '')
    }
    case '/':
    case '//':
      return pattern.length === 0 ? text : replaced(pattern, text, replacement, operator === '//')
    default:
      return text
  }
}

function replaced(
  pattern: readonly PatternToken[],
  text: string,
  replacement: string,
  isAll: boolean,
): string {
  let result = ''
  let at = 0
  while (at < text.length) {
    const end = matchFrom(pattern, text, at, true)
    if (end <= at) {
      result += text[at]
      at += 1
      continue
    }
    result += replacement
    at = end
    if (!isAll) break
  }
  return result + text.slice(at)
}

function substringOf(expander: Expander, { argument, second }: Parameter, text: string): ShellWord {
  const offsetWord = expander.single(argument)
  const lengthWord = second === undefined ? undefined : expander.single(second)
  if (offsetWord.opaque !== undefined || lengthWord?.opaque !== undefined) return UNKNOWN
  const offset = numberOf(expander, offsetWord.text)
  const length = lengthWord === undefined ? text.length : numberOf(expander, lengthWord.text)
  if (offset === undefined || length === undefined) return UNKNOWN
  const start = offset < 0 ? text.length + offset : offset
  if (start < 0) return known('')
  return known(
    length < 0 ? text.slice(start, Math.max(start, text.length + length)) : text.slice(start, start + length),
  )
}
