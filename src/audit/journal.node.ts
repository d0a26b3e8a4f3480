/**
 * The journal of the audit chain: appends signed records to one file, continues over restarts, recovers a torn last
 * line. A record with its chain hash is in the kernel before `append` returns; what cannot be written throws, and
 * nothing is done then. Its signature ends the line a moment later, while the action is under way, and before the next record; one that a crash left without a signature is signed at the next start.
 * Rules: docs/responses.md, section 7.
 * @module
 */
import { sign } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { encodeBase64Url } from '../base/base64.ts'
import { privateKeyOf, publicKeyOf } from '../base/ed25519.node.ts'
import { encodeHex } from '../base/hex.ts'
import { hostSha256 } from '../base/sha256.node.ts'
import { SassError } from '../errors.ts'
import { AUDIT_LINE_BYTES } from '../limits.ts'
import type { AuditEvent, AuditHead, AuditSink } from '../ports.ts'
import { chainHash, GENESIS, readRecord, readUnsealed, recordHead, recordSeal } from './chain.ts'

type Tail = {
  readonly sequence: number
  readonly hash: Uint8Array | undefined
  /** Where the last whole line ends. */
  readonly endBytes: number
  /** What follows it: empty, or a line that a crash cut off. */
  readonly rest: string
}

/** Reads the last whole record; what follows the last newline is torn. */
function readTail(descriptor: number, path: string): Tail {
  const size = fstatSync(descriptor).size
  if (size === 0) return { sequence: 0, hash: undefined, endBytes: 0, rest: '' }
  const window = Buffer.alloc(Math.min(size, 2 * AUDIT_LINE_BYTES))
  readSync(descriptor, window, 0, window.length, size - window.length)
  const lastNewline = window.lastIndexOf(0x0a)
  const endBytes = size - window.length + lastNewline + 1
  if (lastNewline === -1 && size <= AUDIT_LINE_BYTES)
    return { sequence: 0, hash: undefined, endBytes: 0, rest: window.toString('utf8') }
  const lineStart = window.lastIndexOf(0x0a, lastNewline - 1) + 1
  const record = lastNewline === -1 ? undefined : readRecord(window.toString('utf8', lineStart, lastNewline))
  const sequence = record?.event['seq']
  if (record === undefined || typeof sequence !== 'number') {
    throw new SassError(
      'STATE_UNWRITABLE',
      `The last record of ${path} cannot be read, so the chain cannot be continued; move the file away and keep it as evidence.`,
      { path },
    )
  }
  return { sequence, hash: record.hash, endBytes, rest: window.toString('utf8', lastNewline + 1) }
}

export type Journal = AuditSink & {
  /** Makes what was written survive a loss of power; where it cannot, every later append throws. */
  sync(): void
  close(): void
}

/**
 * Opens or continues `audit.jsonl` in `directory`.
 * @param seed 32 bytes of the Ed25519 signing key
 * @param later does a piece of work within a moment: signing takes as long as all else of an append together
 * @param lock takes the open file for this process alone; false where another one has it
 * @throws STATE_UNWRITABLE where the directory or the file cannot be used
 */
