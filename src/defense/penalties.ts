/**
 * Penalties of sources: who has failed too often lately is refused before its handshake, for a while. Each failure
 * costs seconds by its reason; the seconds of a source add up and run out as time passes; from a minimum on they are
 * a penalty, and up to a maximum they grow.
 *
 * It follows PerSourcePenalties of OpenSSH 9.8 and later (sshd_config(5), srclimit.c): the reasons and their seconds,
 * 15 s and 600 s as the bounds, one expiry for each source that every failure moves, a penalty that stays until that
 * expiry once it has begun, the exempt sources that are neither noted nor refused, a table for each family, and
 * `permissive` as what happens when one is full: the source that expires first goes, though it be the newest.
 * It does not follow it in these:
 * - a penalty begins where the seconds reach the minimum; sshd's code wants more than it, its manual says as we do;
 * - the maximum bounds the first failure too;
 * - IPv6 counts by /64, sshd by the address: whoever has one address of a network has all of them;
 * - no penalty for a crash, since no process dies with a connection, nor one of its own for an unknown name, which
 *   would tell names apart; instead one for a violation, which is no accident: it is active at once;
 * - the tables are smaller, for small devices.
 *
 * Pure: time comes in and must be monotonic. Wall time has no part in it, so that a clock that is set lengthens and
 * ends nothing; a time before one that was already given counts as that one.
 * @module
 */
import { formatIpAddress, parseIpAddress } from '../base/ip-address.ts'

/**
 * - `auth_failed`: a proof of identity that did not hold.
 * - `no_auth`: gone without an attempt to prove anything.
 * - `grace_exceeded`: silent until the login grace was over.
 * - `refused`: a malformed frame, a handshake that failed, a first byte of something else.
 * - `violation`: a request before Authenticate, somebody else's session.
 */
export type PenaltyReason = 'auth_failed' | 'no_auth' | 'grace_exceeded' | 'refused' | 'violation'

export type PenaltySettings = {
  readonly enabled: boolean
  /** Asked with an address as `add` and `isActive` are given it. */
  readonly exempt: (address: string) => boolean
  /** Seconds of a source from which on it is refused. */
  readonly minSeconds: number
  /** The most that a source can be away from its expiry; not less than `minSeconds`. */
  readonly maxSeconds: number
  /** Sources of each family that are remembered. */
  readonly maxSources: number
  /** What each reason costs; 0 costs nothing. */
  readonly perReasonSeconds: Readonly<Record<PenaltyReason, number>>
}

/**
 * sshd remembers 65,536 sources of each family; 4,096 of both take 1.2 MB here, and a device that is attacked by
 * more networks at once needs a firewall.
 */
export const PENALTY_SOURCES = 4_096
/** sshd's, and one of ours (`violation`). */
export const PENALTY_SECONDS: Readonly<Record<PenaltyReason, number>> = Object.freeze({
  auth_failed: 5,
  no_auth: 1,
  grace_exceeded: 10,
  refused: 10,
  violation: 20,
})

export type Penalty = {
  /** An IPv4 address, or an IPv6 network as `2001:db8:1:2::/64`. */
  readonly source: string
  /** Of the last failure. */
  readonly reason: PenaltyReason
  readonly isActive: boolean
  /** Until it is forgotten, rounded up. */
  readonly secondsLeft: number
}

/** What a failure did: nothing; it was noted; a penalty began with it; or one that is active was prolonged. */
export type PenaltyChange = 'none' | 'noted' | 'began' | 'prolonged'

export type Penalties = {
  add(address: string, reason: PenaltyReason, nowMs: number): PenaltyChange
  /** The source is to be refused. */
  isActive(address: string, nowMs: number): boolean
  /** The source has failed lately, not often enough to be refused. */
  isSuspect(address: string, nowMs: number): boolean
  /** Of both families, the longest first. */
  list(nowMs: number): Penalty[]
  /** Forgets one source, by any of its addresses or as `list` writes it, or all; returns how many. */
  clear(source: string | undefined): number
  /** How many sources are refused. */
  active(nowMs: number): number
  /** Forgets what is over; without it that is done when a source comes back or a table is full. */
  tick(nowMs: number): void
}

type Entry = { readonly expiresAtMs: number; readonly isActive: boolean; readonly reason: PenaltyReason }

