/**
 * argv to options and words, by a command's own table. The rules are those of POSIX and GNU: `--name VALUE`,
 * `--name=VALUE`, `-n VALUE`, `-nVALUE`, clustered flags, `--` ends the options.
 * Refuses unknown options (with a did-you-mean), missing and unwanted values, and an option given twice.
 * @module
 */
import { nearest } from '../../base/text/suggest.ts'

/** One option. Without `value` it is a flag; `value` is what help shows for its value. */
export type OptionSpec = {
  /** Long name without the dashes. */
  readonly name: string
  /** One letter. */
  readonly short?: string
  readonly value?: string
  /** May be given more than once. */
  readonly repeat?: true
  readonly description: string
}

/** Options as help writes them, each with its description: `'-r, --recursive'`, `'--key FILE'`; with `...` behind it may be repeated. */
export type Described = Readonly<Record<string, string>>

/** What is written of options, as they are read. */
export function optionSpecs(described: Described): readonly OptionSpec[] {
  return Object.entries(described).map(([written, description]) => {
    const [, short, name = '', value, repeat] =
      /^(?:-(.), )?--([a-z0-9-]+)(?: (.+?))?(\.\.\.)?$/.exec(written) ?? []
    return {
      ...{ name, description },
      ...(short === undefined ? {} : { short }),
      ...(value === undefined ? {} : { value }),
      ...(repeat === undefined ? {} : { repeat: true }),
    }
  })
}

/** The options of every command. */
export const COMMON_OPTIONS = optionSpecs({
  '--config FILE': 'the configuration to use, in place of the nearest one',
  '--json': 'one JSON object on stdout, or one a line where it streams',
  '--yes': 'ask no question, the answer is yes',
  '-h, --help': 'this help',
})

/** Values by long name; a flag that was given has an empty list. */
export type Options = ReadonlyMap<string, readonly string[]>
/** `positionals` are the words before `--`; `rest` are all words after it, undefined where there was none. */
export type ParsedArguments = {
  readonly options: Options
  readonly positionals: readonly string[]
  readonly rest: readonly string[] | undefined
}
export type ArgumentsResult =
  | ({ readonly ok: true } & ParsedArguments)
  | { readonly ok: false; readonly problem: string; readonly hint: string }

/** True where the option was given. */
export function isGiven(options: Options, name: string): boolean {
  return options.has(name)
}

/** The value of an option that is given at most once. */
export function optionValue(options: Options, name: string): string | undefined {
  return options.get(name)?.[0]
}

/** All values of an option, in the order given. */
export function optionValues(options: Options, name: string): readonly string[] {
  return options.get(name) ?? []
}

/** The whole number that `text` writes in decimal, or undefined where it is none or outside `min` to `max`. */
export function wholeNumber(text: string, min: number, max: number): number | undefined {
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(text)) return undefined
  const value = Number(text)
  return value >= min && value <= max ? value : undefined
}

const UNIT_SECONDS: Readonly<Record<string, number>> = Object.freeze({
  '': 1,
  s: 1,
  m: 60,
  h: 3_600,
  d: 86_400,
})

/** Seconds of `90`, `90s`, `15m`, `24h` or `7d`; undefined where it is none. */
export function duration(text: string): number | undefined {
  const [, number, unit] = /^(0|[1-9][0-9]{0,8})([smhd]?)$/.exec(text) ?? []
  const seconds = unit === undefined ? undefined : UNIT_SECONDS[unit]
  return seconds === undefined ? undefined : Number(number) * seconds
}

type Reading = {
  readonly specs: readonly OptionSpec[]
  readonly argv: readonly string[]
  readonly options: Map<string, readonly string[]>
  readonly positionals: string[]
  at: number
}
type Fault = { readonly problem: string; readonly hint: string }

const HELP_HINT = 'see --help'

/** A word that somebody typed, safe to print. */
function shown(word: string): string {
  return JSON.stringify(word.slice(0, 64)).slice(1, -1)
}

function record(reading: Reading, spec: OptionSpec, value: string | undefined): Fault | undefined {
  const before = reading.options.get(spec.name)
  if (before !== undefined && spec.value !== undefined && spec.repeat !== true) {
    return { problem: `--${spec.name} is given twice`, hint: 'give it once' }
  }
  reading.options.set(spec.name, value === undefined ? (before ?? []) : [...(before ?? []), value])
  return undefined
}

/** The value of an option that stands in a word of its own. */
function nextValue(reading: Reading, spec: OptionSpec, asTyped: string): Fault | undefined {
  const value = reading.argv[reading.at]
  if (value === undefined)
    return { problem: `${asTyped} needs a value`, hint: `write ${asTyped} ${spec.value}` }
  if (value.startsWith('-') && value !== '-') {
    return {
      problem: `${asTyped} needs a value and ${shown(value)} follows`,
      hint: `write --${spec.name}=${spec.value} if the value begins with a dash`,
    }
  }
  reading.at++
  return record(reading, spec, value)
}

function unknown(reading: Reading, asTyped: string, name: string): Fault {
  const meant = nearest(
    name,
    reading.specs.map((spec) => spec.name),
  )
  const afterWords =
    reading.positionals.length > 0 ? 'put -- before a command that has options of its own' : HELP_HINT
  return {
    problem: `${shown(asTyped)} is not a known option`,
    hint: meant === undefined ? afterWords : `did you mean --${meant}?`,
  }
}

function readLong(reading: Reading, word: string): Fault | undefined {
  const equals = word.indexOf('=')
  const name = equals === -1 ? word.slice(2) : word.slice(2, equals)
  const spec = reading.specs.find((candidate) => candidate.name === name)
  if (spec === undefined) return unknown(reading, equals === -1 ? word : word.slice(0, equals), name)
  if (spec.value === undefined) {
    return equals === -1
      ? record(reading, spec, undefined)
      : { problem: `--${name} takes no value`, hint: `write --${name}` }
  }
  return equals === -1 ? nextValue(reading, spec, `--${name}`) : record(reading, spec, word.slice(equals + 1))
}

function readShort(reading: Reading, word: string): Fault | undefined {
  for (let index = 1; index < word.length; index++) {
    const letter = word.charAt(index)
    const spec = reading.specs.find((candidate) => candidate.short === letter)
    if (spec === undefined) return unknown(reading, `-${letter}`, '')
    if (spec.value !== undefined) {
      const attached = word.slice(index + 1)
      return attached === '' ? nextValue(reading, spec, `-${letter}`) : record(reading, spec, attached)
    }
    const fault = record(reading, spec, undefined)
    if (fault !== undefined) return fault
  }
  return undefined
}

/**
 * Reads the words after the command's name.
 * @param specs the command's own options; COMMON_OPTIONS are added
 */
export function parseArguments(specs: readonly OptionSpec[], argv: readonly string[]): ArgumentsResult {
  const reading: Reading = {
    specs: [...specs, ...COMMON_OPTIONS],
    argv,
    options: new Map(),
    positionals: [],
    at: 0,
  }
  while (reading.at < argv.length) {
    const word = argv[reading.at++] ?? ''
    if (word === '--') break
    if (!word.startsWith('-') || word === '-') {
      reading.positionals.push(word)
      continue
    }
    const fault = word.startsWith('--') ? readLong(reading, word) : readShort(reading, word)
    if (fault !== undefined) return { ok: false, ...fault }
  }
  const ended = argv[reading.at - 1] === '--'
  return {
    ok: true,
    options: reading.options,
    positionals: reading.positionals,
    rest: ended ? argv.slice(reading.at) : undefined,
  }
}
