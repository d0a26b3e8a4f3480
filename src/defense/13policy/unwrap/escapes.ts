/**
 * Commands of programs that have a prompt of their own (editors, pagers, calculators, debuggers, database and file
 * transfer clients, chat and mail programs): a line that gives a command to a shell, and one that names a file.
 * Every line is read from its beginning with plain comparisons, and each of its characters a fixed number of times.
 * From vim(1), less(1), ed(1), gdb(1), sqlite3(1), psql(1), mysql(1), ftp(1), m4(1) and their kin.
 * @module
 */

import { spend, type Work } from '../../work.ts'
import type { ShellWord } from '../shell/shell.ts'
import { MODIFIERS, READ_WORDS, SHELL_WORDS, WRITE_WORDS } from './escape-words.ts'
import { argv, eachLine, type Inner, LINES_MAX, literal } from './inner.ts'

const QUOTES = '"\'`'

function isBlank(letter: string): boolean {
  return letter === ' ' || letter === '\t'
}

/** Past the addresses and repeat counts that may stand before a command: `%`, `1,5`, `.,$`, `:`, `+`, `/`. */
function pastAddress(line: string): number {
  let at = 0
  while (at < line.length && at < 24 && ":+ \t%.,$0123456789;'&".includes(line.charAt(at))) {
    // `.output`, `.shell`: a name of its own.
    const next = line.charAt(at + 1)
    if (line.charAt(at) === '.' && next >= 'a' && next <= 'z') break
    at += 1
  }
  return at
}

function unquoted(text: string): string {
  const trimmed = text.trim()
  const quote = trimmed.charAt(0)
  if (trimmed.length < 2 || !QUOTES.includes(quote) || quote === '') return trimmed
  return trimmed.endsWith(quote) ? trimmed.slice(1, -1) : trimmed.slice(1)
}

function startOf(line: string, words: readonly string[]): string | undefined {
  return words.find((word) => line.startsWith(word))
}

/** The quoted text right behind `opening` (`system("...")`), or what stands up to the closing mark. */
function argumentOf(text: string, from: number): string {
  let at = from
  while (at < text.length && isBlank(text.charAt(at))) at += 1
  const quote = text.charAt(at)
  if (quote !== '' && QUOTES.includes(quote)) {
    const end = text.indexOf(quote === '`' ? "'" : quote, at + 1)
    return text.slice(at + 1, end < 0 ? text.length : end)
  }
  const end = text.indexOf(')', at)
  return text.slice(at, end < 0 ? text.length : end)
}

/** Calls of a language whose argument is text for a shell. */
const CALLS: readonly string[] = Object.freeze([
  'system(',
  'esyscmd(',
  'syscmd(',
  'systemlist(',
  'shell(',
  'popen(',
])
const CALLS_MAX = 512

function calls(word: ShellWord, via: string): readonly Inner[] {
  const inner: Inner[] = []
  for (const name of CALLS) {
    let at = word.text.indexOf(name)
    while (at >= 0 && inner.length < CALLS_MAX) {
      const before = word.text.charAt(at - 1)
      const isWhole = !(before >= 'a' && before <= 'z')
      const text = isWhole ? argumentOf(word.text, at + name.length) : ''
      if (text.trim() !== '') inner.push({ kind: 'shell', word: { ...word, text }, via })
      at = word.text.indexOf(name, at + name.length)
    }
    if (at >= 0) inner.push({ kind: 'opaque', opaque: 'limit' })
  }
  return inner
}

/** Functions of an editor's language that write, remove or rename the files that they name. */
const FILE_CALLS: readonly string[] = Object.freeze([
  'delete(',
  'delete_file(',
  'writefile(',
  'rename(',
  'setfperm(',
  'mkdir(',
])

