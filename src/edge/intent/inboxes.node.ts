/**
 * Directories that envelopes come in by: each receiver's inbox in the state directory, and the directories of
 * `intent.drop_directories`, which have the same inside (`NAME/*.satl.json`) and may come and go, as a stick does. A
 * directory is opened without following a link and then used by its descriptor, so that nobody can put another one in
 * its place; names are bytes.
 * Rules: docs/intent.md (the spool).
 * @module
 */
import { constants, type Dirent, lstatSync, opendirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { attempt } from '../../base/attempt.ts'
import { closing } from '../../base/closing.node.ts'
import { isSafeName } from '../../intent/canonical/shape.ts'
import { INBOX_ENTRIES } from '../../intent/spool/limits.ts'
import { isEnvelopeName } from '../../intent/spool/names.ts'

export type Inbox = {
  readonly path: string
  readonly receiver: string
  /** What people are told: `inbox`, or the drop directory. */
  readonly from: string
}

/** Those that are there now, in the order of the roots: each directory that has the name of a receiver. */
export function inboxesOf(
  inbox: string,
  dropDirectories: readonly string[],
  isReceiver: (name: string) => boolean,
): readonly Inbox[] {
  return [inbox, ...dropDirectories].flatMap((root) =>
    directoriesIn(root)
      .filter((name) => isSafeName(name) && isReceiver(name))
      .map((receiver) => ({
        ...{ path: join(root, receiver), receiver },
        from: root === inbox ? 'inbox' : root,
      })),
  )
}

/** The first of them, where there are more than anybody has receivers. */
function directoriesIn(root: string): readonly string[] {
  return attempt(
    () =>
      namesIn(root, (entry) => entry.isDirectory())
        .names.map(String)
        .sort(),
    [],
  )
}

/** What changes when an entry comes, or when a file is another one; undefined: there is nothing of that name. */
export function stampOf(path: string | Buffer): string | undefined {
  try {
    const { dev, ino, mtimeNs, ctimeNs } = lstatSync(path, { bigint: true })
    return `${dev} ${ino} ${mtimeNs} ${ctimeNs}`
  } catch {
    return undefined
  }
}

/** How a look ended: there is no more; as many as were asked for, and there are more; or go on there at the next look. */
export type LookEnd = 'all' | 'more' | { readonly next: number }

/**
 * Gives the paths of at most `limit` envelopes to `take`, for as long as the call takes, without those that are left.
 * @param start how many entries were looked at before
 * @throws the system's error where it is there and cannot be read
 */
export function eachEnvelope(
  { path }: Inbox,
  { limit, start, isLeft }: { limit: number; start: number; isLeft: (path: Buffer) => boolean },
  take: (path: Buffer) => void,
): LookEnd {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
  const fd = openSync(path, flags)
  using _fd = closing(fd)
  const held = `/proc/self/fd/${fd}`
  const pathOf = (name: Buffer) => Buffer.concat([Buffer.from(`${held}/`), name])
  const isWanted = (entry: Dirent<Buffer>) =>
    isEnvelopeName(entry.name) && !entry.isDirectory() && !isLeft(pathOf(entry.name))
  const { names, end } = namesIn(held, isWanted, limit, start)
  for (const name of names) take(pathOf(name))
  return end
}

/** Read entry by entry: how many there are is for whoever may write there to say. */
function namesIn(
  path: string,
  isWanted: (entry: Dirent<Buffer>) => boolean,
  limit = INBOX_ENTRIES,
  start = 0,
): { readonly names: readonly Buffer[]; readonly end: LookEnd } {
  using directory = opendirSync(path, { encoding: 'buffer' as BufferEncoding })
  const names: Buffer[] = []
  const next = start + INBOX_ENTRIES
  for (let looked = 0; looked < next; looked++) {
    const entry = directory.readSync() as Dirent<Buffer> | null
    if (entry === null) return { names, end: 'all' }
    if (looked < start || !isWanted(entry)) continue
    if (names.length === limit) return { names, end: 'more' }
    names.push(entry.name)
  }
  // What is taken of them lies there no more: as many others have moved up.
  return { names, end: { next: next - names.length } }
}
