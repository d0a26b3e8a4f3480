/**
 * A question to a human, as lines. All that is in it comes from the agent and from what it wants to run: nothing of
 * it reaches the terminal as it is, and nothing of it is left out where somebody is about to answer.
 * Rules: docs/responses.md, on asking a human.
 * @module
 */
import { visible } from '../../base/text/visible.ts'
import type { Confirmation } from '../../client/operator-client.ts'
import { adviceFor, commandLine, riskOf } from '../../defense/describe.ts'
import { alignColumns } from './listing.ts'

const LISTED_CHARS = 160
const INDENT = '  '

type Members = Readonly<Record<string, unknown>>

function members(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined
}

/** What is asked about, as JSON; the text itself where it is none. */
export function shownValue({ shown }: Confirmation): unknown {
  try {
    return JSON.parse(shown)
  } catch {
    return shown
  }
}

function argvOf(action: Members | undefined): readonly string[] | undefined {
  const argv = action?.['argv']
  return Array.isArray(argv) && argv.every((word) => typeof word === 'string') ? argv : undefined
}

/** Where a session's network turned, as `host:port`; undefined where that is not what is asked about. */
export function reachedPlace(confirmation: Confirmation): string | undefined {
  const action = members(members(shownValue(confirmation))?.['action'])
  return action?.['kind'] === 'reach' && typeof action['place'] === 'string' ? action['place'] : undefined
}

function inShort(action: Members | undefined, shown: unknown, chars: number): string {
  const argv = argvOf(action)
  if (argv !== undefined) return commandLine(argv, chars)
  if (action?.['kind'] === 'reach') return `reach ${visible(String(action['place']))}`
  if (action?.['kind'] === 'give') return `fetch ${visible(String(action['path']))}`
  if (action?.['kind'] === 'release') return `release what ${visible(String(action['command']))} has printed`
  const text = visible(JSON.stringify(action ?? shown) ?? '')
  return text.length > chars ? `${text.slice(0, chars - 1)}…` : text
}

/** The command, or whatever else is asked for, on one line that is cut where it is long. */
export function askedLine(confirmation: Confirmation): string {
  const shown = shownValue(confirmation)
  return inShort(members(members(shown)?.['action']), shown, LISTED_CHARS)
}

/** Nothing to say: as good as absent. */
function isNothing(value: unknown): boolean {
  return value === null || value === false || (Array.isArray(value) && value.length === 0)
}

function row(name: string, value: unknown): readonly string[] {
  return [visible(name), visible(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))]
}

function rowsOf(value: Members | undefined, without: readonly string[]): (readonly string[])[] {
  if (value === undefined) return []
  return Object.entries(value)
    .filter(([name, member]) => !without.includes(name) && !isNothing(member))
    .map(([name, member]) => row(name, member))
}

/** How bad a yes could be, and what else could be done: both follow from the rule that asks. */
export function judgedBy({ layer, rule }: Confirmation): {
  readonly risk: string
  readonly alternatives: string
} {
  return { risk: riskOf(rule), alternatives: adviceFor({ layer, rule, response: 'R3' }) }
}

/** Everything that there is to judge by. */
export function questionLines(confirmation: Confirmation, nowSeconds: number): string[] {
  const shown = shownValue(confirmation)
  const whole = members(shown)
  const action = members(whole?.['action'])
  const left = Math.max(0, confirmation.expiresAt - nowSeconds)
  const more = whole?.['more']
  return [
    `${visible(confirmation.agent)} asks for this and waits for ${left} seconds more:`,
    '',
    `${INDENT}${inShort(action, shown, Number.POSITIVE_INFINITY)}`,
    '',
    ...alignColumns([
      row('because', confirmation.reason),
      row('rule', `${confirmation.layer} ${confirmation.rule}`),
      ...rowsOf(judgedBy(confirmation), []),
      ...rowsOf(action, ['argv', 'kind']),
      ...(members(more) === undefined && !isNothing(more ?? null) ? [row('more', more)] : []),
      ...rowsOf(members(more), []),
      ...rowsOf(whole, ['action', 'more', ...(whole?.['reason'] === confirmation.reason ? ['reason'] : [])]),
      row('session', confirmation.sessionId),
      row('id', confirmation.id),
    ]).map((line) => INDENT + line),
  ]
}
