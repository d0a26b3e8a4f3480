/**
 * Which programs are known whatever the rules are: those of the tables by which arguments are read and wrappers looked
 * through. Beside them rules make programs known: those that allow one, and those that name one for questions. Of any
 * other nobody has thought about what it does, and so no rule would stop it.
 * Rules: docs/policy.md, "Programs that nothing is known of".
 * @module
 */
import type { EffectiveCommand } from '../effective.ts'
import { asksOnly } from '../programs/inquiry.ts'
import { isShell, withoutVersion } from '../programs/names.ts'
import { programClass } from '../programs/program-classes.ts'
import { formOf, UNKNOWN_FORM } from '../programs/programs.ts'
import { isWrapper } from '../wrappers/wrappers.ts'

/** Of a tool chain, behind the machine that it builds for: `aarch64-linux-gnu-gcc`. */
const CROSS_TOOLS: ReadonlySet<string> = new Set(
  'gcc g++ cpp c++ cc clang clang++ gfortran ld as ar nm ranlib objcopy objdump readelf size strip strings addr2line c++filt elfedit gcov gcov-tool gdb pkg-config config'.split(
    ' ',
  ),
)

/** Whether `name` is a tool behind a machine of at least two parts. */
function isCrossTool(name: string): boolean {
  const end = name.lastIndexOf('-')
  return end > 0 && name.lastIndexOf('-', end - 1) > 0 && CROSS_TOOLS.has(name.slice(end + 1))
}

/** Whether the tables of how programs are read have one of `names`. */
function isTabled(names: readonly string[]): boolean {
  return formOf(names) !== UNKNOWN_FORM || isShell(names) || names.some(isWrapper)
}

/**
 * Whether something is known of the program, or its command is a question to it. What is not known by its name at all
 * is opaque.
 */
export function isKnownProgram(command: EffectiveCommand): boolean {
  const { names } = command
  // A job or a format is no program: `ts %H:%M`.
  if (names.length === 0 || isTabled(names) || names[0]?.startsWith('%') === true) return true
  if (programClass(names) !== undefined || names.some((name) => isCrossTool(withoutVersion(name))))
    return true
  return asksOnly(command, NO_WORDS)
}

/** A file right in a place where anybody writes. */
const LOOSE = /^(?:\/tmp|\/var\/tmp|\/dev\/shm|\/run\/shm)\/[^/]*$/

/** Whether the program is a file that anybody may have put there: what it is called says nothing of what it does. */
export function liesLoose({ argv: [called = ''] }: EffectiveCommand): boolean {
  return called.startsWith('/') && LOOSE.test(called)
}

const NO_WORDS: readonly string[] = Object.freeze([])

/** Words with which programs of all kinds are asked for something, or work on what lies in the project. */
const QUESTIONS: ReadonlySet<string> = new Set(
  'status state show list ls info get describe version help search find query view inspect stats stat top ps log logs events history diff plan check validate verify lint test tests build compile format fmt doctor env whoami current report summary print tree graph outdated audit explain docs completion about ping health ready scan devices discover monitor read'.split(
    ' ',
  ),
)
/** Of a command the words that may be one of them: `az vm list`, `kafka-topics.sh --list`. */
const QUESTION_WORDS = 4

/**
 * Whether a program that a rule names is only asked for something. The rules say what else it does and stop what does
 * harm; of the rest nobody knows.
 */
export function isQuestion({ argv, opaque }: EffectiveCommand): boolean {
  if (opaque.length > 0) return false
  if (argv.length === 1) return true
  return argv.slice(1, 1 + QUESTION_WORDS).some(asks)
}

/** Parts of long options that ask: `--nas-get-signal-strength`, `--list-devices`. */
const ASKING: ReadonlySet<string> = new Set(['get', 'list', 'show', 'status', 'info', 'query'])

function asks(word: string): boolean {
  if (QUESTIONS.has(word.replace(/^-{1,2}/, ''))) return true
  return (
    word.startsWith('--') &&
    word
      .split('=', 1)[0]
      ?.split('-', 8)
      .some((part) => ASKING.has(part)) === true
  )
}
