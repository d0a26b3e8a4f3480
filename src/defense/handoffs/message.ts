/**
 * A handoff (handoff-v2) as an agent sends it: JSON text to its fields, strictly, or every problem; and as it is
 * delivered: one canonical text with what the daemon sets. Numbers are carried as integers from here on.
 * Rules: docs/handoffs.md; RFC 8259, RFC 8785.
 * @module
 */
import { sha256 } from '../../base/crypto/hash.ts'
import { canonicalize } from '../../base/encoding/canonical-json.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { type Json, parseStrictJson } from '../../base/encoding/strict-json.ts'
import { encodeUtf8, isWellFormed, utf8Length } from '../../base/encoding/utf8.ts'
import { isName } from '../../base/text/name.ts'
import { visible } from '../../base/text/visible.ts'
import { mistakeText } from '../../config/syntax.ts'
import { HANDOFF_BYTES, PATH_BYTES } from '../../limits.ts'
import { FINDINGS_MAX, FINDINGS_MIN, HANDOFF_DEPTH, HANDOFF_ITEMS, HANDOFF_VALUES } from './limits.ts'

/** Of the messages that are delivered, and of those that do not say. */
export const SCHEMA_VERSION = '2.0.0'
/** A blocker that no one along the chain may leave out. */
export const PERSISTENT = '[PERSISTENT]'

const CRITICALITIES = Object.freeze(['C1', 'C2', 'C3', 'C4'] as const)
const CLASSIFICATIONS = Object.freeze(['PUBLIC', 'INTERNAL', 'SENSITIVE'] as const)
const VERSION = /^2\.\d{1,4}\.\d{1,4}$/
const SHA256 = /^(?:sha256:)?([0-9a-f]{64})$/
const ID = /^[0-9a-f]{32}$/
const PERMILLE = 1_000
const SHOWN_KEY_CHARS = 64
const PROBLEMS_TOLD = 8
/** A sentence to a peer has at most 1,024 bytes, some of them around this. */
const TOLD_BYTES = 900
const LIMITS = Object.freeze({ size: HANDOFF_BYTES, depth: HANDOFF_DEPTH, items: HANDOFF_VALUES })

export type Handoff = {
  readonly schemaVersion: string
  /** Whom the message names; undefined: nobody, which is right. */
  readonly claims: string | undefined
  readonly to: string
  readonly task: string
  readonly successCriteria: readonly string[]
  readonly artifacts: readonly string[]
  readonly keyFindings: readonly string[]
  readonly blockers: readonly string[]
  readonly constraints: readonly string[]
  readonly criticFindings: readonly string[]
  /** Per mille. */
  readonly confidence: number | undefined
  readonly priorScore: number | undefined
  /** 1 to 4. */
  readonly criticality: number
  /** 0: not said, 1 public, 2 internal, 3 sensitive. */
  readonly classification: number
  readonly taskId: string | undefined
  /** Id of the handoff that this one follows. */
  readonly previous: string | undefined
  /** The digest that the message says it has. */
  readonly declared: string | undefined
}

export type HandoffRead =
  | { readonly ok: true; readonly handoff: Handoff }
  | { readonly ok: false; readonly problem: string }

type Members = Readonly<Record<string, Json>>

const KEYS: ReadonlySet<string> = new Set([
  ...['schema_version', 'from_agent', 'to_agent', 'task', 'success_criteria', 'artifacts', 'key_findings'],
  ...['blockers', 'confidence', 'criticality', 'constraints', 'task_id', 'classification', 'previous'],
  ...['quality_context', 'routing_metadata', 'integrity'],
])
const NO_MEMBERS: Members = Object.freeze({})

/** To whoever has written it: it stands in one line, and in no larger one than there is room for. */
const shownKey = (key: string): string => JSON.stringify(visible(key.slice(0, SHOWN_KEY_CHARS)))

