/**
 * The sealed facts beside the chain, in pairs of files: `facts-FIRST.sealed` has the frames, `facts-FIRST.keys` the keys
 * of the sessions in it, FIRST being the number of the first record that they may belong to. Each start begins a new
 * pair, and so does a pair that is large enough; nothing is ever written behind a torn end.
 * Destroying a session's keys is what erases its content: they are overwritten where they stand.
 * Rules: docs/responses.md, section 7 (sealed facts).
 * @module
 */
import { createCipheriv, randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  existsSync,
  fdatasync,
  fdatasyncSync,
  ftruncateSync,
  openSync,
  readSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { hchacha } from '@noble/ciphers/chacha.js'
import { hostSha256 } from '../base/crypto/sha256.node.ts'
import { decodeHex, encodeHex } from '../base/encoding/hex.ts'
import { syncDirectory, syncDirectorySoon, whyFailed } from '../base/files.node.ts'
import { type MakeRoom, NO_ROOM, withRoom } from '../base/room.ts'
import { SassError } from '../errors.ts'
import { FACTS_BYTES, SEALING_KEYS } from '../limits.ts'
import type { FactsSink } from '../ports.ts'
import { factsPairs, pairPaths } from './facts-files.node.ts'
import {
  COUNTER_BYTES,
  FACTS_LABEL,
  isDestroyed,
  KEY_BYTES,
  KEY_ID_BYTES,
  LENGTH_BYTES,
  NONCE_BYTES,
  SESSION_ID_BYTES,
  SLOT_BYTES,
  TAG_BYTES,
} from './sealed-form.ts'

export type SealedFactsOptions = {
  readonly directory: string
  /** The number that the next record will have. */
  readonly nextSequence: () => number
  /** A pair is closed when its frames are so many bytes. */
  readonly segmentBytes: number
  /** Gives room on the disk of the directory where that is full. */
  readonly makeRoom?: MakeRoom | undefined
}

export type SealedFacts = FactsSink & {
  /** Makes what was written outlive a loss of power. */
  tick(): void
  close(): void
}

type SealingKey = {
  readonly id: Uint8Array
  /** HChaCha20 of the key and its id: the first 16 bytes of every nonce are the same, so it is made once. */
  readonly subkey: Uint8Array
  counter: number
}

/** A file that nobody else writes to. */
type Sealed = { readonly descriptor: number; sizeBytes: number }
type Pair = { readonly frames: Sealed; readonly keys: Sealed }

/** What stands for decisions about nobody's session. */
const NO_SESSION = new Uint8Array(SESSION_ID_BYTES)

const SIGMA = new Uint32Array(new Uint8Array(Buffer.from('expand 32-byte k')).buffer)
const words = (bytes: Uint8Array): Uint32Array => new Uint32Array(bytes.slice().buffer)

/** draft-irtf-cfrg-xchacha, section 2.2. */
function subkeyOf(key: Uint8Array, id: Uint8Array): Uint8Array {
  const out = new Uint32Array(KEY_BYTES / 4)
  hchacha(SIGMA, words(key), words(id), out)
  return new Uint8Array(out.buffer)
}

function unwritable(path: string, cause: unknown): SassError {
  return new SassError(
    'STATE_UNWRITABLE',
    `What a decision was made from cannot be written to ${path}, since ${whyFailed(cause)}, so nothing was done; make room on its disk, or look whether that can be written at all.`,
    { path },
    cause,
  )
}

function create(path: string): number {
  // Append mode: what is taken back leaves no hole before what comes next.
  const { O_WRONLY, O_CREAT, O_EXCL, O_APPEND, O_NOFOLLOW } = constants
  return openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW, 0o600)
}

