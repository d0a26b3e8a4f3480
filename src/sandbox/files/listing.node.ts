/**
 * What is in an open directory, as one CBOR array of entries: [name, kind, mode, size] and for a link its target. Names
 * are text where they are UTF-8 without U+FEFF in front, and bytes where they are not, so that the other side can say which ones cannot cross.
 * Refuses a list that is longer than a transfer of one may be.
 * Rules: docs/protocol.md, section 3 (files).
 * @module
 */
import { lstatSync, readlinkSync, type Stats } from 'node:fs'
import { opendir } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { type CborValue, encodeCborList } from '../../base/encoding/cbor.ts'
import { decodeUtf8 } from '../../base/encoding/utf8.ts'
import { SassError } from '../../errors.ts'
import { LISTED_FILES } from '../../limits.ts'
import { descriptorPath } from '../kernel/at.node.ts'

/** 0 file, 1 directory, 2 link, 3 anything else. */
const OTHER = 3
const PERMISSIONS = 0o777
/** Names in one read of the directory. */
const READ_AT_ONCE = 1_024
/** Looked at together. */
const BATCH = 256

function kindOf(stats: Stats): number {
  if (stats.isFile()) return 0
  if (stats.isDirectory()) return 1
  return stats.isSymbolicLink() ? 2 : OTHER
}

/** Bytes also where the text is one that no message holds. */
function textOf(bytes: Uint8Array): string | Uint8Array {
  const text = decodeUtf8(bytes)
  return text === undefined || text.startsWith('\ufeff') ? bytes : text
}

/** Undefined where it has gone meanwhile. */
function entryOf(directory: number, name: Buffer): CborValue | undefined {
  try {
    // By the descriptor: whatever becomes of the directory's own path, this is a name in it.
    const path = descriptorPath(directory, name)
    const stats = lstatSync(path)
    const kind = kindOf(stats)
    const entry: CborValue[] = [textOf(name), kind, stats.mode & PERMISSIONS, stats.size]
    if (kind === 2) entry.push(textOf(readlinkSync(path, 'buffer')))
    return entry
  } catch {
    return undefined
  }
}

/** Their names as they are; no more of them are read than can be listed. */
async function namesIn(directory: number, hides: (name: Buffer) => boolean): Promise<Buffer[]> {
  const names: Buffer[] = []
  // The types know names as text alone; with this encoding they are bytes.
  const options = { encoding: 'buffer' as BufferEncoding, bufferSize: READ_AT_ONCE }
  for await (const entry of await opendir(`/proc/self/fd/${directory}`, options)) {
    const name = entry.name as unknown as Buffer
    if (hides(name)) continue
    names.push(name)
    if (names.length > LISTED_FILES)
      throw new SassError(
        'FILE_TOO_LARGE',
        `The directory holds more than the ${LISTED_FILES} names that can be listed.`,
      )
  }
  return names.sort(Buffer.compare)
}

/** `hides` names what is ours alone and not to be shown; `within` looks at entries with the rights of who asks. */
export async function listDirectory(
  directory: number,
  limitBytes: number,
  hides: (name: Buffer) => boolean,
  within: <Result>(look: () => Result) => Result,
): Promise<Uint8Array> {
  const names = await namesIn(directory, hides)
  const entries: CborValue[] = []
  for (let at = 0; at < names.length; at += BATCH) {
    const looked = within(() => names.slice(at, at + BATCH).map((name) => entryOf(directory, name)))
    for (const entry of looked) if (entry !== undefined) entries.push(entry)
    // Others have their turn.
    await setImmediate()
  }
  const bytes = encodeCborList(entries)
  if (bytes.length <= limitBytes) return bytes
  throw new SassError(
    'FILE_TOO_LARGE',
    `The list of the directory has ${bytes.length} bytes, and ${limitBytes} may be sent.`,
  )
}
