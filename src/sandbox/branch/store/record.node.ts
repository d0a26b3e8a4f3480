/**
 * What merges of a branch have touched in the real files: by inode, the change time that it had then. A file that is still
 * so was changed by the branch itself, not by somebody else. One file of JSON in the branch's directory, replaced as a
 * whole.
 * @module
 */

import { join } from 'node:path'
import { parseStrictJson } from '../../../base/encoding/strict-json.ts'
import { readBounded, replaceFile } from '../../../base/files.node.ts'
import { SassError } from '../../../errors.ts'
import { BRANCH_RECORD_BYTES } from '../../limits.ts'

/** For each root: change time in ns by inode. */
export type MergedRecord = readonly ReadonlyMap<bigint, bigint>[]

const FILE = 'merged.json'
const MODE = 0o600

function isEntry(value: unknown): value is [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every((item) => /^\d{1,20}$/.test(String(item)))
}

/** @throws SassError FILE_IO where the record is there but cannot be read: without it, own changes would be conflicts */
export function readRecord(directory: string, roots: number): MergedRecord {
  const maps = Array.from({ length: roots }, () => new Map<bigint, bigint>())
  const path = join(directory, FILE)
  let read: ReturnType<typeof readBounded>
  try {
    read = readBounded(path, BRANCH_RECORD_BYTES, true)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return maps
    throw unusable(path, error)
  }
  const parsed = read.ok ? parseStrictJson(read.bytes, { size: BRANCH_RECORD_BYTES }) : undefined
  if (!parsed?.ok || !Array.isArray(parsed.value)) throw unusable(path)
  for (const [index, entries] of (parsed.value as unknown[]).entries()) {
    if (!Array.isArray(entries)) throw unusable(path)
    for (const entry of entries) {
      if (!isEntry(entry)) throw unusable(path)
      maps[index]?.set(BigInt(entry[0]), BigInt(entry[1]))
    }
  }
  return maps
}

export function writeRecord(directory: string, record: MergedRecord): void {
  const value = record.map((entries) =>
    [...entries].map(([inode, changedNs]) => [inode.toString(), changedNs.toString()]),
  )
  const path = join(directory, FILE)
  try {
    replaceFile(path, Buffer.from(JSON.stringify(value)), MODE)
  } catch (error) {
    throw unusable(path, error)
  }
}

function unusable(path: string, cause?: unknown): SassError {
  return new SassError(
    'FILE_IO',
    `The record ${path} of what was merged cannot be used; drop the branch, or bring the record back.`,
    { path },
    cause,
  )
}
