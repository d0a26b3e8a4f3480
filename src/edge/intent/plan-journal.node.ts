/**
 * What is written down of plans: one SQLite file, so that a plan is used once for ever by a unique key, and a call that
 * began is known as such whatever becomes of the daemon. Every change is on the disk when it returns (synchronous FULL,
 * a write-ahead log): begun before a call starts, ended before anybody hears of it.
 * Rules: docs/plans.md; sqlite.org/pragma.html#pragma_synchronous.
 * @module
 */
import { chmodSync } from 'node:fs'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import { SassError } from '../../errors.ts'
import { PLANS_REFUSED, PLANS_REMEMBERED } from '../../intent/plans/limits.ts'
import type { CallState, JournalCall, JournalPlan, PlanJournal } from '../../intent/plans/plan-journal.ts'
import type { CallOutcome, RunEnd } from '../../intent/plans/run.ts'

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA trusted_schema = OFF;
  CREATE TABLE IF NOT EXISTS plans (
    plan_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, issuer TEXT NOT NULL, runner TEXT NOT NULL,
    scope TEXT NOT NULL, sha256 TEXT NOT NULL, at_ms INTEGER NOT NULL, state TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS plans_by_session ON plans (session_id, scope, at_ms);
  CREATE TABLE IF NOT EXISTS calls (
    plan_id TEXT NOT NULL, at INTEGER NOT NULL, call_id TEXT NOT NULL, tool TEXT NOT NULL, execution TEXT NOT NULL,
    state TEXT NOT NULL, number INTEGER NOT NULL, why TEXT NOT NULL,
    stdout_bytes INTEGER NOT NULL, stderr_bytes INTEGER NOT NULL, PRIMARY KEY (plan_id, at)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS untold (plan_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS refused (
    issuer TEXT NOT NULL, plan_id TEXT NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (issuer, plan_id)
  ) STRICT;
  INSERT OR IGNORE INTO untold SELECT plan_id FROM plans WHERE state = 'running';
`
const MODE = 0o600
/** In `plan_id` after an id that another issuer's plan has: no name has it. */
const BY = '@'

type Row = Record<string, SQLOutputValue>

function unwritable(path: string, cause: unknown): SassError {
  const reason = cause instanceof Error ? cause.message : 'unknown'
  return new SassError(
    'STATE_UNWRITABLE',
    `What plans do cannot be written down in ${path}, so none is run: ${reason}; look at the disk and its rights.`,
    { path },
    cause,
  )
}

const text = (row: Row, key: string): string => String(row[key] ?? '')
const number = (row: Row, key: string): number => Number(row[key] ?? 0)

function callOf(row: Row): JournalCall {
  return {
    id: text(row, 'call_id'),
    tool: text(row, 'tool'),
    execution: text(row, 'execution'),
    state: text(row, 'state') as CallState,
    number: number(row, 'number'),
    why: text(row, 'why'),
    stdoutBytes: number(row, 'stdout_bytes'),
    stderrBytes: number(row, 'stderr_bytes'),
  }
}

/**
 * Opens the file, or makes it with mode 0600.
 * @throws SassError STATE_UNWRITABLE
 */
export function openPlanJournal(path: string): PlanJournal {
  const database = guarded(() => {
    const opened = new DatabaseSync(path)
    opened.exec(SCHEMA)
    chmodSync(path, MODE)
    return opened
  })
  const issuerOf = database.prepare('SELECT issuer FROM plans WHERE plan_id = ?')
  const wasRefused = database.prepare('SELECT 1 FROM refused WHERE issuer = ? AND plan_id = ?')
  const refuse = database.prepare(
    'INSERT INTO refused VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET at_ms = ?3',
  )
  const forgetRefused = database.prepare(
    'DELETE FROM refused WHERE rowid IN (SELECT rowid FROM refused ORDER BY at_ms DESC, rowid DESC LIMIT -1 OFFSET ?)',
  )
  const count = database.prepare('SELECT count(*) AS plans FROM plans')
  const insertPlan = database.prepare(
    `INSERT INTO plans VALUES (?, ?, ?, ?, ?, ?, ?, 'running') ON CONFLICT DO NOTHING`,
  )
  const insertCall = database.prepare(`INSERT INTO calls VALUES (?, ?, ?, ?, ?, 'waiting', 0, '', 0, 0)`)
  // A call begins once: no other state leads there.
  const begin = database.prepare(
    `UPDATE calls SET state = 'begun' WHERE plan_id = ? AND at = ? AND state = 'waiting'`,
  )
  // What ran had begun; the others may end without.
  const end = database.prepare(
    `UPDATE calls SET state = ?1, number = ?2, why = ?3, stdout_bytes = ?4, stderr_bytes = ?5
     WHERE plan_id = ?6 AND at = ?7
       AND (state = 'begun' OR state = 'waiting' AND ?1 IN ('refused', 'unanswered', 'unknown'))`,
  )
  const insertUntold = database.prepare('INSERT INTO untold VALUES (?)')
  const told = database.prepare('DELETE FROM untold WHERE plan_id = ?')
  const untold = database.prepare(
    `SELECT plans.* FROM plans JOIN untold USING (plan_id) WHERE state <> 'running' ORDER BY at_ms`,
  )
  const over = database.prepare(`UPDATE plans SET state = ? WHERE plan_id = ? AND state = 'running'`)
  const plan = database.prepare('SELECT * FROM plans WHERE plan_id = ?')
  const withId = database.prepare(
    `SELECT * FROM plans WHERE plan_id = ?1 OR plan_id > ?1 || '@' AND plan_id < ?1 || 'A' ORDER BY at_ms`,
  )
  const newest = database.prepare(
    'SELECT * FROM plans WHERE session_id = ? AND scope = ? ORDER BY at_ms DESC LIMIT 1',
  )
  const running = database.prepare(`SELECT * FROM plans WHERE state = 'running' ORDER BY at_ms`)
  const calls = database.prepare('SELECT * FROM calls WHERE plan_id = ? ORDER BY at')

  function guarded<T>(work: () => T): T {
    try {
      return work()
    } catch (cause) {
      throw unwritable(path, cause)
    }
  }

  /** All of it or nothing. */
  function together<T>(work: () => T): T {
    return guarded(() => {
      database.exec('BEGIN IMMEDIATE')
      try {
        const result = work()
        database.exec('COMMIT')
        return result
      } catch (cause) {
        database.exec('ROLLBACK')
        throw cause
      }
    })
  }

  function planOf(row: Row | undefined): JournalPlan | undefined {
    if (row === undefined) return undefined
    const key = text(row, 'plan_id')
    return {
      key,
      planId: key.split(BY, 1)[0] ?? key,
      sessionId: text(row, 'session_id'),
      issuer: text(row, 'issuer'),
      runner: text(row, 'runner'),
      scope: text(row, 'scope'),
      sha256: text(row, 'sha256'),
      atMs: number(row, 'at_ms'),
      state: text(row, 'state') as 'running' | RunEnd,
      calls: calls.all(key).map(callOf),
    }
  }

  /** The first plan of an id has it; one of another issuer has its issuer beside it. */
  function keyOf(planId: string, issuer: string): string {
    const first = issuerOf.get(planId)
    return first === undefined || text(first, 'issuer') === issuer ? planId : planId + BY + issuer
  }

  /** Exactly one row was changed: anything else is a step that may not be. */
  function once(changes: number | bigint, what: string): void {
    if (Number(changes) !== 1) throw new Error(`${what} is no step of this plan`)
  }

  return {
    keyOf: (planId, issuer) => guarded(() => keyOf(planId, issuer)),
    wasUsed: (planId, issuer) => guarded(() => issuerOf.get(keyOf(planId, issuer)) !== undefined),
    wasRefused: (planId, issuer) => guarded(() => wasRefused.get(issuer, planId) !== undefined),
    refuse: (planId, issuer, atMs) =>
      together(() => {
        refuse.run(issuer, planId, atMs)
        forgetRefused.run(PLANS_REFUSED)
      }),
    use: (given) =>
      together(() => {
        if (number(count.get() ?? {}, 'plans') >= PLANS_REMEMBERED) return false
        const { planId, sessionId, issuer, runner, scope, sha256, atMs } = given
        const key = keyOf(planId, issuer)
        if (Number(insertPlan.run(key, sessionId, issuer, runner, scope, sha256, atMs).changes) === 0)
          return false
        insertUntold.run(key)
        for (const [at, { id, tool, execution }] of given.calls.entries())
          insertCall.run(key, at, id, tool, execution)
        return true
      }),
    begin: (key, at) => guarded(() => once(begin.run(key, at).changes, 'beginning a call')),
    end: (key, at, { kind, number: how, why, stdoutBytes, stderrBytes }: CallOutcome) =>
      guarded(() =>
        once(end.run(kind, how, why, stdoutBytes, stderrBytes, key, at).changes, 'ending a call'),
      ),
    over: (key, how) => guarded(() => once(over.run(how, key).changes, 'ending the plan')),
    told: (key) => guarded(() => void told.run(key)),
    untold: () => guarded(() => untold.all().flatMap((row) => planOf(row) ?? [])),
    find: (key) => guarded(() => planOf(plan.get(key))),
    withId: (planId) => guarded(() => withId.all(planId).flatMap((row) => planOf(row) ?? [])),
    newestOf: (sessionId, scope) => guarded(() => planOf(newest.get(sessionId, scope))),
    open: () => guarded(() => running.all().flatMap((row) => planOf(row) ?? [])),
    close: () => database.close(),
  }
}
