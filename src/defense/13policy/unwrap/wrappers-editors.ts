/**
 * Programs with a prompt of their own: what their options and their standard input tell them to run. The language of
 * the prompts is in escapes.ts.
 * From vim(1), less(1), ed(1), gdb(1), sqlite3(1), psql(1) and the pages of the programs named.
 * @module
 */

import type { ShellWord } from '../shell/shell.ts'
import { readEscapes, readQuery } from './escapes.ts'
import {
  argv,
  type Call,
  eachLine,
  has,
  type Inner,
  LINES_MAX,
  literal,
  shell,
  tail,
  type Unwrap,
} from './inner.ts'

/** What a program is given on its standard input, where that is known. */
export function inputOf(call: Call): ShellWord | undefined {
  const { stdin } = call
  if (stdin.kind === 'text') return stdin.word
  if (stdin.kind !== 'pipe' || stdin.output === undefined || stdin.isDecoded) return undefined
  return { text: stdin.output, isGlob: false, opaque: undefined }
}

/** Options by which a program with a prompt is given a file of commands. */
const FILE_OPTIONS: ReadonlySet<string> = new Set(
  '-S -x --command -f --file -b -s --source -init -i -ix --init-file'.split(' '),
)

/** Files of commands, which count where the request has written them. */
function fromFiles(call: Call): readonly Inner[] {
  return call.parsed.values.flatMap(({ option, word, use }): readonly Inner[] =>
    use === 'read' && FILE_OPTIONS.has(option)
      ? [
          {
            kind: 'script',
            word,
            language: undefined,
            via: call.name,
            read: (text) => [
              ...readEscapes(text, call.name, call.work),
              ...readQuery(text, call.name, call.work),
            ],
          },
        ]
      : [],
  )
}

/** What a prompt is given that came over the network is what a shell would be given. */
function fromNetwork({ stdin }: Call): readonly Inner[] {
  return stdin.kind === 'pipe' && stdin.isFetched === true ? [{ kind: 'opaque', opaque: 'piped' }] : []
}

export function fromInput(call: Call): readonly Inner[] {
  const word = inputOf(call)
  if (word === undefined) return fromNetwork(call)
  // What a shell that is started there reads is the rest of the same input, and more.
  return readEscapes(word, call.name, call.work).map((inner) =>
    inner.kind === 'shell' ? { ...inner, stdin: { kind: 'caller' } } : inner,
  )
}

/** Editors and pagers: `-c cmd`, `+cmd`, and what `ex` and `ed` read. */
export const editor: Unwrap = (call) => {
  const inner: Inner[] = [...fromFiles(call), ...fromInput(call)]
  for (const { option, word } of call.parsed.values) {
    if (option === '-c' || option === '--cmd') inner.push(...readEscapes(word, call.name, call.work))
    else if (option === '--remote-expr' || option === '--remote-send')
      inner.push(...readEscapes(word, call.name, call.work))
  }
  call.words.forEach((word, index) => {
    if (index > 0 && word.text.startsWith('+') && word.text.length > 1)
      inner.push(...readEscapes(tail(word, 1), call.name, call.work))
    // `ex -sc COMMAND`
    const next = call.words[index + 1]
    const isBehindSilent = word.text === '-c' && call.words[index - 1]?.text === '-s'
    if (index > 0 && next !== undefined && (isBehindSilent || CLUSTER_OF_COMMAND.test(word.text)))
      inner.push(...readEscapes(next, call.name, call.work))
  })
  return inner
}

const CLUSTER_OF_COMMAND = /^-[bdeEmMnNRsuvXyZ]{1,8}c$/

const DEBUGGER_COMMANDS: ReadonlySet<string> = new Set(
  '-ex --ex -eval-command --eval-command -iex --iex -init-eval-command --init-eval-command -o -O -one-line --one-line -k --one-line-before-file --one-line-on-crash'.split(
    ' ',
  ),
)

export const gdb: Unwrap = (call) => {
  const inner: Inner[] = [...fromFiles(call), ...fromInput(call)]
  for (const { option, word } of call.parsed.values) {
    if (!DEBUGGER_COMMANDS.has(option)) continue
    const found = readEscapes(word, call.name, call.work)
    inner.push(...found)
    // A call into the process that is debugged.
    if (found.length === 0 && word.text.includes('system(')) inner.push({ kind: 'opaque', opaque: 'eval' })
  }
  if (has(call.parsed, '--args', '-args'))
    inner.push(...argv(call.words.slice(call.parsed.firstOperand), call.name))
  return inner
}

/** The option by which a client is given what it would also read from its input. */
const GIVEN_BY: ReadonlyMap<string, string> = new Map([
  ['psql', '-c'],
  ['mysql', '-e'],
  ['usql', '-c'],
  ['mycli', '-e'],
  ['clickhouse-client', '-q'],
  ['duckdb', '-c'],
  ['cypher-shell', '-e'],
  ['hbase', '-e'],
  ['surreal', '-e'],
  ['tarantoolctl', '-e'],
  ['taos', '-s'],
  ['cqlsh', '-e'],
])

