/**
 * The one place where somebody who has been proven gets an instance and a session: over a connection or by what it
 * signed.
 * Rules: docs/responses.md, section 1 (agent instances); RFC 9562 version 4 for the session's identifier.
 * @module
 */
import { encodeHex } from '../../base/encoding/hex.ts'
import type { Clock, Random } from '../../ports.ts'
import type { Caller } from './identities.ts'
import { newInstance } from './instances.ts'
import type { NewSession, Session, Sessions } from './sessions.ts'

/** What makes sessions: the list of them, the time and the system's CSPRNG. */
export type SessionGround = { readonly sessions: Sessions; readonly clock: Clock; readonly random: Random }

const SESSION_ID_BYTES = 16

/** A name that no instance of it has had. */
export const instanceOf = ({ sessions, clock, random }: SessionGround, { name }: Caller): string =>
  newInstance(name, clock.wallMs(), random, sessions.hasHadInstance)

/** undefined: as many sessions as may be are there. */
export function createSession(
  { sessions, clock, random }: SessionGround,
  caller: Caller,
  address: string,
  made: Omit<NewSession, 'id' | 'idBytes'>,
): Session | undefined {
  const idBytes = random.bytes(SESSION_ID_BYTES)
  idBytes[6] = ((idBytes[6] ?? 0) & 0x0f) | 0x40
  idBytes[8] = ((idBytes[8] ?? 0) & 0x3f) | 0x80
  return sessions.create({ ...made, idBytes, id: encodeHex(idBytes) }, caller, address, clock.monotonicMs())
}
