/**
 * Whether what arrives signed can be taken in: the vault as the daemon itself would read it, its pin first, and the
 * directories that envelopes come from.
 * @module
 */

import { statOf } from '../../base/files.node.ts'
import type { Config } from '../../config/config.ts'
import { asSassError } from '../../errors.ts'
import { readVault } from '../intent/vault.node.ts'
import { type Finding, fail, pass, warn } from './finding.ts'

async function checkVault(directory: string, pin: string): Promise<readonly Finding[]> {
  const check = 'intent.vault'
  try {
    const { templates, capabilitySets, notes } = await readVault(directory, pin)
    return [
      pass(check, `${directory} has ${templates} templates and ${capabilitySets} capability sets`),
      ...notes.map((note) => warn(check, note.replace(/\.$/, ''), 'publish it anew, or remove it')),
    ]
  } catch (error) {
    const known = asSassError(error)
    if (known === undefined) throw error
    const at = known.message.lastIndexOf(': ')
    const [detail, remedy] = [known.message.slice(0, at), known.message.slice(at + 2).replace(/\.$/, '')]
    return [fail(known.code === 'PIN_MISMATCH' ? 'intent.dispatcher_pin' : check, detail, remedy)]
  }
}

/** Nothing where no vault is named. */
export async function checkIntent({ intent }: Pick<Config, 'intent'>): Promise<readonly Finding[]> {
  if (intent.vault === null) return []
  const absent = intent.drop_directories.filter((path) => statOf(path)?.isDirectory() !== true)
  return [
    ...(await checkVault(intent.vault, intent.dispatcher_pin ?? '')),
    ...absent.map((path) =>
      warn('intent.drop_directories', `${path} is not there now`, 'it is taken from when it comes'),
    ),
  ]
}
