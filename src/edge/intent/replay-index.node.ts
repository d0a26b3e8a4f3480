/**
 * What was accepted, in one SQLite file: each id once for ever, which the table itself enforces, beside it what is known
 * of the last 31 days, by which the hourly quota is counted and what waits is found, and the bytes of what waits: that an
 * envelope was accepted and what it says are written in one transaction. Times are integers; a quota by texts of times
 * counts wrong hours.
 * WAL with synchronous FULL: what was answered for is there after a loss of power (0.4 ms a transaction here, and a batch
 * is one). What the device itself is to do is due from that transaction on, until it is done: no end loses it.
 * A file that is damaged stops the start: without it an old envelope could not be told from a new one.
 * Growth: ids stay, at most INDEX_IDS of them, and then nothing further is accepted; the rest goes after 31 days.
 * Rules: docs/intent.md (replay).
 * @module
 */
import { existsSync } from 'node:fs'
import type { DatabaseSync as Database } from 'node:sqlite'
import { SassError } from '../../errors.ts'
import { DETAILS_KEPT_MS, HOUR_MS, INDEX_IDS } from '../../intent/spool/limits.ts'
import type { Accepted, Waiting } from '../../intent/spool/room.ts'

export type ReplayIndex = {
  /** All that `work` does, or nothing of it. @throws what it throws */
  whole<T>(work: () => T): T
  wasSeen(id: string): boolean
  /** Of that sender in the hour before now. */
  acceptedInHour(sender: string, nowMs: number): number
  /** False: the id was there, and nothing is changed. `isDue`: the device has something to do with it. */
  accept(of: Accepted, bytes: Uint8Array, isDue?: boolean): boolean
  /** What the device has not done with, the oldest first; whether that one is of them. */
  due(): readonly Waiting[]
  isDue(id: string): boolean
  done(id: string): void
  /** What it says; undefined: nobody is to have it any more. */
  contentOf(id: string): Uint8Array | undefined
  /** What waits with these bytes. */
  waitingByDigest(digest: string, receiver: string): Accepted | undefined
  /** Whether these bytes were accepted for that receiver, waiting or not. */
  wasAccepted(digest: string, receiver: string): boolean
  find(id: string): Waiting | undefined
  /** The oldest first, taken ones left out; undefined: everybody's. */
  waiting(receiver: string | undefined): readonly Waiting[]
  /** How much waits; undefined: everybody's. */
  load(receiver: string | undefined): { readonly count: number; readonly bytes: number }
  /** Marks it. False: it was marked before. */
  take(id: string, nowMs: number): boolean
  /** What those say that were taken before then goes, unless the device is not done with it. */
  forgetTaken(beforeMs: number): void
  /** Those that nobody has taken in 31 days; rows of whatever is over by then go. */
  expire(nowMs: number): readonly Accepted[]
  /** With no room nothing further can be accepted, ever. */
  readonly hasRoom: boolean
  close(): void
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS seen (envelope_id TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE IF NOT EXISTS accepted (
    envelope_id TEXT NOT NULL UNIQUE, session TEXT NOT NULL, sender TEXT NOT NULL, receiver TEXT NOT NULL,
    template TEXT NOT NULL, digest TEXT NOT NULL, size INTEGER NOT NULL, at_ms INTEGER NOT NULL,
    taken_ms INTEGER) STRICT;
  CREATE TABLE IF NOT EXISTS due (envelope_id TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE IF NOT EXISTS content (envelope_id TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS by_sender ON accepted (sender, at_ms);
  CREATE INDEX IF NOT EXISTS by_digest ON accepted (digest);
  CREATE INDEX IF NOT EXISTS by_receiver ON accepted (receiver, at_ms) WHERE taken_ms IS NULL;
  CREATE INDEX IF NOT EXISTS by_time ON accepted (at_ms);`

/** Pages of what was taken are given back: a device that was sent much once has its disk again. */
const PRAGMAS =
  'PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 256'

type Row = {
  readonly envelope_id: string
  readonly session: string
  readonly sender: string
  readonly receiver: string
  readonly template: string
  readonly digest: string
  readonly size: number
  readonly at_ms: number
  readonly taken_ms: number | null
}

function fromRow(row: unknown): Waiting {
  const { envelope_id, session, sender, receiver, template, digest, size, at_ms, taken_ms } = row as Row
  return {
    ...{ id: envelope_id, session, sender, receiver, template, digest, size },
    acceptedAtMs: at_ms,
    isTaken: taken_ms !== null,
  }
}

function damaged(path: string, cause: unknown): SassError {
  const why = cause instanceof Error ? cause.message : 'it does not say why'
  return new SassError(
    'INTEGRITY_RISK',
    `The index of envelopes ${path} is not sound (${why}), so an envelope that was accepted before could not be told from a new one: bring back a copy with its -wal, or move it away once every sender has a new key.`,
    { path },
    cause,
  )
}

async function openDatabase(path: string): Promise<Database> {
  const isNew = !existsSync(path)
  // Not loaded where there is no vault: it is a megabyte.
  const { DatabaseSync } = await import('node:sqlite')
  try {
    const database = new DatabaseSync(path)
    database.exec(PRAGMAS)
    if (!isNew) {
      const found = database.prepare('PRAGMA quick_check(1)').get()
      if (found?.['quick_check'] !== 'ok') throw new Error(String(found?.['quick_check']))
    }
    database.exec(SCHEMA)
    return database
  } catch (cause) {
    throw damaged(path, cause)
  }
}

/**
 * Opens it, or makes it where there is none.
 * @throws SassError INTEGRITY_RISK where what is there is not sound
 */
export async function openReplayIndex(path: string, mostIds = INDEX_IDS): Promise<ReplayIndex> {
  const database = await openDatabase(path)
  const sql = (text: string) => database.prepare(text)
  const seen = sql('SELECT 1 FROM seen WHERE envelope_id = ?')
  const inHour = sql('SELECT count(*) AS n FROM accepted WHERE sender = ? AND at_ms > ? AND at_ms <= ?')
  const insertSeen = sql('INSERT INTO seen VALUES (?) ON CONFLICT DO NOTHING')
  const insert = sql(
    'INSERT INTO accepted (envelope_id, session, sender, receiver, template, digest, size, at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const byDigest = sql('SELECT * FROM accepted WHERE digest = ? AND receiver = ? AND taken_ms IS NULL')
  const anyByDigest = sql('SELECT 1 FROM accepted WHERE digest = ? AND receiver = ?')
  const byId = sql('SELECT * FROM accepted WHERE envelope_id = ?')
  const waitingFor = sql(
    'SELECT * FROM accepted WHERE receiver = ? AND taken_ms IS NULL ORDER BY at_ms, rowid',
  )
  const allWaiting = sql('SELECT * FROM accepted WHERE taken_ms IS NULL ORDER BY at_ms, rowid')
  const sums = 'SELECT count(*) AS n, coalesce(sum(size), 0) AS bytes FROM accepted WHERE taken_ms IS NULL'
  const load = sql(`${sums} AND receiver = ?`)
  const loadOfAll = sql(sums)
  const take = sql('UPDATE accepted SET taken_ms = ? WHERE envelope_id = ? AND taken_ms IS NULL')
  const insertDue = sql('INSERT INTO due VALUES (?)')
  const allDue = sql(
    'SELECT accepted.* FROM due JOIN accepted USING (envelope_id) ORDER BY at_ms, accepted.rowid',
  )
  const dueById = sql('SELECT 1 FROM due WHERE envelope_id = ?')
  const deleteDue = sql('DELETE FROM due WHERE envelope_id = ?')
  const keep = sql('INSERT INTO content VALUES (?, ?)')
  const content = sql('SELECT bytes FROM content WHERE envelope_id = ?')
  const forget = sql(
    'DELETE FROM content WHERE envelope_id IN (SELECT envelope_id FROM accepted WHERE taken_ms < ?) AND envelope_id NOT IN (SELECT envelope_id FROM due)',
  )
  const expired = sql('SELECT * FROM accepted WHERE at_ms < ? AND taken_ms IS NULL LIMIT 256')
  const dropOld = sql(
    'DELETE FROM accepted WHERE at_ms < ? AND envelope_id NOT IN (SELECT envelope_id FROM content)',
  )
  const numberOf = (row: Record<string, unknown> | undefined): number => Number(row?.['n'] ?? 0)
  let ids = numberOf(sql('SELECT count(*) AS n FROM seen').get())

  return {
    whole(work) {
      const before = ids
      database.exec('BEGIN IMMEDIATE')
      try {
        const result = work()
        database.exec('COMMIT')
        return result
      } catch (cause) {
        ids = before
        if (database.isTransaction) database.exec('ROLLBACK')
        throw cause
      }
    },
    wasSeen: (id) => seen.get(id) !== undefined,
    acceptedInHour: (sender, nowMs) => numberOf(inHour.get(sender, nowMs - HOUR_MS, nowMs)),
    accept({ id, session, sender, receiver, template, digest, size, acceptedAtMs }, bytes, isDue = false) {
      if (ids >= mostIds || insertSeen.run(id).changes !== 1) return false
      insert.run(id, session, sender, receiver, template, digest, size, acceptedAtMs)
      keep.run(id, bytes)
      if (isDue) insertDue.run(id)
      ids++
      return true
    },
    due: () => allDue.all().map(fromRow),
    isDue: (id) => dueById.get(id) !== undefined,
    done: (id) => void deleteDue.run(id),
    contentOf(id) {
      const bytes = content.get(id)?.['bytes']
      return bytes instanceof Uint8Array ? bytes : undefined
    },
    waitingByDigest(digest, receiver) {
      const row = byDigest.get(digest, receiver)
      return row === undefined ? undefined : fromRow(row)
    },
    wasAccepted: (digest, receiver) => anyByDigest.get(digest, receiver) !== undefined,
    find(id) {
      const row = byId.get(id)
      return row === undefined ? undefined : fromRow(row)
    },
    waiting: (receiver) =>
      (receiver === undefined ? allWaiting.all() : waitingFor.all(receiver)).map(fromRow),
    load(receiver) {
      const row = receiver === undefined ? loadOfAll.get() : load.get(receiver)
      return { count: numberOf(row), bytes: Number(row?.['bytes'] ?? 0) }
    },
    take: (id, nowMs) => take.run(nowMs, id).changes === 1,
    forgetTaken(beforeMs) {
      if (Number(forget.run(beforeMs).changes) > 0) database.exec('PRAGMA incremental_vacuum')
    },
    expire(nowMs) {
      dropOld.run(nowMs - DETAILS_KEPT_MS)
      return expired.all(nowMs - DETAILS_KEPT_MS).map(fromRow)
    },
    get hasRoom() {
      return ids < mostIds
    },
    close: () => database.close(),
  }
}
