/**
 * What names stand for in code: imports, aliases, members taken out of a module, names that a value was given to.
 * @module
 */
import { isAddress, isLoader } from './calls.ts'
import { join } from './joins.ts'
import { ARGUMENT_TOKENS, addCall, mark, nameAt, type Reading, type Value } from './reading.ts'
import { GIVEN, noteAll, noteModule } from './unknown-uses.ts'
import { closing, readValue, resolve } from './values.ts'

/** Modules of which everything is taken in; a name is looked for in each. */
const STARS_MAX = 16

/** `import a as b`, `from a import b as c`, and what JavaScript has for it; gives the last index, or `index` for none. */
export function readImport(reading: Reading, index: number): number {
  const word = nameAt(reading, index)
  if (word === 'import' && mark(reading, index + 1) !== '(') {
    const names: string[] = []
    let at = index + 1
    let module: string | undefined
    for (; at < reading.tokens.length && at < index + ARGUMENT_TOKENS; at++) {
      const token = reading.tokens[at]
      if (
        token === undefined ||
        token.text === ';' ||
        (token.text === '\n' && reading.language !== 'javascript')
      )
        break
      if (token.kind === 'string') {
        module = token.text.replace('node:', '')
        reading.used.add(at)
        break
      }
      if (token.kind === 'name') names.push(token.text)
      else if (token.text === '*') names.push('*')
      else if (token.text === '{') names.push('{')
      else if (token.text === ',') names.push(',')
    }
    if (reading.language === 'python') {
      bindNames(reading, names, (name) => name)
      names.forEach((name, place) => {
        if (name !== ',' && name !== 'as' && names[place - 1] !== 'as') noteModule(reading, name)
      })
    } else if (module !== undefined) bindModule(reading, names, module)
    return at
  }
  if (word === 'from' && reading.language === 'python') {
    const module = nameAt(reading, index + 1)
    const names: string[] = []
    let at = index + 3
    for (; at < reading.tokens.length && at < index + ARGUMENT_TOKENS; at++) {
      const token = reading.tokens[at]
      if (
        token === undefined ||
        token.text === ';' ||
        (token.text === '\n' && mark(reading, index + 3) !== '(')
      )
        break
      if (token.text === ')') break
      if (token.kind === 'name') names.push(token.text)
      else if (token.text === '*' && reading.stars.length < STARS_MAX && !reading.stars.includes(module)) {
        reading.stars.push(module)
      } else if (token.text === ',') names.push(',')
    }
    noteModule(reading, module)
    if (reading.stars.includes(module)) noteAll(reading, module)
    bindNames(reading, names, (name) => `${module}.${name}`)
    return at
  }
  if (reading.language === 'perl' && PERL_IMPORTS.has(word)) {
    const module = nameAt(reading, index + 1)
    if (!/^[A-Za-z]/.test(module)) return index
    addCall(reading, `import:${module}`)
    noteModule(reading, module)
    return index + 1
  }
  return index
}

const PERL_IMPORTS: ReadonlySet<string> = new Set(['use', 'require'])

function bindNames(reading: Reading, names: readonly string[], full: (name: string) => string): void {
  for (let at = 0; at < names.length; at++) {
    const name = names[at] ?? ''
    if (name === ',' || name === '{') continue
    const as = names[at + 1] === 'as' ? names[at + 2] : undefined
    const target = full(name)
    if (as !== undefined) {
      reading.aliases.set(as, target)
      at += 2
    } else if (target !== name) reading.aliases.set(name, target)
    addCall(reading, target === name ? `import:${name}` : target)
  }
}

function bindModule(reading: Reading, names: readonly string[], module: string): void {
  let isInside = false
  for (let at = 0; at < names.length; at++) {
    const name = names[at] ?? ''
    if (name === '{') isInside = true
    else if (name === 'from') break
    else if (name !== ',' && name !== 'as' && name !== '*') {
      const as = names[at + 1] === 'as' ? names[at + 2] : undefined
      if (isInside) {
        reading.aliases.set(as ?? name, `${module}.${name}`)
        if (as !== undefined) at += 2
      } else reading.aliases.set(name, module)
    }
  }
  addCall(reading, `import:${module}`)
  if (isAddress(module)) reading.opaque.add('eval')
  noteModule(reading, module)
}

/** How far the value stands behind a name to which it is added: `+=`, `.=`, `..=`, and `<<` of Ruby; 0 for none. */
function addedBehind(reading: Reading, index: number): number {
  const text = mark(reading, index + 1)
  if (text === '+=' || (text === '<<' && reading.language === 'ruby')) return 2
  return (text === '.' || text === '..') && mark(reading, index + 2) === '=' ? 3 : 0
}

