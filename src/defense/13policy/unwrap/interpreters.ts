/**
 * Interpreters and what they are told to run: code in an argument, a script file, or their standard input.
 * From the manual pages of the programs named.
 * @module
 */

import type { ShellWord } from '../shell/shell.ts'
import { type Call, has, type Inner, type Language, literal, tail } from './inner.ts'
import { installedProgram, programOfModule, searchedProgram } from './installed-programs.ts'
import { isShell, namesOf } from './names.ts'
import { laterInput, moduleCode, startedFunctions } from './runners.ts'
import { fromStdin, innerOfScript, isStandardInput } from './shell-invocation.ts'
import { laterCode, moduleFiles, scriptCode } from './wrappers-expressions.ts'

export const LANGUAGES: ReadonlyMap<string, Language> = new Map<string, Language>([
  ['python', 'python'],
  ['node', 'javascript'],
  ['bun', 'javascript'],
  ['deno', 'javascript'],
  ['osascript', 'other'],
  ['mongo', 'javascript'],
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
  ['octave-cli', 'other'],
  ['emacs', 'other'],
  ['bpftrace', 'other'],
  ['stap', 'other'],
  ...languages(
    'javascript',
    'gjs seed qjs qjsc mujs duk njs js d8 jsc txiki tjs jjs jrunscript nashorn graaljs bb-js electron nw zx',
  ),
  ...languages('perl', 'raku rakudo perl6 exiftool latexmk cpan'),
  ...languages('ruby', 'crystal rake thor pry byebug cap'),
  ...languages('python', 'sage pdb pylint ipython ipython3 bpython ptpython xonsh-python hy pyspark'),
  ...languages('lua', 'moon moonc luau tarantool'),
  ...languages(
    'other',
    'runghc runhaskell ghci gforth pforth kotlin kotlinc kotlinc-jvm csharp csi fsi jshell groovysh groovyConsole scala-cli clojure clj bb bsh iex escript ucode swift yap gprolog ecl ccl abcl chez scheme gsi gosh chibi-scheme mit-scheme guile3 kawa janet fennel nim nimble v zig pike io factor newlisp picolisp rexx regina dotnet mono maxima gp scilab scilab-cli scilab-adv-cli matlab wolframscript root gdl yorick rust-script evcxr giac sml poly gap gst haxe sclang spark-shell amm ammonite coffee lsc',
  ),
])

function languages(language: Language, names: string): readonly (readonly [string, Language])[] {
  return names.split(' ').map((name) => [name, language] as const)
}

/** Those that do something else without an operand than read a program, or of which the operand is none. */
const NO_PROGRAM: ReadonlySet<string> = new Set(
  'emacs pylint mongo ghc stap bpftrace exiftool latexmk rake thor cap nim nimble v zig dotnet mono maxima gp kotlinc kotlinc-jvm scilab scilab-cli scilab-adv-cli matlab wolframscript root gdl yorick'.split(
    ' ',
  ),
)
/** Files that are run, beside the words of tools that do other things as well: `nim e x.nims`, `kotlinc -script x.kts`. */
const SCRIPT_NAME = /\.(?:nims?|kts|csx|fsx|vsh|zig|wls|sce|jl|hs|pro|mac)$/

/** The options by which an interpreter is given a file. */
const FILE_OPTIONS: ReadonlySet<string> = new Set(
  '-f --file -s --script -l --load -S -x -i --source --exec -E -load -L --from-file'.split(' '),
)

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
  // `clj -M:test`: what runs stands in deps.edn.
  if (call.name === 'clj' || call.name === 'clojure') {
    if (call.words.some(({ text }) => /^-[MXTP]/.test(text))) return true
  }
  // To Python, `-v` says to be wordy and `-m` names a module.
  return has(call.parsed, ...INFORMATION, call.name === 'python' ? '-m' : '-v')
}

function stdinOf(call: Call, via: string, language: Language): readonly Inner[] {
  return fromStdin(call.stdin, via, language)
}

/** At the prompt of cpan, a line after `!` is Perl. */
function fromPrompt({ stdin, name }: Call): readonly Inner[] {
  if (stdin.kind !== 'text') return []
  const { word } = stdin
  return word.text.split('\n', 64).flatMap((line): readonly Inner[] => {
    const text = line.trim()
    return text.startsWith('!')
      ? [{ kind: 'code', language: 'perl', word: { ...word, text: text.slice(1) }, via: name }]
      : []
  })
}

