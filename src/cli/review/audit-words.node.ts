/**
 * What the subcommands of `sass-edge audit` share: pins, fingerprints and what cannot be read.
 * @module
 */

import { checkPublicKey } from '../../base/crypto/ed25519-key.ts'
import { hostSha256 } from '../../base/crypto/sha256.node.ts'
import { encodeBase64Url } from '../../base/encoding/base64.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { isFingerprint } from '../../client/link/pins.node.ts'
import type { ReplayReport } from '../../edge/record/replay-chain.node.ts'
import { readPublicKey } from '../../edge/state/key-file.node.ts'
import { asSassError, misuse } from '../../errors.ts'
import { systemError } from '../common/system-error.node.ts'

/** The record is not what it should be; what is wrong with the call itself is EXIT.LOCAL. */
export const EXIT_FAILED = 1

export const fingerprintOf = (key: Uint8Array): string => `sha256:${encodeBase64Url(hostSha256(key))}`

/** What is pinned: a file with the key, or its fingerprint. */
export function pinOf(text: string): (publicKey: Uint8Array) => boolean {
  if (text.startsWith('sha256:')) {
    if (!isFingerprint(text))
      throw misuse(
        `--key ${JSON.stringify(text.slice(0, 80))} is no fingerprint: write sha256: and 43 characters of base64url, or name the .pub file.`,
      )
    return (publicKey) => fingerprintOf(publicKey) === text
  }
  const pinned = encodeHex(readPublicKey(text, checkPublicKey))
  return (publicKey) => encodeHex(publicKey) === pinned
}

/** Of a file that was named. What is no error of the system comes back as it is. */
export function unreadableFile(cause: unknown): unknown {
  const path = (cause as NodeJS.ErrnoException).path ?? 'It'
  return systemError(
    cause,
    'FILE_IO',
    path,
    (since) => `${path} cannot be read, since ${since}: name another.`,
  )
}

/** What a file of this machine is not, as the mistake here that it is: nothing was asked of a device. */
export function asLocal(cause: unknown): unknown {
  const known = asSassError(cause)
  if (known?.code !== 'FILE_NOT_FOUND' && known?.code !== 'FILE_IO') return cause
  return misuse(known.message, known.details, cause)
}

/** What replay says of a record that does not follow from those before it. */
export function brokenLine({
  sequence,
  what,
  recorded,
  rebuilt,
}: ReplayReport['state']['broken'][number]): string {
  return `Record ${sequence} has ${what} ${recorded}, and the records before it lead to ${rebuilt}.`
}
