/**
 * What is read of a device into memory: the list of a directory, or a piece of a file from any place of it. A piece that
 * is the whole file is proven by the digest that the device gives of it.
 * Rules: docs/protocol.md, section 3 (files).
 * @module
 */

import { sha256 } from '../base/crypto/hash.ts'
import { openCbor } from '../base/encoding/cbor.ts'
import { encodeHex } from '../base/encoding/hex.ts'
import { joined } from '../base/joined.ts'
import { misuse, SassError } from '../errors.ts'
import { LISTED_FILES, LISTING_BYTES } from '../limits.ts'
import type { Finding } from '../wire/messages.ts'
import type { Caller } from './calls/caller.ts'
import {
  type FileTarget,
  type Incoming,
  type OnProgress,
  receiveFile,
  type Transfer,
} from './calls/transfers.ts'

export type RemoteEntry = {
  /** Bytes where it is not UTF-8, or begins with U+FEFF: such a name cannot be asked for. */
  readonly name: string | Uint8Array
  readonly kind: 'file' | 'directory' | 'link' | 'other'
  readonly mode: number
  readonly size: number
  /** What a link holds. */
  readonly target: string | Uint8Array | undefined
}
export type RemoteListing = { readonly mode: number; readonly entries: readonly RemoteEntry[] }

export type RemotePiece = {
  readonly bytes: Uint8Array
  /** Where it begins. */
  readonly offset: number
  /** Of the whole file. */
  readonly size: number
  readonly mode: number
  /** Of the whole file, hex, where all of it was read. */
  readonly sha256: string | undefined
  /** As in `Received`, where it was read to its end. */
  readonly findings?: readonly Finding[] | undefined
}

/** Starts a transfer on a connection and waits for its end; throws where it was given up meanwhile. */
export type Start = <Result>(make: () => Transfer<Result>) => Promise<Result>

export type PieceWish = {
  readonly path: string
  readonly offset: number
  readonly maxBytes: number
  /** As in `ReceiveOptions`. */
  readonly handoff?: Uint8Array | undefined
  readonly onProgress?: OnProgress | undefined
}

const KINDS = ['file', 'directory', 'link', 'other'] as const

function entryOf(value: unknown): RemoteEntry {
  const [name, kind, mode, size, target] = value as [
    string | Uint8Array,
    number,
    number,
    number,
    string | Uint8Array,
  ]
  return { name, kind: KINDS[kind] ?? 'other', mode, size: Number(size), target }
}

/** What a directory holds; undefined: it is a file. */
export async function listRemote(
  caller: Caller,
  start: Start,
  path: string,
): Promise<RemoteListing | undefined> {
  const parts: Uint8Array[] = []
  let what: Incoming | undefined
  let held = 0
  const isFile = misuse('It is a file.')
  const unreadable = () =>
    new SassError('FRAME_MALFORMED', 'The device sent a list of a directory that cannot be read.')
  const target: FileTarget = {
    async begin(incoming) {
      what = incoming
      if (!incoming.isDirectory) throw isFile
    },
    async write(bytes) {
      held += bytes.length
      if (held > LISTING_BYTES) throw unreadable()
      parts.push(bytes)
    },
  }
  try {
    await start(() => receiveFile(caller, target, { path }))
  } catch (cause) {
    if (cause === isFile) return undefined
    throw cause
  }
  const opened = openCbor(joined(parts), { depth: 3, items: LISTED_FILES * 6 })
  if (!opened.ok || !Array.isArray(opened.value)) throw unreadable()
  return { mode: what?.mode ?? 0, entries: opened.value.map(entryOf) }
}

/**
 * At most `maxBytes` from `offset` on; what comes after is not asked for.
 * @throws SassError USAGE for a directory, FILE_SEEK_FAILED beyond the end, FILE_DIGEST_MISMATCH
 */
export async function readPiece(caller: Caller, start: Start, wish: PieceWish): Promise<RemotePiece> {
  const { path, offset, maxBytes, onProgress, handoff } = wish
  const parts: Uint8Array[] = []
  let what: Incoming | undefined
  let held = 0
  const enough = misuse('That is enough of it.')
  const target = {
    async begin(incoming: Incoming) {
      if (incoming.isDirectory)
        throw misuse(`${path} is a directory on the device, and has no content; list it.`, {
          path,
        })
      what = incoming
      if (maxBytes === 0) throw enough
    },
    async write(bytes: Uint8Array) {
      const wanted = bytes.subarray(0, maxBytes - held)
      held += wanted.length
      parts.push(wanted)
      const size = what?.size ?? held
      onProgress?.(held, Math.min(maxBytes, Math.max(0, size - offset)))
      if (held === maxBytes && offset + held < size) throw enough
    },
  }
  let digest: Uint8Array | undefined
  let findings: readonly Finding[] | undefined
  try {
    const received = await start(() => receiveFile(caller, target, { path, offset, handoff }))
    findings = received.findings
    if (offset === 0) digest = received.sha256
  } catch (cause) {
    if (cause !== enough) throw cause
  }
  const bytes = joined(parts)
  if (digest !== undefined && encodeHex(digest) !== encodeHex(sha256(bytes)))
    throw new SassError('FILE_DIGEST_MISMATCH', `${path} did not come as the device has it; read it again.`, {
      path,
    })
  return {
    ...{ bytes, offset },
    size: what?.size ?? bytes.length,
    mode: what?.mode ?? 0,
    sha256: digest === undefined ? undefined : encodeHex(digest),
    findings,
  }
}
