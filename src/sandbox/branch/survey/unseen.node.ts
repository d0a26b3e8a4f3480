/**
 * The record of what no command of a branch could see, in any of its sessions: one file of JSON in the branch's
 * directory, complete before the first command of a session begins. What is hidden later, or no longer, changes nothing
 * of what was.
 * @module
 */

import { join } from 'node:path'
import { parseStrictJson } from '../../../base/encoding/strict-json.ts'
import { readBounded, replaceFile } from '../../../base/files.node.ts'
import { bytesOfEscaped, escapedText } from '../../../base/text/escaped-path.ts'
import { SassError } from '../../../errors.ts'
import { BRANCH_RECORD_BYTES, UNSEEN_PLACES_MAX } from '../../limits.ts'
import { type BytePath, bytePath, pathBytes } from '../files/paths.ts'

const FILE = 'unseen.json'
const MODE = 0o600

function unusable(path: string, cause?: unknown): SassError {
  return new SassError(
    'FILE_IO',
    `The record of what was hidden from this branch, ${path}, cannot be used, so nothing can be said about the branch; put it back or drop the branch.`,
    { path },
    cause,
  )
}

/** In the record a path that is no text is what the survey has: an object with one character for each byte. */
type Recorded = string | { readonly bytes: BytePath }

const recordOf = (path: string): Recorded =>
  path.isWellFormed() ? path : { bytes: bytePath(bytesOfEscaped(path)) }

function pathOf(recorded: unknown): string | undefined {
  if (typeof recorded === 'string') return recorded
  const isBytes = typeof recorded === 'object' && recorded !== null && 'bytes' in recorded
  return isBytes && typeof recorded.bytes === 'string' ? escapedText(pathBytes(recorded.bytes)) : undefined
}

/** Absolute paths (escaped-path.ts). @throws SassError FILE_IO where the record is there but cannot be read */
export function readUnseen(directory: string): readonly string[] {
  const path = join(directory, FILE)
  let read: ReturnType<typeof readBounded>
  try {
    read = readBounded(path, BRANCH_RECORD_BYTES, true)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw unusable(path, error)
  }
  const parsed = read.ok ? parseStrictJson(read.bytes, { size: BRANCH_RECORD_BYTES }) : undefined
  if (!parsed?.ok || !Array.isArray(parsed.value)) throw unusable(path)
  const paths: readonly unknown[] = parsed.value
  return paths.map((one) => {
    const known = pathOf(one)
    if (known?.startsWith('/') !== true) throw unusable(path)
    return known
  })
}

/** As the survey has paths: one character for each byte. */
export function unseenPaths(directory: string): readonly BytePath[] {
  return readUnseen(directory).map((path) => bytePath(bytesOfEscaped(path)))
}

/**
 * Adds what a session does not see.
 * @throws SassError FILE_IO; SANDBOX_UNAVAILABLE where it has become more than a record holds
 */
export function rememberUnseen(directory: string, absent: readonly string[]): void {
  if (absent.length === 0) return
  const known = new Set(readUnseen(directory))
  const before = known.size
  for (const path of absent) known.add(path)
  if (known.size === before) return
  if (known.size > UNSEEN_PLACES_MAX)
    throw new SassError(
      'SANDBOX_UNAVAILABLE',
      `More than ${UNSEEN_PLACES_MAX} paths have been hidden from this branch by and by, so nothing was started in it; merge or drop it, and go on in a new one.`,
    )
  const path = join(directory, FILE)
  try {
    replaceFile(path, Buffer.from(JSON.stringify([...known].map(recordOf))), MODE)
  } catch (error) {
    throw unusable(path, error)
  }
}
