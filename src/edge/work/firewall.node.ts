/**
 * The output firewall of this daemon: its tables, made of the data that ships, of what the operator has added, and of the
 * secrets that the device knows. Where one of them has changed, commands that begin from then on have new tables; what
 * cannot be read leaves everything as it was.
 * Rules: docs/firewall.md.
 * @module
 */
import { lstatSync } from 'node:fs'
import type { Config } from '../../config/config.ts'
import type { FindByte } from '../../defense/firewall/controls.ts'
import {
  assessWindow,
  type InjectionTables,
  NOTHING,
  readInjectionTables,
} from '../../defense/firewall/injections/assess.ts'
import type { Thresholds } from '../../defense/firewall/injections/hold.ts'
import { INJECTION_THRESHOLDS, NEVER_HELD } from '../../defense/firewall/injections/limits.ts'
import { KNOWN_LOOK_MS } from '../../defense/firewall/limits.ts'
import { createScreens, type Judge, type Screens } from '../../defense/firewall/screen.ts'
import {
  readSecretTables,
  type SecretTables,
  type Sensitivity,
} from '../../defense/firewall/secrets/kinds.ts'
import type { KnownValue } from '../../defense/firewall/secrets/known.ts'
import { SassError } from '../../errors.ts'
import type { AuditEvent } from '../../ports.ts'
import type { FirewallRoom } from '../../session/common/screening.ts'
import { type FirewallData, firewallData } from './firewall-data.node.ts'
import { type KnownPlaces, knownMark, readKnownSecrets } from './known-secrets.node.ts'

export type Settings = Config['defense']['firewall']

export type FirewallGround = {
  readonly places: KnownPlaces
  readonly settings: Settings
  readonly monotonicMs: () => number
  /** For work that may wait a moment. */
  readonly later: (work: () => void) => void
  /** What has happened, whatever can be written. */
  readonly record: (event: AuditEvent) => void
}

/** What judges, of which file. */
type Made = { readonly mark: string; readonly data: FirewallData; readonly tables: InjectionTables }

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
function injectionTables({ injections, weights }: FirewallData): InjectionTables {
  const read = readInjectionTables(injections, weights)
  if (!read.ok) throw unreadable('The injections', read.problems)
  return read.tables
}

function thresholdsOf({ sensitivity, flag_permille: flag, block_permille: block }: Settings): Thresholds {
  const usual = INJECTION_THRESHOLDS[sensitivity]
  return { flag: flag ?? usual.flag, block: block ?? usual.block }
}

/** memchr(3), some thirty times as fast as Uint8Array's own. */
const findByte: FindByte = (bytes, byte, from) => Buffer.prototype.indexOf.call(bytes, byte, from)

/** Whatever changes when the file does. */
function markOf(path: string | null): string {
  if (path === null) return ''
  try {
    const { ino, size, mtimeMs } = lstatSync(path)
    return `${ino} ${size} ${mtimeMs}`
  } catch {
    return 'gone'
  }
}

/** How much there is of what ships and of the operator's file. @throws SassError CONFIG_LOAD_FAILED */
export function countFirewall(path: string): { readonly kinds: number; readonly patterns: number } {
  const data = firewallData(path)
  return {
    kinds: secretTables(data.secrets, [], 'strict').kinds,
    patterns: injectionTables(data).patterns.ids.length,
  }
}

/** @throws SassError CONFIG_LOAD_FAILED where the operator has added what cannot be used */
export function createFirewall({
  places,
  settings,
  monotonicMs,
  later,
  record,
}: FirewallGround): FirewallRoom {
  const thresholds = thresholdsOf(settings)
  const marksAlone = { ...thresholds, block: NEVER_HELD }
  const { patterns: ownPath } = settings
  let made: Made | undefined
  let screens: Screens | undefined
  let judge: Judge | undefined
  let [known, lookedMs, told] = ['', 0, '']

  function make(): void {
    const mark = markOf(ownPath)
    const data = made?.mark === mark ? made.data : firewallData(ownPath)
    const tables = made?.mark === mark ? made.tables : injectionTables(data)
    const nowKnown = knownMark(places)
    const values = readKnownSecrets(places, () => secretTables(data.secrets, [], 'strict'))
    const secrets = secretTables(data.secrets, values, settings.sensitivity)
    judge = (bytes, start, end) => assessWindow(tables, bytes, start, end)
    made = { mark, data, tables }
    known = nowKnown
    screens = createScreens(secrets, judge, findByte)
    const event = {
      type: 'firewall',
      what: 'loaded',
      digest: data.digest,
      secret_kinds: secrets.kinds,
      known_secrets: values.length,
      injection_patterns: tables.patterns.ids.length,
      sensitivity: settings.sensitivity,
      flag_permille: thresholds.flag,
      block_permille: thresholds.block,
    } as const
    // Tables that are made again since somebody has come are no news.
    if (told === JSON.stringify(event)) return
    told = JSON.stringify(event)
    record(event)
  }

  function current(): Screens {
    const nowMs = monotonicMs()
    if (screens !== undefined && nowMs - lookedMs < KNOWN_LOOK_MS) return screens
    lookedMs = nowMs
    if (screens !== undefined && knownMark(places) === known && markOf(ownPath) === made?.mark) return screens
    try {
      make()
    } catch (cause) {
      if (screens === undefined) throw cause
      const reason = cause instanceof Error ? cause.message : 'unknown'
      // As it was, until the file changes once more.
      known = knownMark(places)
      if (made !== undefined) made = { ...made, mark: markOf(ownPath) }
      record({ type: 'firewall', what: 'load_failed', reason })
    }
    if (screens === undefined) throw new SassError('INTERNAL', 'The firewall has no tables.')
    return screens
  }

  // Whoever has added something hears at the start what is wrong with it.
  if (ownPath !== null) current()
  return {
    open: (mayHold) => current().open(mayHold ? thresholds : marksAlone),
    assess(bytes) {
      current()
      return judge?.(bytes, 0, bytes.length) ?? NOTHING
    },
    flagPermille: thresholds.flag,
    asksAboutFiles: settings.files === 'ask',
    prepare() {
      if (screens === undefined) later(() => void current())
    },
    forget() {
      screens = judge = made = undefined
    },
  }
}
