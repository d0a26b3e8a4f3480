/**
 * What the subcommands of `sass-edge audit` share: pins, fingerprints and the sentence for a record that cannot be read.
 * @module
 */

import { checkPublicKey } from '../../base/crypto/ed25519-key.ts'
import { hostSha256 } from '../../base/crypto/sha256.node.ts'
import { encodeBase64Url } from '../../base/encoding/base64.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { errnoOf, errnoText } from '../../base/files.node.ts'
import type { ReplayReport } from '../../edge/record/replay-chain.node.ts'
import { readPublicKey } from '../../edge/state/key-file.node.ts'
import { SassError } from '../../errors.ts'

/** The record is not what it should be; what is wrong with the call itself is EXIT.LOCAL. */
export const EXIT_FAILED = 1

export const fingerprintOf = (key: Uint8Array): string => `sha256:${encodeBase64Url(hostSha256(key))}`

/** What is pinned: a file with the key, or its fingerprint. */
export function pinOf(text: string): (publicKey: Uint8Array) => boolean {
  if (text.startsWith('sha256:')) return (publicKey) => fingerprintOf(publicKey) === text
  const pinned = encodeHex(readPublicKey(text, checkPublicKey))
  return (publicKey) => encodeHex(publicKey) === pinned
}

/** What is no error of the system comes back as it is. */
export function unreadable(path: string, cause: unknown): unknown {
  const errno = errnoOf(cause)
  if (errno === undefined) return cause
  return new SassError(
    errno === 'ENOENT' ? 'FILE_NOT_FOUND' : 'FILE_IO',
    `The audit chain in ${path} cannot be read, since ${errnoText(errno)}: run this as the user of the daemon, or name its configuration with --config.`,
    { path, errno },
    cause,
  )
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
