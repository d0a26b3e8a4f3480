/**
 * Scripts of sed and of Tcl: the commands of sed that run a command or use a file, and the words of Tcl and expect
 * that start a program. Nothing else of them is told apart.
 * Rules: sed(1), POSIX.1-2024 and GNU; Tcl(n), exec(n), expect(1).
 * @module
 */

import type { Opaque } from '../effective.ts'
import type { ShellWord } from '../shell/shell.ts'
import type { Inner } from '../unwrap/inner.ts'
import { changesInBlock } from './databases.ts'
import { REACHING, TCL_PACKAGES } from './harmless-names.ts'
import { isHoledPath, tellsMore, withHoles } from './holes.ts'
import { secretPlaces } from './named-texts.ts'
import { GAP } from './script-parts.ts'
import { UNKNOWN_USE } from './unknown-uses.ts'

type Scripted = {
  readonly calls: readonly string[]
  readonly inner: readonly Inner[]
  readonly opaque: readonly Opaque[]
}

const INNER_MAX = 256

function word(text: string): ShellWord {
  return { text, isGlob: false, opaque: undefined }
}

/** Past a part that ends in `mark`, as of `s/a/b/`. */
function pastPart(text: string, from: number, mark: string): number {
  let isSet = false
  for (let at = from; at < text.length; at++) {
    const letter = text.charAt(at)
    if (letter === '\\') at += 1
    else if (letter === '[') isSet = true
    else if (letter === ']') isSet = false
    else if (letter === mark && !isSet) return at + 1
    else if (letter === mark && text.indexOf(']', at) < 0) return at + 1
  }
  return text.length
}

/** Past the addresses of a command: numbers, `$`, patterns, `,`, `~`, `+`, `!`. */
function pastAddress(text: string, from: number): number {
  let at = from
  while (at < text.length) {
    const letter = text.charAt(at)
    if (letter === '/') at = pastPart(text, at + 1, '/')
    else if (letter === '\\') at = pastPart(text, at + 2, text.charAt(at + 1))
    else if ('0123456789$,~+! \tIM;{}\n'.includes(letter) || letter === GAP) at += 1
    else break
  }
  return at
}

/** Of addresses: a gap within a pattern is text. */
function withoutPatterns(addresses: string): string {
  let rest = ''
  for (let at = 0; at < addresses.length; at++) {
    const letter = addresses.charAt(at)
    if (letter === '/') at = pastPart(addresses, at + 1, '/') - 1
    else if (letter === '\\') at = pastPart(addresses, at + 2, addresses.charAt(at + 1)) - 1
    else rest += letter
  }
  return rest
}

/** A word of a script; of one with a gap, what stands before it is known. */
function knownWord(text: string): ShellWord {
  const gap = text.indexOf(GAP)
  return gap < 0 ? word(text) : { ...word(text.slice(0, gap)), opaque: 'expansion' }
}

