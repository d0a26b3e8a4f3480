/**
 * Programs whose words hold a small language of their own, in which a command or a file is named: the addresses of
 * websocat, the expressions of yq and Miller, the templates of chezmoi, the shells of xmllint and fossil.
 * From the manual pages of the programs named.
 * @module
 */

import type { ShellWord } from '../shell/shell.ts'
import {
  argv,
  type Call,
  has,
  type Inner,
  joined,
  type Language,
  LINES_MAX,
  rest,
  shell,
  tail,
  type Unwrap,
} from './inner.ts'
import { fromStdin } from './shell-invocation.ts'
import { database, prompt } from './wrappers-editors.ts'

/** What stands in quotes behind `from`, up to the end of the text or to one of `stops`. */
function quotedWords(word: ShellWord, from: number, stops: string): readonly ShellWord[] {
  const words: ShellWord[] = []
  const { text } = word
  for (let at = from; at < text.length && words.length < LINES_MAX; at++) {
    const letter = text.charAt(at)
    if (stops.includes(letter)) break
    if (letter !== '"' && letter !== "'" && letter !== '`') continue
    const end = text.indexOf(letter, at + 1)
    if (end < 0) break
    words.push({ ...word, text: text.slice(at + 1, end) })
    at = end
  }
  return words
}

/** The places behind each `name` in the text. */
function placesBehind(text: string, name: string): readonly number[] {
  const places: number[] = []
  for (let at = text.indexOf(name); at >= 0 && places.length < LINES_MAX; at = text.indexOf(name, at + 1))
    places.push(at + name.length)
  return places
}

/** `load("/x")`, `load_str("/x")` of yq: the files that an expression reads. */
const LOADS: readonly string[] = ['load(', 'load_str(', 'load_props(', 'load_xml(', 'load_base64(']

export const yamlExpression: Unwrap = (call) =>
  [...call.parsed.operands, ...call.parsed.values.map(({ word }) => word)].flatMap((word) =>
    LOADS.flatMap((name) => placesBehind(word.text, name)).flatMap((from) =>
      quotedWords(word, from, ')').map((file): Inner => ({ kind: 'path', word: file, use: 'read' })),
    ),
  )

