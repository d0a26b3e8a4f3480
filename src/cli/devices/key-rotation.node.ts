/**
 * `sass-edge keygen --rotate TARGET` and `sass-edge keygen --device`: keys that follow one another.
 *
 * A caller's new key is on the disk before the device hears of it, is named over a connection that the old one has
 * proven, and takes the place of the old file before it is used for the first time: whatever is cut off, one of the two
 * is let in, and the same command goes on from there. A device's new key is announced to whoever comes in, and shown only
 * when somebody says so.
 * Rules: docs/protocol.md, section 4; docs/operations.md (keys that follow).
 * @module
 */

import { existsSync, renameSync, rmSync } from 'node:fs'
import { publicKeyOf } from '../../base/crypto/ed25519.node.ts'
import { encodeBase64Url } from '../../base/encoding/base64.ts'
import { makeNextKey, switchableKeyDigest, switchToNextKey } from '../../edge/sockets/certificate.node.ts'
import { createKeyFiles, readPrivateKey } from '../../edge/state/key-file.node.ts'
import { asSassError, misuse } from '../../errors.ts'
import { ask } from '../common/ask.node.ts'
import { connectDevice, connectOperator, keyPathOf } from '../common/device.node.ts'
import { localConfig } from '../common/local-config.node.ts'
import { doneMessage } from '../common/operator.node.ts'
import { systemError } from '../common/system-error.node.ts'
import { isGiven } from '../words/arguments.ts'
import type { CommandContext } from '../words/command.ts'

/** Of a pair: `BASE.key` and `BASE.pub`. */
function takePlace(from: string, to: string): void {
  try {
    if (existsSync(`${from}.pub`)) renameSync(`${from}.pub`, `${to}.pub`)
    renameSync(`${from}.key`, `${to}.key`)
  } catch (error) {
    throw systemError(
      error,
      'STATE_UNWRITABLE',
      `${from}.key`,
      (since) =>
        `The device takes the key ${from}.key now, and it cannot be put in the place of ${to}.key, since ${since}: correct that and give the same command again.`,
    )
  }
}

/** The key of an earlier try, or a new one. A public half alone is what a crash has left of one that nobody has heard of. */
function nextSeed(base: string): Uint8Array {
  if (existsSync(`${base}.key`)) return readPrivateKey(`${base}.key`)
  rmSync(`${base}.pub`, { force: true })
  return createKeyFiles(base).seed
}

/** Names the key over a connection that the old one has proven; false where the device knows the old one no more. */
async function announce(context: CommandContext, word: string, seed: Uint8Array): Promise<boolean> {
  try {
    const client = await connectDevice(context, word)
    try {
      doneMessage(await client.changeKey(seed), 'CONNECT_FAILED')
    } finally {
      await client.close()
    }
    return true
  } catch (error) {
    if (asSassError(error)?.details['refused'] === undefined) throw error
    return false
  }
}

export async function rotateKey(context: CommandContext, word: string | undefined): Promise<number> {
  if (word === undefined) throw misuse('No device is named: write sass-edge keygen --rotate TARGET.')
  const path = keyPathOf(context, word)
  if (!path.endsWith('.key'))
    throw misuse(`${path} does not end in .key, so it is not known what its pair is called: rename it.`)
  const base = path.slice(0, -'.key'.length)
  const next = `${base}.next`
  const seed = nextSeed(next)
  const isAnnounced = await announce(context, word, seed)
  // Not let in with the old one: an earlier try has come further than it knew, which the new one shows.
  if (!isAnnounced) await (await connectDevice(context, word, { privateKey: seed })).close()
  takePlace(next, base)
  // Used once, so that the old one is taken no more from here on.
  await (await connectDevice(context, word)).close()
  const publicKey = encodeBase64Url(publicKeyOf(seed))
  return context.output.result(
    { private_key_file: path, public_key_file: `${base}.pub`, public_key: publicKey },
    [`${path} is the new key for ${word}; the old one is taken no more.`, `public key  ${publicKey}`],
  )
}

const fingerprintOf = (digest: Uint8Array): string => `sha256:${encodeBase64Url(digest)}`

/** What the daemon that runs announces. Undefined: nothing; null: none answers. */
async function announcedNow(context: CommandContext): Promise<string | undefined | null> {
  try {
    const client = await connectOperator(context, undefined)
    const { nextFingerprint } = client
    await client.close()
    return nextFingerprint
  } catch (error) {
    if (asSassError(error)?.code !== 'CONNECT_FAILED') throw error
    return null
  }
}

/** Every client that never heard of the new key stops at it, so one that nobody was told of is asked about. */
async function confirmSwitch(context: CommandContext, fingerprint: string): Promise<void> {
  const announced = await announcedNow(context)
  if (announced === fingerprint) return
  const why =
    announced === null
      ? 'No daemon runs that could say whether it has announced the new key'
      : 'The daemon has not announced the new key'
  context.output.note(`${why}: clients that do not know of it stop, each until a person trusts it.`)
  if (isGiven(context.arguments.options, 'yes') || ask('Shall the device go over to it all the same?')) return
  throw misuse(
    `${why}, so the device keeps the old one: have it announced with sass-edge reload, wait until every client has come by, and give the same command again, or --yes.`,
  )
}

export async function rotateDeviceKey(context: CommandContext, isSwitch: boolean): Promise<number> {
  const { config } = localConfig(context)
  const { key, certificate } = config.tls
  if (isSwitch) {
    await confirmSwitch(context, fingerprintOf(switchableKeyDigest(key, certificate)))
    switchToNextKey(key, certificate)
    return context.output.result({ key, switched: true }, [
      'The next start shows the new key: restart the daemon now.',
      'Clients that have come by since it was announced go over by themselves; the others stop, and name both keys.',
    ])
  }
  const fingerprint = fingerprintOf(makeNextKey(key))
  return context.output.result({ key, next_fingerprint: fingerprint, switched: false }, [
    `next fingerprint  ${fingerprint}`,
    'Have the daemon announce it with sass-edge reload. When every client has come by:',
    '  sass-edge keygen --device --switch     and restart the daemon',
  ])
}
