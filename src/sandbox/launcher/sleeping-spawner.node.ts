/**
 * A spawner whose thread is there while somebody may want it: it takes 6 MiB, which a device that waits for days has
 * better uses for. It is woken when somebody comes who may run commands, and laid down when nobody has been there for
 * a while. Touches nothing by itself.
 * @module
 */
import { SassError } from '../../errors.ts'
import type { ProcessSpawner } from './spawner.node.ts'

export type SleepingSpawner = ProcessSpawner & {
  /** Resolves when programs can be started. @throws SassError as the first start does */
  wake(): Promise<void>
  /** Ends the thread; to be called only while nothing runs. True where there was one. */
  sleep(): boolean
  readonly isAwake: boolean
}

/** `start` makes a spawner each time that one is wanted. Asleep at first. */
export function createSleepingSpawner(start: () => Promise<ProcessSpawner>): SleepingSpawner {
  let spawner: ProcessSpawner | undefined
  let waking: Promise<void> | undefined
  let layingDown: Promise<void> = Promise.resolve()
  let isOver = false

  async function begin(): Promise<void> {
    await layingDown
    const made = await start()
    if (isOver) return made.close()
    spawner = made
  }

  return {
    wake() {
      if (spawner !== undefined || isOver) return Promise.resolve()
      waking ??= begin().finally(() => {
        waking = undefined
      })
      return waking
    },
    sleep() {
      const ending = spawner
      if (ending === undefined || isOver) return false
      spawner = undefined
      // What goes wrong with a thread that nobody uses any more concerns nobody.
      layingDown = ending.close().catch(() => undefined)
      return true
    },
    get isAwake() {
      return spawner !== undefined
    },
    spawn(plan, events) {
      if (spawner === undefined)
        throw new SassError(
          'SANDBOX_UNAVAILABLE',
          'The thread that starts programs is not there yet, so nothing was started; send the command again.',
        )
      return spawner.spawn(plan, events)
    },
    leave: (networkRest) => spawner?.leave(networkRest) ?? Promise.resolve(),
    endAll: () => spawner?.endAll() ?? Promise.resolve(),
    async close() {
      isOver = true
      await waking?.catch(() => undefined)
      await layingDown
      await spawner?.close()
    },
  }
}
