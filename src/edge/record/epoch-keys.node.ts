/**
 * The keys of the audit chain as files in the state directory: `audit-EPOCH.key` (32 raw bytes of an Ed25519 seed, mode
 * 0600) and `audit.pub`, the public half of the first, which an operator pins.
 * Rules: docs/responses.md, section 7 (epochs).
 * @module
 */
import { randomBytes, sign } from 'node:crypto'
import { existsSync, fsyncSync, openSync, readdirSync, unlinkSync, writeSync } from 'node:fs'
import { link, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { EpochKey, EpochKeys } from '../../audit/epoch-keys.ts'
import { closing } from '../../base/closing.node.ts'
import { privateKeyOf, publicKeyOf } from '../../base/crypto/ed25519.node.ts'
import { createFile, syncDirectory, syncDirectorySoon } from '../../base/files.node.ts'
import { KEY_FILE_BYTES } from '../../limits.ts'
import { readPrivateKey, readPublicKey } from '../state/key-file.node.ts'

const NAME = /^audit-(0|[1-9][0-9]{0,8})\.key$/
const GENESIS_NAME = 'audit.pub'

/** Where the public key of the first epoch is. */
export const genesisPath = (directory: string): string => join(directory, GENESIS_NAME)

async function writeNew(path: string, seed: Uint8Array): Promise<void> {
  await using file = await open(path, 'wx', 0o600)
  await file.write(seed)
  await file.sync()
}

async function overwrite(path: string): Promise<void> {
  await using file = await open(path, 'r+')
  await file.write(randomBytes(KEY_FILE_BYTES), 0, KEY_FILE_BYTES, 0)
  await file.sync()
}

/** The keys in `directory`, which must exist. Errors of the system are thrown as they are. */
export function openEpochKeys(directory: string): EpochKeys {
  const pathOf = (epoch: number) => join(directory, `audit-${epoch}.key`)
  const genesis = genesisPath(directory)

  function keyOf(epoch: number, seed: Uint8Array): EpochKey {
    const key = privateKeyOf(seed)
    return { epoch, publicKey: publicKeyOf(seed), sign: (message) => sign(null, message, key) }
  }

  return {
    found() {
      return readdirSync(directory)
        .flatMap((name) => NAME.exec(name)?.[1] ?? [])
        .map(Number)
        .sort((a, b) => a - b)
        .map((epoch) => keyOf(epoch, readPrivateKey(pathOf(epoch))))
    },

    create(epoch) {
      const seed = new Uint8Array(randomBytes(KEY_FILE_BYTES))
      createFile(pathOf(epoch), seed, 0o600)
      return keyOf(epoch, seed)
    },

    createSoon(epoch, done) {
      const seed = new Uint8Array(randomBytes(KEY_FILE_BYTES))
      const path = pathOf(epoch)
      const temporary = join(directory, `.${randomBytes(8).toString('hex')}.tmp`)
      const kept = async () => {
        await writeNew(temporary, seed)
        try {
          await link(temporary, path)
        } finally {
          await unlink(temporary)
        }
      }
      kept()
        .then(() =>
          syncDirectorySoon(directory, (isKept) => {
            // Its name must be free when it is tried again.
            if (isKept) done(keyOf(epoch, seed))
            else unlink(path).finally(() => done(undefined))
          }),
        )
        .catch(() => done(undefined))
    },

    eraseSoon(epoch) {
      const path = pathOf(epoch)
      const gone = async () => {
        await overwrite(path)
        await unlink(path)
      }
      gone()
        .then(() => syncDirectorySoon(directory, () => {}))
        .catch(() => {})
    },

    erase(epoch) {
      const path = pathOf(epoch)
      if (!existsSync(path)) return
      // Where the medium writes in place, nothing is left; flash may keep an old block until it is used again.
      const descriptor = openSync(path, 'r+')
      using _descriptor = closing(descriptor)
      writeSync(descriptor, randomBytes(KEY_FILE_BYTES), 0, KEY_FILE_BYTES, 0)
      fsyncSync(descriptor)
      unlinkSync(path)
      syncDirectory(directory)
    },

    genesis() {
      return existsSync(genesis) ? readPublicKey(genesis) : undefined
    },

    keepGenesis(publicKey) {
      createFile(genesis, publicKey, 0o644)
    },
  }
}
