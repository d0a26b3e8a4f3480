/**
 * Envelopes that come over a connection in pieces, until they are whole: one of each session, a few at a time, each for
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

export type Staged =
  | { readonly kind: 'whole'; readonly bytes: Uint8Array }
  | { readonly kind: 'more'; readonly received: number }
  /** A clause that follows "The piece". */
  | { readonly kind: 'odd'; readonly problem: string }
  | { readonly kind: 'busy' }

export type Staging = {
  /** What there would be with that piece; the last one frees its place. */
  add(session: string, piece: Piece, nowMs: number): Staged
}

type Entry = { readonly digest: string; readonly bytes: Uint8Array; received: number; atMs: number }

export function createStaging(): Staging {
  const entries = new Map<string, Entry>()
  return {
    add(session, { total, offset, digest, data }, nowMs) {
      for (const [key, { atMs }] of entries) if (nowMs - atMs >= STAGED_MS) entries.delete(key)
      if (offset + data.length > total) return { kind: 'odd', problem: 'goes beyond total' }
      let entry = entries.get(session)
      if (offset === 0) {
        entries.delete(session)
        if (entries.size >= STAGED_ENVELOPES) return { kind: 'busy' }
        entry = { digest, bytes: new Uint8Array(total), received: 0, atMs: nowMs }
        entries.set(session, entry)
      }
      if (entry?.digest !== digest || entry.bytes.length !== total || entry.received !== offset)
        return { kind: 'odd', problem: 'does not follow the one before: begin again at offset 0' }
      entry.bytes.set(data, offset)
      entry.received += data.length
      entry.atMs = nowMs
      if (entry.received < total) return { kind: 'more', received: entry.received }
      entries.delete(session)
      return { kind: 'whole', bytes: entry.bytes }
    },
  }
}
