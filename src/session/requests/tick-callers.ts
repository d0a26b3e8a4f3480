/**
 * What time does to those who have come: sessions expire, keys that were replaced are taken no more, work that was handed
 * on is over, what was handed over is forgotten, and what is held against somebody fades.
 * Rules: docs/protocol.md, section 4.
 * @module
 */
import { endOverdue } from '../common/handed-on.ts'
import type { Rooms } from '../common/rooms.ts'
import { retireOldKeys } from './identity-requests.ts'

export function tickCallers(rooms: Rooms, nowMs: number): void {
  rooms.sessions.tick(nowMs)
  rooms.challengeRates.tick(nowMs)
  rooms.penalties.tick(nowMs)
  retireOldKeys(rooms, nowMs)
  endOverdue(rooms, nowMs)
  rooms.handoffs.tick()
}
