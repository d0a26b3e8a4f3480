/**
 * Expansion of words to what a program would be given: braces, `~`, parameters, substitutions, field splitting, quote
 * removal. Of a word that is not known wholly, the beginning that is.
 * Rules: POSIX.1-2024 XCU 2.6.
 * @module
 */
import { assignedNames, evaluate } from './arithmetic.ts'
import { expandBraces } from './braces.ts'
import { type Expander, expandParameter } from './parameters.ts'
import { DEFAULT_IFS, forgetAll, known, separatorsOf, setVariable, UNKNOWN, variableOf } from './state.ts'
import type { ShellWord, Word, WordPart } from './syntax.ts'

type Builder = {
  readonly fields: ShellWord[]
  text: string
  isGlob: boolean
  /** An unquoted `[` waits for its `]`. */
  hasBracket: boolean
  opaque: ShellWord['opaque']
  stands: string | undefined
  /** Something is in the field, if only a pair of quotes. */
  isStarted: boolean
  /** The field before ended at a blank, so that a separator that follows is the same one. */
  isAfterBlank: boolean
  readonly isSplit: boolean
}

/** The words that `word` becomes; undefined where they are too many. */
export function expandWord(expander: Expander, word: Word): readonly ShellWord[] | undefined {
  const alternatives = expandBraces(word, expander.charge)
  if (alternatives === undefined) return undefined
  const [only] = alternatives
  if (alternatives.length === 1 && only !== undefined) return expandFields(expander, only, true)
  return alternatives.flatMap((alternative) => expandFields(expander, alternative, true))
}

/** The one field of a word of plain text, which nothing is expanded in; undefined for any other word. */
export function plainField(word: Word): ShellWord | undefined {
  const [part] = word
  if (part === undefined || word.length > 1 || part.kind !== 'text') return undefined
  const { text, isQuoted } = part
  if (!isQuoted && (text === '' || hasMeaning(text))) return undefined
  return { text, isGlob: false, opaque: undefined }
}

function hasMeaning(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 123: // {
      case 126: // ~
      case 42: // *
      case 63: // ?
      case 91: // [
        return true
      default:
    }
  }
  return false
}

/** One word without braces and splitting, as in assignments, redirections and quotes. */
export function expandSingle(expander: Expander, word: Word): ShellWord {
  return expandFields(expander, word, false)[0] ?? known('')
}

/** As a pattern: what is quoted stands for itself. */
export function patternSegments(
  expander: Expander,
  word: Word,
): readonly { readonly text: string; readonly isQuoted: boolean }[] | undefined {
  const segments: { text: string; isQuoted: boolean }[] = []
  for (const part of word) {
    const { text, opaque } = expandSingle(expander, [part])
    if (opaque !== undefined) return undefined
    segments.push({
      text,
      isQuoted:
        part.kind !== 'substituted' && part.kind !== 'text'
          ? part.isQuoted
          : part.kind === 'text' && part.isQuoted,
    })
  }
  return segments
}

/** And the field that they become. */
const FIELD_STEPS = 8

function expandFields(expander: Expander, word: Word, isSplit: boolean): readonly ShellWord[] {
  if (!expander.charge(FIELD_STEPS)) return []
  const plain = plainField(word)
  if (plain !== undefined) return [plain]
  const builder: Builder = {
    fields: [],
    text: '',
    isGlob: false,
    hasBracket: false,
    opaque: undefined,
    stands: undefined,
    isStarted: false,
    isAfterBlank: false,
    isSplit,
  }
  const rest = addTilde(expander, builder, word)
  for (const part of rest) addPart(expander, builder, part)
  finish(builder)
  return builder.fields
}

/** `~`, `~/`, `~user` and `~+` at the start of a word. */
function addTilde(expander: Expander, builder: Builder, word: Word): Word {
  const [first, ...rest] = word
  if (first?.kind !== 'text' || first.isQuoted || !first.text.startsWith('~')) return word
  const slash = first.text.indexOf('/')
  const user = first.text.slice(1, slash === -1 ? undefined : slash)
  if (slash === -1 && rest.length > 0) return word
  const home = homeOf(expander, user)
  if (home === undefined) return word
  addItem(expander, builder, home, true)
  return slash === -1 ? rest : [{ ...first, text: first.text.slice(slash) }, ...rest]
}

