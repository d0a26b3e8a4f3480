/**
 * Whether a command does what nobody has read, and of which kind that is: code in a file or for an interpreter, text
 * that is only made while it runs, a program that nothing is known of. Such a command is judged by where it runs and not
 * by its words.
 * Rules: docs/policy.md, "What is not read".
 * @module
 */

import { isDangerousVariable } from '../../../base/loading-variables.ts'
import { isWithin } from '../../../base/text/lexical-path.ts'
import { isPlainSetting } from '../arguments/plain-setting.ts'
import type { Effective, EffectiveCommand, Opaque } from '../effective.ts'
import { asksOnly } from '../programs/inquiry.ts'
import { isShell } from '../programs/names.ts'
import { programClass } from '../programs/program-classes.ts'
import { SCRIPT_FILES } from '../wrappers/interpreters.ts'

/** The strictest first: of several commands, and of one that is several, that one is told. */
export const OPAQUE_CLASSES = Object.freeze([
  'limit',
  'terminal',
  'computed',
  'variable',
  'file',
  'interpreter',
  'build',
  'launcher',
  'unknown',
] as const)
export type OpaqueClass = (typeof OPAQUE_CLASSES)[number]

/** What each is, for a sentence that begins with "The command". */
export const CLASS_TEXTS: Readonly<Record<OpaqueClass, string>> = Object.freeze({
  limit: 'takes more to read than one decision may',
  terminal: 'has a terminal, and what is typed there is not part of it',
  computed: 'runs text or a program that is only put together, decoded or fetched while it runs',
  variable: 'sets a variable that makes programs load code',
  file: 'runs a file that nobody has read',
  interpreter: 'gives an interpreter code to run',
  build: 'builds or tests a project, by files that nobody has read',
  launcher: 'starts programs that its words do not hold',
  unknown: 'runs a program that nothing is known of',
})

/** What of a command line is made while it runs, and then run. A value that is not known is none. */
const COMPUTED: ReadonlySet<Opaque> = new Set<Opaque>(['program', 'eval', 'piped', 'stdin', 'syntax'])
/** Where only the system puts programs. */
const SYSTEM_PLACES: readonly string[] = Object.freeze([
  ...['/usr', '/bin', '/sbin', '/lib', '/lib64', '/opt', '/nix/store'],
])
const NO_WORDS: readonly string[] = Object.freeze([])

/** What is known of programs beside these tables. */
export type KnownPrograms = {
  /** Somebody has thought about what it does. */
  knows(command: EffectiveCommand): boolean
  /** The operator has named it. */
  names(command: EffectiveCommand): boolean
}

/** A file, and none of the system's programs, that the command runs. */
function runsFile(command: EffectiveCommand, known: KnownPrograms): boolean {
  const { names, path, options, operands } = command
  if (path !== undefined && !SYSTEM_PLACES.some((place) => isWithin(place, path)))
    return !known.names(command)
  if (isShell(names)) return operands.length > 0 && !options.includes('-c') && !options.includes('-s')
  if (names.includes('source') || names.includes('.')) return true
  for (let at = 0; at < names.length; at++)
    if (SCRIPT_FILES[names[at] ?? '']?.some((option) => options.includes(option)) === true) return true
  return false
}

function loadsCode({ assignments, cwd }: EffectiveCommand): boolean {
  return assignments.some(
    (setting) =>
      (setting.name === 'PATH' || isDangerousVariable(setting.name)) && !isPlainSetting(setting, cwd),
  )
}

/** What of one effective command nobody has read; undefined: its words say what it does. */
export function classOf(command: EffectiveCommand, known: KnownPrograms): OpaqueClass | undefined {
  const { opaque, terminal } = command
  if (opaque.includes('limit')) return 'limit'
  if (terminal) return 'terminal'
  for (let at = 0; at < opaque.length; at++) if (COMPUTED.has(opaque[at] as Opaque)) return 'computed'
  if (command.assignments.length > 0 && loadsCode(command)) return 'variable'
  if (runsFile(command, known)) return 'file'
  const ofProgram = programClass(command.names)
  if (ofProgram !== undefined) return asksOnly(command, NO_WORDS) ? undefined : ofProgram
  return known.knows(command) || known.names(command) ? undefined : 'unknown'
}

/** The strictest class among the commands; undefined: all of them are plain. */
export function strictestClass({ commands }: Effective, known: KnownPrograms): OpaqueClass | undefined {
  let least: number = OPAQUE_CLASSES.length
  for (let at = 0; at < commands.length; at++) {
    const found = classOf(commands[at] as EffectiveCommand, known)
    if (found !== undefined) least = Math.min(least, OPAQUE_CLASSES.indexOf(found))
  }
  return OPAQUE_CLASSES[least]
}