function fileCalls(word: ShellWord): readonly Inner[] {
  return FILE_CALLS.flatMap((name): readonly Inner[] => {
    const at = word.text.indexOf(name)
    if (at < 0) return []
    const end = word.text.indexOf(')', at)
    const given = word.text.slice(at + name.length, end < 0 ? undefined : end)
    return given
      .split(/["']/, 64)
      .filter((text, index) => index % 2 === 1 && /^(?:\/|~|\.\.)/.test(text))
      .map((text) => ({ kind: 'path', word: { ...word, text }, use: 'write' }))
  })
}

/** What one line runs or uses. */
function readLine(word: ShellWord, line: string, via: string): readonly Inner[] {
  let text = line.slice(pastAddress(line))
  for (let count = 0; count < 4; count++) {
    const modifier = startOf(text, MODIFIERS)
    if (modifier === undefined) break
    text = unquoted(text.slice(modifier.length))
    text = text.slice(pastAddress(text))
  }
  if (text.startsWith('/')) {
    // A chat program's own commands begin with a slash.
    const command = startOf(text, ['/exec ', '/EXEC ', '/run ', '/shell '])
    if (command === undefined) return []
    let rest = text.slice(command.length).trim()
    while (rest.startsWith('-')) {
      const next = rest.indexOf(' ')
      if (next < 0) break
      rest = rest.slice(next + 1).trimStart()
    }
    return [{ kind: 'shell', word: { ...word, text: rest }, via }]
  }
  const inner: Inner[] = []
  const mark = text.indexOf('!')
  // `!cmd`, `r !cmd`, `w !cmd`, `set x!cmd`: the mark stands early, after at most one short word.
  const head = mark >= 0 && mark <= 8 ? text.slice(0, mark).trim() : undefined
  if (head !== undefined && (head === '' || (isWordOrEmpty(head) && isBlank(text.charAt(mark - 1))))) {
    let from = mark + 1
    while (text.charAt(from) === '!') from += 1
    if (text.charAt(from) === '[') from += 1
    const command = text.slice(from).trim()
    return command === '' ? [] : [{ kind: 'shell', word: { ...word, text: command }, via }]
  }
  // An archive within a database, which is told what to do as tar is.
  if (startOf(text, ['.ar ', '.archive ']) !== undefined) {
    const words = text.split(' ', 64).filter((one) => one !== '')
    return argv([literal('tar'), ...words.slice(1).map((one) => ({ ...word, text: unquoted(one) }))], via)
  }
  const shellWord = startOf(text, SHELL_WORDS)
  if (shellWord !== undefined) {
    const command = unquoted(text.slice(shellWord.length))
    if (command !== '') inner.push({ kind: 'shell', word: { ...word, text: command }, via })
    return inner
  }
  for (const [start, language] of LANGUAGE_WORDS) {
    if (text.startsWith(start))
      return [{ kind: 'code', language, word: { ...word, text: unquoted(text.slice(start.length)) }, via }]
  }
  const written = startOf(text, WRITE_WORDS)
  const read = written === undefined ? startOf(text, READ_WORDS) : undefined
  const start = written ?? read
  if (start !== undefined) {
    // The file is the first word or the last one, as the program has it.
    const rest = text.slice(start.length).trim()
    const words = rest.split(' ', 16).filter((one) => one !== '')
    for (const file of new Set([words[0], words.at(-1)])) {
      const name = file === undefined ? '' : unquoted(file)
      if (name !== '' && !name.startsWith('-'))
        inner.push({
          kind: 'path',
          word: { ...word, text: name },
          use: written === undefined ? 'read' : 'write',
        })
    }
  }
  return inner
}

const LANGUAGE_WORDS = Object.freeze([
  ['python ', 'python'],
  ['python3 ', 'python'],
  ['py ', 'python'],
  ['py3 ', 'python'],
  ['pyx ', 'python'],
  ['pi ', 'python'],
  ['script ', 'python'],
  ['lua ', 'lua'],
  ['perl ', 'perl'],
  ['ruby ', 'ruby'],
  ['tcl ', 'tcl'],
] as const)

function isWordOrEmpty(text: string): boolean {
  for (const letter of text) if (!((letter >= 'a' && letter <= 'z') || letter === '%')) return false
  return true
}

/** Settings of which the value is a command: `set editor="cmd"`, `INPUT_FILTER=cmd`, `set shell=cmd`. */
const COMMAND_SETTINGS: readonly string[] = Object.freeze([
  ...[
    'editor',
    'pager',
    'shell',
    'input_filter',
    'filter_patterns',
    'file_version_filter',
    'sendmail',
    'visual',
  ],
  ...[
    'print_command',
    'display_filter',
    'query_command',
    'makeprg',
    'grepprg',
    'equalprg',
    'formatprg',
    'ispell',
  ],
  ...[
    'keywordprg',
    'external-editor',
    'browser',
    'mailcap',
    'new_mail_command',
    'dot_path',
    'xfer:connect-program',
  ],
])

/** And of which it is a file or a directory that is written. */
const WRITTEN_SETTINGS =
  /^(?:backupdir|bdir|directory|dir|undodir|udir|viewdir|verbosefile|vfile|viminfofile|vif|spellfile|logfile)$/

function settings(word: ShellWord, line: string, via: string): readonly Inner[] {
  const equals = line.indexOf('=')
  if (equals <= 0 || equals > 64) return []
  const before = line.slice(0, equals).trim().toLowerCase()
  const name = before.slice(before.lastIndexOf(' ') + 1)
  if (WRITTEN_SETTINGS.test(name)) {
    const place = unquoted(line.slice(equals + 1)).split(/[ |]/, 1)[0] ?? ''
    return /^[/~]/.test(place) ? [{ kind: 'path', word: { ...word, text: place }, use: 'write' }] : []
  }
  if (!COMMAND_SETTINGS.includes(name)) return []
  const value = unquoted(line.slice(equals + 1))
  return value === '' ? [] : [{ kind: 'shell', word: { ...word, text: value }, via }]
}

/** What one text gives at most; beyond it the text says that it is too much. */
const INNER_MAX = 512

function bounded(inner: readonly Inner[]): readonly Inner[] {
  return inner.length <= INNER_MAX
    ? inner
    : [...inner.slice(0, INNER_MAX), { kind: 'opaque', opaque: 'limit' }]
}

/** What reading a text costs: each of its lines is compared with some hundred words, four times at most. */
const TEXT_STEPS = 96
const CHARACTER_STEPS = 12

/** Everything that `word` runs or uses, as commands of a program with a prompt of its own. */
export function readEscapes(word: ShellWord, via: string, work: Work): readonly Inner[] {
  spend(work, TEXT_STEPS + word.text.length * CHARACTER_STEPS)
  if (word.text.includes(';')) spend(work, word.text.split(';', LINES_MAX).length * TEXT_STEPS)
  const lines = eachLine(word.text, (raw) => {
    const line = raw.trim()
    if (line === '') return []
    const found = readLine(word, line, via)
    if (found.length > 0) return found
    const set = settings(word, line, via)
    // Some take several commands on a line.
    const bar = line.indexOf('|')
    if (set.length === 0 && bar > 0 && BARRED.test(via)) return barred(word, line.slice(bar + 1), via)
    if (set.length > 0 || !line.includes(';')) return set
    const next = (part: string) => (part === '' || part === ' ' ? NOTHING : readLine(word, part.trim(), via))
    return eachLine(line.slice(line.indexOf(';') + 1), next, ';')
  })
  return bounded([...calls(word, via), ...fileCalls(word), ...withinLine(word, via), ...lines])
}

/** Editors that take several commands on a line, parted by bars. */
const BARRED = /^(?:vi|vim|nvim|ex|view|gvim|vimdiff|rvim)\b/

/** `` e `cmd` `` of an editor, `` \set x `cmd` `` and `select 1 \g |cmd` of psql. */
const TICKED = /`([^`\n]{1,1024})`/g
const PIPED = /\\gx?\s{0,4}\|([^\n]{1,1024})/g

/** `r < x > /y` of gdb: what follows is the words of a shell, and the program itself is known elsewhere. */
const STARTED = /^\s{0,4}(?:r|start|starti)\s([^\n]{1,1024})/gm

function withinLine(word: ShellWord, via: string): readonly Inner[] {
  const isClient = /^psql\b/.test(via)
  const forms = [
    ...(word.text.includes('`') && (BARRED.test(via) || (isClient && word.text.startsWith('\\')))
      ? [TICKED]
      : []),
    ...(isClient && word.text.includes('|') ? [PIPED] : []),
    ...(/^gdb\b/.test(via) && word.text.includes('>') ? [STARTED] : []),
  ]
  return forms.flatMap((form) =>
    [...word.text.matchAll(form)].map(
      ([, text = '']): Inner => ({ kind: 'shell', word: { ...word, text }, via }),
    ),
  )
}

