/**
 * The spawner for programs that nobody has been allowed to run, made when it is first wanted; without it those requests
 * are refused in another way (docs/responses.md, deception).
 * @module
 */
import type { Log, Spawner } from '../../ports.ts'

export type ConfinedSpawner = Spawner & { close(): Promise<void> }

export type LazyConfined = {
  /** Undefined where this device cannot confine: said in the log once. */
  confined(): Promise<ConfinedSpawner | undefined>
  closeConfined(): Promise<void>
}

/** `hidden`: paths that such a program must not see. */
export function createLazyConfined(
  launcherSource: string | undefined,
  hidden: () => readonly string[],
  log: Log,
): LazyConfined {
  let made: Promise<ConfinedSpawner | undefined> | undefined

  async function make(): Promise<ConfinedSpawner> {
    const { createConfinedSpawner } = await import('../../sandbox/launcher/confined-spawner.node.ts')
    return createConfinedSpawner({ launcherSource, hidden: hidden() })
  }

  return {
    confined() {
      made ??= make().catch((cause: unknown) => {
        log.write('warn', 'deception_unavailable', {
          reason: cause instanceof Error ? cause.message : 'unknown',
        })
        return undefined
      })
      return made
    },
    async closeConfined() {
      await (await made)?.close()
    },
  }
}