function isObject(value: Json | undefined): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Reads one message and gathers what is wrong with it. */
function createReader(members: Members) {
  const problems: string[] = []
  const wrong = (problem: string): undefined => void problems.push(problem)

  function text(name: string, value: Json | undefined, most = HANDOFF_BYTES): string {
    if (typeof value !== 'string' || value.trim() === '' || value.includes('\0') || !isWellFormed(value))
      wrong(`${name} must be text that is not empty`)
    else if (utf8Length(value) > most) wrong(`${name} must have at most ${most} bytes`)
    else return value
    return ''
  }

  function texts(
    name: string,
    value: Json | undefined,
    least: number,
    most: number,
    bytes?: number,
  ): string[] {
    if (!Array.isArray(value)) wrong(`${name} must be a list`)
    else if (value.length < least || value.length > most)
      wrong(`${name} must have ${least} to ${most} members`)
    else return value.map((member: Json, index) => text(`${name}[${index}]`, member, bytes))
    return []
  }

  /** 0 to 1, to per mille. */
  function share(name: string, value: Json | undefined): number | undefined {
    if (value === undefined) return undefined
    if (typeof value === 'number' && value >= 0 && value <= 1) return Math.round(value * PERMILLE)
    return wrong(`${name} must be a number from 0 to 1`)
  }

  /** The place of a word in a list, from 1; 0: it is not there. */
  function word(name: string, value: Json | undefined, words: readonly string[]): number {
    const place = typeof value === 'string' ? words.indexOf(value) + 1 : 0
    if (place === 0) wrong(`${name} must be one of ${words.join(', ')}`)
    return place
  }

  function matching(
    name: string,
    value: Json | undefined,
    pattern: RegExp,
    what: string,
  ): string | undefined {
    if (value === undefined) return undefined
    const found = typeof value === 'string' ? pattern.exec(value) : null
    return found === null ? wrong(`${name} must be ${what}`) : (found[1] ?? found[0])
  }

  function object(name: string, keys: readonly string[]): Members {
    const value = members[name]
    if (value === undefined) return NO_MEMBERS
    if (!isObject(value)) {
      wrong(`${name} must be an object`)
      return NO_MEMBERS
    }
    for (const key of Object.keys(value))
      if (!keys.includes(key)) wrong(`${name} has the key ${shownKey(key)}, which it does not know`)
    return value
  }

  return { problems, wrong, text, texts, share, word, matching, object }
}

/** The first problems, as many as there is room for in one sentence. */
function joined(problems: readonly string[]): string {
  const told = problems.slice(0, PROBLEMS_TOLD)
  while (told.length > 1 && utf8Length(told.join('; ')) > TOLD_BYTES) told.pop()
  return told.join('; ')
}

function readMembers(members: Members): HandoffRead {
  const read = createReader(members)
  for (const key of Object.keys(members))
    if (!KEYS.has(key)) read.wrong(`the message has the key ${shownKey(key)}, which no handoff has`)
  const quality = read.object('quality_context', ['prior_score', 'critic_findings'])
  const integrity = read.object('integrity', ['sha256'])
  // Counted by the daemon: what is said here is nothing that it relies on.
  read.object('routing_metadata', ['routing_depth', 'previous'])
  const { constraints = [], classification, task_id, from_agent } = members
  const to = read.text('to_agent', members['to_agent'])
  if (to !== '' && !isName(to)) read.wrong('to_agent must be the name of an agent')
  if (task_id !== undefined && !(typeof task_id === 'string' && isName(task_id)))
    read.wrong('task_id must be 1 to 64 of the characters A-Z a-z 0-9 . _ -')
  const handoff: Handoff = {
    schemaVersion:
      read.matching('schema_version', members['schema_version'], VERSION, 'a version 2 such as 2.0.0') ??
      SCHEMA_VERSION,
    claims: from_agent === undefined ? undefined : read.text('from_agent', from_agent),
    to,
    task: read.text('task', members['task']),
    successCriteria: read.texts('success_criteria', members['success_criteria'], 1, HANDOFF_ITEMS),
    artifacts: read.texts('artifacts', members['artifacts'], 0, HANDOFF_ITEMS, PATH_BYTES),
    keyFindings: read.texts('key_findings', members['key_findings'], FINDINGS_MIN, FINDINGS_MAX),
    blockers: read.texts('blockers', members['blockers'], 0, HANDOFF_ITEMS),
    constraints: read.texts('constraints', constraints, 0, HANDOFF_ITEMS),
    criticFindings: read.texts(
      'quality_context.critic_findings',
      quality['critic_findings'] ?? [],
      0,
      HANDOFF_ITEMS,
    ),
    confidence: read.share('confidence', members['confidence']),
    priorScore: read.share('quality_context.prior_score', quality['prior_score']),
    criticality: read.word('criticality', members['criticality'], CRITICALITIES),
    classification:
      classification === undefined ? 0 : read.word('classification', classification, CLASSIFICATIONS),
    taskId: typeof task_id === 'string' ? task_id : undefined,
    previous: read.matching(
      'previous',
      members['previous'],
      ID,
      'the id of a handoff, 32 hexadecimal digits',
    ),
    declared: read.matching(
      'integrity.sha256',
      integrity['sha256'],
      SHA256,
      'a SHA-256 in 64 hexadecimal digits',
    ),
  }
  const { problems } = read
  return problems.length === 0 ? { ok: true, handoff } : { ok: false, problem: joined(problems) }
}

