/**
 * What an interpreter runs beside the program that it is given: the operand of a module or a tool that runs programs
 * (a tracer, a profiler, a debugger), and what its prompt reads once the program has ended.
 * From the manual pages of the programs named and the library reference of Python.
 * @module
 */
import type { ShellWord } from '../shell/shell.ts'
import { type Call, has, type Inner, type Language, literal, shell, type Unwrap } from './inner.ts'
import { fromStdin, isStandardInput } from './shell-invocation.ts'

function set(text: string): ReadonlySet<string> {
  return new Set(text.split(' '))
}

/** Modules of Python that run the file which an operand names. */
const FILE_MODULES: ReadonlySet<string> = set(
  'trace cProfile profile pdb bdb coverage runpy doctest memory_profiler mprof kernprof line_profiler viztracer pyinstrument scalene memray filprofiler debugpy ipdb pudb trepan hunter yappi vprof snoop torch.distributed.run torch.distributed.launch mpi4py streamlit IPython bpython ptpython unittest pytest nose',
)
/** And those of which an operand is code. */
const CODE_MODULES: ReadonlySet<string> = set('timeit pyperf')
/** And those that read code from a prompt. */
const PROMPT_MODULES: ReadonlySet<string> = set('code asyncio IPython bpython ptpython idlelib pdb ipdb pudb')

/** Tools that run the file which an operand names, by the language of it. */
const TOOLS: ReadonlyMap<string, Language> = new Map(
  (
    [
      [
        'python',
        'coverage coverage3 kernprof mprof viztracer pyinstrument scalene memray filprofiler ipdb ipdb3 pudb pudb3 py-spy hunter-trace yappi vprof streamlit',
      ],
      ['perl', 'prove'],
      ['ruby', 'rdbg rdebug stackprof rspec'],
      ['php', 'phpdbg'],
    ] satisfies readonly (readonly [Language, string])[]
  ).flatMap(([language, names]) => names.split(' ').map((name) => [name, language] as const)),
)

/** The program that `word` names, where that is the input, or a file that the request has made. */
function fileCode(
  word: ShellWord,
  { stdin }: Call,
  language: Language,
  via: string,
  isGuess: boolean,
): readonly Inner[] {
  if (isStandardInput(word.text)) return fromStdin(stdin, via, language)
  if (word.opaque !== undefined || word.isGlob || word.text.startsWith('-')) return []
  const read = (text: ShellWord): readonly Inner[] => [{ kind: 'code', language, word: text, via, isGuess }]
  return [{ kind: 'script', word, language, via, read }]
}

/** What `python -m MODULE` runs of its operands and of its input. */
export function moduleCode(call: Call, module: string): readonly Inner[] {
  const via = `${call.name} -m`
  const { operands } = call.parsed
  const inner: Inner[] = []
  for (const word of operands) {
    if (FILE_MODULES.has(module)) inner.push(...fileCode(word, call, 'python', via, false))
    else if (CODE_MODULES.has(module) && isStandardInput(word.text))
      inner.push(...fromStdin(call.stdin, via, 'python'))
    else if (CODE_MODULES.has(module) && !word.text.startsWith('-'))
      inner.push({ kind: 'code', language: 'python', word, via })
    // `<(cmd)`; one that is put in by `$()` is a name.
    if (RUNNING.has(module) && word.opaque === 'substitution') inner.push({ kind: 'opaque', opaque: 'piped' })
  }
  return PROMPT_MODULES.has(module) ? [...inner, ...promptCode(call, 'python')] : inner
}

/** Modules of which an operand is a file and nothing else. */
const RUNNING: ReadonlySet<string> = set('trace cProfile profile pdb runpy memory_profiler kernprof')

/** `coverage run FILE`, `prove FILE`; some of the words are no files. */
const toolCode: Unwrap = (call) => {
  const language = TOOLS.get(call.name)
  const at = call.words.findIndex(({ text }) => text === '-e' || text === '--exec')
  const starter = call.name === 'prove' && at > 0 ? call.words[at + 1] : undefined
  // `prove -e COMMAND FILE`: each file is given to the command.
  if (starter !== undefined) {
    const files = call.words.slice(at + 2).map(({ text }) => text)
    return [shell({ ...starter, text: [starter.text, ...files].join(' ') }, call.name)]
  }
  return language === undefined
    ? []
    : call.words.slice(1).flatMap((word) => fileCode(word, call, language, call.name, true))
}

export const RUNNERS: readonly (readonly [string, Unwrap])[] = [...TOOLS.keys()].map((name) => [
  name,
  toolCode,
])

/** PROGRAM... | options and words that open its prompt behind the program that it was given */
const PROMPT_OPTIONS: ReadonlyMap<string, readonly string[]> = new Map(
  [
    'python ipython ipython3 bpython ptpython hy lua luau luajit julia expect scala | -i',
    'node | -i --interactive',
    'php | -a --interactive',
    'R | --interactive',
    'racket | -i --repl',
    'octave octave-cli | --persist --interactive',
    'mongo | --shell',
    'deno bun | repl',
  ].flatMap((line) => {
    const [names = '', options = ''] = line.split(' | ')
    return names.split(' ').map((name) => [name, options.split(' ')] as const)
  }),
)

/** Those that end at a prompt unless the program itself ends them. */
const PROMPTING: ReadonlySet<string> = set(
  'irb pry sbcl ecl ccl abcl clisp swipl yap gprolog gforth pforth iex ghci ocaml guile guile3 jshell groovysh erl csi chez scheme gosh gst maxima gp factor giac sml poly io evcxr',
)

/** What the prompt reads that `call` opens behind its program. */
export function laterInput(call: Call, language: Language): readonly Inner[] {
  const options = PROMPT_OPTIONS.get(call.name) ?? []
  const isOpened = has(call.parsed, ...options) || options.includes(call.parsed.operands[0]?.text ?? '')
  if (isOpened) return promptCode(call, language)
  const { stdin } = call
  const isHarmless = stdin.kind === 'pipe' && !stdin.isDecoded && stdin.isFetched !== true && !stdin.output
  if (!PROMPTING.has(call.name) || isHarmless) return []
  // Whether the program ends it is not known: what clearly is code counts.
  return promptCode(call, language).map((one) => (one.kind === 'code' ? { ...one, isGuess: true } : one))
}

/** A prompt that the line does not feed reads what whoever has started it says there. */
function promptCode({ stdin, name }: Call, language: Language): readonly Inner[] {
  return stdin.kind === 'text' || stdin.kind === 'pipe' ? fromStdin(stdin, name, language) : []
}

/** `erl -s MODULE FUNCTION ARGUMENT...`, `erl -run ...`: the function is called with what stands up to the next option. */
export function startedFunctions({ name, words }: Call): readonly Inner[] {
  if (name !== 'erl') return []
  return words.flatMap(({ text }, index): readonly Inner[] => {
    if (text !== '-s' && text !== '-run') return []
    const end = words.findIndex((word, at) => at > index && word.text.startsWith('-'))
    const [module, called, ...given] = words.slice(index + 1, end < 0 ? undefined : end)
    if (module === undefined || called === undefined) return []
    const code = `${module.text}:${called.text}("${given.map((word) => word.text).join(' ')}")`
    return [{ kind: 'code', language: 'other', word: literal(code), via: `erl ${text}` }]
  })
}