function given({ words, name }: Call, option: string, text: ShellWord): readonly Inner[] {
  const stdin = { kind: 'closed' } as const
  return [{ kind: 'argv', words: [...words, literal(option), text], via: `${name} <`, stdin }]
}

/** `sqlite3 FILE '.shell cmd'`, `psql -c '\! cmd'`, `mysql -e 'system cmd'`, `COPY ... FROM PROGRAM 'cmd'`. */
export const database: Unwrap = (call) => {
  const input = inputOf(call)
  const texts = [
    ...call.parsed.values.filter(({ use }) => use === 'code').map(({ word }) => word),
    ...call.parsed.operands,
    ...(input === undefined ? [] : [input]),
  ]
  const option = GIVEN_BY.get(call.name)
  return [
    ...fromFiles(call),
    ...fromNetwork(call),
    ...(input === undefined || option === undefined ? [] : given(call, option, input)),
    ...texts.flatMap((word) => [
      ...readEscapes(word, call.name, call.work),
      ...readQuery(word, call.name, call.work),
    ]),
  ]
}

/** Options whose value the table calls code, and the standard input. */
export const prompt: Unwrap = (call) => [
  ...fromFiles(call),
  ...fromInput(call),
  ...call.parsed.values.flatMap(({ word, use }) =>
    use === 'code' ? readEscapes(word, call.name, call.work) : [],
  ),
]

/** A client that takes its words as one command takes each line of its input as one too. */
export const lineClient: Unwrap = (call) => {
  const word = inputOf(call)
  const lines =
    word === undefined ? [] : word.text.split('\n', LINES_MAX).filter((line) => line.trim() !== '')
  return [
    ...prompt(call),
    ...lines.slice(0, CLIENT_LINES_MAX).map(
      (line): Inner => ({
        kind: 'argv',
        words: [call.name, ...line.trim().split(/\s+/, LINES_MAX)].map(literal),
        via: call.name,
        stdin: { kind: 'closed' },
      }),
    ),
    ...(lines.length > CLIENT_LINES_MAX ? [{ kind: 'opaque', opaque: 'limit' } as const] : []),
  ]
}

/** Lines that are judged as commands; more come out of a file. */
const CLIENT_LINES_MAX = 64

/** `lf -command '&cmd'`, `'$cmd'`, `'%cmd'`. */
export const fileManager: Unwrap = (call) => [
  ...prompt(call),
  ...call.parsed.values.flatMap(({ word, use }) =>
    use === 'code' && '&$%'.includes(word.text.charAt(0)) ? [shell(tail(word, 1), call.name)] : [],
  ),
]

/** Configurations that the standard input or an argument gives: `KEY=command`, `Include FILE`, `file("/x")`. */
export const configuration: Unwrap = (call) => {
  const input = inputOf(call)
  const words = [
    ...call.parsed.values.filter(({ use }) => use === 'code').map(({ word }) => word),
    ...(input === undefined ? [] : [input]),
  ]
  return words.flatMap((word) => [...readEscapes(word, call.name, call.work), ...quotedFiles(word)])
}

/** Quoted absolute paths: what a configuration language reads. */
function quotedFiles(word: ShellWord): readonly Inner[] {
  const parts = word.text.split('"', 4_096)
  return parts.flatMap((text, index): readonly Inner[] =>
    index % 2 === 1 && text.startsWith('/') ? [{ kind: 'path', word: { ...word, text }, use: 'read' }] : [],
  )
}

function namedIn(text: string, input: ShellWord): readonly Inner[] {
  return eachLine(text, (line) => {
    const name = line.trim()
    return name === '' ? [] : [{ kind: 'path', word: { ...input, text: name }, use: 'read' }]
  })
}

/** Names of files on the standard input: `cpio -o`. */
export const fileNames: Unwrap = (call) => {
  const input = inputOf(call)
  if (input === undefined || has(call.parsed, '-i', '--extract', '-t', '--list')) return []
  return namedIn(input.text, input)
}

/** Names of files in a list that an option gives, `tar -T LIST`, where the request has written it; `-` is the input. */
export function filesOfList(call: Call, list: ShellWord): readonly Inner[] {
  if (list.text === '-') return fileNames(call)
  const read = (text: ShellWord) => namedIn(text.text, text)
  return [{ kind: 'script', word: list, language: undefined, via: call.name, read }]
}

/** A bus address that starts a program: `unixexec:path=/bin/sh,argv1=-c`. */
export const bus: Unwrap = (call) =>
  call.parsed.values.flatMap(({ word, use }): readonly Inner[] => {
    if (use !== 'code' || !word.text.startsWith('unixexec:')) return []
    const words = word.text
      .slice('unixexec:'.length)
      .split(',', 64)
      .filter((field) => field.startsWith('path=') || field.startsWith('argv'))
      .map((field) => ({ ...word, text: field.slice(field.indexOf('=') + 1) }))
    return argv(words, call.name)
  })