/** Behind a gap among addresses there is more of the address, or the command that it is for. */
const AFTER_ADDRESS = /^[0-9,~+! \tIM$]*\{?$/

function endsInCommand(addresses: string, command: string): boolean {
  const parts = addresses.split(GAP).slice(1)
  if (parts.length === 0) return true
  if (!/^[A-Za-z=]$/.test(command) && !parts.at(-1)?.endsWith('{')) return false
  return parts.every((part, index) => AFTER_ADDRESS.test(part) && (part !== '' || index === parts.length - 1))
}

/** Parts that are not known are gaps. Those that could be a command are `eval`. */
export function readSed(text: string, via: string): Scripted {
  const calls = new Set<string>()
  const inner: Inner[] = []
  const opaque = new Set<Opaque>()
  const restOfLine = (from: number) => {
    const end = text.indexOf('\n', from)
    return end < 0 ? text.length : end
  }
  let at = 0
  while (at < text.length && inner.length < INNER_MAX) {
    const from = at
    at = pastAddress(text, at)
    const command = text.charAt(at)
    const addresses = text.slice(from, at)
    const isOpen = at >= text.length && addresses.includes(GAP)
    if (isOpen || !endsInCommand(withoutPatterns(addresses), command)) opaque.add('eval')
    at += 1
    if (command === 's' || command === 'y') {
      const mark = text.charAt(at)
      const opening = at
      const middle = pastPart(text, at + 1, mark)
      const start = text.slice(middle, pastPart(text, middle, mark)).replace(mark, '')
      at = pastPart(text, middle, mark)
      // Without its end, what is not known may hold it, and a flag behind.
      if (text.slice(opening, at).includes(GAP) && (mark === GAP || text.charAt(at - 1) !== mark))
        opaque.add('eval')
      for (; at < text.length; at++) {
        const flag = text.charAt(at)
        if (flag === 'e' && command === 's') {
          calls.add('s///e')
          // What it runs is the line after the replacement, of which only this part is known.
          opaque.add('eval')
          inner.push({ kind: 'shell', word: { ...knownWord(start), opaque: 'expansion' }, via })
        } else if (flag === 'w') {
          const end = restOfLine(at)
          inner.push({ kind: 'path', word: knownWord(text.slice(at + 1, end).trim()), use: 'write' })
          calls.add('open:w')
          at = end
          break
        } else if (!'gpiImM0123456789'.includes(flag)) break
      }
    } else if (command === 'e') {
      const end = restOfLine(at)
      const given = text.slice(at, end).trim()
      calls.add('e')
      if (given === '' || given.includes(GAP)) opaque.add('eval')
      if (given !== '') inner.push({ kind: 'shell', word: knownWord(given), via })
      at = end
    } else if (command === 'w' || command === 'W' || command === 'r' || command === 'R') {
      const end = restOfLine(at)
      const isWrite = command.toLowerCase() === 'w'
      inner.push({
        kind: 'path',
        word: knownWord(text.slice(at, end).trim()),
        use: isWrite ? 'write' : 'read',
      })
      if (isWrite) calls.add('open:w')
      at = end
    } else if (command === 'a' || command === 'i' || command === 'c' || command === '#') at = restOfLine(at)
    // A label ends with its statement, in GNU sed as the name of one does that is gone to.
    else if ('btT:'.includes(command)) while (at < text.length && !';}\n'.includes(text.charAt(at))) at += 1
  }
  if (at < text.length) opaque.add('limit')
  return { calls: [...calls], inner, opaque: [...opaque] }
}

/** The words of Tcl up to the end of a command; braces and quotes keep together, brackets hold commands of their own. */
function tclCommands(text: string, depth = 0): readonly (readonly ShellWord[])[] {
  const commands: (readonly ShellWord[])[] = []
  const nested: string[] = []
  let words: ShellWord[] = []
  let current = ''
  let isOpen = false
  let isOpaque = false
  const endWord = () => {
    if (isOpen) words.push({ text: current, isGlob: false, opaque: isOpaque ? 'expansion' : undefined })
    current = ''
    isOpen = false
    isOpaque = false
  }
  const endCommand = () => {
    endWord()
    // To these a text in quotes is as much of a script as one in braces.
    if (TCL_CONTROL.has(words[0]?.text ?? ''))
      for (const { text, opaque } of words.slice(1))
        if (opaque === undefined && text.includes(' ') && !nested.includes(text)) nested.push(text)
    if (words.length > 0) commands.push(words)
    words = []
  }
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const letter = text.charAt(at)
    if (letter === '\\') {
      at += 1
      current += text.charAt(at)
      isOpen = true
    } else if (letter === '{' && !isOpen) {
      let level = 1
      const start = at + 1
      for (at += 1; at < text.length && level > 0; at++) {
        if (text.charAt(at) === '{') level += 1
        else if (text.charAt(at) === '}') level -= 1
      }
      at -= 1
      current = text.slice(start, level > 0 ? at + 1 : at)
      isOpen = true
      nested.push(current)
    } else if (letter === '"') {
      isQuoted = !isQuoted
      isOpen = true
    } else if (letter === '[') {
      const start = at + 1
      let level = 1
      for (at += 1; at < text.length && level > 0; at++) {
        if (text.charAt(at) === '[') level += 1
        else if (text.charAt(at) === ']') level -= 1
      }
      at -= 1
      nested.push(text.slice(start, level > 0 ? at + 1 : at))
      isOpen = true
      isOpaque = true
    } else if (letter === '$') {
      isOpen = true
      isOpaque = true
    } else if (!isQuoted && (letter === ';' || letter === '\n')) endCommand()
    else if (!isQuoted && (letter === ' ' || letter === '\t')) endWord()
    else if (!isOpaque) {
      current += letter
      isOpen = true
    }
    if (commands.length >= INNER_MAX) break
  }
  endCommand()
  if (depth < 4) for (const one of nested) commands.push(...tclCommands(one, depth + 1))
  return commands.slice(0, INNER_MAX)
}