/** `mlr put 'system("cmd")'`: the language is that of awk in all that runs a command or writes a file. */
export const recordExpression: Unwrap = (call) => {
  const texts = call.words.flatMap(({ text }, index) => {
    const given = call.words[index + 1]
    return (text === 'put' || text === 'filter') && given !== undefined ? call.words.slice(index + 1) : []
  })
  const codes = texts.flatMap((word): readonly Inner[] =>
    /[({]/.test(word.text)
      ? [
          { kind: 'code', language: 'awk', word, via: call.name },
          ...placesBehind(word.text, 'exec(').flatMap((from) =>
            argv(quotedWords(word, from, ')'), `${call.name} exec`),
          ),
        ]
      : [],
  )
  return [...codes, ...recordFiles(call)]
}

/** `tee FILE`, `split --prefix NAME`, `-I`: what its verbs write. */
function recordFiles({ words, parsed }: Call): readonly Inner[] {
  const isInPlace = has(parsed, '-I')
  return words.flatMap((word, index): readonly Inner[] => {
    const before = words[index - 1]?.text ?? ''
    const isTold =
      before === 'tee' ||
      before === '--prefix' ||
      (words[index - 2]?.text === 'tee' && before.startsWith('-'))
    const isWritten = isTold || (isInPlace && index > 1 && word.text.includes('/'))
    return isWritten ? [{ kind: 'path', word, use: 'write' }] : []
  })
}

/** `{{ output "cmd" "arg" }}` and `{{ include "/file" }}` of a template. */
export const template: Unwrap = (call) => {
  const isTemplate = call.name !== 'chezmoi' || call.parsed.operands[0]?.text === 'execute-template'
  const inner: Inner[] = []
  for (const word of isTemplate ? call.words.slice(1) : []) {
    for (const name of ['output ', 'outputList ', 'exec '])
      for (const from of placesBehind(word.text, name)) {
        const words = quotedWords(word, from, '}|')
        inner.push(...argv(words, `${call.name} output`))
      }
    for (const name of ['include ', 'readFile ', 'stat ', 'lstat ', 'file.Read ', 'file.Write '])
      for (const from of placesBehind(word.text, name))
        for (const file of quotedWords(word, from, '}|'))
          inner.push({ kind: 'path', word: file, use: 'read' })
  }
  return inner
}

/** Addresses that name a command: `cmd:TEXT`, `sh-c:TEXT`, `exec:PROGRAM`, also behind what changes them. */
export const webSocketAddress: Unwrap = (call) => {
  const dashes = call.words.findIndex(({ text }) => text === '--exec-args')
  const own = dashes < 0 ? call.words.slice(1) : call.words.slice(1, dashes)
  const given = dashes < 0 ? [] : call.words.slice(dashes + 1)
  return own.flatMap((word): readonly Inner[] => {
    const found = /^(?:[a-z-]+:)*?(cmd|sh-c|exec):/.exec(word.text)
    if (found === null) return []
    const target = { ...word, text: word.text.slice(found[0].length) }
    return found[1] === 'exec' ? argv([target, ...given], call.name) : [shell(target, call.name)]
  })
}

/** The shell of a parser of XML reads its commands from the standard input. */
export const xmlShell: Unwrap = (call) => (has(call.parsed, '--shell') ? prompt(call) : [])

/** `fossil sql`, which is the prompt of SQLite. */
export const repositoryQuery: Unwrap = (call) => {
  const [subcommand, ...operands] = call.parsed.operands
  if (subcommand === undefined || !['sql', 'sqlite', 'sqlite3'].includes(subcommand.text)) return []
  return database({ ...call, parsed: { ...call.parsed, operands } })
}

/** `libtool execute CMD`: the mode may also be the first word. */
export const libraryTool: Unwrap = (call) => {
  const words = rest(call)
  return argv(words[0]?.text === 'execute' ? words.slice(1) : words, call.name)
}

/** `cross-env-shell A=b TEXT`: assignments, and then text for a shell. */
export const textBehindAssignments: Unwrap = (call) => {
  const words = rest(call)
  const from = words.findIndex((word) => !/^[A-Za-z_]\w{0,255}=/.test(word.text))
  return from < 0 ? [] : [shell(joined(words.slice(from)), call.name)]
}

/** `deno repl --eval CODE`, `deno task --eval TEXT`: options behind the subcommand. */
export function laterCode(call: Call): readonly Inner[] {
  const [subcommand, ...words] = rest(call)
  if (subcommand?.text !== 'repl' && subcommand?.text !== 'task') return []
  return words.flatMap((word, index): readonly Inner[] => {
    const isAttached = word.text.startsWith('--eval=')
    if (word.text !== '--eval' && !isAttached) return []
    const given = isAttached ? { ...word, text: word.text.slice('--eval='.length) } : words[index + 1]
    if (given === undefined) return []
    const via = `${call.name} ${subcommand.text}`
    return subcommand.text === 'task'
      ? [shell(given, via)]
      : [{ kind: 'code', language: 'javascript', word: given, via }]
  })
}

/** `uwsgi --cron 'MINUTE HOUR DAY MONTH WEEKDAY TEXT'`, `--hook-asap exec:TEXT`. */
export const applicationServer: Unwrap = (call) => {
  const inner: Inner[] = []
  for (const { option, word } of call.parsed.values) {
    if (option.startsWith('--hook-') && /^exec(?:_safe)?:/.test(word.text))
      inner.push(shell(tail(word, word.text.indexOf(':') + 1), `${call.name} ${option}`))
    if (!option.includes('cron')) continue
    const fields = word.text.trim().split(/[ \t]+/, LINES_MAX)
    const text = fields.slice(fields.findIndex((field) => !/^[-*0-9,/]+$/.test(field)))
    inner.push(shell({ ...word, text: text.join(' ') }, `${call.name} ${option}`))
  }
  return inner
}

/** `python -m zipfile -e FILE DIRECTORY` and others of the library's modules that write where an operand says. */
export function moduleFiles(call: Call): readonly Inner[] {
  const at = call.words.findIndex(({ text }) => text === '-m')
  const attached = call.words.find(({ text }, index) => index > 0 && /^-m[a-z]/.test(text))
  const name = attached?.text.slice(2) ?? (at < 0 ? '' : (call.words[at + 1]?.text ?? ''))
  const from = attached === undefined ? at + 2 : call.words.indexOf(attached) + 1
  const words = name === '' ? [] : call.words.slice(from)
  const written = (word: ShellWord | undefined): readonly Inner[] =>
    word === undefined ? [] : [{ kind: 'path', word, use: 'write' }]
  const behind = (...options: readonly string[]) => {
    const place = words.findIndex(({ text }) => options.includes(text))
    return place < 0 ? [] : words.slice(place + 1)
  }
  switch (name) {
    case 'zipfile':
    case 'tarfile':
      return [...written(behind('-e', '--extract')[1]), ...written(behind('-c', '--create')[0])]
    case 'cProfile':
    case 'profile':
    case 'zipapp':
    case 'pickletools':
      return written(behind('-o', '--outfile', '--output')[0])
    case 'trace':
      return written(behind('-C', '--coverdir', '-f', '--file')[0])
    case 'json.tool':
      return written(words.filter(({ text }) => !text.startsWith('-'))[1])
    case 'lib2to3':
      return behind('-w', '--write').flatMap(written)
    case 'venv':
    case 'compileall':
    case 'py_compile':
      return words.filter(({ text }) => text.startsWith('/')).flatMap(written)
    default:
      return []
  }
}

/** `docker build --secret id=x,src=/file -o type=local,dest=/directory`: what a build takes and where it puts it. */
export function buildFiles(call: Call): readonly Inner[] {
  if (!call.words.some(({ text }) => text === 'build' || text === 'bake' || text === 'bud')) return []
  // What lies in the context of a build may go into the image.
  const context = call.words.at(-1)
  const taken: readonly Inner[] =
    context !== undefined && /^(?:\/|~|\.\.)/.test(context.text)
      ? [{ kind: 'path', word: context, use: 'read' }]
      : []
  return taken.concat(
    call.words.flatMap((word, index): readonly Inner[] => {
      const equals = word.text.indexOf('=')
      const isAttached = word.text.startsWith('--') && equals > 0
      const option = isAttached ? word.text.slice(0, equals) : word.text
      const value = isAttached ? { ...word, text: word.text.slice(equals + 1) } : call.words[index + 1]
      if (value === undefined) return []
      const fields = value.text.split(',', 32)
      const field = (...names: readonly string[]) =>
        fields.find((one) => names.some((name) => one.startsWith(name)))
      if (option === '--secret' || option === '--ssh' || option === '--build-context') {
        const source = field('src=', 'source=', 'default=', 'key=')
        const file = source === undefined ? undefined : source.slice(source.indexOf('=') + 1)
        return file === undefined ? [] : [{ kind: 'path', word: { ...value, text: file }, use: 'read' }]
      }
      if (option !== '-o' && option !== '--output' && option !== '--iidfile' && option !== '--metadata-file')
        return []
      const target = field('dest=')
      const text = target === undefined ? (value.text.includes('=') ? '' : value.text) : target.slice(5)
      return text === '' || text === '-' ? [] : [{ kind: 'path', word: { ...value, text }, use: 'write' }]
    }),
  )
}

/** `ubus call file read '{"path":"/x"}'` and `call file exec '{"command":"/x","params":["y"]}'`. */
export const busCall: Unwrap = (call) => {
  const [verb, object, method, ...given] = call.parsed.operands
  if (verb?.text !== 'call' || object?.text !== 'file') return []
  const use = ['write', 'remove'].includes(method?.text ?? '') ? 'write' : 'read'
  return given.flatMap((word): readonly Inner[] => {
    const valuesOf = (key: string, stops: string) =>
      placesBehind(word.text, `"${key}"`).flatMap((from) => quotedWords(word, from, stops))
    const command = valuesOf('command', ',}')
    return [
      ...argv(command.length === 0 ? [] : [...command, ...valuesOf('params', ']')], call.name),
      ...valuesOf('path', ',}').map((file): Inner => ({ kind: 'path', word: file, use })),
    ]
  })
}

/** Words behind which the code of an application stands, with its language. */
const SITE_CODE: ReadonlyMap<string, readonly [Language, readonly string[]]> = new Map([
  ['drush', ['php', ['php:eval', 'php-eval', 'ev', 'eval']]],
  ['wp', ['php', ['eval']]],
  ['php', ['php', ['--execute']]],
  ['rails', ['ruby', ['runner', 'r']]],
  ['flask', ['python', []]],
  ['mix', ['other', ['-e', '--eval', 'eval']]],
  ['odoo', ['python', []]],
  ['odoo-bin', ['python', []]],
  ['scrapy', ['python', ['-c']]],
  ['meteor', ['javascript', []]],
  ['django-admin', ['python', ['-c', '--command']]],
  ['python', ['python', ['-c', '--command']]],
])

/** `drush php:eval CODE`, `rails runner CODE`, `python manage.py shell -c CODE`, `php artisan tinker --execute=CODE`. */
export const siteCode: Unwrap = (call) => {
  const [language, marks] = SITE_CODE.get(call.name) ?? []
  if (language === undefined || marks === undefined) return []
  for (const [index, word] of call.words.entries()) {
    const mark =
      index === 0 ? undefined : marks.find((one) => word.text === one || word.text.startsWith(`${one}=`))
    if (mark === undefined) continue
    const code =
      word.text === mark ? call.words[index + 1] : { ...word, text: word.text.slice(mark.length + 1) }
    return code === undefined ? [] : [{ kind: 'code', language, word: code, via: call.name }]
  }
  // A console reads code from its input.
  const isFed = call.stdin.kind === 'text' || call.stdin.kind === 'pipe'
  const isConsole = call.words.slice(1, 4).some(({ text }) => CONSOLES.has(text))
  return isFed && isConsole ? fromStdin(call.stdin, call.name, language) : []
}

const CONSOLES: ReadonlySet<string> = new Set(['shell', 'console', 'c', 'tinker', 'repl'])

/** The same behind the script of an application that an interpreter is given. */
export function scriptCode(call: Call): readonly Inner[] {
  const [script, command] = call.parsed.operands
  const isOne =
    (call.name === 'python' && script?.text.endsWith('manage.py') === true && command?.text === 'shell') ||
    (call.name === 'php' && script?.text.endsWith('artisan') === true && command?.text === 'tinker')
  return isOne ? siteCode(call) : []
}
