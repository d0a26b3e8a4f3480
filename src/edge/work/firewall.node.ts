/**
 * The output firewall of this daemon: its tables, made of the data that ships and of the secrets that the device knows.
 * A build puts the data into the program itself; from the sources it is read where it is written. Where what the device
 * knows has changed, commands that begin from then on have new tables.
 * Rules: docs/firewall.md.
 * @module
 */
import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import type { Config } from '../../config/config.ts'
import { assessWindow, readInjectionTables } from '../../defense/firewall/injections/assess.ts'
import type { Thresholds } from '../../defense/firewall/injections/hold.ts'
import { INJECTION_THRESHOLDS, NEVER_HELD } from '../../defense/firewall/injections/limits.ts'
import { KNOWN_LOOK_MS } from '../../defense/firewall/limits.ts'
import { createScreens, type Judge, type Screen, type Screens } from '../../defense/firewall/screen.ts'
import {
  readSecretTables,
  type SecretTables,
  type Sensitivity,
} from '../../defense/firewall/secrets/kinds.ts'
import type { KnownValue } from '../../defense/firewall/secrets/known.ts'
import { SassError } from '../../errors.ts'
import type { FirewallRoom } from '../../session/common/rooms.ts'
import { type KnownPlaces, knownMark, readKnownSecrets } from './known-secrets.node.ts'

/** A line of JSON and the weights of the model, Brotli in Base64: build/bundle.node.ts packs it. */
declare const PACKED_FIREWALL: string | undefined

/** What ships, as firewall/ has it. */
type Data = { readonly secrets: unknown; readonly injections: unknown; readonly weights: unknown }

export type Settings = Config['defense']['firewall']

export type Firewall = FirewallRoom & {
  /** Makes the tables now: it takes some milliseconds. */
  prepare(): void
}

function shippedData(): Data {
  if (typeof PACKED_FIREWALL === 'string') {
    const bytes = brotliDecompressSync(Buffer.from(PACKED_FIREWALL, 'base64'))
    const end = bytes.indexOf('\n')
    const data = JSON.parse(bytes.toString('utf8', 0, end))
    return { ...data, weights: { ...data.weights, weights: bytes.toString('base64', end + 1) } }
  }
  const read = (name: string): unknown =>
    JSON.parse(readFileSync(new URL(`../../../firewall/${name}.json`, import.meta.url), 'utf8'))
  return {
    secrets: read('secrets'),
    injections: read('injections'),
    weights: read('injection-weights'),
  }
}

function unreadable(what: string, problems: readonly string[]): SassError {
  return new SassError('CONFIG_LOAD_FAILED', `${what} of the firewall cannot be read: ${problems[0] ?? ''}`)
}

/** @throws CONFIG_LOAD_FAILED where the data is not what it is to be */
function secretTables(file: unknown, known: readonly KnownValue[], sensitivity: Sensitivity): SecretTables {
  const tables = readSecretTables(file, known, sensitivity)
  if ('problems' in tables) throw unreadable('The secrets', tables.problems)
  return tables
}

/** @throws CONFIG_LOAD_FAILED where the data is not what it is to be */
function judgeOf({ injections, weights }: Data): Judge {
  const read = readInjectionTables(injections, weights)
  if (!read.ok) throw unreadable('The injections', read.problems)
  return (bytes, start, end) => assessWindow(read.tables, bytes, start, end)
}

function thresholdsOf({ sensitivity, flag_permille: flag, block_permille: block }: Settings): Thresholds {
  const usual = INJECTION_THRESHOLDS[sensitivity]
  return { flag: flag ?? usual.flag, block: block ?? usual.block }
}

export function createFirewall(places: KnownPlaces, settings: Settings, monotonicMs: () => number): Firewall {
  const thresholds = thresholdsOf(settings)
  const marksAlone = { ...thresholds, block: NEVER_HELD }
  let judge: Judge | undefined
  let screens: Screens | undefined
  let [mark, lookedMs] = ['', 0]

  function made(): Screens {
    const nowMs = monotonicMs()
    if (screens !== undefined && nowMs - lookedMs < KNOWN_LOOK_MS) return screens
    lookedMs = nowMs
    const now = knownMark(places)
    if (screens !== undefined && now === mark) return screens
    mark = now
    const data = shippedData()
    const known = readKnownSecrets(places, () => secretTables(data.secrets, [], 'strict'))
    judge ??= judgeOf(data)
    screens = createScreens(secretTables(data.secrets, known, settings.sensitivity), judge)
    return screens
  }

  return {
    open: (mayHold) => made().open(mayHold ? thresholds : marksAlone),
    asksAboutFiles: settings.files === 'ask',
    prepare: () => void made(),
  }
}
