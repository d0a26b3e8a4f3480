/**
 * What a makefile runs: its recipes, with the variables that it sets put in, and the commands of `$(shell ...)`.
 * From make(1) and the GNU make manual, "How to Use Variables" and "Recipe Syntax".
 * @module
 */
import type { ShellWord } from '../shell/shell.ts'
import { argv, eachLine, type Inner, shell } from './inner.ts'

/** `${:!cmd!}` of bmake. */
const RUN_IN_PLACE = /\$\{:!([^!\n]{1,4096})!/g

/** `$(shell cmd)` in a text for make, the first that there is; and each `${:!cmd!}`. */
export function shellFunction(word: ShellWord): readonly Inner[] {
  const { text } = word
  const inPlace = [...text.matchAll(RUN_IN_PLACE)].map(([, command = '']) =>
    shell({ ...word, text: command }, 'make'),
  )
  const at = ['$(shell ', '${shell '].map((start) => text.indexOf(start)).find((found) => found >= 0)
  if (at === undefined) return inPlace
  const from = at + '$(shell '.length
  const end = text.indexOf(text.charAt(at + 1) === '(' ? ')' : '}', from)
  return [...inPlace, shell({ ...word, text: text.slice(from, end < 0 ? text.length : end) }, 'make')]
}

export type MakeVariables = ReadonlyMap<string, string>
export const NO_VARIABLES: MakeVariables = new Map()

/** `NAME = value`, `NAME := value`, `NAME ?= value`, `override NAME += value`. */
const SETTING =
  /^[ ]{0,8}(?:export[ ]|override[ ]){0,2}[ ]{0,8}([\w.-]{1,64})[ \t]{0,8}(?:::?|\?|\+|!)?=[ \t]{0,8}([^\n]{0,1024})$/gm
const VARIABLE = /\$(?:\(([\w.-]{1,64})\)|\{([\w.-]{1,64})\})/g
/** What make itself sets and a recipe would do harm with. */
const BUILT_IN: readonly (readonly [string, string])[] = Object.freeze([
  ['RM', 'rm -f'],
  ['MAKE', 'make'],
  ['CC', 'cc'],
  ['CXX', 'g++'],
  ['CPP', 'cpp'],
  ['AR', 'ar'],
  ['AS', 'as'],
  ['LD', 'ld'],
  ['HOME', '~'],
])
const VARIABLES_MAX = 256
/** One variable in another, and how long a recipe becomes. */
const NESTED_MAX = 4
const RECIPE_CHARACTERS = 8_192

/** The variables of a makefile; what the command line gives comes before what the file says. */
function variablesOf(text: string, given: MakeVariables): MakeVariables {
  const found = new Map(BUILT_IN)
  for (const [, name = '', value = ''] of text.matchAll(SETTING)) {
    if (found.size >= VARIABLES_MAX) break
    found.set(name, value)
  }
  for (const [, name = '', body = ''] of text.matchAll(DEFINED)) found.set(name, body.trimEnd())
  for (const [, name = '', value = ''] of text.matchAll(EVALUATED)) found.set(name, value)
  for (const [name, value] of given) found.set(name, value)
  return found
}

/** `$(subst a,b,text)`, `$(call f,a)`: functions that only make text of text. */
const FUNCTION =
  /\$[({](subst|foreach|strip|firstword|lastword|addprefix|addsuffix|if|or|and|patsubst|word|wordlist|join|value|call|eval)[ \t]([^(){}$]{0,1024}(?:\$[({]\w{1,64}[)}][^(){}$]{0,1024}){0,16})[)}]/g

type MakeFunction = (given: readonly string[], variables: MakeVariables) => string

const FUNCTIONS: ReadonlyMap<string, MakeFunction> = new Map<string, MakeFunction>([
  ['subst', ([from = '', to = '', ...text]) => (from === '' ? '' : text.join(',').replaceAll(from, to))],
  ['strip', (text) => text.join(',').trim()],
  ['firstword', (text) => wordsOf(text.join(','))[0] ?? ''],
  ['lastword', (text) => wordsOf(text.join(',')).at(-1) ?? ''],
  ['addprefix', ([before = '', ...text]) => eachWord(text, (word) => before + word)],
  ['addsuffix', ([after = '', ...text]) => eachWord(text, (word) => word + after)],
  ['if', ([test = '', yes = '', ...no]) => (test.trim() === '' ? no.join(',') : yes)],
  ['or', (given) => given.find((one) => one.trim() !== '')?.trim() ?? ''],
  ['and', (given) => (given.some((one) => one.trim() === '') ? '' : (given.at(-1)?.trim() ?? ''))],
  ['patsubst', ([from = '', to = '', ...text]) => eachWord(text, (word) => patterned(word, from, to.trim()))],
  ['word', ([at = '', ...text]) => wordsOf(text.join(','))[Number(at) - 1] ?? ''],
  [
    'wordlist',
    ([from = '', to = '', ...text]) =>
      wordsOf(text.join(','))
        .slice(Number(from) - 1, Number(to))
        .join(' '),
  ],
  ['join', ([first = '', second = '']) => joinedWords(wordsOf(first), wordsOf(second))],
  ['value', ([name = ''], variables) => variables.get(name.trim()) ?? ''],
  [
    'call',
    ([name = '', ...given], variables) =>
      (variables.get(name.trim()) ?? '').replaceAll(GIVEN, (_, round, curly) =>
        (given[Number(round ?? curly) - 1] ?? '').trim(),
      ),
  ],
  // What it sets is among the variables.
  ['eval', () => ''],
  [
    'foreach',
    ([name = '', list = '', ...text]) =>
      eachWord([list], (item) =>
        [`$(${name.trim()})`, `\${${name.trim()}}`].reduce(
          (done, use) => done.replaceAll(use, item),
          text.join(','),
        ),
      ),
  ],
])

/** `$(1)` in what `$(call ...)` uses. */
const GIVEN = /\$(?:\(([1-9])\)|\{([1-9])\})/g

/** `word` as `to`, where it fits `from`; in both, `%` stands for the rest. */
function patterned(word: string, from: string, to: string): string {
  const [before = '', after = ''] = from.split('%', 2)
  if (!from.includes('%')) return word === from ? to : word
  if (!word.startsWith(before) || !word.endsWith(after)) return word
  return to.replace('%', () => word.slice(before.length, word.length - after.length))
}

function joinedWords(first: readonly string[], second: readonly string[]): string {
  return Array.from(
    { length: Math.max(first.length, second.length) },
    (_, at) => (first[at] ?? '') + (second[at] ?? ''),
  ).join(' ')
}

function wordsOf(text: string): readonly string[] {
  return text.trim().split(/\s+/, VARIABLES_MAX)
}

function eachWord(text: readonly string[], make: (word: string) => string): string {
  return wordsOf(text.join(',')).map(make).join(' ')
}

function withFunctions(text: string, variables: MakeVariables): string {
  return text.replaceAll(
    FUNCTION,
    (whole, name, given) => FUNCTIONS.get(name)?.(String(given).split(','), variables) ?? whole,
  )
}

function putIn(recipe: string, variables: MakeVariables): string {
  let text = withFunctions(recipe, variables)
  for (let depth = 0; depth < NESTED_MAX && /\$[({]/.test(text); depth++) {
    const next = withFunctions(
      text.replaceAll(VARIABLE, (whole, round, curly) => variables.get(String(round ?? curly)) ?? whole),
      variables,
    )
    if (next === text || next.length > RECIPE_CHARACTERS) break
    text = next
  }
  return text
}

const ASSIGNED = /^[ ]{0,8}[\w.-]{1,64}[ \t]{0,8}!=[ \t]{0,8}([^\n]{1,1024})$/gm
const FILED = /\$[({]file[ \t]{1,8}(>{1,2}|<)[ \t]{0,8}([^,)}\n]{1,1024})/g

/** Another makefile, from elsewhere. */
const TAKEN_IN = /^[ ]{0,8}[-s]?(?:include|load)[ \t]{1,8}((?:\/|~\/|\.\.\/)[^\s#]{1,1024})/gm

/** `define NAME`, lines, `endef`: recipes that others call by that name. */
const DEFINED = /^define[ \t]{1,8}([\w.-]{1,64})[^\n]{0,256}\n((?:(?!endef)[^\n]*\n)+)/gm
/** `$(eval NAME := value)` */
const EVALUATED = /\$[({]eval[ \t]{1,8}([\w.-]{1,64})[ \t]{0,8}[:?+]?=[ \t]{0,8}([^\n){}]{0,1024})/g
/** `export NAME = value`: a variable of all that the recipes start. */
const EXPORTED = /^[ ]{0,8}export[ \t]{1,8}([\w.-]{1,64})[ \t]{0,8}[:?]?=[ \t]{0,8}([^\n]{0,1024})$/gm
/** The lines of a recipe that one shell is given. */
const RECIPE = /^\t[^\n]*(?:\n\t[^\n]*)*/gm

/** `$(X)`, and not the `$$(cmd)` that the shell is given. */
const UNSET = /(?<!\$)\$[({]/

const ONE_SHELL = /^\.ONESHELL:/m

/** What a makefile has its recipes run by, where that is no shell. */
function shellOf(variables: MakeVariables): string | undefined {
  const program = variables.get('SHELL')?.trim()
  if (program === undefined || program === '' || /^[\w/.$()-]*sh$/.test(program)) return undefined
  return `${program} ${variables.get('.SHELLFLAGS') ?? '-c'}`
}

/** Each recipe is what follows the semicolon of a rule, or a line that begins with a tab. */
export function makeText(source: ShellWord, given: MakeVariables = NO_VARIABLES): readonly Inner[] {
  // A line goes on behind the mark at its end.
  const word = source.text.includes('\\\n')
    ? { ...source, text: source.text.replaceAll(/\\\n\t?/g, ' ') }
    : source
  const variables = variablesOf(word.text, given)
  const starter = shellOf(variables)
  const run = (recipe: string) => {
    // What a command puts out there is put out in the shell as well.
    let text = putIn(recipe.trimStart(), variables).replaceAll(/\$[({]shell /g, '$$$$(')
    while (text.startsWith('@') || text.startsWith('+') || text.startsWith('-')) text = text.slice(1)
    // A variable that nobody has set here: only the shell's own marks are told from it.
    const open = text.search(UNSET)
    if (open >= 0) text = text.slice(0, open)
    text = text.replaceAll('$$', '$')
    if (text === '') return []
    return [shell({ ...word, text: starter === undefined ? text : `${starter} ${text}` }, 'make')]
  }
  const recipes = eachLine(word.text, (line) => {
    if (line.startsWith('\t')) return run(line.slice(1))
    return line.includes(':') ? run(line.slice(line.indexOf(';') + 1 || line.length)) : []
  })
  // `NAME != cmd`, `$(file >NAME,text)`
  const assigned = [...word.text.matchAll(ASSIGNED)].flatMap(([, command = '']) => run(command))
  const filed = [...word.text.matchAll(FILED)].map(
    ([, mark = '', name = '']): Inner => ({
      kind: 'path',
      word: { ...word, text: putIn(name.trim(), variables) },
      use: mark === '<' ? 'read' : 'write',
    }),
  )
  const takenIn = [...word.text.matchAll(TAKEN_IN)].flatMap(([, file = '']) =>
    argv(
      ['make', '-f', putIn(file, variables)].map((text) => ({ ...word, text })),
      'make',
    ),
  )
  const defined = [...word.text.matchAll(DEFINED)].flatMap(([, , body = '']) => eachLine(body, run))
  const exported = [...word.text.matchAll(EXPORTED)].map(([, name, value = '']) =>
    shell({ ...word, text: `${name}='${putIn(value, variables)}' true` }, 'make'),
  )
  const whole = ONE_SHELL.test(word.text)
    ? [...word.text.matchAll(RECIPE)].flatMap(([lines]) => run(lines.replaceAll(/^\t/gm, '')))
    : []
  return [
    ...shellFunction(word),
    ...assigned,
    ...filed,
    ...takenIn,
    ...recipes,
    ...defined,
    ...exported,
    ...whole,
  ]
}
