/**
 * The record of one device: the chain with its keys, the sealed facts beside it, and what was started and how it ended,
 * opened from a configuration.
 * Rules: docs/responses.md, section 7.
 * @module
 */
import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import { type Journal, openJournal } from '../../audit/journal.node.ts'
import { dropOldest } from '../../audit/retention.node.ts'
import { openSealedFacts, type SealedFacts } from '../../audit/sealed-facts.node.ts'
import { attempt } from '../../base/attempt.ts'
import { withRoom } from '../../base/room.ts'
import type { Config } from '../../config/config.ts'
import type { Policy } from '../../defense/layer.ts'
import { SassError } from '../../errors.ts'
import type { AuditEvent, Clock, DiskHealth } from '../../ports.ts'
import { createFileLock } from '../state/file-lock.node.ts'
import type { LevelStore } from '../state/level-store.node.ts'
import type { Reserve } from '../state/reserve.node.ts'
import { openEpochKeys } from './epoch-keys.node.ts'
import { freezePolicy, policiesPath } from './frozen-policy.node.ts'
import { checkRulesPin, haltAtStart, isIntegrityRisk, setAside } from './integrity.node.ts'
import { type KeptFile, openKeptFile } from './kept-results.node.ts'
import { createUnusedPolicies } from './unused-policies.node.ts'

const DAY_MS = 86_400_000

export type RecordObserver = { seen?: (event: AuditEvent, timestamp: string) => void }

export type DeviceRecord = {
  /** What may still be written on the disk that has the least room. */
  freeBytes(): number | undefined
  /** How the slowest disk does. */
  readonly disk: DiskHealth
  readonly audit: Journal
  /** Whoever is to see each record sets `seen`. */
  readonly observer: RecordObserver
  readonly facts: SealedFacts
  readonly executions: KeptFile
  readonly handoffs: KeptFile
  tick(): void
  close(): void
}

/**
 * @param follows the incident after which a new chain begins
 * @throws SassError as openJournal
 */
function openRecord(ground: Omit<Ground, 'levelStore'>, follows?: string): DeviceRecord {
  const observer: RecordObserver = {}
  const audit = openAudit(ground, observer, follows)
  try {
    return { ...withAudit(ground, audit), observer }
  } catch (cause) {
    audit.close()
    throw cause
  }
}

function openAudit(
  { config, clock, reserve }: Omit<Ground, 'levelStore'>,
  observer: RecordObserver,
  follows: string | undefined,
): Journal {
  const keys = openEpochKeys(config.state_directory)
  const roomForKeys = reserve.pieceFor(config.state_directory)
  const { directory, epoch_records, epoch_seconds, segment_bytes, fsync } = config.audit
  return openJournal({
    directory,
    keys: { ...keys, create: (epoch) => withRoom(roomForKeys, () => keys.create(epoch)) },
    makeRoom: reserve.pieceFor(directory),
    wallMs: clock.wallMs,
    monotonicMs: clock.monotonicMs,
    lock: createFileLock(),
    after: clock.after,
    epochRecords: epoch_records,
    epochMs: epoch_seconds * 1_000,
    segmentBytes: segment_bytes,
    durability: fsync,
    observer,
    follows,
  })
}