/** Marks by which the prompt of an interpreter gives the rest of a line to a shell. */
const TO_SHELL: ReadonlyMap<string, readonly string[]> = new Map([
  ['ghc', [':!']],
  ['ghci', [':!']],
  ['ipython', ['!!', '!', '%sx ', '%system ', '%%bash']],
  ['ipython3', ['!!', '!', '%sx ', '%system ', '%%bash']],
  ['julia', [';']],
])

/** The code that an option gives, or what its prompt hands to a shell. */
function codeOf(call: Call, language: Language, word: ShellWord, option: string): Inner {
  const via = `${call.name} ${option}`
  const start = TO_SHELL.get(call.name)?.find((mark) => word.text.trimStart().startsWith(mark))
  if (start === undefined) return { kind: 'code', language, word, via }
  return { kind: 'shell', word: { ...word, text: word.text.trimStart().slice(start.length) }, via }
}

/** Modules of Python that write where their words say: `-m zipfile -e ARCHIVE DIRECTORY`, `-m venv DIRECTORY`. */
function writtenByModule(call: Call, module: string): readonly Inner[] {
  const words = call.parsed.operands.filter(({ text }) => !text.startsWith('-'))
  const extracts = call.parsed.operands.some(({ text }) => text === '-e' || text === '--extract')
  const isArchive = module === 'zipfile' || module === 'tarfile'
  const written = isArchive ? (extracts ? words.slice(1) : []) : module === 'venv' ? words : []
  return written.map((word) => ({ kind: 'path', word, use: 'write' }))
}

/** Options that bring in a module before the program, and how the code says the same. */
const PRELOADS: ReadonlyMap<string, { readonly options: readonly string[]; readonly start: string }> =
  new Map([
    ['perl', { options: ['-M', '-m'], start: 'use ' }],
    ['ruby', { options: ['-r'], start: 'require ' }],
    [
      'node',
      {
        options: ['-r', '--require', '--import', '--loader', '--experimental-loader'],
        start: 'require(',
      },
    ],
    ['bun', { options: ['-r', '--preload', '--require', '--import'], start: 'require(' }],
    ['deno', { options: ['--preload', '--import', '--require'], start: 'require(' }],
    ['lua', { options: ['-l'], start: 'require ' }],
  ])

/** The words of `call` that name modules which are brought in before the program. */
function preloaded(call: Call): readonly ShellWord[] {
  const { options } = PRELOADS.get(call.name) ?? {}
  if (options === undefined) return []
  // A tool of many commands has such options behind the command too.
  const end = call.name === 'deno' || call.name === 'bun' ? call.words.length : call.parsed.firstOperand
  return call.words.slice(1, end).flatMap((word, index) => {
    const option = options.find((one) =>
      one.startsWith('--') ? word.text === one || word.text.startsWith(`${one}=`) : word.text.startsWith(one),
    )
    if (option === undefined) return []
    if (word.text === option) return call.words[index + 2] ?? []
    return tail(word, option.length + (word.text.charAt(option.length) === '=' ? 1 : 0))
  })
}

/** Of modules that are brought in by the place of a file: the input, or what a command prints or the request has made. */
function preloadedFiles(call: Call, language: Language): readonly Inner[] {
  return preloaded(call).flatMap((word) => {
    if (isStandardInput(word.text)) return stdinOf(call, call.name, language)
    return word.opaque === 'substitution' || word.text.startsWith('/')
      ? innerOfScript(word, call.name, language)
      : []
  })
}

