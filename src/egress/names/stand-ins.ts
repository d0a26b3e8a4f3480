/**
 * The addresses of 127.64.0.0/10 that stand for names in one session: each name has one, and an address is never given
 * to another name. A thousand names are held; a new one takes the place of the one that was asked for longest ago, once
 * no answer with its address can still be alive.
 * @module
 */

import type { IpAddress } from '../../base/ip-address.ts'
import { NAMES_MAX, STAND_IN_FIRST, STAND_IN_KEPT_MS, STAND_IN_LAST } from '../limits.ts'

export interface StandIns {
  /** The address of a name; undefined: there are too many names now. */
  addressOf(name: string, nowMs: number): IpAddress | undefined
  /** Undefined: it stands for none. */
  nameOf(address: IpAddress): string | undefined
  readonly size: number
}

function numberOf({ family, bytes }: IpAddress): number {
  if (family !== 4) return 0
  return bytes.reduce((number, byte) => number * 256 + byte, 0)
}

/** True for every address that may stand for a name, now or later: no bare one of them is ever reached. */
export function isStandIn(address: IpAddress): boolean {
  return address.family === 4 && address.bytes[0] === 127 && ((address.bytes[1] ?? 0) & 0xc0) === 0x40
}

export function createStandIns(): StandIns {
  /** The one that was asked for longest ago first. */
  const held = new Map<string, { readonly number: number; askedAtMs: number }>()
  const names = new Map<number, string>()
  let next = STAND_IN_FIRST

  function makeRoom(nowMs: number): boolean {
    if (held.size < NAMES_MAX) return true
    const [oldest] = held
    if (oldest === undefined || nowMs - oldest[1].askedAtMs < STAND_IN_KEPT_MS) return false
    held.delete(oldest[0])
    names.delete(oldest[1].number)
    return true
  }

  return {
    addressOf(name, nowMs) {
      const known = held.get(name)
      if (known === undefined && (next > STAND_IN_LAST || !makeRoom(nowMs))) return undefined
      const one = known ?? { number: next++, askedAtMs: nowMs }
      one.askedAtMs = nowMs
      held.delete(name)
      held.set(name, one)
      names.set(one.number, name)
      return { family: 4, bytes: [24, 16, 8, 0].map((shift) => (one.number >>> shift) & 0xff) }
    },
    nameOf: (address) => names.get(numberOf(address)),
    get size() {
      return held.size
    },
  }
}
