/**
 * The keys that sign the audit chain, as the journal needs them: one for each epoch. A key is kept before the chain
 * names it, and is erased once the record that names its successor is there for good; so whoever takes the device can
 * sign what comes, and not what was.
 * Rules: docs/responses.md, section 7 (epochs).
 * @module
 */

export type EpochKey = {
  readonly epoch: number
  /** Ed25519, 64 bytes. */
  sign(message: Uint8Array): Uint8Array
  /** 32 raw bytes. */
  readonly publicKey: Uint8Array
}

export type EpochKeys = {
  /** What is kept, the lowest epoch first: one, or two where a change of epochs was cut short. */
  found(): readonly EpochKey[]
  /** A fresh key, kept when this returns. */
  create(epoch: number): EpochKey
  /** The same, without making anybody wait for the disk; undefined where it could not be kept. */
  createSoon(epoch: number, done: (key: EpochKey | undefined) => void): void
  /** Gone for good; that there is none is no error. */
  erase(epoch: number): void
  /** The same, without making anybody wait for the disk. What is still there after that goes at the next start. */
  eraseSoon(epoch: number): void
  /** The public key of the first epoch, as it was kept once; undefined before that. */
  genesis(): Uint8Array | undefined
  keepGenesis(publicKey: Uint8Array): void
}