/** Commands of Tcl that take scripts. */
const TCL_CONTROL: ReadonlySet<string> = new Set(
  'if while for foreach lmap catch try switch eval expr after time uplevel namespace apply proc trap dict expect interact bind trace'.split(
    ' ',
  ),
)

/** What parts the words of a Tcl text. */
const TCL_MARKS = /[\s"{}[\]]+/

/** `/proc/$p/environ`, and the ends of paths behind a variable with each directory that is named: `$p/environ`. */
function tclPatterns(given: string): readonly string[] {
  if (!given.includes('$') && !given.includes('/[')) return []
  // What a command within a path gives may be anything, as what a variable holds.
  const text = given.replaceAll(TCL_PUT_IN, '/$x')
  const words = text.match(TCL_PATHS)?.slice(0, PATHS_MAX) ?? []
  const named = words.filter((one) => !one.includes('$'))
  const patterns = words.map(withHoles).filter(tellsMore)
  return patterns.flatMap((pattern) =>
    isHoledPath(pattern)
      ? [pattern]
      : [pattern, ...named.map((place) => place.replace(/\/?\*?$/, '/') + pattern)],
  )
}

const TCL_PUT_IN = /\/\[[^[\]\n]{1,256}\]/g
const TCL_PATHS = /(?:[\w.*~/-]|\$\w|\$\{\w{1,64}\}){1,256}\/(?:[\w.*/-]|\$\w|\$\{\w{1,64}\}){0,256}/g
const PATHS_MAX = 32

/** `{*}[glob /x/*]`: all that fits. */
const TCL_LISTED = /\{\*\}\[\s{0,4}glob\s{1,4}(?:-\w{1,32}\s{1,4}|--\s{1,4}){0,4}([^\]\s]{1,1024})\s{0,4}\]/g

/** `{*}[glob -directory /x *]` */
const TCL_LISTED_IN =
  /\{\*\}\[\s{0,4}glob\s{1,4}(?:-nocomplain\s{1,4})?-dir(?:ectory)?\s{1,4}([^\]\s]{1,1024})\s{1,4}(?:--\s{1,4})?([^\]\s]{1,1024})\s{0,4}\]/g

