/**
 * Programs that run what a table of jobs says: make with its recipes, crontab with its lines, at and batch.
 * From make(1), crontab(5), at(1).
 * @module
 */

import type { ShellWord } from '../shell/shell.ts'
import {
  argv,
  type Call,
  eachLine,
  has,
  type Inner,
  joined,
  literal,
  optionValue,
  shell,
  tail,
  type Unwrap,
} from './inner.ts'
import { type MakeVariables, makeText, NO_VARIABLES, shellFunction } from './make-text.ts'
import { fromStdin, innerOfScript, isStandardInput } from './shell-invocation.ts'

export const make: Unwrap = (call) => {
  const inner: Inner[] = []
  const given = new Map<string, string>()
  for (const word of call.parsed.operands) {
    const equals = word.text.indexOf('=')
    if (equals <= 0) continue
    const name = word.text.slice(0, equals).replace(/[:?+]$/, '')
    if (word.opaque === undefined) given.set(name, word.text.slice(equals + 1))
    if (['SHELL', 'CC', 'CXX', 'LD', 'AR', 'MAKE', '.SHELLFLAGS', 'INSTALL', 'PAGER'].includes(name)) {
      inner.push(shell(tail(word, equals + 1), 'make'))
    } else if (word.text.includes('$(shell ')) {
      inner.push(...shellFunction(word), { kind: 'opaque', opaque: 'eval' })
    }
  }
  const evaluated = optionValue(call.parsed, '--eval', '-E')
  if (evaluated !== undefined) inner.push(...makeText(evaluated), { kind: 'opaque', opaque: 'eval' })
  const file = optionValue(call.parsed, '-f', '--file', '--makefile')
  if (file !== undefined && isStandardInput(file.text)) inner.push(...makeInput(call, given))
  else if (file !== undefined) inner.push(...makefile(file, given))
  else {
    const directory = optionValue(call.parsed, '-C', '--directory')
    if (directory === undefined && given.size === 0) inner.push(...MAKEFILES_HERE)
    else inner.push(...makefilesIn(directory === undefined ? '' : `${directory.text}/`, given))
  }
  return inner
}

function makefilesIn(place: string, given: MakeVariables): readonly Inner[] {
  return ['GNUmakefile', 'makefile', 'Makefile'].flatMap((name) => makefile(literal(place + name), given))
}

const MAKEFILES_HERE: readonly Inner[] = Object.freeze(makefilesIn('', NO_VARIABLES))

/** A makefile counts where the request has written it; otherwise it is a file like any other. */
function makefile(word: ShellWord, given: MakeVariables): readonly Inner[] {
  const read = (text: ShellWord) => makeText(text, given)
  return [{ kind: 'script', word, language: undefined, via: 'make', read }]
}

/** A makefile on the standard input: what it is, where that is known. */
function makeInput({ stdin }: Call, given: MakeVariables): readonly Inner[] {
  if (stdin.kind === 'text') return [...makeText(stdin.word, given), { kind: 'opaque', opaque: 'eval' }]
  return [{ kind: 'opaque', opaque: stdin.kind === 'pipe' ? 'piped' : 'stdin' }]
}

/** What ninja runs: the commands of the rules in its file, where the request has written it. */
export const ninja: Unwrap = (call) => {
  const file = optionValue(call.parsed, '-f') ?? literal('build.ninja')
  const read = (word: ShellWord) =>
    eachLine(word.text, (raw) => {
      const line = raw.trim()
      const equals = line.indexOf('=')
      return equals > 0 && line.slice(0, equals).trim() === 'command'
        ? [shell({ ...word, text: line.slice(equals + 1).trim() }, 'ninja')]
        : []
    })
  return [{ kind: 'script', word: file, language: undefined, via: 'ninja', read }]
}

/** Jobs for later, read as shell text from the standard input. */
export const later: Unwrap = (call) => {
  if (has(call.parsed, '-l', '-r', '-d', '-c', '-V', '-e') || optionValue(call.parsed, '-f') !== undefined)
    return []
  const file = call.parsed.operands[0]
  if (call.name === 'crontab' && file !== undefined && file.text !== '-')
    return [{ kind: 'script', word: file, language: undefined, via: 'crontab', read: crontabLines }]
  const stdin = fromStdin(call.stdin, call.name, undefined)
  if (call.name !== 'crontab') return stdin
  return stdin.flatMap((inner) => (inner.kind === 'shell' ? crontabLines(inner.word) : [inner]))
}

/** Jobs for a cluster: a script, the standard input, or the words behind `-b y`. */
export const scriptLater: Unwrap = (call) => {
  const words = call.words.slice(call.parsed.firstOperand)
  if (optionValue(call.parsed, '-b')?.text.startsWith('y')) return argv(words, call.name)
  if (optionValue(call.parsed, '--wrap') !== undefined) return []
  const [file] = words
  return file === undefined ? fromStdin(call.stdin, call.name, undefined) : innerOfScript(file, call.name)
}

/** A job that is one text, or the words behind the options. */
export const jobText: Unwrap = (call) => {
  const words = call.words.slice(call.parsed.firstOperand)
  return words.length === 0 ? fromStdin(call.stdin, call.name, undefined) : [shell(joined(words), call.name)]
}

/** The fields before the command of a line of a crontab. */
const TIME_FIELDS = 5

/** A table of times and commands: each command is text for a shell. */
function crontabLines(word: ShellWord): readonly Inner[] {
  return eachLine(word.text, (raw) => {
    const line = raw.trim()
    if (line === '' || line.startsWith('#')) return []
    let at = 0
    for (let field = 0; field < (line.startsWith('@') ? 1 : TIME_FIELDS); field++) {
      while (at < line.length && !' \t'.includes(line.charAt(at))) at += 1
      while (at < line.length && ' \t'.includes(line.charAt(at))) at += 1
    }
    const text = line.slice(at)
    return text === '' ? [] : [shell({ ...word, text }, 'crontab')]
  })
}