/** `perl -MFoo=bar`, `ruby -r./x`, `node --require ./x`: the module is brought in as by the code itself. */
function preloads(call: Call, language: Language): string {
  const { start } = PRELOADS.get(call.name) ?? {}
  if (start === undefined) return ''
  const texts = preloaded(call).map(({ text }) => {
    const module = text.split('=', 1)[0] ?? ''
    // What stands behind a module is code as well: `-M'x; system "y"'`.
    if (language === 'perl' && /[;\s({]/.test(text)) return `${start}${text};`
    if (!/^[@\w./:-]{1,256}$/.test(module) || isStandardInput(module)) return ''
    if (language === 'perl') return `${start}${module};`
    return `${start}'${module}'${start.endsWith('(') ? ')' : ''};`
  })
  return texts.join('')
}

/** What the interpreter of `call` runs; nothing where it is none. */
export function innerOfInterpreter(call: Call): readonly Inner[] {
  const language = LANGUAGES.get(call.name)
  if (language === undefined) return []
  const inner = [
    ...programsOf(call, language),
    ...preloadedFiles(call, language),
    ...laterInput(call, language),
    ...startedFunctions(call),
  ]
  const preface = preloads(call, language) + switchSettings(call) + inputLines(call) + rewritten(call)
  if (preface === '') return inner
  const first = inner.findIndex((one) => one.kind === 'code')
  if (first < 0) return [{ kind: 'code', language, word: literal(preface), via: call.name }, ...inner]
  // The code sees the names that the module brings.
  return inner.map((one, index) =>
    index === first && one.kind === 'code' ? { ...one, word: prefixed(one.word, preface) } : one,
  )
}

/** Switches that become variables of the code: `perl -s -e CODE -- -name=value`, `awk CODE name=value`. */
function switchSettings({ name, parsed }: Call): string {
  const { operands } = parsed
  if (name === 'awk') {
    const set = operands.flatMap(({ text }) => settingOf(text, /^([A-Za-z_]\w{0,63})=(.*)$/s))
    return set.length === 0 ? '' : `BEGIN{${set.map(([to, value]) => `${to}=${value}`).join(';')}} `
  }
  if ((name !== 'perl' && name !== 'ruby') || !has(parsed, '-s')) return ''
  return operands
    .flatMap(({ text }) => settingOf(text, /^--?(\w{1,64})=(.*)$/s))
    .map(([to, value]) => `$${to}=${value};`)
    .join('')
}

/** Lines of an input that may each be what code is run for; what people type has fewer. */
const INPUT_LINES = 64

/** `perl -n` and awk, whose code is run for each line of its input: the lines stand among its texts. */
function inputLines({ name, parsed, stdin }: Call): string {
  const isLooped =
    name === 'awk'
      ? parsed.operands.length <= 1
      : (name === 'perl' || name === 'ruby') && has(parsed, '-n', '-p') && parsed.operands.length === 0
  if (!isLooped) return ''
  const text = stdin.kind === 'text' ? stdin.word.text : stdin.kind === 'pipe' ? stdin.output : undefined
  // Lines that are not known come from outside.
  if (stdin.kind === 'pipe' && text === undefined) return name === 'awk' ? '' : 'STDIN;'
  const lines = text?.split('\n', INPUT_LINES).filter((line) => line.startsWith('/')) ?? []
  const texts = lines.map((line) => `${quoted(line)};`).join('')
  return name === 'awk' && texts !== '' ? `BEGIN{${texts}} ` : texts
}

/** Code that writes to the files it reads, by the names that its language has for those: they stand among its texts. */
const WRITES_INPUT: ReadonlyMap<string, RegExp> = new Map([
  ['awk', />\s{0,4}\(?\s{0,4}(?:FILENAME|ARGV)|=\s{0,4}(?:FILENAME|ARGV)/],
  ['perl', /\$\^I/],
  ['ruby', /\$-i/],
])

function rewritten({ name, parsed, words }: Call): string {
  const form = WRITES_INPUT.get(name)
  if (form === undefined || !words.some(({ text }) => form.test(text))) return ''
  const texts = parsed.operands.flatMap(({ text }) => (text.startsWith('/') ? `${quoted(text)};` : []))
  return name === 'awk' ? `BEGIN{${texts.join('')}} ` : texts.join('')
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\$@#]/g, '\\$&')}"`
}

/** The name and the value, as a string of the language, of a word that sets one. */
function settingOf(text: string, form: RegExp): readonly (readonly [string, string])[] {
  const [, name, value] = form.exec(text) ?? []
  return name === undefined || value === undefined ? [] : [[name, quoted(value)]]
}

function prefixed(word: ShellWord, preface: string): ShellWord {
  const { text, stands } = word
  return { ...word, text: preface + text, ...(stands === undefined ? {} : { stands: preface + stands }) }
}

function programsOf(call: Call, language: Language): readonly Inner[] {
  const inner: Inner[] = []
  for (const { option, word, use } of call.parsed.values) {
    const isEvaluated = use === 'unknown' && ['-e', '--e', '-eval', '--eval'].includes(option)
    if (use === 'code' || isEvaluated) inner.push(codeOf(call, language, word, option))
  }
  for (const [at, word] of call.words.slice(1).entries()) {
    // What an option of Erlang is given ends where another begins.
    if (call.name === 'erl' && call.words[at]?.text === '-eval' && !inner.some((one) => one.kind === 'code'))
      inner.push(codeOf(call, language, word, '-eval'))
    // Nim has a colon before the value.
    if (call.name === 'nim' && word.text.startsWith('--eval:'))
      inner.push(codeOf(call, language, { ...word, text: word.text.slice('--eval:'.length) }, '--eval'))
  }
  for (const { option, word, use } of call.parsed.values)
    if (use === 'read' && FILE_OPTIONS.has(option))
      inner.push(
        ...(isStandardInput(word.text)
          ? stdinOf(call, call.name, language)
          : innerOfScript(word, call.name, language)),
      )
  for (const { option, word } of call.parsed.values) {
    const comma = word.text.startsWith('data:') ? word.text.indexOf(',') : -1
    if (comma > 0 && language === 'javascript')
      inner.push({
        kind: 'code',
        language,
        word: { ...word, text: word.text.slice(comma + 1) },
        via: `${call.name} ${option}`,
      })
    if (option === '-m' && language === 'python')
      inner.push(
        ...writtenByModule(call, word.text),
        ...innerOfScript(
          { ...word, text: `${word.text.replaceAll('.', '/')}.py` },
          `${call.name} -m`,
          language,
        ),
      )
    if (option === '-m' && language === 'python') inner.push(...moduleCode(call, word.text))
  }
  if (language === 'python') inner.push(...programOfModule(call))
  if (call.name === 'python') inner.push(...moduleFiles(call))
  inner.push(...scriptCode(call))
  const [first, second, third] = call.parsed.operands
  const evaluated = first?.text === 'eval' ? second : second?.text === 'eval' ? third : undefined
  if (evaluated !== undefined)
    inner.push({ kind: 'code', language, word: evaluated, via: `${call.name} eval` })
  if (call.name === 'cpan') return fromPrompt(call)
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
    inner.push(...laterCode(call))
    if (evaluated !== undefined) return inner
    if (['run', 'x', 'test'].includes(first?.text ?? '')) {
      const script = call.parsed.operands.slice(1).find(({ text }) => text === '-' || !text.startsWith('-'))
      if (script?.text === '-') inner.push(...stdinOf(call, call.name, language))
      else if (script !== undefined) inner.push(...innerOfScript(script, call.name, language))
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
  if (NO_PROGRAM.has(call.name)) {
    const scripts = call.parsed.operands.filter(
      ({ text, opaque }) => SCRIPT_NAME.test(text) || isStandardInput(text) || opaque === 'substitution',
    )
    return scripts.flatMap((word) => innerOfScript(word, call.name, language))
  }
  if (first === undefined || isStandardInput(first.text)) inner.push(...stdinOf(call, call.name, language))
  else
    inner.push(
      ...innerOfScript(first, call.name, language, call.parsed.operands.slice(1)),
      ...installedProgram(call.parsed.operands, call.name),
      ...searchedProgram(call),
    )
  return inner
}

/** The language of a text whose first line names its interpreter; undefined for a shell. */
export function languageOf(text: string): Language | undefined {
  if (!text.startsWith('#!')) return undefined
  const end = text.indexOf('\n')
  const line = text.slice(2, end < 0 ? 128 : Math.min(end, 128))
  for (const word of line.split(' ')) {
    for (const name of namesOf(word, undefined)) {
      const language = LANGUAGES.get(name)
      if (language !== undefined) return language
    }
  }
  return undefined
}

/** Programs that do what a file says, and the options by which they are given it. */
const COMMAND_READERS: ReadonlySet<string> = new Set(
  'make ninja gdb lldb vim vi ex cmake just task rake crontab at psql mysql tmux screen'.split(' '),
)
const COMMAND_FILES: ReadonlySet<string> = new Set([
  '-script',
  '-b',
  '-f',
  '--file',
  '-x',
  '--command',
  '-S',
  '-s',
  '--source',
  '-c',
])

export function readsCommands(name: string): boolean {
  return COMMAND_READERS.has(name)
}

export function isCommandFile(option: string): boolean {
  return COMMAND_FILES.has(option)
}

/** What the first line of a text starts, where that is neither a shell nor a language that is told apart. */
export function programOf(text: string): readonly ShellWord[] {
  if (!text.startsWith('#!') || languageOf(text) !== undefined) return []
  const end = text.indexOf('\n')
  const words = text
    .slice(2, end < 0 ? 128 : Math.min(end, 128))
    .split(' ')
    .filter((word) => word !== '')
  if (words.some((word) => isShell(namesOf(word, undefined)))) return []
  return words.map((word) => ({ text: word, isGlob: false, opaque: undefined }))
}
