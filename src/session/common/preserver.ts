/**
 * Saves the state of a branch when something has happened that a human must look at: a checkpoint of its own, as soon as
 * no command runs in the branch any more. What was left running in it ends with that.
 * Rules: docs/responses.md, section 8; docs/sandbox.md (checkpoints).
 * @module
 */

import type { Level } from '../../defense/level.ts'
import { reasonOf } from '../../errors.ts'
import type { AuditEvent, Clock, Log } from '../../ports.ts'
import type { BranchWork } from '../../sandbox/branch/threads/branch-work.ts'

/** What led to it: becomes the label of the checkpoint. */
export type Cause = { readonly level: Level; readonly why: string; readonly instance: string | null }

export type PreserverGround = {
  readonly work: Pick<BranchWork, 'find' | 'isEmpty' | 'checkpoint'>
  /** Nothing runs in that branch, and nothing is done with it. */
  readonly isFree: (branch: string) => boolean
  /** Takes it out of use while `deed` is done. */
  readonly alone: <Result>(branch: string, deed: () => Promise<Result>) => Promise<Result>
  readonly clock: Pick<Clock, 'wallMs'>
  readonly log: Log
  /** Of what has happened already. */
  readonly record: (event: AuditEvent) => void
}

export type Preserver = {
  /** The branch is saved when it can be; of several causes meanwhile the last one counts. */
  want(branch: string, cause: Cause): void
  tick(): void
}

const LABEL_CHARS = 64

export function createPreserver({ work, isFree, alone, clock, log, record }: PreserverGround): Preserver {
  const wanted = new Map<string, Cause>()

  async function save(branch: string, { level, why, instance }: Cause): Promise<void> {
    const label = `${level}: ${why}`.slice(0, LABEL_CHARS)
    const said = { type: 'branch', branch, by: null, instance }
    try {
      const made = await alone(branch, () => work.checkpoint(branch, label, clock.wallMs()))
      const { number, files, sizeBytes: bytes } = made
      record({ ...said, what: 'preserved', number, files, bytes })
      log.write('warn', 'branch_preserved', { branch, number, label })
    } catch (cause) {
      const reason = reasonOf(cause)
      record({ ...said, what: 'preserve_failed', reason: cause instanceof Error ? cause.name : 'unknown' })
      log.write('error', 'branch_not_preserved', { branch, reason })
    }
  }

  return {
    want(branch, cause) {
      wanted.set(branch, cause)
    },
    tick() {
      for (const [branch, cause] of wanted) {
        // What was dropped, or was never changed, has no state.
        const isThere = work.find(branch) !== undefined && !work.isEmpty(branch)
        if (isThere && !isFree(branch)) continue
        wanted.delete(branch)
        if (isThere) void save(branch, cause)
      }
    },
  }
}
