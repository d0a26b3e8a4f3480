/**
 * Programs that run a command for each of many inputs: xargs, find, fd, parallel. What is put into the command is known
 * where the request itself gives it; otherwise it is something beneath the roots of the search, or anything.
 * From xargs(1), find(1), fd(1), parallel(1).
 * @module
 */

import {
  type Call,
  has,
  type Inner,
  literal,
  optionValue,
  rest,
  type Stdin,
  shell,
  UNKNOWN_INPUT,
  type Unwrap,
} from '../arguments/inner.ts'
import { isExecution } from '../arguments/subcommands.ts'
import type { ShellWord } from '../shell/shell.ts'
import { fromStdin } from './shell-invocation.ts'

/** Input that is known is put in where the whole is no longer than this. */
const GIVEN_CHARACTERS = 16_384

/** What stands on an input, where the request itself puts it there. */
function knownInput(stdin: Stdin): string | undefined {
  if (stdin.kind === 'text') return stdin.word.opaque === undefined ? stdin.word.text : undefined
  return stdin.kind === 'pipe' ? stdin.output : undefined
}

/** The runs of a command with these inputs: each one by itself, or many at once. */
function runsOf(inputs: readonly string[]): readonly string[] {
  return inputs.length <= RUNS_MAX ? inputs : [inputs.join(' ')]
}

export const xargs: Unwrap = (call) => {
  const words = rest(call)
  const replace =
    optionValue(call.parsed, '-I', '-J', '-i', '--replace')?.text ??
    (has(call.parsed, '-i', '--replace') ? '{}' : '')
  const program = words.length === 0 ? [literal('echo')] : words
  const given = knownInput(call.stdin)
  if (replace === '' && given !== undefined && given.length <= GIVEN_CHARACTERS) {
    const known = inputWords(call, given).map(literal)
    return [{ kind: 'argv', words: [...program, ...known], via: 'xargs', stdin: { kind: 'closed' } }]
  }
  if (replace !== '' && given !== undefined && marksIn(program, replace) * given.length <= GIVEN_CHARACTERS)
    return runsOf(inputWords(call, given)).map((input) => ({
      kind: 'argv',
      words: program.map((word) => ({ ...word, text: word.text.replaceAll(replace, () => input) })),
      via: 'xargs',
      stdin: { kind: 'closed' },
    }))
  const holds = replace !== '' && program.some(({ text }) => text.includes(replace))
  const filled = holds ? program.map((word) => fill(word, replace)) : [...program, UNKNOWN_INPUT]
  return [{ kind: 'argv', words: filled, via: 'xargs', stdin: { kind: 'closed' } }]
}

function marksIn(words: readonly ShellWord[], mark: string): number {
  return words.reduce((count, { text }) => count + text.split(mark).length - 1, 0)
}

/** The words that an input is cut into: at blanks, or where an option says so. */
function inputWords(call: Call, given: string): readonly string[] {
  const delimiter = optionValue(call.parsed, '-d', '--delimiter')?.text
  const words = has(call.parsed, '-0', '--null')
    ? given.split('\0')
    : delimiter !== undefined
      ? given.split(delimiter === '\\n' ? '\n' : delimiter.slice(0, 1))
      : has(call.parsed, '-L', '-l', '-I', '-i', '--replace')
        ? given.split('\n')
        : given.split(/[\s\0]/)
  return words.filter((text) => text !== '')
}

/** An input that may be put in many times; a longer one is not, so that the whole stays in proportion. */
const INPUT_CHARACTERS = 256

/** Runs of a command with known inputs that are followed one by one. */
const RUNS_MAX = 16

/** A word in which an input is put for `mark`: known up to there, or a text for a shell with a variable in its place. */
function fill(word: ShellWord, mark: string, input = '$input'): ShellWord {
  const at = word.text.indexOf(mark)
  if (at < 0) return word
  const known = input.length > INPUT_CHARACTERS ? '$input' : input
  if (word.text.includes(' ')) return { ...word, text: word.text.replaceAll(mark, () => known) }
  return { text: word.text.slice(0, at), isGlob: false, opaque: 'expansion' }
}

