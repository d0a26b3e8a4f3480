/**
 * Which programs are known whatever the rules are: those of the tables by which arguments are read and wrappers looked
 * through. Beside them rules that allow a program make it known. Of any
 * other nobody has thought about what it does, and so no rule would stop it.
 * Rules: docs/policy.md, "Programs that nothing is known of".
 * @module
 */
import type { EffectiveCommand } from '../effective.ts'
import { asksOnly } from '../programs/inquiry.ts'
import { isShell } from '../programs/names.ts'
import { programClass } from '../programs/program-classes.ts'
import { formOf, UNKNOWN_FORM } from '../programs/programs.ts'
import { isWrapper } from '../wrappers/wrappers.ts'

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
  const isNone = names.length === 0 || names[0]?.startsWith('%') === true
  return isNone || isTabled(names) || programClass(names) !== undefined || asksOnly(command, [])
}

/** A file right in a place where anybody writes. */
const LOOSE = /^(?:\/tmp|\/var\/tmp|\/dev\/shm|\/run\/shm)\/[^/]*$/

/** Whether the program is a file that anybody may have put there: what it is called says nothing of what it does. */
export function liesLoose({ argv: [called = ''] }: EffectiveCommand): boolean {
  return called.startsWith('/') && LOOSE.test(called)
}
