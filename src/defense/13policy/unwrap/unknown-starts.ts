/**
 * What a program that nothing is known of may well start: its words say so by their form alone. Launchers of clusters,
 * queues and clouds are without number, and all of them take a command in one of these places.
 * @module
 */

import type { ShellWord } from '../shell/shell.ts'
import { readEscapes } from './escapes.ts'
import { argv, type Call, has, type Inner, literal, shell, tail } from './inner.ts'
import { LANGUAGES } from './interpreters.ts'
import { goesBy, isShell, namesOf } from './names.ts'
import { formOf, UNKNOWN_FORM } from './programs.ts'
import { isWrapper } from './wrappers.ts'

/** Programs that no other one has as a word for something of its own, where a path stands behind. */
const STARTED: ReadonlySet<string> = new Set(
  'rm rmdir unlink shred rimraf del-cli trash dd wipefs blkdiscard mkfs cat cp mv ln chmod chown chgrp chattr setcap tee truncate tar curl wget nc socat insmod crontab useradd usermod iptables sed find'.split(
    ' ',
  ),
)
/** Those that start another program; what stands behind must be one that is known. */
const STARTERS: ReadonlySet<string> = new Set(
  'sudo doas env nohup setsid nice ionice timeout stdbuf busybox toybox xargs exec'.split(' '),
)
/** Programs of the system whose name alone says it, whatever stands behind. */
const ORDERS: ReadonlySet<string> = new Set(
  'systemctl iptables ip6tables nft modprobe insmod userdel'.split(' '),
)
/** Options of which the value is, whatever the program, text for a shell. */
const TEXT_OPTIONS: ReadonlySet<string> = new Set(
  '-c -C -e --command --cmd --commands --exec --execute --exec-command --remote-command --wrap --script --scripts --run --shell --shell-command'.split(
    ' ',
  ),
)
/** Names that options for hooks and helpers have: `--pre-hook`, `--post-cmd`, `--on-success`, `--editor`. */
const HOOK =
  /^--(?:[a-z]{1,16}-){0,3}(?:cmd|command|hook|exec|script|editor|pager|rsh|shell-cmd)$|^--(?:on|pre|post|before|after)-[a-z-]{1,24}$/
/** Words behind which one text is a command line. */
const TEXT_WORDS: ReadonlySet<string> = new Set(
  'run exec add submit spawn start shell ssh sh bash cmd command console execute invoke job queue'.split(' '),
)
/** Words of one command that are looked at; those of a launcher come first. */
const WORDS_MAX = 64

/** Longer than the place of any of these programs. */
const NAME_MAX = 64

/** A path, or a value that is one: `/etc`, `~/x`, `of=/dev/sda`, `scheme://host`. */
function reaches(text: string): boolean {
  const first = text.charAt(0)
  return first === '/' || first === '~' || text.includes('=/') || text.includes('://')
}

/** Whether the tables of how programs are read have one of `names`. */
export function isTabled(names: readonly string[]): boolean {
  return formOf(names) !== UNKNOWN_FORM || isShell(names) || names.some(isWrapper)
}

/** Whether a command begins at `words[at]`: the name of a program that has what it acts on behind it. */
export function begins(words: readonly ShellWord[], at: number): boolean {
  const program = words[at]
  if (program === undefined || program.opaque !== undefined || program.isGlob) return false
  const { text } = program
  if (text.length > NAME_MAX) return false
  const first = text.charCodeAt(0)
  // Small letters, or a place of programs.
  if (!(first >= 97 && first <= 122) && !text.includes('/bin/') && !text.includes('/sbin/')) return false
  const names = namesOf(text, undefined)
  const isPlace = text.includes('/')
  const next = words[at + 1]
  if (next === undefined || next.opaque !== undefined) return false
  if (!isPlace && ORDERS.has(text)) return true
  if (isShell(names)) return /^-[a-z]{0,4}c$/.test(next.text)
  if (!STARTED.has(text) && goesBy(names, LANGUAGES)) return next.text === '-c' || next.text === '-e'
  // The place of a program may also be a file that is looked at: with options behind it, it is started.
  if (isPlace && !next.text.startsWith('-')) return false
  if (goesBy(names, STARTERS))
    return words.slice(at + 1, at + 6).some(({ text }) => STARTED.has(text) || isShell([text]))
  if (!goesBy(names, STARTED)) return false
  return words.slice(at + 1, at + WORDS_MAX).some(({ text }) => reaches(text))
}

/** Whether a text reads as a command line: the name of a known program, and more. */
function readsAsCommand({ text, opaque }: ShellWord): boolean {
  if (opaque !== undefined || PROMPT_LINE.test(text)) return false
  const start = text.trimStart()
  const blank = start.indexOf(' ')
  return blank > 0 && blank < 64 && isTabled(namesOf(start.slice(0, blank), undefined))
}

/** What stands behind `--`, where it is a program that is known. */
function behindDashes(words: readonly ShellWord[], via: string): readonly Inner[] {
  const at = words.findIndex(({ text }) => text === '--')
  const program = at < 1 ? undefined : words[at + 1]
  if (program === undefined || program.opaque !== undefined) return []
  return isTabled(namesOf(program.text, undefined)) ? argv(words.slice(at + 1), via) : []
}

function givesText(option: string): boolean {
  return TEXT_OPTIONS.has(option) || (option.length <= 64 && HOOK.test(option))
}

/** Options that give a program to what comes over a connection, or a terminal. */
const SHELL_OPTIONS: ReadonlySet<string> = new Set(['-e', '-c', '--exec', '--sh-exec', '--command'])

