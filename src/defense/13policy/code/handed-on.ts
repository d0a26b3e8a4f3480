/**
 * What evaluates text, starts programs or reaches files, handed on as a value: a module in a list, an argument, a
 * parameter, a member of something else. What is done with it there cannot be followed, so the code is `eval`.
 * A plain `name = module` is followed and is none of that, nor is a module that is only shown.
 * @module
 */
import { isEvaluator, isShellCall, isStarter } from './calls.ts'
import { ARGUMENT_TOKENS, mark, nameAt, type Reading } from './reading.ts'
import { closing, resolve } from './values.ts'

function set(text: string): ReadonlySet<string> {
  return new Set(text.split(' '))
}

/** Modules of which a member starts programs or changes files. */
const MODULES_OF_POWER: Readonly<Partial<Record<Reading['language'], ReadonlySet<string>>>> = Object.freeze({
  python: set('os subprocess shutil pty posix ctypes builtins importlib'),
  javascript: set('child_process fs fs/promises fs.promises vm worker_threads'),
  ruby: set('Kernel File Dir FileUtils Process Open3 PTY'),
  lua: set('os io package ffi'),
})

/** Calls that only show or compare what they are given, and those that take the place of a module in a test. */
const SHOWERS: ReadonlySet<string> = set(
  'print help dir type id repr str hasattr getattr setattr isinstance reload getsource getmembers getdoc getfile getmodule log keys pp pprint p puts inspect object patch is_callable function_exists in_array is_a? typeof',
)

/** Words before a name that is not handed on by them. */
const STATEMENTS: ReadonlySet<string> = set(
  'del global nonlocal import assert if not and typeof include extend',
)

/** The bracket that stands open at `index`; -1 for none. */
export function openBracket(reading: Reading, index: number): number {
  let depth = 0
  for (let at = index - 1; at >= 0 && index - at < ARGUMENT_TOKENS; at--) {
    const text = mark(reading, at)
    if (text === ')' || text === ']' || text === '}') depth += 1
    else if ((text === '(' || text === '[' || text === '{') && --depth < 0) return at
  }
  return -1
}

/** Whether the name at `index` stands for a parameter or a member that is taken out: `(fs) =>`, `{ fs } =`. */
function isBound(reading: Reading, open: number): boolean {
  const after = closing(reading, open) + 1
  return ['=', '=>'].includes(mark(reading, after)) || nameAt(reading, open - 2) === 'function'
}

/** Whether what stands from `index` to `end` is a module of power, `name`, that is handed on. */
export function isModuleHandedOn(reading: Reading, name: string, index: number, end: number): boolean {
  const { language, tokens } = reading
  if (MODULES_OF_POWER[language]?.has(name) !== true) return false
  const after = mark(reading, end + 1)
  if (nameAt(reading, end + 1).startsWith('.') || ['[', '(', ':', '=', '::'].includes(after)) return false
  const start = nameAt(reading, index - 1) === 'await' ? index - 1 : index
  const before = tokens[start - 1]
  if (before === undefined || before.text === ';' || before.text === '\n') return false
  if (before.kind === 'name' && STATEMENTS.has(before.text)) return false
  const open = openBracket(reading, index)
  const opened = mark(reading, open)
  if (before.text === '=' && opened !== '(' && opened !== '[') {
    const named = nameAt(reading, start - 2)
    const isPlain = (named !== '' && !named.includes('.')) || mark(reading, start - 2) === '}'
    const ends = language === 'javascript' ? ['', ';', '\n', ',', '}'] : ['', ';', '\n']
    if (isPlain && mark(reading, start - 2) !== ':' && ends.includes(after)) return false
  }
  if (open < 0) return language === 'python' || language === 'javascript' || language === 'lua'
  const taker = nameAt(reading, open - 1)
  if (opened === '(' && SHOWERS.has(taker.slice(taker.lastIndexOf('.') + 1))) return false
  return before.text === '=' || !isBound(reading, open)
}

/** Functions of R, Julia and Lisp by names that no value has. */
const HANDED_OTHER: ReadonlySet<string> = set('system system2 unlink rm file.remove delete-file run-program')

/** What evaluates text or starts programs, given to another as a function: `fetch(x).then(eval)`, `map(os.system, lines)`. */
export function isHandedOn(reading: Reading, name: string, index: number, end: number): boolean {
  const { language } = reading
  if (language === 'other' && HANDED_OTHER.has(name))
    return '(,'.includes(mark(reading, index - 1) || ' ') && '),'.includes(mark(reading, end + 1) || ' ')
  if (language !== 'javascript' && language !== 'python' && language !== 'lua') return false
  // A name that is given to it from here on is followed.
  const isNamed = mark(reading, index - 1) === '=' && ';\n'.includes(mark(reading, end + 1))
  if (isStarter(name)) return !isNamed
  return (
    isEvaluator(name, language) &&
    '(,'.includes(mark(reading, index - 1) || ' ') &&
    '),'.includes(mark(reading, end + 1) || ' ')
  )
}

/** Functions of PHP are values by their names: whether the text at `index` is that of one which starts programs. */
export function isNamedStarter(reading: Reading, index: number): boolean {
  const text = reading.tokens[index]?.text ?? ''
  if (reading.language !== 'php' || text === '' || !isShellCall(text, 'php')) return false
  const before = mark(reading, index - 1)
  if (!['(', ',', '[', '=', '=>'].includes(before)) return false
  const open = openBracket(reading, index)
  return !SHOWERS.has(nameAt(reading, open - 1))
}

/** A name that runs the text which stands behind it, as a command or as code. */
export function isRunner(reading: Reading, index: number): boolean {
  const token = reading.tokens[index]
  if (token?.kind !== 'name') return false
  const name = resolve(reading, token.text)
  return isShellCall(name, reading.language) || isEvaluator(name, reading.language)
}