/** How a source is remembered; undefined for what is no IP address (the admin socket), which has no penalties. */
export function penaltySource(address: string): string | undefined {
  const parsed = parseIpAddress(address)
  if (parsed === undefined) return undefined
  if (parsed.family === 4) return formatIpAddress(parsed)
  const network = parsed.bytes.map((byte, index) => (index < 8 ? byte : 0))
  return `${formatIpAddress({ family: 6, bytes: network })}/64`
}

/** Removes what is over and returns what would be over first; of equals the one that was noted first. */
function sweep(table: Map<string, Entry>, nowMs: number): string | undefined {
  let first: string | undefined
  let firstMs = Number.POSITIVE_INFINITY
  for (const [source, { expiresAtMs }] of table) {
    if (expiresAtMs <= nowMs) table.delete(source)
    else if (expiresAtMs < firstMs) {
      first = source
      firstMs = expiresAtMs
    }
  }
  return first
}

export function createPenalties(settings: PenaltySettings): Penalties {
  const ipv4 = new Map<string, Entry>()
  const ipv6 = new Map<string, Entry>()
  const tables = [ipv4, ipv6] as const
  let latestMs = Number.NEGATIVE_INFINITY

  function at(nowMs: number): number {
    if (nowMs > latestMs) latestMs = nowMs
    return latestMs
  }

  function tableOf(source: string): Map<string, Entry> {
    return source.includes(':') ? ipv6 : ipv4
  }

  /** The source that has to be looked at for this address; undefined where there is nothing to be looked at. */
  function judged(address: string): string | undefined {
    if (!settings.enabled) return undefined
    const source = penaltySource(address)
    return source === undefined || settings.exempt(address) ? undefined : source
  }

  function entryOf(source: string, now: number): Entry | undefined {
    const table = tableOf(source)
    const entry = table.get(source)
    if (entry === undefined || entry.expiresAtMs > now) return entry
    table.delete(source)
    return undefined
  }

  /** Whether an unexpired entry of that state is there. */
  function has(address: string, nowMs: number, isActive: boolean): boolean {
    const now = at(nowMs)
    const source = judged(address)
    return source !== undefined && entryOf(source, now)?.isActive === isActive
  }

  return {
    add(address, reason, nowMs) {
      const now = at(nowMs)
      const source = judged(address)
      const cost = settings.perReasonSeconds[reason]
      if (source === undefined || cost <= 0) return 'none'
      const table = tableOf(source)
      const before = entryOf(source, now)
      const leftBeforeMs = before === undefined ? 0 : before.expiresAtMs - now
      const leftMs = Math.min(leftBeforeMs + cost * 1_000, settings.maxSeconds * 1_000)
      const wasActive = before?.isActive === true
      const isActive = wasActive || leftMs >= settings.minSeconds * 1_000
      table.set(source, { expiresAtMs: now + leftMs, isActive, reason })
      if (table.size > settings.maxSources) {
        const first = sweep(table, now)
        if (table.size > settings.maxSources && first !== undefined) table.delete(first)
        if (!table.has(source)) return 'none'
      }
      if (wasActive) return 'prolonged'
      return isActive ? 'began' : 'noted'
    },
    isActive: (address, nowMs) => has(address, nowMs, true),
    isSuspect: (address, nowMs) => has(address, nowMs, false),
    list(nowMs) {
      const now = at(nowMs)
      const found: Penalty[] = []
      for (const table of tables) {
        sweep(table, now)
        for (const [source, { expiresAtMs, isActive, reason }] of table) {
          found.push({ source, reason, isActive, secondsLeft: Math.ceil((expiresAtMs - now) / 1_000) })
        }
      }
      // Two sources have never the same text.
      return found.sort((a, b) => b.secondsLeft - a.secondsLeft || (a.source < b.source ? -1 : 1))
    },
    clear(source) {
      if (source === undefined) {
        const count = ipv4.size + ipv6.size
        for (const table of tables) table.clear()
        return count
      }
      const known = penaltySource(source) ?? source
      return tableOf(known).delete(known) ? 1 : 0
    },
    active(nowMs) {
      const now = at(nowMs)
      let count = 0
      for (const table of tables) {
        for (const { expiresAtMs, isActive } of table.values()) if (isActive && expiresAtMs > now) count++
      }
      return count
    },
    tick(nowMs) {
      const now = at(nowMs)
      for (const table of tables) sweep(table, now)
    },
  }
}
