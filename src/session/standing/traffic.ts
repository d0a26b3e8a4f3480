/**
 * What the device's link has carried: bytes of TCP payload in both directions, TLS and all, by session, today and
 * yesterday in UTC. Strangers and handshakes that fail count for the day and for no session; the admin socket is no
 * link and does not count.
 * Pure: connections are read when somebody asks, and every time that `settle` is called.
 * Rules: docs/protocol.md, section 3 (SecurityStatus).
 * @module
 */
import type { Clock, WireBytes, WireMeter, WireMeters } from '../../ports.ts'

const DAY_MS = 86_400_000

/** Bytes of one day; `sinceMs`, Unix time, is its midnight, or when counting began. */
export type DayBytes = { readonly sinceMs: number; received: number; sent: number }
export type Days = { readonly today: DayBytes; readonly yesterday: DayBytes | undefined }

export type Traffic = WireMeters & {
  /** Counts what has passed by now, and begins a new day where it is time. */
  settle(): void
  /** As it was settled last. */
  readonly days: Days
  /** Since the daemon started. */
  readonly total: Readonly<WireBytes>
}

type Meter = { readonly read: () => WireBytes; account: WireBytes | undefined; counted: WireBytes }

function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS)
}

function add(to: WireBytes, { received, sent }: Readonly<WireBytes>): void {
  to.received += received
  to.sent += sent
}

/** The days as they are now: `known` may have been written days ago. */
function continued(known: Days | undefined, nowMs: number): Days {
  const begun = { received: 0, sent: 0 }
  const nothing: Days = { today: { ...begun, sinceMs: nowMs }, yesterday: undefined }
  const age = known === undefined ? Number.NaN : dayOf(nowMs) - dayOf(known.today.sinceMs)
  if (known === undefined || age < 0) return nothing
  if (age === 0) return known
  const today = { ...begun, sinceMs: dayOf(nowMs) * DAY_MS }
  // Of a day on which nobody wrote anything down nothing is known.
  return { today, yesterday: age === 1 ? known.today : undefined }
}

/** `known`: what an earlier daemon has written down. */
export function createTraffic(clock: Pick<Clock, 'wallMs'>, known?: Days): Traffic {
  const meters = new Set<Meter>()
  const total: WireBytes = { received: 0, sent: 0 }
  let days = continued(known, clock.wallMs())

  function count(meter: Meter): void {
    const { received, sent } = meter.read()
    const passed = { received: received - meter.counted.received, sent: sent - meter.counted.sent }
    meter.counted = { received, sent }
    add(total, passed)
    add(days.today, passed)
    if (meter.account !== undefined) add(meter.account, passed)
  }

  return {
    total,
    open(read): WireMeter {
      const meter: Meter = { read, account: undefined, counted: { received: 0, sent: 0 } }
      meters.add(meter)
      return {
        charge(account) {
          if (meter.account !== undefined || !meters.has(meter)) return
          count(meter)
          // How it came to know its caller is its caller's as well.
          add(account, meter.counted)
          meter.account = account
        },
        close() {
          if (meters.delete(meter)) count(meter)
        },
      }
    },
    settle() {
      for (const meter of meters) count(meter)
      days = continued(days, clock.wallMs())
    },
    get days() {
      return days
    },
  }
}
