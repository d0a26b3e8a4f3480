/**
 * `sass-edge intent vault|publish|rotate`: the work of whoever has the dispatcher's seed, off the device. What is
 * published is signed for every device that believes that key, so whoever publishes types the SHA-256 of it, which they
 * have from where it was reviewed; a wrong one leaves the vault as it was (FT-010).
 * Rules: docs/intent.md section 3.
 * @module
 */
import { resolve } from 'node:path'
import { publicKeyOf } from '../../base/crypto/ed25519.node.ts'
import { recipientsOf } from '../../edge/intent/age.node.ts'
import {
  createVault,
  nextDispatcherPin,
  type PreparedEntry,
  prepareEntry,
  publishEntry,
  rotateDispatcher,
} from '../../edge/intent/publish.node.ts'
import { vaultIdentities } from '../../edge/intent/vault-entry.node.ts'
import { readPrivateKey, readPublicKey } from '../../edge/state/key-file.node.ts'
import { misuse } from '../../errors.ts'
import { VAULT_ENTRY_BYTES } from '../../intent/limits.ts'
import { askLine } from '../common/ask.node.ts'
import { isGiven, optionValue, optionValues } from '../words/arguments.ts'
import type { CommandContext } from '../words/command.ts'
import { readGiven, required, requiredPath } from './given.node.ts'

const VAULT_MEANING = '--vault DIR, the directory of the vault'
const DISPATCHER_MEANING = '--dispatcher FILE, the private key that the vault believes'

/** Makes an empty vault around a dispatcher's key. */
export async function makeVault(context: CommandContext, directory: string): Promise<number> {
  const path = requiredPath(
    context,
    'dispatcher',
    '--dispatcher FILE.pub, the public key of whoever will publish',
  )
  const made = await createVault(
    resolve(context.cwd, directory),
    readPublicKey(path),
    isGiven(context.arguments.options, 'identity'),
  )
  return context.output.result({ dispatcher_pin: made.pin, recipient: made.recipient ?? null }, [
    `dispatcher_pin  ${made.pin}`,
    ...(made.recipient === undefined ? [] : [`recipient       ${made.recipient}`]),
    'Write the pin into intent.dispatcher_pin of each device, from here and not from the file that it checks.',
  ])
}

/** Whether the SHA-256 is the one that was typed. SassError USAGE where it is not, or nobody can be asked. */
function confirmDigest(
  context: CommandContext,
  name: string,
  { kind, id, version, sha256 }: PreparedEntry,
): void {
  const given = optionValue(context.arguments.options, 'sha256')
  const typed =
    given ??
    askLine(
      `${name} is the ${kind.replace('-', ' ')} ${id}, version ${version}. Type the SHA-256 that was reviewed, to sign it:`,
    )
  if (typed === undefined)
    throw misuse(
      `Nobody is at a terminal to type the SHA-256 of ${name}, so nothing was published: give it with --sha256 HEX; sass-edge intent digest prints it.`,
    )
  if (typed.toLowerCase() === sha256) return
  throw misuse(
    `What was typed is not the SHA-256 of ${name}, so nothing was published and the vault is as it was: compare the file with what was reviewed.`,
    { sha256 },
  )
}

/** The SHA-256 that publishing asks for, for whoever reviews. */
export function showDigest(context: CommandContext, file: string): number {
  const entry = prepareEntry(readGiven(context, file, VAULT_ENTRY_BYTES), file)
  const { kind, id, version, sha256 } = entry
  return context.output.result({ kind, id, version, sha256 }, [sha256])
}

/** Those of --recipient, else that of the vault's own identity. */
async function recipients(context: CommandContext, directory: string): Promise<readonly string[]> {
  const given = optionValues(context.arguments.options, 'recipient')
  if (given.length > 0) return given
  return recipientsOf(vaultIdentities(directory) ?? [])
}

/** Signs, seals and puts one entry into the vault. */
export async function publish(context: CommandContext, file: string): Promise<number> {
  const directory = requiredPath(context, 'vault', VAULT_MEANING)
  const entry = prepareEntry(readGiven(context, file, VAULT_ENTRY_BYTES), file)
  confirmDigest(context, file, entry)
  const seed = readPrivateKey(requiredPath(context, 'dispatcher', DISPATCHER_MEANING))
  const manifest = await publishEntry(directory, entry, seed, await recipients(context, directory))
  seed.fill(0)
  return context.output.result(
    {
      kind: manifest.kind,
      id: manifest.id,
      version: manifest.version,
      sha256: manifest.sha256,
      dispatcher_signature: manifest.dispatcherSignature,
    },
    [
      `Published ${manifest.id}, version ${manifest.version}. Bring the vault to its devices, and reload them.`,
    ],
  )
}

/** Has the present dispatcher's key name the one that follows it. */
export function rotate(context: CommandContext): number {
  const directory = requiredPath(context, 'vault', VAULT_MEANING)
  const next = readPublicKey(requiredPath(context, 'next', '--next FILE.pub, the public key that follows'))
  required(context, 'dispatcher', DISPATCHER_MEANING)
  const seed = readPrivateKey(requiredPath(context, 'dispatcher', DISPATCHER_MEANING))
  const before = Buffer.from(publicKeyOf(seed)).toString('base64url')
  const earlier = nextDispatcherPin(directory)
  const pin = rotateDispatcher(directory, seed, next)
  seed.fill(0)
  const replaced = earlier === pin ? undefined : earlier
  if (replaced !== undefined)
    context.output.warn(
      `An earlier statement named the key with the pin ${replaced}: it is replaced, and that key is believed no more.`,
    )
  return context.output.result({ dispatcher_pin: pin, previous_key: before, replaced_pin: replaced }, [
    `The vault believes both keys now; the pin of the next one is ${pin}.`,
    'Once that is in intent.dispatcher_pin of every device, put its key in place of keys/dispatcher_verify.pub and remove keys/dispatcher_next.json.',
  ])
}
