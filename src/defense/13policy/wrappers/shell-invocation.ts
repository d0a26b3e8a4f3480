/**
 * What a shell runs when it is called with arguments: the text of `-c` with its positional parameters, a script file,
 * or its standard input. An interpreter that reads a program from there is judged by the same.
 * Rules: POSIX.1-2024, sh; bash(1), dash(1), zsh(1), ksh(1), fish(1), tcsh(1), invocation.
 * @module
 */

import { type Call, has, type Inner, type Stdin } from '../arguments/inner.ts'
import { looksLikePath } from '../arguments/used-paths.ts'
import type { Opaque } from '../effective.ts'
import type { ShellWord } from '../shell/shell.ts'

const LONG_WITH_VALUE: ReadonlySet<string> = new Set([
  '--rcfile',
  '--init-file',
  '--emulate',
  '--init-command',
  '--features',
  '--profile',
])
/** Files that are the standard input under another name. */
const STANDARD_INPUT: ReadonlySet<string> = new Set([
  '-',
  '/dev/stdin',
  '/dev/fd/0',
  '/proc/self/fd/0',
  '/proc/thread-self/fd/0',
  '/dev/tty',
])

export function isStandardInput(text: string): boolean {
  return STANDARD_INPUT.has(text)
}

type Invocation = {
  readonly text: ShellWord | undefined
  readonly script: ShellWord | undefined
  readonly rest: readonly ShellWord[]
  readonly files: readonly ShellWord[]
  readonly texts: readonly ShellWord[]
  readonly readsInput: boolean
}

/** Reads the arguments of a shell. Unlike other programs, `-c` takes the first operand, wherever it stands. */
function readInvocation(words: readonly ShellWord[]): Invocation {
  const files: ShellWord[] = []
  const texts: ShellWord[] = []
  let hasText = false
  let readsInput = false
  let index = 1
  for (; index < words.length; index++) {
    const word = words[index]
    const text = word?.text ?? ''
    if (text === '--' || text === '-') {
      index += 1
      break
    }
    if (word?.opaque !== undefined || (!text.startsWith('-') && !text.startsWith('+'))) break
    if (text.startsWith('--')) {
      const equals = text.indexOf('=')
      const name = equals < 0 ? text : text.slice(0, equals)
      const next = words[index + 1]
      const isText = name === '--command' || name === '--commands'
      const isFirst = name === '--init-command'
      if (isText && equals < 0) hasText = true
      else if ((isText || isFirst) && word !== undefined) {
        const value = equals < 0 ? next : { ...word, text: text.slice(equals + 1) }
        if (value !== undefined) texts.push(value)
      } else if (name === '--rcfile' || name === '--init-file') {
        const value = equals < 0 ? next : word && { ...word, text: text.slice(equals + 1) }
        if (value !== undefined) files.push(value)
      }
      if (equals < 0 && LONG_WITH_VALUE.has(name)) index += 1
      continue
    }
    const isOn = text.startsWith('-')
    for (const letter of text.slice(1, 64)) {
      // bash and dash take these two for what they are behind a `+` as well.
      if (letter === 'c') hasText = true
      else if (letter === 's') readsInput = true
      else if (letter === 'o' || letter === 'O') index += 1
      else if (letter === 'C' && isOn) {
        const next = words[index + 1]
        if (next !== undefined) texts.push(next)
        index += 1
      }
    }
  }
  const rest = words.slice(index)
  if (hasText)
    return { text: rest[0], script: undefined, rest: rest.slice(1), files, texts, readsInput: false }
  return { text: undefined, script: rest[0], rest: rest.slice(1), files, texts, readsInput }
}

/** What a program that reads shell text from its standard input comes down to. */
export function fromStdin(stdin: Stdin, via: string): readonly Inner[] {
  switch (stdin.kind) {
    case 'closed':
      return NOTHING
    case 'caller':
      return opaque('stdin')
    case 'text':
      return [
        { kind: 'shell', word: stdin.word, via, stdin: { kind: 'closed' } },
        ...(stdin.word.opaque === undefined ? NOTHING : opaque('eval')),
      ]
    case 'pipe': {
      if (stdin.output === undefined) return opaque('piped')
      const word = { text: stdin.output, isGlob: false, opaque: undefined }
      return [{ kind: 'shell', word, via, stdin: { kind: 'closed' } }]
    }
  }
}