export function readTcl(given: string, via: string): Scripted {
  const text = given.replaceAll(TCL_LISTED_IN, '$1/$2').replaceAll(TCL_LISTED, '$1')
  const calls = new Set<string>()
  const inner: Inner[] = []
  const opaque = new Set<Opaque>()
  // `[file join $env(HOME) .netrc]`
  for (const place of secretPlaces(text, text.split(TCL_MARKS)))
    inner.push({ kind: 'path', word: { text: place, isGlob: false, opaque: undefined }, use: 'read' })
  for (const pattern of tclPatterns(text))
    inner.push({ kind: 'path', word: { text: pattern, isGlob: true, opaque: undefined }, use: 'mention' })
  let place: ShellWord | undefined
  for (const words of tclCommands(text)) {
    const [name, ...rest] = plainTcl(words)
    const program = name?.text ?? ''
    if (REACHING.tcl.has(program)) calls.add(UNKNOWN_USE + program)
    if (program === 'package' && rest[0]?.text === 'require') {
      const module = rest.find(({ text: word }, index) => index > 0 && !word.startsWith('-'))?.text ?? ''
      if (!TCL_PACKAGES.has(module)) calls.add(UNKNOWN_USE + module)
    }
    if (program === 'exec' || program === 'spawn' || program === 'system') {
      const given = rest.filter(({ text: option }, index) => index > 0 || !option.startsWith('-'))
      // To drive a program of the project is to run it, which is judged as such.
      const isOwn =
        program === 'spawn' && given[0]?.opaque === undefined && /^\.\/\w/.test(given[0]?.text ?? '')
      if (!isOwn || given[0]?.text.includes('..')) calls.add(program)
      if (given.length === 0) continue
      if (program === 'system')
        inner.push({
          kind: 'shell',
          word: {
            text: given.map(({ text: part }) => part).join(' '),
            isGlob: false,
            opaque: given.find((one) => one.opaque)?.opaque,
          },
          via,
        })
      else {
        const { words: argv, files } = redirected(given)
        const listed = argv.map((word) => (/^[/~].*\*/.test(word.text) ? { ...word, isGlob: true } : word))
        if (argv.length > 0) inner.push({ kind: 'argv', words: listed, via })
        for (const file of files) inner.push({ kind: 'path', word: file, use: 'write' })
      }
    } else if (program === 'open') {
      const [file, mode] = rest
      if (file?.text.startsWith('|'))
        inner.push({ kind: 'shell', word: { ...file, text: file.text.slice(1) }, via })
      else if (file !== undefined) {
        const isWrite = /[wa+]/.test(mode?.text ?? '')
        calls.add(isWrite ? 'open:w' : 'open:r')
        inner.push({ kind: 'path', word: file, use: isWrite ? 'write' : 'read' })
      }
    } else if (program === 'sqlite3') {
      // `sqlite3 NAME FILE`
      const [, file] = rest
      if (file !== undefined)
        inner.push({ kind: 'path', word: file, use: changesInBlock(text) ? 'write' : 'read' })
    } else if (program === 'file') {
      const [action, ...files] = rest
      calls.add(`file.${action?.text ?? ''}`)
      const isWrite =
        ['delete', 'rename', 'mkdir', 'copy', 'link'].includes(action?.text ?? '') ||
        (action?.text === 'attributes' && files.length > 2)
      for (const file of files)
        if (isWrite && !file.text.startsWith('-')) inner.push({ kind: 'path', word: file, use: 'write' })
      // What is worked out is one of the places that the text names.
      if (isWrite && files.some((file) => file.opaque !== undefined))
        for (const named of text.match(TCL_PATHS)?.slice(0, PATHS_MAX) ?? [])
          if (/^[/~]/.test(named) && !named.includes('$'))
            inner.push({ kind: 'path', word: { text: named, isGlob: true, opaque: undefined }, use: 'write' })
    } else if (program === 'log_file') {
      // Of expect.
      const file = rest.find(({ text: option }) => !option.startsWith('-'))
      if (file !== undefined) inner.push({ kind: 'path', word: file, use: 'write' })
    } else if (program === 'cd') place = rest[0]
    else if ((program === 'rename' || program === 'interp') && rest.some((one) => TCL_POWER.test(one.text)))
      opaque.add('eval')
    else if (TCL_FILLERS.test(program)) {
      for (const file of rest)
        if (file.text.startsWith('/')) inner.push({ kind: 'path', word: file, use: 'write' })
    } else if (words[0]?.opaque !== undefined && program === '' && TCL_BUILT.test(text)) opaque.add('eval')
    else if (program === 'eval' || program === 'uplevel' || program === 'source') {
      calls.add(program)
      if (program === 'source' && rest[0] !== undefined)
        inner.push({ kind: 'path', word: rest[0], use: 'read' })
      else if (rest.some((one) => one.opaque !== undefined)) opaque.add('eval')
    }
  }
  return {
    calls: [...calls],
    inner: inner.slice(0, INNER_MAX).flatMap((one) => fromPlace(one, place)),
    opaque: [...opaque],
  }
}