/** `find` and `fd`: what stands between `-exec` and `;` or `+`, with an unknown path beneath the roots for `{}`. */
export const find: Unwrap = (call) => {
  const inner: Inner[] = []
  const root =
    call.name === 'find'
      ? call.parsed.operands.filter(({ text }) => text !== '(' && text !== '!')
      : call.parsed.operands.slice(1)
  for (let index = 1; index < call.words.length; index++) {
    const option = call.words[index]?.text ?? ''
    if (!isExecution(call.name, option)) continue
    const name = option.startsWith('--') ? (option.split('=', 1)[0] ?? '') : option
    const words: ShellWord[] = []
    if (name !== option && call.words[index]) words.push(literal(option.slice(name.length + 1)))
    for (index += 1; index < call.words.length; index++) {
      const word = call.words[index]
      if (word === undefined || word.text === ';') break
      if (word.text === '+' && words.at(-1)?.text === '{}') break
      words.push(word)
    }
    // Without a mark, fd puts what it finds behind the words.
    if (call.name === 'fd' && !words.some(({ text }) => text.includes('{'))) words.push(literal('{}'))
    const filled = words.flatMap((word) => (word.text.includes('{') ? found(word, root) : [word]))
    // A file of its own is what is found.
    for (const word of root) if (HIDDEN_FILE.test(word.text)) inner.push({ kind: 'path', word, use: 'read' })
    if (words.length > 0)
      inner.push({ kind: 'argv', words: filled, via: `${call.name} -exec`, stdin: { kind: 'closed' } })
  }
  return inner
}

const HIDDEN_FILE = /(?:^|\/)\.[A-Za-z][\w.-]*$/

/** How many roots of a search are put in for `{}`. */
const ROOTS_MAX = 16

/** `{}` as the paths that a search could find: the roots themselves, and anything beneath them. */
function found(word: ShellWord, roots: readonly ShellWord[]): readonly ShellWord[] {
  if (word.text !== '{}') return [fill(word, '{}', `${roots[0]?.text ?? '.'}/$input`)]
  if (roots.length === 0) return [{ text: './', isGlob: false, opaque: 'expansion' }]
  return roots
    .slice(0, ROOTS_MAX)
    .map(({ text }) => ({ text: text.endsWith('/') ? text : `${text}/`, isGlob: false, opaque: 'expansion' }))
}

export const parallel: Unwrap = (call) => {
  const words = rest(call)
  const marks = words.findIndex(({ text }) => MARKS.has(text))
  const command = marks < 0 ? words : words.slice(0, marks)
  const given = marks < 0 ? [] : words.slice(marks).filter(({ text }) => !MARKS.has(text))
  // Without a command, each input is one.
  if (command.length === 0 && given.length === 0) return fromStdin(call.stdin, 'parallel')
  if (command.length === 0) return given.map((word) => ({ kind: 'shell', word, via: 'parallel' }))
  const text = command.map((word) => word.text).join(' ')
  const marked = text.includes('{}') ? text : `${text} {}`
  const inputs = given.map(({ text: input, opaque }) => (opaque === undefined ? input : ANY_INPUT))
  const length = (marked.split('{}').length - 1) * inputs.join(' ').length
  const known = inputs.length === 0 || length > GIVEN_CHARACTERS ? [ANY_INPUT] : runsOf(inputs)
  return known.map((input) => shell(literal(marked.replaceAll('{}', () => input)), 'parallel'))
}

/** In the place of an input that is not known: a variable that nobody has set. */
const ANY_INPUT = '$input'

/** What inputs stand behind: given there, or lines of files. */
const MARKS: ReadonlySet<string> = new Set([':::', ':::+', '::::', '::::+'])