/** What is added to the value of a name, by a mark or by a method, makes another one of it. */
export function readAddition(reading: Reading, index: number): void {
  const full = nameAt(reading, index)
  const dot = full.lastIndexOf('.')
  const method = dot > 0 ? full.slice(dot) : ''
  const isMethod = ADDING.has(method) && mark(reading, index + 1) === '('
  // `push @list, value` of Perl.
  const isPush = full === 'push' && reading.language === 'perl'
  const behind = isMethod || isPush ? 2 : addedBehind(reading, index)
  if (behind === 0) return
  const bracket = isPush && mark(reading, index + 1) === '(' ? 1 : 0
  const name = isMethod ? full.slice(0, dot) : isPush ? nameAt(reading, index + 1 + bracket) : full
  const known = reading.values.get(name)
  if (known === undefined) return
  let at = index + behind + bracket
  let value: Value = known
  for (let count = 0; count < ADDED_MAX; count++) {
    if (isPush) at += 1
    const given = readValue(reading, at)
    const isItem = known.kind === 'list' && given.value.kind !== 'list'
    value = join(value, isItem ? { kind: 'list', items: [given.value] } : given.value)
    at = given.next
    if (!isPush || mark(reading, at) !== ',') break
  }
  reading.values.set(name, value)
}

const ADDING: ReadonlySet<string> = new Set(['.append', '.push', '.extend', '.concat'])
/** Values that are added at once; people write a few. */
const ADDED_MAX = 16

/** `name = value` and `{a, b} = require('m')`: what a name stands for from here on. */
export function readAssignment(reading: Reading, index: number): boolean {
  // `name := value` of Go, Nim and Pascal.
  const isDeclared = mark(reading, index + 1) === ':' && mark(reading, index + 2) === '='
  if (mark(reading, index + 1) !== '=' && (!isDeclared || reading.language !== 'other')) return false
  const name = nameAt(reading, index)
  // What a member is set to is no name's.
  if (name.startsWith('.')) return false
  const start = index + (isDeclared ? 3 : 2)
  const loaded = nameAt(reading, start) === 'await' ? start + 1 : start
  const module = moduleAt(reading, loaded)
  if (module !== undefined) {
    reading.aliases.set(name, module)
    return true
  }
  const member = memberAt(reading, start)
  if (member !== undefined) {
    reading.values.delete(name)
    reading.aliases.set(name, member)
    return false
  }
  const target = nameAt(reading, start)
  const isListed = target === 'join' && reading.language === 'perl'
  if (target !== '' && !isListed && mark(reading, start + 1) !== '(') {
    const known = reading.values.get(target)
    if (known === undefined) {
      reading.values.delete(name)
      reading.aliases.set(name, resolve(reading, target))
      return true
    }
  }
  const { value } = readValue(reading, start)
  reading.aliases.delete(name)
  if (value.kind === 'unknown') reading.values.delete(name)
  else reading.values.set(name, value)
  return true
}

/** What is taken out of a module by its name in quotes: `getattr(os, "un" + "link")`, `os["exe" .. "cute"]`. */
function memberAt(reading: Reading, index: number): string | undefined {
  const name = nameAt(reading, index)
  const isGetter = name === 'getattr' && mark(reading, index + 1) === '('
  if (!isGetter && (mark(reading, index + 1) !== '[' || reading.language !== 'lua')) return undefined
  const owner = isGetter
    ? (moduleAt(reading, index + 2) ?? resolve(reading, nameAt(reading, index + 2)))
    : resolve(reading, name)
  let at = index + 2
  if (isGetter) {
    at = mark(reading, at + 1) === '(' ? closing(reading, at + 1) + 1 : at + 1
    if (mark(reading, at) !== ',') return undefined
    at += 1
  }
  const { value } = readValue(reading, at)
  if (owner === '' || value.kind !== 'text' || value.isOpaque || !/^\w{1,64}$/.test(value.text))
    return undefined
  return `${owner}.${value.text}`
}

/** The module that a loader called at `index` gives: `require('fs')`, `__import__('os')`. */
export function moduleAt(reading: Reading, index: number): string | undefined {
  if (!isLoader(resolve(reading, nameAt(reading, index)))) return undefined
  const only = reading.tokens[index + 1]
  // `local f = require "ffi"`
  if (reading.language === 'lua' && only?.kind === 'string' && !only.isOpaque) return only.text
  if (mark(reading, index + 1) !== '(') return undefined
  const { value, next } = readValue(reading, index + 2)
  if (value.kind !== 'text' || value.isOpaque || mark(reading, next) !== ')') return undefined
  const after = reading.tokens[next + 1]
  const module = value.text.replace('node:', '')
  if (after?.kind === 'name' && after.text.startsWith('.') && mark(reading, next + 2) !== '(')
    return module + after.text
  return after?.kind === 'name' && after.text.startsWith('.') ? undefined : module
}

/** `{a, b: c} = require('m')`: the names between the brackets. */
export function bindMembers(reading: Reading, index: number): void {
  const from = nameAt(reading, index + 1) === 'await' ? index + 2 : index + 1
  const named = nameAt(reading, from)
  const module =
    moduleAt(reading, from) ?? reading.aliases.get(named) ?? (GIVEN.has(named) ? named : undefined)
  if (module === undefined) return
  for (let at = index - 2; at >= 0 && at > index - ARGUMENT_TOKENS && mark(reading, at) !== '{'; at--) {
    const name = nameAt(reading, at)
    if (name === '' || mark(reading, at + 1) === ':') continue
    const original = mark(reading, at - 1) === ':' ? nameAt(reading, at - 2) : name
    reading.aliases.set(name, `${module}.${original}`)
  }
}
