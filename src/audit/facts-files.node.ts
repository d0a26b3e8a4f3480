/**
 * The files of sealed facts: which pairs there are, and their frames and keys, one after the other.
 * Rules: docs/responses.md, section 7 (sealed facts).
 * @module
 */
import { closeSync, constants, existsSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { hostSha256 } from '../base/crypto/sha256.node.ts'
import { encodeHex } from '../base/encoding/hex.ts'
import { FACTS_BYTES } from '../limits.ts'
import {
  isDestroyed,
  KEY_BYTES,
  KEY_ID_BYTES,
  LENGTH_BYTES,
  NONCE_BYTES,
  openBody,
  SESSION_ID_BYTES,
  SLOT_BYTES,
  TAG_BYTES,
} from './sealed-form.ts'

const DIGITS = 12
const FRAMES = new RegExp(`^facts-([0-9]{${DIGITS}})\\.sealed$`)

/** What names each pair, in order. */
export function factsPairs(directory: string): readonly number[] {
  return readdirSync(directory)
    .flatMap((name) => FRAMES.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b)
}

export function pairPaths(
  directory: string,
  first: number,
): { readonly frames: string; readonly keys: string } {
  const base = join(directory, `facts-${String(first).padStart(DIGITS, '0')}`)
  return { frames: `${base}.sealed`, keys: `${base}.keys` }
}

/** The keys of one pair as they lie there; none where a crash came between the making of its two files. */
export function slotsIn(path: string): Buffer {
  return existsSync(path) ? readFileSync(path) : Buffer.alloc(0)
}

/** Keys of one pair by their id, in hex; null: it was destroyed. */
export function keysIn(path: string): ReadonlyMap<string, Uint8Array | null> {
  const bytes = slotsIn(path)
  const keys = new Map<string, Uint8Array | null>()
  for (let at = 0; at + SLOT_BYTES <= bytes.length; at += SLOT_BYTES) {
    const id = bytes.subarray(at + SESSION_ID_BYTES, at + SESSION_ID_BYTES + KEY_ID_BYTES)
    const key = new Uint8Array(bytes.subarray(at + SLOT_BYTES - KEY_BYTES, at + SLOT_BYTES))
    keys.set(encodeHex(id), isDestroyed(key) ? null : key)
  }
  return keys
}

export type FactsFrame = {
  readonly body: Uint8Array
  /** SHA-256 of the body, hex: what the chain says. */
  readonly digest: string
  /** `purged`: its key was destroyed. `unreadable`: it has no key here, or was changed. */
  readonly content: Uint8Array | 'purged' | 'unreadable'
}

/** The frames of one file; a torn end is left out. */
function* framesIn(path: string): Generator<Buffer> {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const head = Buffer.alloc(LENGTH_BYTES)
    for (let at = 0; ; ) {
      if (readSync(descriptor, head, 0, LENGTH_BYTES, at) !== LENGTH_BYTES) return
      const length = head.readUInt32BE(0)
      if (length < NONCE_BYTES + TAG_BYTES || length > FACTS_BYTES + NONCE_BYTES + TAG_BYTES) return
      const body = Buffer.alloc(length)
      if (readSync(descriptor, body, 0, length, at + LENGTH_BYTES) !== length) return
      yield body
      at += LENGTH_BYTES + length
    }
  } finally {
    closeSync(descriptor)
  }
}

const keyIdOf = (body: Buffer): string => encodeHex(body.subarray(0, KEY_ID_BYTES))

function contentOf(body: Buffer, keys: ReadonlyMap<string, Uint8Array | null>): FactsFrame['content'] {
  const key = keys.get(keyIdOf(body))
  if (key === null) return 'purged'
  return (key === undefined ? undefined : openBody(body, key)) ?? 'unreadable'
}

/** All frames in the order in which they were written, those of a daemon that writes meanwhile as well. */
export function* readFacts(directory: string): Generator<FactsFrame> {
  const following = (last: number) => factsPairs(directory).find((first) => first > last)
  for (let first = following(-1); first !== undefined; first = following(first)) {
    const paths = pairPaths(directory, first)
    let keys = keysIn(paths.keys)
    for (const body of framesIn(paths.frames)) {
      if (!keys.has(keyIdOf(body))) keys = keysIn(paths.keys)
      yield { digest: encodeHex(hostSha256(body)), content: contentOf(body, keys), body }
    }
  }
}