function homeOf(expander: Expander, user: string): ShellWord | undefined {
  if (user === '' || user === '+' || user === '-') {
    const name = user === '' ? 'HOME' : user === '+' ? 'PWD' : 'OLDPWD'
    const value = variableOf(expander.state, name)
    if (value?.kind === 'unset') return known(expander.home)
    return value?.kind === 'text' ? value.word : UNKNOWN
  }
  if (/^[-+]?[0-9]{1,3}$/.test(user)) return UNKNOWN
  if (user === 'root') return known('/root')
  return /^[A-Za-z_][A-Za-z0-9_.-]*$/.test(user) ? known(`/home/${user}`) : undefined
}

/** What expanding a part of a word costs, whatever comes of it. */
const PART_STEPS = 8

function addPart(expander: Expander, builder: Builder, part: WordPart): void {
  expander.charge(PART_STEPS)
  switch (part.kind) {
    case 'text':
      addText(expander, builder, part.text, part.isQuoted)
      return
    case 'substituted':
      expander.substituted(part.body, part.isInput)
      addItem(
        expander,
        builder,
        { text: '', isGlob: false, opaque: 'substitution', stands: UNKNOWN_MARK },
        true,
      )
      return
    case 'substitution': {
      const output = expander.substitute(part.body)
      const item: ShellWord = output === undefined || part.isValue === true ? UNKNOWN_OUTPUT : known(output)
      addItem(expander, builder, item, part.isQuoted)
      return
    }
    case 'arithmetic':
      addItem(expander, builder, expandArithmetic(expander, part.expression), part.isQuoted)
      return
    case 'parameter': {
      const expansion = expandParameter(expander, part.parameter)
      if (expansion.kind === 'splice') {
        for (const inner of expansion.word) addPart(expander, builder, spliced(inner, part.isQuoted))
        if (part.isQuoted) builder.isStarted = true
        return
      }
      addItems(expander, builder, expansion.items, part.isQuoted, expansion)
      return
    }
  }
}

/** In `"${x:-word}"` the word is quoted. Without quotes, its plain text is split as a value would be. */
function spliced(part: WordPart, isQuoted: boolean): WordPart {
  if (part.kind === 'substituted') return part
  if (isQuoted) return { ...part, isQuoted }
  if (part.kind !== 'text' || part.isQuoted) return part
  const parameter = {
    name: '',
    index: undefined,
    form: 'value',
    operator: 'text',
    argument: [part],
    second: undefined,
  } as const
  return { kind: 'parameter', parameter, isQuoted: false }
}

function addItems(
  expander: Expander,
  builder: Builder,
  items: readonly ShellWord[],
  isQuoted: boolean,
  { isList, isStar }: { readonly isList: boolean; readonly isStar: boolean },
): void {
  const isSeparate = isList && builder.isSplit && !(isQuoted && isStar)
  if (isSeparate) {
    for (const [index, item] of items.entries()) {
      if (index > 0) finish(builder)
      addItem(expander, builder, item, isQuoted)
    }
    return
  }
  if (isQuoted) builder.isStarted = true
  const separator = isList && isStar ? (separatorsOf(expander.state)?.slice(0, 1) ?? ' ') : ' '
  for (const [index, item] of items.entries()) {
    if (index > 0) addText(expander, builder, separator, true)
    addItem(expander, builder, item, isQuoted)
  }
}

/** Adds a value; splits it where it is not quoted. */
function addItem(expander: Expander, builder: Builder, item: ShellWord, isQuoted: boolean): void {
  if (isQuoted || !builder.isSplit) addText(expander, builder, item.text, true)
  else addSplit(expander, builder, item.text)
  if (item.isGlob) builder.isGlob = true
  if (item.opaque !== undefined) {
    // Its known beginning has been added.
    const { text, stands } = item
    const rest = stands?.startsWith(text) ? stands.slice(text.length) : UNKNOWN_MARK
    expander.hold(rest.length)
    builder.stands = (builder.stands ?? builder.text) + rest
    builder.opaque ??= item.opaque
    builder.isStarted = true
  }
}

