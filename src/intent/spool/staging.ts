/**
 * Envelopes that come over connections in pieces, until they are whole: one of each agent, a few at a time, each for
 * so long as its next piece may take. Pure: bytes and a time in, bytes out.
 * Rules: docs/protocol.md, section 3 (64).
 * @module
 */
import { STAGED_ENVELOPES, STAGED_MS } from './limits.ts'

export type Piece = {
  readonly total: number
  readonly offset: number
  /** Of the whole, hex. */
  readonly digest: string
  readonly data: Uint8Array
}

export type Sender = { readonly agent: string; readonly session: string }

export type Staged =
  | { readonly kind: 'whole'; readonly bytes: Uint8Array }
  | { readonly kind: 'more'; readonly received: number }
  /** A clause that follows "The piece". */
  | { readonly kind: 'odd'; readonly problem: string }
  | { readonly kind: 'busy' }

export type Staging = {
  /** What there would be with that piece; the last one frees its place. A session of the same agent takes it from no other. */
  add(from: Sender, piece: Piece, nowMs: number): Staged
}

type Entry = {
  readonly session: string
  readonly digest: string
  readonly bytes: Uint8Array
  received: number
  atMs: number
}

export function createStaging(): Staging {
  /** By agent. */
  const entries = new Map<string, Entry>()
  return {
    add({ agent, session }, { total, offset, digest, data }, nowMs) {
      for (const [key, { atMs }] of entries) if (nowMs - atMs >= STAGED_MS) entries.delete(key)
      if (offset + data.length > total) return { kind: 'odd', problem: 'goes beyond total' }
      let entry = entries.get(agent)
      const isOthers = entry !== undefined && entry.session !== session
      if (offset === 0) {
        if (isOthers || (entry === undefined && entries.size >= STAGED_ENVELOPES)) return { kind: 'busy' }
        entry = { session, digest, bytes: new Uint8Array(total), received: 0, atMs: nowMs }
        entries.set(agent, entry)
      } else if (isOthers) entry = undefined
      if (entry?.digest !== digest || entry.bytes.length !== total || entry.received !== offset)
        return { kind: 'odd', problem: 'does not follow the one before: begin again at offset 0' }
      entry.bytes.set(data, offset)
      entry.received += data.length
      entry.atMs = nowMs
      if (entry.received < total) return { kind: 'more', received: entry.received }
      entries.delete(agent)
      return { kind: 'whole', bytes: entry.bytes }
    },
  }
}
