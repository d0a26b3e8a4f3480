/**
 * The bookkeeping of a walk over a shell text: what has been found, what it has cost, where in a pipeline it is.
 * @module
 */
import { hold, spend, type Work } from '../../work.ts'
import type { Opaque } from '../effective.ts'
import { SHELL_COMMANDS } from './scan.ts'
import { copyState, mergeStates, type State } from './state.ts'
import type { Command, ShellCommand, ShellRedirect } from './syntax.ts'

export type Walk = {
  readonly home: string
  readonly commands: ShellCommand[]
  readonly opaque: Set<Opaque>
  /** What the decision has cost. */
  readonly work: Work
  /** Nothing more is looked at. */
  isOver: boolean
  /** Above 0: only what changes counts, commands were or will be found otherwise. */
  dry: number
  depth: number
  pipelines: number
  /** The state at every `break`, `continue` and `return`, of the innermost loop or call. */
  jumped: State | undefined
  /** Names that the innermost call has declared local; of no use outside of one. */
  locals: Set<string> | undefined
  functions: Functions | undefined
}

export type Functions = {
  readonly calls: Map<Command, number>
  readonly defined: Set<Command>
  readonly called: Set<Command>
}

/** Where a command stands. */
export type Where = {
  /** Undefined outside of a pipeline with several commands. */
  readonly pipeline: number | undefined
  readonly place: number
  readonly isSubstitution: boolean
  /** Standard input as a compound command around it has it. */
  readonly inherited: readonly ShellRedirect[]
  /** In the background or in a pipeline since the last call of a function. */
  readonly isForked: boolean
  /** The last place taken in the pipeline. */
  readonly last: { place: number }
}

export function startWalk(work: Work, home: string): Walk {
  return {
    home,
    commands: [],
    opaque: new Set(),
    work,
    isOver: false,
    dry: 0,
    depth: 0,
    pipelines: 0,
    jumped: undefined,
    locals: undefined,
    functions: undefined,
  }
}

/** What is kept of the functions of a text, from the first one on. */
export function functionsOf(walk: Walk): Functions {
  walk.functions ??= {
    calls: new Map(),
    defined: new Set(),
    called: new Set(),
  }
  return walk.functions
}

/** Pays for work; false where nothing more is looked at. */
export function charge(walk: Walk, steps: number): boolean {
  spend(walk.work, steps)
  return !walk.isOver
}

/** Pays for a text that is made; false where nothing more is looked at. */
export function chargeText(walk: Walk, characters: number): boolean {
  hold(walk.work, characters)
  return !walk.isOver
}

export function giveUp(walk: Walk): void {
  walk.isOver = true
  walk.opaque.add('limit')
}

/** A copy shares what it holds; what is copied or compared later pays for itself. */
const STATE_STEPS = 4

/** A command that runs in each of the directories it may be in. */
export function emit(walk: Walk, state: State, command: Omit<ShellCommand, 'cwd'>): void {
  if (walk.dry > 0) return
  for (const cwd of state.directories) {
    if (walk.commands.length >= SHELL_COMMANDS) {
      giveUp(walk)
      return
    }
    walk.commands.push({ ...command, cwd })
  }
}

export function copied(walk: Walk, state: State): State {
  charge(walk, STATE_STEPS)
  return copyState(state)
}

export function joined(walk: Walk, left: State | undefined, right: State | undefined): State | undefined {
  if (left === right || right === undefined) return left
  if (left === undefined) return right
  charge(walk, STATE_STEPS)
  return mergeStates(left, right)
}

export function sameState(left: State, right: State): boolean {
  return (
    left.variables.size === right.variables.size &&
    left.directories.length === right.directories.length &&
    left.directories.every((directory, index) => directory === right.directories[index]) &&
    left.positional?.length === right.positional?.length &&
    left.functions.size === right.functions.size &&
    [...left.functions].every(([name, entry]) => {
      const other = right.functions.get(name)
      return other?.isCertain === entry.isCertain && other.bodies.length === entry.bodies.length
    }) &&
    left.previous === right.previous &&
    left.stack.length === right.stack.length
  )
}
