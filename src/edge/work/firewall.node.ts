/**
 * The output firewall of this daemon: its tables, made of the data that ships.
 * Rules: docs/firewall.md.
 * @module
 */
import secrets from '../../../firewall/secrets.json' with { type: 'json' }
import { createScreens, type Screen } from '../../defense/firewall/screen.ts'
import { readSecretTables } from '../../defense/firewall/secrets/kinds.ts'
import { SassError } from '../../errors.ts'

/** @throws CONFIG_LOAD_FAILED where the data is not what it is to be */
export function openFirewall(): { open(): Screen } {
  const tables = readSecretTables(secrets)
  if (!('problems' in tables)) return createScreens(tables)
  const [first = ''] = tables.problems
  throw new SassError('CONFIG_LOAD_FAILED', `The secrets of the firewall cannot be read: ${first}`)
}
