/**
 * What commands were asked to leave running when they ended: each is its caller's and its session's until the last
 * process of it is gone, and counts among the caller's commands as long. Who left what is not believed of the processes:
 * as many of a place's executions count as it has processes that no running command accounts for, so that what forks
 * anew, or into another session or group of processes, counts on.
 * Rules: docs/sandbox.md (what a command leaves running); docs/protocol.md, section 3.
 * @module
 */
import type { LeftBehind } from '../../ports.ts'
import type { Execution } from './execution.ts'

/** An execution that has ended, with what it left. */
type Leaving = { readonly execution: Execution; readonly place: number; readonly left: LeftBehind }

export type LeftWork = {
  add(execution: Execution, place: number, left: LeftBehind): void
  has(execution: Execution): boolean
  countOf(owner: string): number
  inSession(sessionId: string): number
  /** Sessions of that owner in which something was left. */
  sessionsOf(owner: string): Set<string>
  /** False: nothing of it is there that could be signalled. */
  signal(execution: Execution, number: number): boolean
  /** SIGKILL to all of it; false where nothing was left. */
  end(execution: Execution): boolean
  endWhere(fits: (execution: Execution) => boolean): void
  /** Looks what is still there. */
  tick(): void
}

/**
 * @param processesIn how many processes the session's place of that number has beside those of running commands; 0
 * where it has no such place any more
 * @param over is called once an execution, when nothing of it is there any more
 */
export function createLeftWork(
  processesIn: (sessionId: string, place: number) => number,
  over: (execution: Execution) => void,
): LeftWork {
  const all = new Map<Execution, Leaving>()

  /** Only of a place that is still there may anything be asked: another one may have its descriptors by now. */
  function there(execution: Execution): Leaving | undefined {
    const leaving = all.get(execution)
    return leaving !== undefined && processesIn(execution.sessionId, leaving.place) > 0 ? leaving : undefined
  }

  function remove(execution: Execution): void {
    if (all.delete(execution)) over(execution)
  }

  function end(execution: Execution): boolean {
    const leaving = there(execution)
    leaving?.left.end()
    return leaving !== undefined
  }

  return {
    add(execution, place, left) {
      all.set(execution, { execution, place, left })
    },
    has: (execution) => all.has(execution),
    countOf(owner) {
      let count = 0
      for (const execution of all.keys()) if (execution.owner === owner) count++
      return count
    },
    inSession(sessionId) {
      let count = 0
      for (const execution of all.keys()) if (execution.sessionId === sessionId) count++
      return count
    },
    sessionsOf(owner) {
      return new Set(
        [...all.keys()].filter((execution) => execution.owner === owner).map(({ sessionId }) => sessionId),
      )
    },
    signal: (execution, number) => there(execution)?.left.signal(number) ?? false,
    end,
    endWhere(fits) {
      for (const execution of [...all.keys()]) if (fits(execution)) end(execution)
    },
    tick() {
      const byPlace = Map.groupBy(all.values(), ({ place }) => place)
      for (const [place, ones] of byPlace) {
        const most = Math.max(...ones.map(({ execution }) => processesIn(execution.sessionId, place)))
        let tooMany = ones.length - most
        for (const { execution, left } of ones) {
          if (tooMany <= 0) break
          if (most > 0 && left.alive() > 0) continue
          tooMany--
          remove(execution)
        }
      }
    },
  }
}
