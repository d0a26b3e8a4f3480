/**
 * What a cycle was told: what was said to it, the one time of it, what was spent on it, and what the host's own checks
 * have found. The kinds are closed, and who makes each is fixed: an agent makes none, and what it says comes in as
 * `user_input` and never as `system`. Host and decision both read them by this; what is not as it must be is a risk to
 * integrity, since no agent can have caused it.
 * Rules: docs/proposals.md, section on observations.
 * @module
 */
import type { Json } from '../../base/encoding/strict-json.ts'
import { type Author, type Fields, type Observation, observation } from './artifacts.ts'
import type { Constitution } from './constitution.ts'
import { fieldProblem, isObject } from './fields.ts'

/** Who makes an observation of each kind. */
const AUTHORS: Readonly<Record<string, Author>> = Object.freeze({
  user_input: 'user',
  timestamp: 'host',
  budget: 'host',
  system: 'host',
})

/** What the host's checks can find that ends everything. */
const INTEGRITY_EVENTS: readonly Json[] = [
  'startup_integrity_fail',
  'citation_index_fail',
  'replay_fail',
  'executor_integrity_fail',
]

/** A second of UTC, and no other form of it. */
const UTC_SECOND =
  /^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$/

/** Whether the text is a second of UTC as observations have it. */
function isUtcSecond(text: Json | undefined): text is string {
  return typeof text === 'string' && UTC_SECOND.test(text)
}

const MEMBERS: readonly string[] = ['type', 'kind', 'payload', 'author', 'created_at', 'id']

/** The observation of that JSON, with its name; undefined where it is none. Author and name may be left out. */
export function readObservation(value: Json, { observations }: Constitution): Observation | undefined {
  if (!isObject(value) || Object.keys(value).some((name) => !MEMBERS.includes(name))) return undefined
  const { type = 'Observation', kind = '', payload, created_at: createdAt = '' } = value
  const rules = typeof kind === 'string' ? observations.get(kind) : undefined
  const author = typeof kind === 'string' && Object.hasOwn(AUTHORS, kind) ? AUTHORS[kind] : undefined
  if (rules === undefined || author === undefined || typeof kind !== 'string') return undefined
  if (type !== 'Observation' || (value['author'] ?? author) !== author || !isObject(payload)) return undefined
  if (createdAt !== '' && !isUtcSecond(createdAt)) return undefined
  if (fieldProblem(rules, payload) !== undefined) return undefined
  if (kind === 'timestamp' && !isUtcSecond(payload['iso8601_utc'])) return undefined
  const read = observation(kind, payload, author, createdAt)
  return (value['id'] ?? read.id) === read.id ? read : undefined
}

/** Whether it says of itself that it is a time: how many of those there are is asked before anything else. */
export function isTimestamp(value: Json): boolean {
  return isObject(value) && value['kind'] === 'timestamp'
}

/** Whether the host has found that something is not what it must be. */
export function isIntegrityRisk({ kind, payload }: Observation): boolean {
  return kind === 'system' && INTEGRITY_EVENTS.includes(payload['event'] ?? null)
}

/** Tokens that were spent on the cycle; several observations of it count each for itself. */
export function tokensSpent(observations: readonly Observation[]): number {
  return observations
    .filter(({ kind }) => kind === 'budget')
    .reduce((most, { payload }) => Math.max(most, Number(payload['llm_output_token_count'])), 0)
}

/** What was said to the cycle. */
export function userInput(text: string): Observation {
  return observation('user_input', { source: 'cli', text }, 'user')
}

/** The one time of the cycle, a second of UTC. */
export function timestamp(utcSecond: string): Observation {
  return observation('timestamp', { iso8601_utc: utcSecond }, 'host')
}

export function budget(tokens: number, candidates: number, parseErrors: number): Observation {
  const payload: Fields = {
    llm_candidates_reported: candidates,
    llm_output_token_count: tokens,
    llm_parse_errors: parseErrors,
  }
  return observation('budget', payload, 'host')
}

/**
 * What one of the host's own checks has found. Never with anything in it that an agent or a person has sent: it can end
 * the daemon.
 */
export function systemEvent(event: string, detail: string): Observation {
  return observation('system', { detail, event }, 'host')
}