function barred(word: ShellWord, rest: string, via: string): readonly Inner[] {
  return eachLine(rest, (part) => (part.trim() === '' ? NOTHING : readLine(word, part.trim(), via)), '|')
}

const NOTHING: readonly never[] = Object.freeze([])

/** Quoted texts of one query that are looked at. */
const QUOTES_MAX = 4_096

/** `... TO PROGRAM 'cmd'`, `COPY x TO '/file'`, `INTO OUTFILE '/file'`, `LOAD_FILE('/file')`, `readfile('/file')`. */
export function readQuery(word: ShellWord, via: string, work: Work): readonly Inner[] {
  const inner: Inner[] = []
  const { text } = word
  spend(work, TEXT_STEPS + text.length)
  let from = 0
  for (let count = 0; ; count++) {
    if (count >= QUOTES_MAX) return [...inner, { kind: 'opaque', opaque: 'limit' }]
    const open = text.indexOf("'", from)
    if (open < 0) break
    const close = text.indexOf("'", open + 1)
    const end = close < 0 ? text.length : close
    const value = text.slice(open + 1, end)
    const before = text
      .slice(Math.max(0, open - 32), open)
      .trimEnd()
      .toLowerCase()
    if (before.endsWith('program') || before.endsWith('executable('))
      inner.push({ kind: 'shell', word: { ...word, text: value }, via })
    else if (value.startsWith('/') || value.startsWith('~/')) {
      const isWritten = [
        'outfile',
        'dumpfile',
        ' to',
        'writefile(',
        'lo_export(',
        'attach',
        'vacuum into',
        'export database',
        '_directory=',
        '_directory =',
      ].some((end) => before.endsWith(end))
      const isRead = ['from', '(', 'infile', 'load'].some((end) => before.endsWith(end))
      if (isWritten || isRead)
        inner.push({ kind: 'path', word: { ...word, text: value }, use: isWritten ? 'write' : 'read' })
    }
    from = end + 1
  }
  return inner
}
