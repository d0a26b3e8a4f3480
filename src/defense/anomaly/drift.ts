/**
 * How far an agent has left the plan that its capability set declares: the share of its last commands that no pattern
 * of the plan names. Without a plan there is no drift: what somebody is about cannot be told from what it does.
 * Pure, integers alone.
 * Rules: docs/anomaly.md; JF-046, JF-085, JF-T04.
 * @module
 */
import type { EffectiveCommand } from '../13policy/effective.ts'
import { permitsEffective } from '../capability.ts'
import { DRIFT_COMMANDS, DRIFT_IN_ROW, DRIFT_LEAST_COMMANDS } from './limits.ts'

/** Whether each of the last commands was outside, the newest last. */
export type Course = { readonly outside: readonly boolean[]; readonly isAstray: boolean }

export const NO_COURSE: Course = Object.freeze({ outside: Object.freeze([]), isAstray: false })

export type Strayed = { readonly permille: number; readonly commands: number }

/** Whether everything that would really run is in the plan, by the matcher that allows commands. */
export function isInPlan(
  plan: readonly string[],
  argv: readonly string[],
  resolved: string | undefined,
  commands: readonly EffectiveCommand[],
): boolean {
  return (
    permitsEffective({ allowed_commands: plan, denied_commands: [] }, argv, resolved, commands) === 'allowed'
  )
}

/** Takes in one permitted command; `strayed` when it is the one by which the agent has begun to drift. */
export function takeCommand(
  course: Course,
  isOutside: boolean,
  mostPermille: number,
): { readonly course: Course; readonly strayed: Strayed | undefined } {
  const outside = [...course.outside, isOutside].slice(-DRIFT_COMMANDS)
  const permille = Math.floor((outside.filter((one) => one).length * 1_000) / outside.length)
  const isMost = outside.length >= DRIFT_LEAST_COMMANDS && permille > mostPermille
  // A long way on the plan must not hide where it is left.
  const isRow = outside.length >= DRIFT_IN_ROW && outside.slice(-DRIFT_IN_ROW).every((one) => one)
  const isAstray = isMost || isRow
  return {
    course: { outside, isAstray },
    strayed: isAstray && !course.isAstray ? { permille, commands: outside.length } : undefined,
  }
}
