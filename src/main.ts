/**
 * The program: argv to one command, loaded only when it is the one, and the only process.exit.
 * Refuses a Node that is too old before anything else is loaded.
 * @module
 */
import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { attempt } from './base/attempt.ts'
import { nearest } from './base/text/suggest.ts'
import { FOREIGN_WORDS, LOADERS } from './cli/commands.node.ts'
import { createOutput, writeAll } from './cli/common/output.node.ts'
import { COMMON_OPTIONS, isGiven, optionSpecs, parseArguments } from './cli/words/arguments.ts'
import { EXIT, exitOfError } from './cli/words/exit-codes.ts'
import { commandHelp, overviewHelp } from './cli/words/help.ts'
import { type CommandName, SUMMARIES } from './cli/words/summaries.ts'
import { asSassError, SassError } from './errors.ts'

const STDOUT_FD = 1
/** node:ffi, which starts every process, and the fixes it needs came with this release. */
const NODE_MAJOR = 26
const NODE_MINOR = 10

const COMMON_NAMES: ReadonlySet<string> = new Set(
  COMMON_OPTIONS.flatMap(({ name, short = name }) => [name, short]),
)

function isCommandName(word: string | undefined): word is CommandName {
  return word !== undefined && Object.hasOwn(LOADERS, word)
}

/** The index of the command's name: the first word that is no common option or the value of one; -1: none. */
function commandIndex(argv: readonly string[]): number {
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? ''
    if (word === '--config') index++
    else if (!word.startsWith('-')) return index
    else if (word === '--') return -1
  }
  return -1
}

function usageError(problem: string, hint: string): SassError {
  return new SassError('USAGE', `${problem}: ${hint}${hint.endsWith('?') ? '' : '.'}`)
}

/** Which command the words mean, and the words that are left for it. */
function chooseCommand(argv: readonly string[]): { name: CommandName; words: readonly string[] } {
  const index = commandIndex(argv)
  // `sass-edge --config FILE` alone is the daemon, as service files write it.
  if (index === -1) return { name: 'run', words: argv }
  const word = argv[index]
  // The word behind an option that is mistyped is its value: it is the option that is told.
  const isForeign = (each: string) =>
    each.startsWith('-') && !COMMON_NAMES.has(each.replace(/^--?/, '').replace(/=.*/s, ''))
  if (!isCommandName(word) && argv.slice(0, index).some(isForeign)) return { name: 'run', words: argv }
  if (isCommandName(word)) return { name: word, words: [...argv.slice(0, index), ...argv.slice(index + 1)] }
  const meant = nearest(word ?? '', Object.keys(SUMMARIES))
  const hint = meant === undefined ? 'sass-edge --help lists them all' : `did you mean ${meant}?`
  throw usageError(`${JSON.stringify((word ?? '').slice(0, 64))} is not a command`, hint)
}

/** For a command that reads its words itself; alone, --help is ours. */
function unparsed(words: readonly string[]): ReturnType<typeof parseArguments> {
  const isHelp = words.length === 1 && (words[0] === '--help' || words[0] === '-h')
  return { ok: true, options: new Map(isHelp ? [['help', []]] : []), positionals: [], rest: words }
}

async function helpOf(name: CommandName): Promise<string> {
  return commandHelp({ ...(await LOADERS[name]()).command, name, summary: SUMMARIES[name] })
}

function checkRuntime(): void {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > NODE_MAJOR || (major === NODE_MAJOR && minor >= NODE_MINOR)) return
  const wanted = `${NODE_MAJOR}.${NODE_MINOR}`
  throw new SassError(
    'RUNTIME_UNSUITABLE',
    `This Node is ${process.versions.node} and sass-edge needs ${wanted} or later: start it as bin/sass-edge, which brings its own.`,
  )
}

/**
 * Refuses arguments whose bytes are no text: by now each such byte is U+FFFD, and another word than the one that was
 * written would be sent. Only where that stands in an argument are the bytes themselves looked at.
 */
function checkArguments(argv: readonly string[]): void {
  const changed = argv.findIndex((word) => word.includes('\ufffd'))
  if (changed === -1) return
  const bytes = attempt(() => readFileSync('/proc/self/cmdline'), undefined)
  if (bytes === undefined || isUtf8(bytes)) return
  throw usageError(
    `Word ${changed + 1} (${JSON.stringify(argv[changed]?.slice(0, 64))}) has bytes that are no UTF-8 and would be another word on the device, so nothing was done`,
    'write it in UTF-8, or have a script on the device write it',
  )
}

async function runProgram(argv: readonly string[]): Promise<number> {
  // Known before the arguments are read, so that their errors come out in the right form too.
  const own = FOREIGN_WORDS.has(argv[0]) ? [] : argv
  const ours = own.includes('--') ? own.slice(0, own.indexOf('--')) : own
  const output = createOutput(ours.includes('--json'), process.env)
  process.on('uncaughtException', (error) => {
    output.error(error)
    process.exit(exitOfError('INTERNAL'))
  })
  try {
    checkRuntime()
    checkArguments(argv)
    const first = argv[0]
    if (first === undefined) throw usageError('No command is given', 'sass-edge --help lists them all')
    if (first === '--help' || first === '-h' || first === 'help') {
      const topic = argv[1]
      writeAll(STDOUT_FD, isCommandName(topic) ? await helpOf(topic) : overviewHelp())
      return EXIT.OK
    }
    const { name, words } = chooseCommand(first === '--version' ? ['version'] : argv)
    const { command } = await LOADERS[name]()
    const parsed = FOREIGN_WORDS.has(name)
      ? unparsed(words)
      : parseArguments(optionSpecs(command.options), words)
    if (!parsed.ok) throw usageError(`sass-edge ${name}: ${parsed.problem}`, parsed.hint)
    if (isGiven(parsed.options, 'help')) {
      writeAll(STDOUT_FD, await helpOf(name))
      return EXIT.OK
    }
    return await command.run({ arguments: parsed, output, environment: process.env, cwd: process.cwd() })
  } catch (error) {
    output.error(error)
    const known = asSassError(error)
    const errno = known?.details['errno']
    return exitOfError(known?.code ?? 'INTERNAL', typeof errno === 'string' ? errno : undefined)
  }
}

void runProgram(process.argv.slice(2)).then((code) => process.exit(code))
