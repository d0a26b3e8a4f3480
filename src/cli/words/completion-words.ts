/**
 * What can stand at each place of a command line, read from the tables that the parser and the help use: the usage
 * forms say the words and the places, the options say their values.
 * @module
 */

import type { OptionSpec } from './arguments.ts'
import { COMMON_OPTIONS, optionSpecs } from './arguments.ts'
import type { NamedCommand } from './command.ts'

/** What a shell offers at one place; `free` is a value that only the person knows. */
export type Offer = 'files' | 'directories' | 'targets' | 'free' | readonly string[]

export type OptionWords = {
  /** As they are typed, short before long. */
  readonly names: readonly string[]
  readonly description: string
  readonly repeat: boolean
  /** Undefined: a flag. */
  readonly value: { readonly name: string; readonly offer: Offer } | undefined
}

export type CommandWords = {
  readonly name: string
  readonly summary: string
  readonly options: readonly OptionWords[]
  /** The words that may stand directly behind the name, like `list` of `branch list`. */
  readonly subwords: readonly string[]
  /** True where a device may stand directly behind the name. */
  readonly target: boolean
  /** True where a device may stand before a colon and a path. */
  readonly remotePath: boolean
  /** True where the words may be files. */
  readonly files: boolean
}

const WORD = /^[a-z][a-z|-]*$/
const FILES: readonly string[] = ['FILE', 'PATH', 'SRC', 'DST', 'KEY']
const DIRECTORIES: readonly string[] = ['DIR']

function offerOf(value: string): Offer {
  if (FILES.includes(value)) return 'files'
  if (DIRECTORIES.includes(value)) return 'directories'
  if (value === 'TARGET') return 'targets'
  const words = value.split('|').filter((word) => WORD.test(word))
  return words.length > 0 ? words : 'free'
}

function optionWords(spec: OptionSpec): OptionWords {
  return {
    names: [...(spec.short === undefined ? [] : [`-${spec.short}`]), `--${spec.name}`],
    description: spec.description,
    repeat: spec.repeat === true,
    value: spec.value === undefined ? undefined : { name: spec.value, offer: offerOf(spec.value) },
  }
}

/** The words of a usage form behind the name, without options, brackets and what belongs to the program behind `--`. */
function placesOf(form: string): readonly string[] {
  const own = form.split(/ \[?-- /)[0] ?? ''
  return own
    .replace(/\[-[^\]]*\]|--\S+ [A-Z]+/g, '')
    .replace(/[[\]]|\.\.\./g, '')
    .split(' ')
    .slice(1)
    .filter((word) => word !== '' && word !== 'OPTIONS')
}

/**
 * The words of one command.
 * @param isForeign where its words are those of another program: no option of ours is one of them
 */
export function commandWords(command: NamedCommand, isForeign: boolean): CommandWords {
  const forms = command.usage.map(placesOf)
  const firsts = forms.map(([first = '']) => first)
  const places = forms.flat()
  return {
    name: command.name,
    summary: command.summary,
    options: isForeign ? [] : [...optionSpecs(command.options), ...COMMON_OPTIONS].map(optionWords),
    subwords: [...new Set(firsts.filter((first) => WORD.test(first)).flatMap((first) => first.split('|')))],
    target: firsts.some((first) => /^(?:AGENT@)?(?:TARGET|HOST)$/.test(first)),
    remotePath: places.some((place) => place.endsWith('HOST:PATH')),
    files: places.some((place) => FILES.includes(place) || DIRECTORIES.includes(place)),
  }
}