function isShellPlace({ text, opaque }: ShellWord): boolean {
  return (
    opaque === undefined && /^\/(?:usr\/)?bin\/[a-z]{2,6}$/.test(text) && isShell(namesOf(text, undefined))
  )
}

/** The texts that options and words announce as commands. */
function announced(words: readonly ShellWord[], via: string): readonly Inner[] {
  const inner: Inner[] = []
  const end = Math.min(words.length, WORDS_MAX)
  let isStarting = false
  for (let index = 1; index < end; index++) {
    const word = words[index]
    const before = words[index - 1]
    if (word === undefined || before === undefined) break
    if (index > 1 && TEXT_WORDS.has(before.text)) isStarting = true
    const isGiven = givesText(before.text) || (isStarting && !before.text.startsWith('-'))
    const equals = word.text.startsWith('--') ? word.text.indexOf('=') : -1
    if (equals > 0 && givesText(word.text.slice(0, equals))) {
      const value = tail(word, equals + 1)
      if (readsAsCommand(value)) inner.push(shell(value, via))
    } else if (index > 1 && isGiven && readsAsCommand(word)) inner.push(shell(word, via))
    else if (SHELL_OPTIONS.has(before.text) && isShellPlace(word)) inner.push(...argv([word], via))
  }
  return inner
}

/** Options of which the value is, whatever the program, code of a language of its own. */
const CODE_OPTIONS: ReadonlySet<string> = new Set(
  '-e -E -c -x -r -s -b -batch -code --code --eval -eval --exec --execute --expr --expression -js --js -script --javascript.execute-string -X -p -run --run'.split(
    ' ',
  ),
)
/** Words behind which it stands, or by which a program reads it from its input. */
const CODE_WORDS: ReadonlySet<string> = new Set('eval exec run shell console repl runner'.split(' '))
/** A call, or a name that runs a text, and a quote. */
const CALLS_QUOTED =
  /[\w!?]\s?[([]{1,2}\s?["'`]|[`(]\s?(?:rm|dd|sh|bash|cat|mkfs|curl|wget|chmod|shred)\s|\b(?:system|exec|spawn|shell|sh|run|unix|cmd|command)\w{0,16}\s?,?\s?["'`]/i
const PROMPT_LINE = /^(?:!|\\!|sh |shell |\.shell |system |\.system )\s{0,4}\w/
const CODE_CHARACTERS = 16_384

/** Names of the standard input. */
const INPUT: ReadonlySet<string> = new Set(['-', '-s', '/dev/stdin'])
/** Files of one command that may be its program. */
const FILES_MAX = 4

function readInput(stdin: Call['stdin']): ShellWord | undefined {
  if (stdin.kind === 'text') return stdin.word
  if (stdin.kind !== 'pipe' || stdin.isDecoded || stdin.output === undefined) return undefined
  return literal(stdin.output)
}

function guessed(word: ShellWord, via: string): readonly Inner[] {
  const isCode =
    word.opaque === undefined && word.text.length <= CODE_CHARACTERS && CALLS_QUOTED.test(word.text)
  return isCode ? [{ kind: 'code', language: 'other', word, via, isGuess: true }] : []
}

/** Texts that read as code of a language that nothing is known of. */
function guessedCode({ words, stdin, work }: Call, via: string): readonly Inner[] {
  const inner: Inner[] = []
  const add = (word: ShellWord) => {
    // `! cmd`, `shell cmd`: a line for a prompt of its own.
    if (word.opaque === undefined && PROMPT_LINE.test(word.text))
      inner.push(...readEscapes({ ...word, text: word.text.replace(/^!\s{0,4}sh\s+(?!-)/, '!') }, via, work))
    else inner.push(...guessed(word, via))
  }
  const end = Math.min(words.length, WORDS_MAX)
  for (let index = 1; index < end; index++) {
    const word = words[index]
    const before = words[index - 1]?.text ?? ''
    if (word === undefined) break
    const equals = word.text.startsWith('-') ? word.text.indexOf('=') : -1
    if (equals > 0 && CODE_OPTIONS.has(word.text.slice(0, equals))) add(tail(word, equals + 1))
    else if (index === 1 || CODE_OPTIONS.has(before) || CODE_WORDS.has(before)) add(word)
  }
  const given = readInput(stdin)
  const isConsole =
    words.length === 1 || words.slice(1, 4).some(({ text }) => CODE_WORDS.has(text) || INPUT.has(text))
  if (given !== undefined && isConsole) {
    add(given)
    // What is called a shell takes commands.
    if (/^[a-z]{1,6}sh$/.test(via) && readsAsCommand(given)) inner.push(shell(given, via))
  }
  for (const word of words.slice(1, FILES_MAX))
    if (word.opaque === undefined && /^[\w./-]{1,255}\.\w{1,8}$/.test(word.text))
      inner.push({ kind: 'script', word, language: undefined, via, read: (text) => guessed(text, via) })
  return inner
}

/** What the program of `call`, of which nothing is known, starts by the form of its words. */
export function unknownStarts(call: Call): readonly Inner[] {
  const { names, words } = call
  const via = names[0] ?? '--'
  const behind = behindDashes(words, via)
  if (behind.length > 0) return behind
  if (has(call.parsed, '--help', '--version')) return []
  const end = Math.min(words.length - 1, WORDS_MAX)
  for (let index = 1; index < end; index++) if (begins(words, index)) return argv(words.slice(index), via)
  const texts = announced(words, via)
  return texts.length > 0 ? texts : guessedCode(call, via)
}
