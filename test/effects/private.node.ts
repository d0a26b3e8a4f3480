/**
 * Worlds are made in a mount namespace that nobody else is in: what is mounted for them goes with the process, whatever
 * becomes of it. A program that needs one starts itself again in one.
 * @module
 */
import { spawnSync } from 'node:child_process'

const MARK = 'SASS_EFFECTS_PRIVATE'

/** Whether this process was started by `againPrivately`. */
export const isPrivate = (): boolean => process.env[MARK] !== undefined

/** Runs `file` to its end in a mount namespace of its own, with these streams; its exit code. */
export function againPrivately(file: string, args: readonly string[]): number {
  const { status } = spawnSync(
    'unshare',
    [
      '--mount',
      '--propagation',
      'private',
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      file,
      ...args,
    ],
    { stdio: 'inherit', env: { ...process.env, [MARK]: '1' } },
  )
  return status ?? 1
}
