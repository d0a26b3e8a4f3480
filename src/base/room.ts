/**
 * A write that a full disk refuses, tried again with room that somebody gives.
 * @module
 */

/** Gives some room back to the disk that is full; false: there is none to give. */
export type MakeRoom = () => boolean

export const NO_ROOM: MakeRoom = () => false

/** write(2): no space is left on the device, or none of what the user may have of it. */
function isFull(cause: unknown): boolean {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/**
 * Does `work`, which leaves nothing behind where it throws, until the disk takes it or no room is left to give.
 * @throws what `work` throws
 */
export function withRoom<Result>(makeRoom: MakeRoom, work: () => Result): Result {
  for (;;) {
    try {
      return work()
    } catch (cause) {
      if (!isFull(cause) || !makeRoom()) throw cause
    }
  }
}
