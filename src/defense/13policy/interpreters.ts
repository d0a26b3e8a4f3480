/**
 * Interpreters and what they are told to run: code in an argument, a script file, or their standard input.
 * From the manual pages of the programs named.
 * @module
 */
import { type Call, has, type Inner, type Language } from './inner.ts'
import { fromStdin, innerOfScript, isStandardInput } from './shell-invocation.ts'

export const LANGUAGES: ReadonlyMap<string, Language> = new Map<string, Language>([
  ['python', 'python'],
  ['node', 'javascript'],
  ['bun', 'javascript'],
  ['deno', 'javascript'],
  ['osascript', 'other'],
  ['perl', 'perl'],
  ['ruby', 'ruby'],
  ['irb', 'ruby'],
  ['php', 'php'],
  ['lua', 'lua'],
  ['awk', 'awk'],
  ['sed', 'sed'],
  ['tclsh', 'tcl'],
  ['wish', 'tcl'],
  ['expect', 'tcl'],
  ['Rscript', 'other'],
  ['R', 'other'],
  ['guile', 'other'],
  ['julia', 'other'],
  ['groovy', 'other'],
  ['scala', 'other'],
  ['elixir', 'other'],
  ['erl', 'other'],
  ['ghc', 'other'],
  ['ocaml', 'other'],
  ['swipl', 'other'],
  ['racket', 'other'],
  ['sbcl', 'other'],
  ['clisp', 'other'],
  ['octave', 'other'],
  ['emacs', 'other'],
  ['bpftrace', 'other'],
  ['stap', 'other'],
])
/** Those whose first operand is the program, unless an option gives one. */
const PROGRAM_FIRST: ReadonlySet<string> = new Set(['awk', 'sed'])
/** Options that say what to do in place of a program. */
const INFORMATION: readonly string[] = [
  '--version',
  '-V',
  '--help',
  '-h',
  '--check',
  '--test',
  '--run',
  '--prof-process',
  '--build-sea',
]

function doesWithout(call: Call): boolean {
  // To Python, `-v` says to be wordy and `-m` names a module.
  return has(call.parsed, ...INFORMATION, call.name === 'python' ? '-m' : '-v')
}

function stdinOf(call: Call, via: string, language: Language): readonly Inner[] {
  return fromStdin(call.stdin, via, language)
}

/** What the interpreter of `call` runs; nothing where it is none. */
export function innerOfInterpreter(call: Call): readonly Inner[] {
  const language = LANGUAGES.get(call.name)
  if (language === undefined) return []
  const inner: Inner[] = []
  for (const { option, word, use } of call.parsed.values) {
    if (use === 'code') inner.push({ kind: 'code', language, word, via: `${call.name} ${option}` })
    else if (use === 'unknown' && /^--?(?:eval|e)$/.test(option)) {
      inner.push({ kind: 'code', language, word, via: `${call.name} ${option}` })
    }
  }
  const [first, second] = call.parsed.operands
  if (PROGRAM_FIRST.has(call.name)) {
    const isGiven = has(call.parsed, '-f', '--file', '-e', '--expression', '--source', '-E', '--exec')
    if (!isGiven && first !== undefined) inner.push({ kind: 'code', language, word: first, via: call.name })
    for (const { option, word } of call.parsed.values) {
      if (['-f', '--file'].includes(option) && isStandardInput(word.text))
        inner.push(...stdinOf(call, call.name, language))
    }
    return inner
  }
  if (call.name === 'deno' || call.name === 'bun') {
    if (first?.text === 'eval' && second !== undefined)
      inner.push({ kind: 'code', language, word: second, via: `${call.name} eval` })
    else if (['run', 'x', 'test'].includes(first?.text ?? '')) {
      if (second?.text === '-') inner.push(...stdinOf(call, call.name, language))
      else if (second !== undefined) inner.push(...innerOfScript(second))
    } else if (first === undefined && inner.length === 0 && !doesWithout(call))
      inner.push(...stdinOf(call, call.name, language))
    return inner
  }
  if (inner.length > 0) return inner
  if (doesWithout(call)) return inner
  if (
    call.parsed.values.some(({ option }) =>
      ['-f', '--file', '-s', '--script', '-l', '--load', '-S'].includes(option),
    )
  )
    return inner
  if (['emacs', 'ghc', 'stap', 'bpftrace'].includes(call.name)) return inner
  if (first === undefined || isStandardInput(first.text)) inner.push(...stdinOf(call, call.name, language))
  else inner.push(...innerOfScript(first))
  return inner
}
