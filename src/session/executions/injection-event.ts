/**
 * What is known of output that gives orders to whoever reads it: for the audit, for whoever is asked to release it, and
 * for its caller. The words themselves are sealed with the facts of the session, and shown to the human who judges.
 * Rules: docs/firewall.md; docs/responses.md (what is recorded); JF-081, JF-088.
 * @module
 */
import { encodeBase64 } from '../../base/encoding/base64.ts'
import { decodeUtf8 } from '../../base/encoding/utf8.ts'
import { visible } from '../../base/text/visible.ts'
import type { Assessment } from '../../defense/firewall/injections/assess.ts'
import type { HeldWindow, Suspicion, Suspicions } from '../../defense/firewall/injections/hold.ts'
import { INJECTION_PATTERNS_TOLD } from '../../defense/firewall/injections/limits.ts'
import type { Screen } from '../../defense/firewall/screen.ts'
import type { AuditEvent } from '../../ports.ts'
import type { Question } from '../standing/confirmations.ts'
import { type Execution, type InjectionFinding, namedBy } from './execution.ts'

/** What is sealed: each window as it came, in Base64. */
export type Suspected = {
  readonly suspected: readonly {
    readonly offset: number
    readonly permille: number
    readonly patterns: readonly string[]
    readonly techniques: readonly string[]
    readonly text: string
  }[]
}

function suspicionsOf({ screened }: Pick<Execution, 'screened'>): Suspicions[] {
  return (screened?.screens ?? []).flatMap(({ suspicions }) => suspicions ?? [])
}

function findingOf({ offset, patterns, text }: Suspicion): InjectionFinding {
  return { kind: `injection:${patterns[0] ?? 'model'}`, offset, length: text.length }
}

function windowsOf(execution: Pick<Execution, 'screened'>): Suspicion[] {
  return suspicionsOf(execution).flatMap(({ windows }) => windows)
}

/** The first of what each window has, each once. */
function namesIn(windows: readonly Suspicion[], of: 'patterns' | 'techniques'): string[] {
  return [...new Set(windows.flatMap((window) => window[of]))].slice(0, INJECTION_PATTERNS_TOLD)
}

/** Undefined where nothing was found. */
export function suspectedIn(execution: Pick<Execution, 'screened'>): Suspected | undefined {
  const windows = windowsOf(execution)
  if (windows.length === 0) return undefined
  const suspected = windows.map(({ offset, permille, patterns, techniques, text }) => {
    return { offset, permille, patterns, techniques, text: encodeBase64(text) }
  })
  return { suspected }
}

/** What became of it: a screen that held something was released or not. */
function ruling({ screened }: Execution): 'flagged' | 'released' | 'withheld' {
  const states = (screened?.screens ?? []).map(({ held }) => held)
  if (states.includes('withheld')) return 'withheld'
  return states.includes('released') ? 'released' : 'flagged'
}

/** @param sealed the digest of what was sealed */
export function injectionEvent(execution: Execution, sealed: string): AuditEvent {
  return {
    type: 'injection',
    what: ruling(execution),
    ...namedBy(execution),
    ...suspectedOf(suspicionsOf(execution)),
    withheld_bytes: (execution.screened?.screens ?? []).reduce(
      (sum, { withheldBytes }) => sum + withheldBytes,
      0,
    ),
    facts: sealed,
  }
}

/** How much, how sure, and by what. */
export function suspectedOf(all: readonly Suspicions[]) {
  const windows = all.flatMap((one) => one.windows)
  return {
    windows: all.reduce((sum, { flagged }) => sum + flagged, 0),
    permille: Math.max(...all.map(({ most }) => most)),
    patterns: namesIn(windows, 'patterns').join(' '),
    techniques: namesIn(windows, 'techniques').join(' '),
  }
}

/** What a piece of output says, for a human; the ends may be cut within a character. */
function shownText(bytes: Uint8Array): string {
  let [start, end] = [0, bytes.length]
  while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++
  for (let cut = 0; cut <= 3; cut++, end--) {
    const text = decodeUtf8(bytes, start, end)
    if (text !== undefined) return visible(text)
  }
  return visible(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}

/** @param held the window that is held */
export function releaseQuestion(execution: Execution, held: HeldWindow | undefined): Question {
  return {
    agent: execution.owner,
    sessionId: execution.sessionId,
    layer: 'firewall',
    rule: 'injection',
    reason: `What ${execution.command} prints gives orders to whoever reads it (${held?.permille ?? 0} of 1000).`,
    shown: {
      action: { kind: 'release', command: execution.command, execution: execution.id },
      patterns: (held?.patterns ?? []).slice(0, INJECTION_PATTERNS_TOLD),
      disguises: (held?.techniques ?? []).slice(0, INJECTION_PATTERNS_TOLD),
      text: shownText(held?.excerpt ?? new Uint8Array(0)),
    },
  }
}

/** About a file that is not to go on as it is. */
export function fileQuestion(
  { agent, sessionId, path }: { readonly agent: string; readonly sessionId: string; readonly path: string },
  { heldWindow, secrets }: Pick<Screen, 'heldWindow' | 'secrets'>,
): Question {
  const kinds = [...(secrets?.kinds.keys() ?? [])].slice(0, INJECTION_PATTERNS_TOLD)
  const holds =
    heldWindow === undefined ? `holds secrets (${kinds.join(', ')})` : 'gives orders to whoever reads it'
  return {
    agent,
    sessionId,
    layer: 'firewall',
    rule: heldWindow === undefined ? 'secrets' : 'injection',
    reason: `${path} ${holds}.`,
    shown: {
      action: { kind: 'give', path },
      secrets: kinds,
      patterns: (heldWindow?.patterns ?? []).slice(0, INJECTION_PATTERNS_TOLD),
      text: shownText(heldWindow?.excerpt ?? new Uint8Array(0)),
    },
  }
}

/** Where what went on was marked: what gives orders first, then what is merely a command. */
export function findingsIn(screens: readonly Screen[]): InjectionFinding[] {
  const commands = screens.flatMap(({ commandLine }) => commandLine ?? [])
  return [
    ...screens.flatMap(({ suspicions }) => suspicions?.windows ?? []).map(findingOf),
    ...commands.map((line) => ({ kind: 'command', ...line })),
  ]
}

/** What an agent has asked for gives orders itself: to whoever reads the record, or the file that it writes. */
export function askedInjectionEvent(
  execution: Pick<Execution, 'id' | 'owner' | 'instance' | 'sessionId'>,
  { permille, patterns, techniques }: Assessment,
): AuditEvent {
  return {
    type: 'injection',
    what: 'asked',
    ...namedBy(execution),
    windows: 1,
    permille,
    patterns: patterns.slice(0, INJECTION_PATTERNS_TOLD).join(' '),
    techniques: techniques.slice(0, INJECTION_PATTERNS_TOLD).join(' '),
  }
}

/** For its caller. */
export function injectionFindings(
  execution: Pick<Execution, 'screened' | 'findings'>,
): readonly InjectionFinding[] {
  return execution.findings ?? findingsIn(execution.screened?.screens ?? [])
}