export function openSealedFacts({
  directory,
  nextSequence,
  segmentBytes,
  makeRoom = NO_ROOM,
}: SealedFactsOptions): SealedFacts {
  let pair: Pair | undefined
  let path = directory
  let [isDirty, isSyncing, isNew] = [false, false, false]
  let sealedBytes = 0
  /** By session; the one that was used last stands last. */
  const keys = new Map<string, SealingKey>()

  function begin(): Pair {
    // A number may be taken by a pair that has no record: the next free one names the same place.
    let first = nextSequence()
    const taken = factsPairs(directory).at(-1)
    if (taken !== undefined && taken >= first) first = taken + 1
    const paths = pairPaths(directory, first)
    path = paths.frames
    const frames = withRoom(makeRoom, () => create(paths.frames))
    try {
      const own = withRoom(makeRoom, () => create(paths.keys))
      pair = { frames: { descriptor: frames, sizeBytes: 0 }, keys: { descriptor: own, sizeBytes: 0 } }
    } catch (cause) {
      closeSync(frames)
      unlinkSync(paths.frames)
      throw cause
    }
    keys.clear()
    isNew = true
    return pair
  }

  function end(): void {
    if (pair === undefined) return
    closeSync(pair.frames.descriptor)
    closeSync(pair.keys.descriptor)
    pair = undefined
    keys.clear()
  }

  /** All of it or nothing; where that cannot be had, the pair ends there. */
  function write(file: Sealed, bytes: Uint8Array): void {
    withRoom(makeRoom, () => put(file, bytes))
  }

  function put(file: Sealed, bytes: Uint8Array): void {
    try {
      const written = writeSync(file.descriptor, bytes)
      if (written === bytes.length) {
        file.sizeBytes += written
        return
      }
      throw Object.assign(new Error('partly written'), { code: 'ENOSPC' })
    } catch (cause) {
      try {
        ftruncateSync(file.descriptor, file.sizeBytes)
      } catch (failure) {
        end()
        // Nothing may follow what is torn.
        throw Object.assign(new Error('cannot be cut'), { code: 'EIO', cause: failure })
      }
      throw cause
    }
  }

  function makeKey({ keys: file }: Pair, session: string): SealingKey {
    const id = new Uint8Array(randomBytes(KEY_ID_BYTES))
    const key = new Uint8Array(randomBytes(KEY_BYTES))
    const owner = decodeHex(session)
    const ofSession = owner?.length === SESSION_ID_BYTES ? owner : NO_SESSION
    write(file, Buffer.concat([ofSession, id, key]))
    const made = { id, subkey: subkeyOf(key, id), counter: 0 }
    key.fill(0)
    return made
  }

  function keyOf(current: Pair, session: string): SealingKey {
    const key = keys.get(session) ?? makeKey(current, session)
    keys.delete(session)
    keys.set(session, key)
    const [oldest] = keys.keys()
    if (keys.size > SEALING_KEYS && oldest !== undefined) keys.delete(oldest)
    return key
  }

  /** The frame: length and body. */
  function frameOf(key: SealingKey, content: Uint8Array): Buffer {
    const bodyBytes = NONCE_BYTES + content.length + TAG_BYTES
    const frame = Buffer.allocUnsafe(LENGTH_BYTES + bodyBytes)
    frame.writeUInt32BE(bodyBytes, 0)
    frame.set(key.id, LENGTH_BYTES)
    const counterAt = LENGTH_BYTES + KEY_ID_BYTES
    frame.writeBigUInt64BE(BigInt(key.counter++), counterAt)
    // draft-irtf-cfrg-xchacha, section 2.3: four zero bytes and the last eight of the nonce.
    const nonce = Buffer.alloc(4 + COUNTER_BYTES)
    frame.copy(nonce, 4, counterAt, counterAt + COUNTER_BYTES)
    const cipher = createCipheriv('chacha20-poly1305', key.subkey, nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(FACTS_LABEL, { plaintextLength: content.length })
    const sealedAt = LENGTH_BYTES + NONCE_BYTES
    frame.set(cipher.update(content), sealedAt)
    cipher.final()
    frame.set(cipher.getAuthTag(), sealedAt + content.length)
    return frame
  }

  /** Overwrites the keys of that session in one file. */
  function destroyIn(keysPath: string, session: Uint8Array): number {
    // A crash may have left the frames of a pair alone.
    if (!existsSync(keysPath)) return 0
    const descriptor = openSync(keysPath, constants.O_RDWR | constants.O_NOFOLLOW)
    let count = 0
    try {
      const slot = Buffer.alloc(SLOT_BYTES)
      for (let at = 0; readSync(descriptor, slot, 0, SLOT_BYTES, at) === SLOT_BYTES; at += SLOT_BYTES) {
        const isOwn = slot.subarray(0, SESSION_ID_BYTES).equals(session)
        if (!isOwn || isDestroyed(slot.subarray(SLOT_BYTES - KEY_BYTES))) continue
        // First something else, then zeros: what is left of a magnetic or a charge trace is of neither.
        const keyAt = at + SESSION_ID_BYTES + KEY_ID_BYTES
        writeSync(descriptor, randomBytes(KEY_BYTES), 0, KEY_BYTES, keyAt)
        fdatasyncSync(descriptor)
        writeSync(descriptor, Buffer.alloc(KEY_BYTES), 0, KEY_BYTES, keyAt)
        count++
      }
      fdatasyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    return count
  }

  return {
    get sealedBytes() {
      return sealedBytes
    },
    seal(session, content) {
      const whole = Buffer.from(JSON.stringify(content))
      const bytes = whole.length <= FACTS_BYTES ? whole : Buffer.from(JSON.stringify({ bytes: whole.length }))
      try {
        if (pair !== undefined && pair.frames.sizeBytes >= segmentBytes && !isSyncing) end()
        const current = pair ?? begin()
        const frame = frameOf(keyOf(current, session ?? ''), bytes)
        write(current.frames, frame)
        sealedBytes += frame.length
        isDirty = true
        return encodeHex(hostSha256(frame.subarray(LENGTH_BYTES)))
      } catch (cause) {
        if (cause instanceof SassError) throw cause
        throw unwritable(path, cause)
      }
    },

    purge(session) {
      const id = decodeHex(session)
      // What stands for nobody's session is no session that anybody could erase.
      if (id?.length !== SESSION_ID_BYTES || id.every((byte) => byte === 0)) return 0
      keys.delete(session)
      return factsPairs(directory).reduce(
        (sum, first) => sum + destroyIn(pairPaths(directory, first).keys, id),
        0,
      )
    },

    tick() {
      if (!isDirty || isSyncing || pair === undefined) return
      isDirty = false
      isSyncing = true
      const current = pair
      // What cannot be made to last is told by the chain's own file, which is on the same disk.
      const keep = () => {
        if (pair !== current) {
          isSyncing = false
          return
        }
        fdatasync(current.keys.descriptor, () => {
          fdatasync(current.frames.descriptor, () => {
            isSyncing = false
          })
        })
      }
      if (!isNew) return keep()
      // A file whose name is not on the disk yet is lost with its content.
      isNew = false
      syncDirectorySoon(directory, (isKept) => {
        isNew ||= !isKept
        isDirty ||= !isKept
        keep()
      })
    },

    close() {
      if (pair === undefined) return
      fdatasyncSync(pair.keys.descriptor)
      fdatasyncSync(pair.frames.descriptor)
      end()
      syncDirectory(directory)
    },
  }
}
