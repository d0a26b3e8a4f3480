/**
 * The levels of alarm of agents and of the daemon, and what halted it, over restarts: one small file, replaced whole.
 * A file that cannot be read means that nobody knows what was contained: the start is refused with what to do.
 * Rules: docs/responses.md, section 8.
 * @module
 */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import { replaceFile } from '../../base/files.node.ts'
import { type MakeRoom, NO_ROOM, withRoom } from '../../base/room.ts'
import { fieldsOf, jsonAt } from '../../base/small-file.node.ts'
import { isLevel } from '../../defense/level.ts'
import { SassError } from '../../errors.ts'
import { CONFIG_BYTES } from '../../limits.ts'
import type { KeptLevels, LevelEntry } from '../../session/standing/levels.ts'

export type LevelState = KeptLevels & {
  /** Hash of the record of what halted the daemon, hex. */
  readonly incident: string | undefined
}

export type LevelStore = {
  readonly state: LevelState
  save(state: LevelState): void
}

const NAME = 'levels.json'

function readEntry(value: unknown): LevelEntry | undefined {
  const { scope, name, level, why, sinceMs } = fieldsOf(value)
  if ((scope !== 'daemon' && scope !== 'agent') || typeof name !== 'string' || typeof level !== 'string')
    return undefined
  if (!isLevel(level) || typeof why !== 'string' || typeof sinceMs !== 'number') return undefined
  return { scope, name, level, why, sinceMs }
}

function unreadable(path: string): SassError {
  return new SassError(
    'STATE_UNWRITABLE',
    `${path} cannot be read, so it is not known which agents are contained: look into it, and remove it to begin without any.`,
    { path },
  )
}

function readState(path: string): LevelState {
  if (!existsSync(path)) return { entries: [], incident: undefined }
  const { entries, incident } = fieldsOf(jsonAt(path, CONFIG_BYTES))
  const kept = Array.isArray(entries) ? entries.map(readEntry) : [undefined]
  if (kept.includes(undefined) || (incident !== null && typeof incident !== 'string')) throw unreadable(path)
  return {
    entries: kept.filter((entry) => entry !== undefined),
    incident: incident ?? undefined,
  }
}

/** `makeRoom` is asked where the disk is full. */
export function openLevelStore(stateDirectory: string, makeRoom: MakeRoom = NO_ROOM): LevelStore {
  const path = join(stateDirectory, NAME)
  return {
    state: readState(path),
    save({ entries, incident }) {
      if (entries.length === 0 && incident === undefined) return rmSync(path, { force: true })
      const text = encodeUtf8(`${JSON.stringify({ entries, incident: incident ?? null })}\n`)
      withRoom(makeRoom, () => replaceFile(path, text, 0o600))
    },
  }
}

/**
 * A daemon that halted does not start by itself: somebody must have looked into why. True: that was so, and whoever
 * starts it now names what halted it.
 * @throws SassError STATE_UNWRITABLE
 */
export function checkHalt({ incident }: LevelState, ackIncident: string | undefined): boolean {
  if (incident === undefined) return false
  if (ackIncident === incident) return true
  throw new SassError(
    'STATE_UNWRITABLE',
    `The daemon has halted after an incident and does not start before somebody has looked into it: see the audit, then start it with --ack-incident ${incident}.`,
    { incident },
  )
}
