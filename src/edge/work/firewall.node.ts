/**
 * The output firewall of this daemon: its tables, made of the data that ships and of the secrets that the device knows.
 * A build puts the data into the program itself; from the sources it is read where it is written. Where what the device
 * knows has changed, commands that begin from then on have new tables.
 * Rules: docs/firewall.md.
 * @module
 */
import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import { KNOWN_LOOK_MS } from '../../defense/firewall/limits.ts'
import { createScreens, type Screen } from '../../defense/firewall/screen.ts'
import {
  readSecretTables,
  type SecretTables,
  type Sensitivity,
} from '../../defense/firewall/secrets/kinds.ts'
import { SassError } from '../../errors.ts'
import { type KnownPlaces, knownMark, readKnownSecrets } from './known-secrets.node.ts'

/** JSON, Brotli in Base64. */
declare const PACKED_SECRETS: string | undefined

export type Firewall = {
  /** For one source of one command. */
  open(): Screen
  /** Makes the tables now: it takes some milliseconds. */
  prepare(): void
}

function secretsText(): string {
  if (typeof PACKED_SECRETS === 'string')
    return brotliDecompressSync(Buffer.from(PACKED_SECRETS, 'base64')).toString()
  return readFileSync(new URL('../../../firewall/secrets.json', import.meta.url), 'utf8')
}

/** @throws CONFIG_LOAD_FAILED where the data is not what it is to be */
function tablesOf(file: unknown, known: readonly Uint8Array[], sensitivity: Sensitivity): SecretTables {
  const tables = readSecretTables(file, known, sensitivity)
  if (!('problems' in tables)) return tables
  const problem = `The secrets of the firewall cannot be read: ${tables.problems[0] ?? ''}`
  throw new SassError('CONFIG_LOAD_FAILED', problem)
}

export function createFirewall(
  places: KnownPlaces,
  sensitivity: Sensitivity,
  monotonicMs: () => number,
): Firewall {
  let screens: { open(): Screen } | undefined
  let [mark, lookedMs] = ['', 0]

  function made(): { open(): Screen } {
    const nowMs = monotonicMs()
    if (screens !== undefined && nowMs - lookedMs < KNOWN_LOOK_MS) return screens
    lookedMs = nowMs
    const now = knownMark(places)
    if (screens !== undefined && now === mark) return screens
    mark = now
    const file: unknown = JSON.parse(secretsText())
    const known = readKnownSecrets(places, () => tablesOf(file, [], 'strict'))
    screens = createScreens(tablesOf(file, known, sensitivity))
    return screens
  }

  return { open: () => made().open(), prepare: () => void made() }
}