/** The fields of a message; confidence may be missing, which is for the decision. Never throws. */
export function readHandoff(bytes: Uint8Array): HandoffRead {
  const parsed = parseStrictJson(bytes, LIMITS)
  if (!parsed.ok) return { ok: false, problem: `content is no handoff: ${mistakeText(bytes, parsed)}` }
  if (!isObject(parsed.value)) return { ok: false, problem: 'content must be one JSON object' }
  return readMembers(parsed.value)
}

/** The same handoff with each free text through `change`: what is hidden is hidden before anything is digested. */
export function withTexts(handoff: Handoff, change: (text: string) => string): Handoff {
  const all = (texts: readonly string[]) => texts.map(change)
  return {
    ...handoff,
    task: change(handoff.task),
    successCriteria: all(handoff.successCriteria),
    artifacts: all(handoff.artifacts),
    keyFindings: all(handoff.keyFindings),
    blockers: all(handoff.blockers),
    constraints: all(handoff.constraints),
    criticFindings: all(handoff.criticFindings),
  }
}

/** Every free text, one after the other: what the recipient would read. */
export function freeText(handoff: Handoff): string {
  const { task, successCriteria, keyFindings, blockers, constraints, criticFindings, artifacts } = handoff
  const lists = [successCriteria, keyFindings, blockers, constraints, criticFindings, artifacts]
  return [task, ...lists.flat()].join('\n')
}

const digestText = (text: string): string => encodeHex(sha256(encodeUtf8(text)))
const digest = (value: Json): string => digestText(canonicalize(value))

/** SHA-256, hex, of RFC 8785 of what no one along the chain may change. */
export function sealOf({ task, successCriteria, criticality }: Handoff): string {
  return digest({ task, success_criteria: [...successCriteria], criticality: `C${criticality}` })
}

/** The same without the criticality, which may rise. */
export function taskDigest({ task, successCriteria }: Handoff): string {
  return digest({ task, success_criteria: [...successCriteria] })
}

/** SHA-256 of each blocker that must be kept. */
export function persistentBlockers({ blockers }: Handoff): readonly string[] {
  return blockers.filter((blocker) => blocker.startsWith(PERSISTENT)).map(digestText)
}

/** What the daemon sets, whatever the message said. */
export type Routing = { readonly from: string; readonly depth: number; readonly previous: string | undefined }

/** The message as it is delivered, RFC 8785: the nine fields, what else it said, and what the daemon sets. */
export function deliveredText(handoff: Handoff, { from, depth, previous }: Routing): string {
  const { confidence, priorScore, criticFindings, constraints, classification, taskId } = handoff
  const quality = {
    ...(priorScore === undefined ? {} : { prior_score: priorScore / PERMILLE }),
    ...(criticFindings.length === 0 ? {} : { critic_findings: criticFindings }),
  }
  return canonicalize({
    schema_version: handoff.schemaVersion,
    from_agent: from,
    to_agent: handoff.to,
    task: handoff.task,
    success_criteria: handoff.successCriteria,
    artifacts: handoff.artifacts,
    key_findings: handoff.keyFindings,
    blockers: handoff.blockers,
    confidence: confidence === undefined ? null : confidence / PERMILLE,
    criticality: `C${handoff.criticality}`,
    ...(constraints.length === 0 ? {} : { constraints }),
    ...(taskId === undefined ? {} : { task_id: taskId }),
    ...(classification === 0 ? {} : { classification: CLASSIFICATIONS[classification - 1] ?? 'SENSITIVE' }),
    ...(Object.keys(quality).length === 0 ? {} : { quality_context: quality }),
    routing_metadata: { routing_depth: depth, ...(previous === undefined ? {} : { previous }) },
    integrity: { sha256: sealOf(handoff) },
  })
}

/** Whether a delivered text still says what its digest was made of. */
export function isWhole(text: string): boolean {
  try {
    const { task, success_criteria, criticality, integrity } = JSON.parse(text) as Record<string, Json>
    const made = digest({
      task: task ?? null,
      success_criteria: success_criteria ?? null,
      criticality: criticality ?? null,
    })
    return isObject(integrity) && integrity['sha256'] === made
  } catch {
    return false
  }
}

/** SHA-256, hex, of a delivered text. */
export function contentDigest(text: string): string {
  return digestText(text)
}
