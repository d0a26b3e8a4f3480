/**
 * Forms of Perl in which what a call is given stands elsewhere than among its arguments: a program in brackets before
 * them, the topic in place of them.
 * Rules: perlfunc(1), exec and unlink.
 * @module
 */
import { mark, type Reading, type Value } from './reading.ts'
import { argumentsOf, closing, readValue } from './values.ts'

/** `exec {"/bin/sh"} "name", "x"`: the program in the brackets at `bracket`, and what it is given behind its name. */
export function indirectProgram(reading: Reading, bracket: number): readonly Value[] {
  const program = readValue(reading, bracket + 1).value
  const { list } = argumentsOf(reading, closing(reading, bracket))
  const given = list.flatMap(({ value }) => (value.kind === 'list' ? value.items : [value]))
  return [program, ...given.slice(1)]
}

/** Whether the name at `index` is a call that has the program before its arguments. */
export function hasIndirectProgram({ language, tokens }: Reading, name: string, index: number): boolean {
  const next = tokens[index + 1]
  return (
    language === 'perl' &&
    (name === 'exec' || name === 'system') &&
    next?.kind === 'mark' &&
    next.text === '{'
  )
}

/** What without an argument removes what `$_` names. */
const OF_TOPIC: readonly string[] = Object.freeze(['unlink', 'rmdir'])
const ENDS: readonly string[] = Object.freeze([';', '}', ')', ',', '\n'])

/** `for (@ARGV) { unlink }`: a path that is not known is removed. */
export function removesTopic(reading: Reading, name: string, index: number): boolean {
  return OF_TOPIC.includes(name) && endsAt(reading, index)
}

/** `perl -ne eval`: a text that is not known is code. */
export function evaluatesTopic(reading: Reading, name: string, index: number): boolean {
  if (name !== 'eval' || reading.language !== 'perl') return false
  // `eval <STDIN>`, `` eval `x` ``
  return (
    endsAt(reading, index) ||
    mark(reading, index + 1) === '<' ||
    reading.tokens[index + 1]?.kind === 'command'
  )
}

function endsAt(reading: Reading, index: number): boolean {
  if (reading.language !== 'perl') return false
  return reading.tokens[index + 1] === undefined || ENDS.includes(mark(reading, index + 1))
}

/** `<DIRECTORY/*>`; what is in the brackets of a handle is a name. */
const GLOB = /<"?((?:[~/.{]|\$ENV\{\w{1,64}\}|\$\w{1,64}\/)[^<>\n"'`;=()]{0,256})"?>/g
/** `<rm -rf /opt>`: a list of words, where none of them has a wildcard. */
const LIST = /(?:\bqw\s{0,8})?<([A-Za-z][\w./-]{0,64}(?:[ \t]{1,8}[^<>\s"'`;=()$*?[\]{}]{1,256}){1,64})>/g
/** `${name}` */
const BRACED = /\$\{(\w{1,64})\}/g

/** `qw(a b)`, with what may stand for the brackets. */
const WORDS =
  /\bqw\s{0,8}(?:\(([^()]{0,4096})\)|\[([^[\]]{0,4096})\]|\{([^{}]{0,4096})\}|([/|!])([^/|!]{0,4096})\4)/g

/** `` <<`X` ``: the lines up to the one that says so are given to a shell. */
const RUN_LINES = /<<`(\w{1,64})`([^\n]{0,1024})\n([\s\S]{0,16384}?)\n\1(?=\n|$)/g

function runOf(_: string, _end: string, rest: string, lines: string): string {
  return `readpipe('${lines.replaceAll(/['\\]/g, '\\$&')}')${rest}`
}

/** `unshift @INC, "/x"`: a place of modules, as `use lib` adds one. */
const ADDED_PLACE = /\b(?:unshift|push)\s{0,4}\(?\s{0,4}@INC\s{0,4},\s{0,4}|@INC\s{0,4}=\s{0,4}(?=[('"q])/g

/** The code with one form for what has several: `glob("x/*")` for `<x/*>`, `$name` for `${name}`, a list for `qw(a b)`. */
export function plainForms(text: string): string {
  const plain = text.includes('<<`') ? text.replaceAll(RUN_LINES, runOf) : text
  return (plain.includes('@INC') ? plain.replaceAll(ADDED_PLACE, 'use lib ') : plain)
    .replaceAll(GLOB, ' glob("$1")')
    .replaceAll(LIST, (_, words) => ` ${listOf(String(words))}`)
    .replaceAll(PATTERNS, globsOf)
    .replaceAll(BRACED, '$$$1')
    .replaceAll(WORDS, (_, round, square, curly, _mark, other) =>
      listOf(round ?? square ?? curly ?? other ?? ''),
    )
}

const TEXT = '(?:"([^"]{1,1024})"|\'([^\']{1,1024})\'|qq?\\(([^()]{1,1024})\\))'
/** `glob "/a/* /b"`: each of its patterns by itself. */
const PATTERNS = new RegExp(`\\bglob\\s{0,4}(?:\\(\\s{0,4}${TEXT}\\s{0,4}\\)|${TEXT})`, 'g')

/** `{/a,/b}/*` is two patterns. */
const BRACES = /^([^{}$]{0,256})\{([^{}]{1,256},[^{}]{0,256})\}([^{}]{0,256})$/

function eachOfBraces(pattern: string): readonly string[] {
  const [, before = '', within, after = ''] = BRACES.exec(pattern) ?? []
  return within === undefined ? [pattern] : within.split(',').map((part) => before + part + after)
}

const HOME = /\$ENV\{HOME\}/g

function globsOf(whole: string, ...texts: readonly unknown[]): string {
  const given = texts.slice(0, 6).find((text) => typeof text === 'string')
  if (typeof given !== 'string') return whole
  const patterns = given.trim().replaceAll(HOME, '~').split(/\s+/).flatMap(eachOfBraces)
  return patterns.map((pattern) => `glob("${pattern}")`).join(',')
}

function listOf(words: string): string {
  const items = words.split(/\s+/).filter((word) => word !== '')
  return `(${items.map((word) => `'${word.replaceAll(/['\\]/g, '\\$&')}'`).join(',')})`
}
