/**
 * The output firewall of this daemon: its tables, made of the data that ships. A build puts the data into the program
 * itself; from the sources it is read where it is written.
 * Rules: docs/firewall.md.
 * @module
 */
import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import { createScreens, type Screen } from '../../defense/firewall/screen.ts'
import { readSecretTables } from '../../defense/firewall/secrets/kinds.ts'
import { SassError } from '../../errors.ts'

/** JSON, Brotli in Base64. */
declare const PACKED_SECRETS: string | undefined

function secretsText(): string {
  if (typeof PACKED_SECRETS === 'string')
    return brotliDecompressSync(Buffer.from(PACKED_SECRETS, 'base64')).toString()
  return readFileSync(new URL('../../../firewall/secrets.json', import.meta.url), 'utf8')
}

/**
 * Made when the first command runs, or in the time before: it takes some milliseconds.
 * @throws CONFIG_LOAD_FAILED where the data is not what it is to be
 */
export function createFirewall(): { open(): Screen; prepare(): void } {
  let screens: { open(): Screen } | undefined
  function made(): { open(): Screen } {
    if (screens !== undefined) return screens
    const tables = readSecretTables(JSON.parse(secretsText()))
    if ('problems' in tables)
      throw new SassError(
        'CONFIG_LOAD_FAILED',
        `The secrets of the firewall cannot be read: ${tables.problems[0] ?? ''}`,
      )
    screens = createScreens(tables)
    return screens
  }
  return { open: () => made().open(), prepare: () => void made() }
}