/** What works out a text that is then the name of a command, or puts one into a variable. */
const TCL_BUILT =
  /\b(?:append|format|subst|binary|string\s+(?:map|range|reverse))\b|\bset\s{1,4}\w{1,64}\s{1,4}["{]?(?:exec|file|open|eval|system|spawn|source|socket|delete|rename)\b/
/** Commands of packages that put something into a file, or take it away. */
const TCL_FILLERS = /^fileutil::(?:write|append|insert|remove|replace|update|touch|install)/

/** Commands that are not followed under another name. */
const TCL_POWER = /^(?:::)?(?:exec|file|open|eval|source|socket|spawn|system)$/

/** `exec echo x > /y`: what is started, and the files that its output is put into. */
function redirected(words: readonly ShellWord[]): {
  readonly words: readonly ShellWord[]
  readonly files: readonly ShellWord[]
} {
  const files: ShellWord[] = []
  const kept: ShellWord[] = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at]
    const [, rest] = /^(?:2?>{1,2}&?)(?!@)(.*)$/s.exec(word?.text ?? '') ?? []
    if (word === undefined || rest === undefined) {
      if (word !== undefined) kept.push(word)
      continue
    }
    const next = words[at + 1]
    if (rest !== '') files.push({ ...word, text: rest })
    else if (next !== undefined) {
      files.push(next)
      at += 1
    }
  }
  return { words: kept, files }
}

/** Commands that run the words behind them, and how many of their own come first. */
const TCL_PREFIXES: ReadonlyMap<string, number> = new Map([
  ['after', 1],
  ['time', 0],
  ['catch', 0],
  ['coroutine', 1],
  ['tailcall', 0],
])

/** A command by its whole name: `::exec`, `::tcl::file::delete`. */
function plainTcl(words: readonly ShellWord[]): readonly ShellWord[] {
  const [name, ...rest] = words
  const own = TCL_PREFIXES.get(name?.text ?? '')
  if (own !== undefined && rest.length > own + 1) return plainTcl(rest.slice(own))
  // The level is a number, and may be left out.
  if (name?.text === 'uplevel' && rest.length > 1)
    return plainTcl(/^#?\d+$/.test(rest[0]?.text ?? '') ? rest.slice(1) : rest)
  // Expect has its commands under longer names too.
  if (name?.text.startsWith('exp_') && rest.length > 0)
    return plainTcl([{ ...name, text: name.text.slice(4) }, ...rest])
  if (name === undefined || !name.text.includes('::')) return words
  const [, ensemble, action] = /^(?:::)?tcl::(file|chan)::(\w{1,32})$/.exec(name.text) ?? []
  if (ensemble !== undefined && action !== undefined)
    return [{ ...name, text: ensemble }, { ...name, text: action }, ...rest]
  return [{ ...name, text: name.text.replace(/^::/, '') }, ...rest]
}

/** What is used or started after a `cd`; also as it would be without it. */
function fromPlace(inner: Inner, place: ShellWord | undefined): readonly Inner[] {
  if (place === undefined || place.opaque !== undefined) return [inner]
  if (inner.kind === 'argv') return [{ ...inner, directory: place }]
  if (inner.kind !== 'path' || /^[/~]/.test(inner.word.text)) return [inner]
  return [inner, { ...inner, word: { ...inner.word, text: `${place.text}/${inner.word.text}` } }]
}
