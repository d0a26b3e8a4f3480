/**
 * What the room of executions stands on: the world, its rings and results, and who is told of what.
 * @module
 */
import type { Clock, Spawner } from '../../ports.ts'
import type { Execution, RingPair } from './execution.ts'
import type { OutputGround } from './execution-output.ts'
import type { KeptResults } from './kept-results.ts'

export type ExecutionsGround = {
  readonly spawner: Spawner
  readonly clock: Clock
  readonly rings: readonly RingPair[]
  readonly results: KeptResults
  /** What output goes through. */
  readonly output: Omit<OutputGround, 'clock'>
  /** Called once an execution, after its last output: for the audit and the session. */
  readonly ended: (execution: Execution) => void
  /** Processes of the session's place of that number; 0 where it has no such place any more. */
  readonly processesIn?: (sessionId: string, place: number) => number
  /** What an execution had left is gone: `ended` was called before. */
  readonly leftEnded?: (execution: Execution) => void
  /** Called when a command runs. */
  readonly begun?: () => void
  /** Called when a place may have become free: whoever waits for one may have its turn. */
  readonly freed?: () => void
}