function withAudit(
  { config, clock, reserve }: Omit<Ground, 'levelStore'>,
  audit: Journal,
): Omit<DeviceRecord, 'observer'> {
  const { directory, segment_bytes, keep_bytes, keep_days, fsync } = config.audit
  const executionsDirectory = join(config.state_directory, 'executions')
  const lines = (place: string) => ({
    directory: place,
    lock: createFileLock(),
    durability: fsync,
    monotonicMs: clock.monotonicMs,
    after: clock.after,
    makeRoom: reserve.pieceFor(place),
  })
  const executions = openKeptFile(lines(executionsDirectory))
  const handoffs = openKeptFile({
    ...lines(join(config.state_directory, 'handoffs')),
    ...{ name: 'sent', what: 'handoffs' },
  })
  const facts = openSealedFacts({
    directory,
    nextSequence: () => audit.head.sequence + 1,
    segmentBytes: segment_bytes,
    makeRoom: reserve.pieceFor(directory),
  })

  function bytesLeft(place: string): number {
    const { bavail, bsize } = statfsSync(place)
    return bavail * bsize + reserve.heldFor(place)
  }

  function appendForGood(event: AuditEvent): void {
    audit.append(event, true)
    if (!audit.syncNow())
      throw new SassError('STATE_UNWRITABLE', 'Nothing was dropped: the disk does not keep what says so.')
  }

  /** After which closed file was looked how much there is, and when how old it is; at the start as well. */
  let lookedAt = -1
  let agedAtMs = Number.NEGATIVE_INFINITY
  const unused = createUnusedPolicies(directory, policiesPath(config))

  function drop(): void {
    const isDue = keep_days !== null && clock.monotonicMs() - agedAtMs >= DAY_MS
    if (!isDue && (keep_bytes === null || lookedAt === audit.closedFiles)) return
    const isFirst = lookedAt === -1
    const since = isDue ? new Date(clock.wallMs() - keep_days * DAY_MS).toISOString() : undefined
    const dropped = dropOldest(directory, { bytes: keep_bytes, since }, appendForGood)
    lookedAt = audit.closedFiles
    if (isDue) agedAtMs = clock.monotonicMs()
    // A run before this one may have ended between the files and the policies that they named.
    if (dropped > 0 || isFirst) unused.look()
  }

  return {
    audit,
    facts,
    executions,
    handoffs,
    disk: slowest([audit.disk, executions.disk, handoffs.disk]),
    freeBytes() {
      return attempt(() => Math.min(bytesLeft(directory), bytesLeft(executionsDirectory)), undefined)
    },
    tick() {
      audit.tick()
      if (fsync !== 'never') facts.tick()
      try {
        drop()
        unused.tick()
      } catch {
        // Nothing is lost: it is tried again, and a disk that does not take records is told by the next one.
      }
    },
    close() {
      executions.close()
      handoffs.close()
      facts.close()
      audit.close()
    },
  }
}

function slowest(disks: readonly DiskHealth[]): DiskHealth {
  return {
    get syncMs() {
      return Math.max(...disks.map(({ syncMs }) => syncMs))
    },
    get isSyncing() {
      return disks.some(({ isSyncing }) => isSyncing)
    },
    get failure() {
      return disks.find(({ failure }) => failure !== undefined)?.failure
    },
    probe() {
      for (const disk of disks) disk.probe()
    },
  }
}

type Ground = {
  readonly config: Config
  readonly clock: Clock
  readonly levelStore: LevelStore
  readonly reserve: Pick<Reserve, 'heldFor' | 'pieceFor'>
}

function recordOf(ground: Ground, acknowledged: string | undefined) {
  try {
    return openRecord(ground)
  } catch (cause) {
    if (acknowledged === undefined || !isIntegrityRisk(cause)) throw cause
    setAside(ground.config, acknowledged)
    return openRecord(ground, acknowledged)
  }
}

/**
 * The record with the policy kept in it. What is not what it was halts the daemon, unless its incident was
 * acknowledged: then it is set aside.
 * @param acknowledged the incident that the operator has looked into
 * @throws SassError INTEGRITY_RISK with what to do, or as openRecord
 */
export function openWhole(
  ground: Ground,
  policy: Policy,
  acknowledged: string | undefined,
): { readonly deviceRecord: DeviceRecord; readonly frozen: string } {
  const { config } = ground
  let deviceRecord: DeviceRecord | undefined
  try {
    deviceRecord = recordOf(ground, acknowledged)
    checkRulesPin(config)
    const frozen = freezePolicy(policiesPath(config), config, policy, acknowledged !== undefined)
    return { deviceRecord, frozen }
  } catch (cause) {
    try {
      throw isIntegrityRisk(cause) ? haltAtStart(ground, cause, deviceRecord?.audit) : cause
    } finally {
      deviceRecord?.close()
    }
  }
}
