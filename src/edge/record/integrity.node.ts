/**
 * What becomes of a start that fails: an exit record says why. One that finds its record, its keys or its policies
 * changed is HALT as well, until an operator names it: then the broken record is set aside, whole, and a new chain
 * begins that names it.
 * Rules: docs/responses.md, sections 7 (integrity) and 8.
 * @module
 */
import { existsSync, readdirSync, readFileSync, renameSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { chainHash, GENESIS, recordHead } from '../../audit/chain.ts'
import { activePath } from '../../audit/segments.node.ts'
import { hostSha256, hostTextDigest } from '../../base/crypto/sha256.node.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import { errnoOf, makeDirectories, replaceFile, whyNotMade } from '../../base/files.node.ts'
import { isWithin } from '../../base/text/lexical-path.ts'
import type { Config } from '../../config/config.ts'
import { asSassError, SassError } from '../../errors.ts'
import { CONSTITUTION_VERSION } from '../../intent/proposals/constitution.ts'
import { integrityExit } from '../../intent/proposals/decide.ts'
import { systemEvent } from '../../intent/proposals/observations.ts'
import type { AuditEvent, AuditSink, Clock } from '../../ports.ts'
import { readRulesText } from '../policy/rules-path.node.ts'
import type { LevelStore } from '../state/level-store.node.ts'

type Ground = { readonly config: Config; readonly clock: Clock; readonly levelStore: LevelStore }

/** Where the exit record of an incident is when the chain cannot take it; it stays until there is another one. */
const INCIDENT = 'exit-record.json'
/** And that of the last start that failed otherwise, before there was a chain. */
const FAILED_START = 'failed-start.json'

/**
 * How a start ends that fails, as an event: with the exit record that the kernel of proposals makes of it, which needs
 * no constitution that can be read.
 * Rules: RSA-0, A72; docs/proposals.md.
 */
function exitEvent(reason: string, why: string, wallMs: number): AuditEvent {
  const seen = systemEvent('startup_integrity_fail', why)
  const at = new Date(wallMs).toISOString()
  const { id, reason_code, created_at } = integrityExit(CONSTITUTION_VERSION, {
    ...{ observationIds: [seen.id], detail: why, at },
  })
  const record = { id, reason_code, created_at, observation: seen.id }
  return { type: 'exit', reason, why, by: 'start', instance: null, exit_record: record }
}

/** The hash of the exit record: in the chain where that is whole, else in a file of its own. */
function recordExit(
  { config, clock }: Omit<Ground, 'levelStore'>,
  event: AuditEvent,
  audit: AuditSink | undefined,
  name: string,
): string {
  if (audit !== undefined) {
    audit.append(event, true)
    return encodeHex(audit.head.hash)
  }
  const timestamp = new Date(clock.wallMs()).toISOString()
  const { hash, json } = chainHash(GENESIS, event, timestamp, hostSha256)
  replaceFile(
    join(config.state_directory, name),
    encodeUtf8(`${recordHead(json, timestamp, hash)}}\n`),
    0o600,
  )
  return encodeHex(hash)
}

/**
 * Halts the daemon that was about to start.
 * @param audit the chain, where it is whole
 * @returns what to throw: what was found, and how to go on
 */
export function haltAtStart(ground: Ground, cause: SassError, audit?: AuditSink): SassError {
  const why = cause.message
  const event = exitEvent('INTEGRITY_RISK', why, ground.clock.wallMs())
  const incident = recordExit(ground, event, audit, INCIDENT)
  const { entries } = ground.levelStore.state
  const halted = { scope: 'daemon', name: '', level: 'HALT', why, sinceMs: ground.clock.wallMs() } as const
  ground.levelStore.save({
    entries: [...entries.filter(({ scope }) => scope !== 'daemon'), halted],
    incident,
  })
  return new SassError(
    'INTEGRITY_RISK',
    `${why} The daemon has halted; when you have looked into it, start it with --ack-incident ${incident}.`,
    { ...cause.details, incident },
    cause,
  )
}

/** What a start has opened by now. */
export type Opened = {
  record?: { readonly audit: AuditSink; close(): void }
  spawner?: { close(): Promise<void> }
}

/**
 * Starts by `start`, and leaves an exit record behind where that fails: in the chain, or in the state directory as long
 * as there is no chain.
 * @throws what `start` throws
 */
export async function endingOnRecord<T>(
  ground: Omit<Ground, 'levelStore'>,
  start: (opened: Opened) => Promise<T>,
): Promise<T> {
  const opened: Opened = {}
  try {
    return await start(opened)
  } catch (thrown) {
    const cause = refusedBySystem(ground.config, thrown) ?? thrown
    const { code, message, details } = asSassError(cause) ?? {
      code: 'INTERNAL',
      message: cause instanceof Error ? cause.message : 'unknown',
      details: {},
    }
    // An incident has its record already.
    if (!('incident' in details)) {
      const event = exitEvent(code, message, ground.clock.wallMs())
      try {
        recordExit(ground, event, opened.record?.audit, FAILED_START)
      } catch {
        // What keeps it from starting may keep it from writing, too; it is said in any case.
      }
    }
    opened.record?.close()
    await opened.spawner?.close()
    throw cause
  }
}

/** What the system says of anything in the state, or a disk that takes nothing more; undefined for everything else. */
function refusedBySystem({ state_directory, audit }: Config, cause: unknown): SassError | undefined {
  const errno = errnoOf(cause)
  const isDisk = errno === 'ENOSPC' || errno === 'EDQUOT' || errno === 'EROFS'
  const { path = '' } = cause as NodeJS.ErrnoException
  if (errno === undefined) return undefined
  if (!isDisk && ![state_directory, audit.directory].some((place) => isWithin(place, path))) return undefined
  const [what, remedy] = isDisk
    ? [`The state in ${state_directory} cannot be written`, 'make room']
    : [`${path} cannot be used`, 'put right what lies there and whose it is']
  return new SassError(
    'STATE_UNWRITABLE',
    `${what}, since ${whyNotMade(cause, path)}: nothing runs unrecorded, so the daemon does not start; ${remedy}, or name another state_directory.`,
    { path: isDisk ? state_directory : path, errno },
    cause,
  )
}

/** True for what haltAtStart is for. */
export function isIntegrityRisk(cause: unknown): cause is SassError {
  return cause instanceof SassError && cause.code === 'INTEGRITY_RISK'
}

/** SHA-256 of the rules in a file, hex: what policy.rules_sha256 pins. */
export function rulesDigest(path: string): string {
  return hostTextDigest(readRulesText(path))
}

/**
 * Whether the operator's rules are the ones that were pinned.
 * @throws SassError INTEGRITY_RISK
 */
export function checkRulesPin({ policy }: Config): void {
  const { rules_file: path, rules_sha256: pinned } = policy
  if (pinned === null) return
  const found = path === null ? 'no file' : rulesDigest(path)
  if (found === pinned) return
  throw new SassError(
    'INTEGRITY_RISK',
    `The rules in ${path ?? 'policy.rules_file'} are not the ones that policy.rules_sha256 pins (found ${found}): look who changed them, and pin them anew if it was you.`,
    { path, found },
  )
}

/** What belongs to a chain, but for the file that is written to; on a disk of its own there may be more. */
const BESIDE = /^(audit-|facts-|policies$|anchors$|dropped\.json$|links\.jsonl$)/

/**
 * Moves the record and its keys away, whole, so that a new one can begin in its place: it is evidence. It stays within
 * its own directory, which alone the daemon is sure to be able to write, and which nobody else can look into; the keys
 * may come from another disk. The order is such that whoever was cut off finds it broken still, and goes on.
 * @returns where it is
 */
export function setAside({ audit: { directory }, state_directory }: Config, incident: string): string {
  const place = join(directory, incident.slice(0, 16))
  const keys = join(place, 'keys')
  makeDirectories(keys, 0o700)
  if (!existsSync(activePath(place))) {
    for (const name of readdirSync(directory))
      if (BESIDE.test(name)) renameSync(join(directory, name), join(place, name))
    renameSync(activePath(directory), activePath(place))
  }
  // Without audit.pub the keys would be taken for those of a chain that has not begun.
  for (const name of readdirSync(state_directory).sort()) {
    if (!/^audit(-[0-9]+)?\.(key|pub)$/.test(name)) continue
    const path = join(state_directory, name)
    replaceFile(join(keys, name), readFileSync(path), 0o600)
    unlinkSync(path)
  }
  return place
}
