/**
 * Assignments: `x=`, `x+=`, `a[1]=`, `a=(...)`, and those of `declare`, `export`, `local`, `readonly`.
 * Rules: POSIX.1-2024 XCU 2.9.1; bash 5.2 manual, "Arrays" and `declare`.
 * @module
 */
import type { Expander } from './parameters.ts'
import { deleteVariable, fixVariable, forgetAll, known, setVariable, UNKNOWN, variableOf } from './state.ts'
import type { Assignment, ShellWord, Simple, Word, WordPart } from './syntax.ts'
import { expandWord } from './words.ts'

const ELEMENTS = 256

/** Sets the variable in the expander's state; the value that the assignment itself gives. */
export function assign(expander: Expander, assignment: Assignment): ShellWord {
  const { name, index, isAppend, isArray } = assignment
  if (isArray) return assignArray(expander, assignment)
  const value = valueWithTildes(expander, assignment.value as Word)
  const before = variableOf(expander.state, name)
  if (index !== undefined) {
    expander.single(index)
    deleteVariable(expander.state, name)
    return value
  }
  if (!isAppend) {
    setVariable(expander.state, name, { kind: 'text', word: value })
    return value
  }
  const head = before?.kind === 'text' ? before.word : before?.kind === 'unset' ? known('') : UNKNOWN
  const whole = appended(head, value)
  if (!expander.hold(whole.text.length)) return UNKNOWN
  setVariable(expander.state, name, { kind: 'text', word: whole })
  return whole
}

function assignArray(expander: Expander, { name, value, isAppend }: Assignment): ShellWord {
  const before = variableOf(expander.state, name)
  const items: ShellWord[] = isAppend && before?.kind === 'array' ? [...before.items] : []
  const isOpen = isAppend && before === undefined
  let isKnown = !isOpen
  for (const word of value as readonly Word[]) {
    const [first] = word
    // `[3]=x` puts it somewhere else than next.
    const isIndexed = first?.kind === 'text' && !first.isQuoted && /^\[[^\]]*\]=/.test(first.text)
    const expanded = expandWord(expander, word)
    if (expanded === undefined || isIndexed) isKnown = false
    for (const item of expanded ?? []) if (items.length < ELEMENTS) items.push(item)
  }
  if (items.length >= ELEMENTS) isKnown = false
  // Which item has which index is not known of a glob.
  if (items.some(({ isGlob, opaque }) => isGlob || opaque !== undefined)) isKnown = false
  if (isKnown) setVariable(expander.state, name, { kind: 'array', items })
  else deleteVariable(expander.state, name)
  return isKnown ? (items[0] ?? known('')) : UNKNOWN
}

/** A `~` after a colon is expanded as one at the start, as in `PATH=/x:~/bin`. */
function valueWithTildes(expander: Expander, word: Word): ShellWord {
  const groups: WordPart[][] = [[]]
  for (const part of word) {
    const isPlain = part.kind === 'text' && !part.isQuoted && part.text.includes(':~')
    const pieces = isPlain ? part.text.split(/(?<=:)(?=~)/) : undefined
    for (const [index, text] of (pieces ?? []).entries()) {
      if (index > 0) groups.push([])
      groups.at(-1)?.push({ kind: 'text', text, isQuoted: false })
    }
    if (pieces === undefined) groups.at(-1)?.push(part)
  }
  return groups.map((group) => expander.single(group)).reduce(appended)
}

function appended(head: ShellWord, tail: ShellWord): ShellWord {
  if (head.opaque !== undefined) return head
  return { ...tail, text: head.text + tail.text, isGlob: head.isGlob || tail.isGlob }
}

/** The effects of `declare` and its kin, whose words have been expanded to `words`. */
export function declared(
  expander: Expander,
  locals: Set<string> | undefined,
  program: string,
  simple: Simple,
  words: readonly ShellWord[],
): void {
  const { state } = expander
  const operands = words.slice(1)
  // A word that is not written out may set anything.
  if (operands.some(({ text, opaque }) => opaque !== undefined && !text.includes('='))) forgetAll(state)
  const flags = operands
    .filter(({ text }) => /^[-+]/.test(text))
    .map(({ text }) => text)
    .join('')
  // Integers, changed case and their like have other values than are written, and other variables with `-g`.
  const isPlain = !/[^-+xrpfat]/.test(flags) || program === 'export'
  const isFixed = !isPlain || program === 'readonly' || flags.includes('r')
  const isLocal = program === 'local' || program === 'declare' || program === 'typeset'
  for (const { text, isGlob, opaque, stands } of operands) {
    const found = /^([A-Za-z_][A-Za-z0-9_]*)(\+?=)?/.exec(text)
    const [head = '', name, sign] = found ?? []
    if (name === undefined) continue
    if (isLocal) locals?.add(name)
    if (sign === '=' && isPlain) {
      const word = { text: text.slice(head.length), isGlob, opaque }
      const isMarked = stands?.startsWith(head) === true
      setVariable(state, name, {
        kind: 'text',
        word: isMarked ? { ...word, stands: stands.slice(head.length) } : word,
      })
    } else if (sign !== undefined || isLocal) deleteVariable(state, name)
    else if (!isPlain || text.length > head.length) deleteVariable(state, name)
    if (isFixed) fixVariable(state, name)
  }
  for (const array of simple.arrays) {
    if (isLocal) locals?.add(array.name)
    assign(expander, array)
    if (!isPlain) deleteVariable(state, array.name)
    if (isFixed) fixVariable(state, array.name)
  }
}