/** As `fromStdin`, where the text is no shell's and nobody reads it. */
export function unreadStdin(stdin: Stdin): readonly Inner[] {
  if (stdin.kind === 'caller') return opaque('stdin')
  return stdin.kind === 'pipe' ? opaque('piped') : NOTHING
}

function opaque(...reasons: readonly Opaque[]): readonly Inner[] {
  return reasons.map((reason) => ({ kind: 'opaque', opaque: reason }))
}

const NOTHING: readonly Inner[] = Object.freeze([])

/** Shells that with `-n` read a script and run nothing of it. */
const CHECKERS: ReadonlySet<string> = new Set('sh bash dash ash ksh mksh zsh'.split(' '))

/** The files of `bash -n FILE`; another option beside it may mean something else to some shell. */
function checkedFiles({ names, words }: Call): readonly ShellWord[] {
  const [, option, file] = words
  if (option?.text !== '-n' || file === undefined || !names.some((name) => CHECKERS.has(name))) return []
  // Of what is not known from its beginning on, a part may be an option.
  const files = words.slice(2)
  return files.every(({ text }) => /^[^-+]/.test(text) && !isStandardInput(text)) ? files : []
}

/** What the shell of `call` runs. `via` of its text is `sh -c` for every shell. */
export function innerOfShell(call: Call): readonly Inner[] {
  const checked = checkedFiles(call)
  if (checked.length > 0) return checked.map((word) => ({ kind: 'path', word, use: 'read' }))
  const { text, script, rest, files, texts, readsInput } = readInvocation(call.words)
  // A file that is run before anything else: also one that is the output of a command.
  const inner: Inner[] = files.flatMap((word) => innerOfScript(word))
  for (const word of texts) inner.push({ kind: 'shell', word, via: 'sh -c' })
  if (text !== undefined) {
    inner.push({ kind: 'shell', word: text, via: 'sh -c', positional: rest })
    return inner
  }
  if (script === undefined && has(call.parsed, '--version', '--help', '-Version', '-Help')) return inner
  if (script === undefined || readsInput || isStandardInput(script.text)) {
    const given = script === undefined ? [] : [script, ...rest]
    for (const one of fromStdin(call.stdin, 'sh')) {
      // `sh -s a b`: the operands are `$1`, `$2`...
      const name: ShellWord = { text: 'sh', isGlob: false, opaque: undefined }
      inner.push(one.kind === 'shell' && readsInput ? { ...one, positional: [name, ...given] } : one)
    }
    return inner
  }
  inner.push(...innerOfScript(script))
  for (const word of rest) if (looksLikePath(word.text)) inner.push({ kind: 'path', word, use: 'mention' })
  return inner
}

/** A file that is run: it is read, and where it is the output of a command, that is what runs. */
export function innerOfScript(script: ShellWord): readonly Inner[] {
  return script.opaque === 'substitution'
    ? opaque('eval', 'piped')
    : [{ kind: 'path', word: script, use: 'read' }]
}

/** `"$@"` alone: the parameters are the command. */
export function isAllArguments(text: string): boolean {
  return text.length < 24 && ['"$@"', '$@', '$*', 'exec "$@"', 'exec $@'].includes(text.trim())
}

const NOTHING_GIVEN: ReadonlyMap<string, string> = new Map([
  ['@', ''],
  ['#', '0'],
])

export function positionals(words: readonly ShellWord[]): ReadonlyMap<string, string> {
  if (words.length === 0) return NOTHING_GIVEN
  const variables = new Map<string, string>()
  words.forEach(({ text, opaque }, index) => {
    if (opaque === undefined) variables.set(String(index), text)
  })
  if (words.slice(1).every(({ opaque }) => opaque === undefined)) {
    variables.set(
      '@',
      words
        .slice(1)
        .map(({ text }) => text)
        .join(' '),
    )
    variables.set('#', String(Math.max(0, words.length - 1)))
  }
  return variables
}