function addText(expander: Expander, builder: Builder, text: string, isQuoted: boolean): void {
  if (isQuoted || text !== '') builder.isStarted = true
  builder.isAfterBlank = false
  if (!expander.hold(text.length)) return
  if (!isQuoted) markGlob(builder, text)
  if (builder.opaque === undefined) builder.text += text
  else if (builder.stands !== undefined) builder.stands += text
}

function markGlob(builder: Builder, text: string): void {
  for (const character of text) {
    if (character === '*' || character === '?' || (character === ']' && builder.hasBracket))
      builder.isGlob = true
    else if (character === '[') builder.hasBracket = true
  }
}

function addSplit(expander: Expander, builder: Builder, text: string): void {
  if (!expander.charge(text.length)) return
  const separators = separatorsOf(expander.state)
  if (separators === undefined) {
    // Where it would be cut is not known.
    if (text !== '') addText(expander, builder, text, false)
    builder.opaque ??= 'expansion'
    builder.isStarted = true
    return
  }
  let start = 0
  for (let at = 0; at <= text.length; at += 1) {
    const character = text[at]
    const isSeparator = character !== undefined && separators.includes(character)
    if (character !== undefined && !isSeparator) continue
    if (at > start) addText(expander, builder, text.slice(start, at), false)
    start = at + 1
    if (character === undefined) continue
    const isBlank = DEFAULT_IFS.includes(character)
    if (builder.isStarted) {
      finish(builder)
      builder.isAfterBlank = isBlank
    } else if (!isBlank && !builder.isAfterBlank) {
      builder.isStarted = true
      finish(builder)
    } else if (!isBlank) builder.isAfterBlank = false
  }
}

/** In the place of what is not known. */
export const UNKNOWN_MARK = '<unknown>'
const UNKNOWN_OUTPUT: ShellWord = Object.freeze({ ...UNKNOWN, opaque: 'substitution' })

/** Whether a path leads out of where its known beginning does: `x/<unknown>/../../y`. */
function climbs(rest: string): boolean {
  if (!rest.includes('..')) return false
  let depth = 0
  for (const part of rest.split('/')) {
    if (part === '..') depth -= 1
    else if (part !== '' && part !== '.') depth += 1
    if (depth < 0) return true
  }
  return false
}

function finish(builder: Builder): void {
  if (builder.opaque !== undefined && climbs(builder.stands?.slice(builder.text.length) ?? '')) {
    builder.text = ''
    builder.stands = undefined
  }
  if (builder.isStarted)
    builder.fields.push(
      builder.stands === undefined
        ? { text: builder.text, isGlob: builder.isGlob, opaque: builder.opaque }
        : { text: builder.text, isGlob: builder.isGlob, opaque: builder.opaque, stands: builder.stands },
    )
  builder.text = ''
  builder.isGlob = false
  builder.hasBracket = false
  builder.opaque = undefined
  builder.stands = undefined
  builder.isStarted = false
}

/** The value where it is simple; what the expression assigns becomes unknown. */
export function expandArithmetic(expander: Expander, expression: Word): ShellWord {
  const { text, opaque } = expandSingle(expander, expression)
  if (opaque !== undefined) {
    // A part that is not known may assign to anything.
    forgetAll(expander.state)
    return UNKNOWN
  }
  const names = assignedNames(text)
  for (const name of names) setVariable(expander.state, name, { kind: 'text', word: UNKNOWN })
  if (names.length > 0) return UNKNOWN
  const value = evaluate(text, (name) => {
    const found = variableOf(expander.state, name)
    return found?.kind === 'text' && found.word.opaque === undefined ? found.word.text : undefined
  })
  return value === undefined ? UNKNOWN : known(String(value))
}
