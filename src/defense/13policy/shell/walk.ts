/**
 * The bookkeeping of a walk over a shell text: what has been found, what it has cost, where in a pipeline it is.
 * @module
 */
import { hold, spend, type Work } from '../../work.ts'
import type { Opaque } from '../effective.ts'
import { SHELL_COMMANDS } from './scan.ts'
import { copyState, mergeStates, type State, type Value } from './state.ts'
import type { Command, ShellCommand, ShellRedirect, Simple } from './syntax.ts'

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
  /** What the commands so far have written to standard output; undefined where that is not known. */
  output: string | undefined
  /** The state at every `break`, `continue` and `return`, of the innermost loop or call. */
  jumped: State | undefined
  /** Names that the innermost call has declared local; of no use outside of one. */
  locals: Set<string> | undefined
  functions: Functions | undefined
  /** The state at the last `exit`. */
  exited: State | undefined
  /** The commands `trap`, with the variables as they were. */
  readonly traps: { readonly at: number; readonly variables: ReadonlyMap<string, Value> }[]
  /** The text of a trap is looked at, for what it calls and changes. */
  isTrapping: boolean
  /** A signal may run one of them between any two commands. */
  hasSignals: boolean
  /** The places in the text where `mktemp` stands, each of which makes a name of its own. */
  readonly temporary: Simple[]
}

export type Functions = {
  readonly calls: Map<Command, number>
  readonly defined: Set<Command>
  readonly called: Set<Command>
  /** Those that a trap calls. */
  readonly trapped: Set<Command>
  /** Programs that the texts of traps call; a function of such a name may come later. */
  readonly trapNames: Set<string>
}

/** Where a command stands. */
export type Where = {
  /** Undefined outside of a pipeline with several commands. */
  readonly pipeline: number | undefined
  readonly place: number
  readonly isSubstitution: boolean
  /** What it prints is killed. */
  readonly namesProcesses?: boolean
  /** The pipeline only shows or tests what it is given. */
  readonly shows?: boolean
  /** What it prints is given to such a pipeline. */
  readonly isShown?: boolean
  /** Nothing stands around it: no compound command, function or substitution. */
  readonly isTop?: boolean
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
    output: '',
    jumped: undefined,
    locals: undefined,
    functions: undefined,
    exited: undefined,
    traps: [],
    isTrapping: false,
    hasSignals: false,
    temporary: [],
  }
}

/** What is kept of the functions of a text, from the first one or the first trap on. */
export function functionsOf(walk: Walk): Functions {
  walk.functions ??= {
    calls: new Map(),
    defined: new Set(),
    called: new Set(),
    trapped: new Set(),
    trapNames: new Set(),
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

/**
 * `run` may not take place: what it writes is not known afterwards, unless it is the same as what `instead` has
 * written, of which it takes the place.
 */
export function perhaps<T>(walk: Walk, run: () => T, instead = ''): T {
  const before = walk.output
  const result = run()
  if (walk.output === before) return result
  walk.output = instead !== '' && walk.output === `${before}${instead}` ? before : undefined
  return result
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
    left.aliases.size === right.aliases.size &&
    left.previous === right.previous &&
    left.stack.length === right.stack.length &&
    left.isForgetful === right.isForgetful
  )
}