export function openJournal(
  directory: string,
  seed: Uint8Array,
  now: () => number,
  lock: (descriptor: number) => boolean,
  later: (work: () => void) => void,
): Journal {
  const key = privateKeyOf(seed)
  const publicKey = publicKeyOf(seed)
  const path = join(directory, 'audit.jsonl')
  const descriptor = openFile(directory, path)
  if (!lock(descriptor)) {
    closeSync(descriptor)
    throw new SassError(
      'ADDRESS_IN_USE',
      `Another daemon writes the audit chain ${path}, and two would break it; stop that one, or give this one its own state_directory.`,
      { path },
    )
  }
  const tail = readTail(descriptor, path)
  let sequence = tail.sequence
  let hash = tail.hash
  let isBroken = false
  let isDirty = false
  /** The hash of a record whose line has no signature yet. */
  let unsealed: Uint8Array | undefined

  function write(text: string): void {
    const bytes = Buffer.from(text)
    try {
      const written = writeSync(descriptor, bytes)
      if (written !== bytes.length) throw new Error(`${written} of ${bytes.length} bytes`)
    } catch (cause) {
      isBroken = true
      throw new SassError(
        'STATE_UNWRITABLE',
        `The audit chain ${path} cannot be written (${(cause as NodeJS.ErrnoException).code ?? String(cause)}); make room on the disk and restart the daemon.`,
        { path },
        cause,
      )
    }
    isDirty = true
  }

  /** The end of the last record's line, where it has none yet. */
  function takeSeal(): string {
    if (unsealed === undefined) return ''
    const signature = sign(null, unsealed, key)
    unsealed = undefined
    return recordSeal(signature)
  }

  function append(event: AuditEvent, isPast = false): void {
    if (isBroken)
      throw new SassError(
        'STATE_UNWRITABLE',
        `An earlier record could not be written to ${path}; nothing more is done until the daemon is restarted.`,
        { path },
      )
    const timestamp = new Date(now()).toISOString()
    const next = { ...event, seq: sequence + 1 }
    const { hash: nextHash, json } = chainHash(
      hash === undefined ? GENESIS : encodeHex(hash),
      next,
      timestamp,
      hostSha256,
    )
    const head = recordHead(json, timestamp, nextHash)
    if (head.length > AUDIT_LINE_BYTES / 2) {
      throw new SassError(
        'INTERNAL',
        'A record of the audit chain was too long to be read back; nothing was done.',
      )
    }
    // Nothing can be refused any more: the line before is ended, and this one begun, in one write.
    const previousSeal = takeSeal()
    unsealed = nextHash
    // What has happened already waits for nobody: its line is whole at once.
    write(isPast ? `${previousSeal}${head}${takeSeal()}` : `${previousSeal}${head}`)
    sequence++
    hash = nextHash
    if (!isPast) later(seal)
  }

  /** Signs the last record and ends its line; nothing to do where that has happened. */
  function seal(): void {
    if (unsealed === undefined || isBroken) return
    try {
      write(takeSeal())
    } catch {
      // Told by the next append, which nothing can be done without.
    }
  }

  /** Ends what a crash cut off: a whole record is signed, a part of one was never acted upon and goes. */
  function recover(): void {
    if (tail.rest === '') return
    const found = readUnsealed(tail.rest, hash === undefined ? GENESIS : encodeHex(hash), hostSha256)
    const number = found?.event['seq']
    if (found === undefined || typeof number !== 'number') {
      ftruncateSync(descriptor, tail.endBytes)
      return append({ type: 'recovered', what: 'torn_last_line' })
    }
    ftruncateSync(descriptor, tail.endBytes + Buffer.byteLength(tail.rest.slice(0, found.headLength)))
    sequence = number
    hash = found.hash
    unsealed = found.hash
    seal()
    append({ type: 'recovered', what: 'unsigned_last_record' })
  }

  recover()
  seal()

  return {
    append,
    get head(): AuditHead {
      return { sequence, hash: hash ?? new Uint8Array(32) }
    },
    publicKey,
    keyFingerprint: `sha256:${encodeBase64Url(hostSha256(publicKey))}`,
    epoch: 0,
    sync() {
      seal()
      if (!isDirty) return
      isDirty = false
      try {
        fsyncSync(descriptor)
      } catch {
        // What the disk did not take may be gone: the next append says so, and nothing is done upon it.
        isBroken = true
      }
    },
    close() {
      seal()
      fsyncSync(descriptor)
      closeSync(descriptor)
    },
  }
}

function openFile(directory: string, path: string): number {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    // Append mode: however many descriptors there are, nothing is ever written over.
    return openSync(path, 'a+', 0o600)
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown'
    throw new SassError(
      'STATE_UNWRITABLE',
      `The audit directory ${directory} cannot be written (${code}), and nothing runs unrecorded; give the daemon that directory or set audit.directory.`,
      { path },
      cause,
    )
  }
}
