/**
 * The levels of alarm as they stand: of the daemon, of agents and of sessions, what raises them and who lowers them.
 * An agent's and the daemon's outlive a restart; a session's ends with it. Time is monotonic and comes in: a clock
 * set back changes nothing. Pure: what must be done at a step (end commands, write a record) is told, not done.
 * Rules: docs/responses.md, section 8.
 * @module
 */
import { type Level, stricter } from '../../defense/level.ts'
import type { Incident } from '../../defense/verdict.ts'
import {
  ANY_VIOLATIONS_TO_CONTAIN,
  CONTAINED_TO_HALT,
  LEVELS_TOLD,
  VIOLATIONS_KEPT_MS,
  VIOLATIONS_TO_CONTAIN,
} from '../../limits.ts'

export type LevelScope = 'daemon' | 'agent' | 'session'

export type LevelEntry = {
  readonly scope: LevelScope
  /** The agent's name or the session's id; empty for the daemon. */
  readonly name: string
  readonly level: Level
  readonly why: string
  readonly sinceMs: number
}

/** One step, for the record and for whoever carries it out. */
export type LevelStep = {
  readonly scope: LevelScope
  readonly name: string
  readonly from: Level
  readonly to: Level
  readonly why: string
  /** The operator who did it; empty where an incident did. */
  readonly by: string
  /** The instance of the agent whose incident it was, or of that operator; null where it was neither. */
  readonly instance: string | null
}

/** `what` is what was tried: layer, rule and program. */
export type Offender = {
  readonly agent: string
  readonly instance: string | null
  readonly sessionId: string
  readonly what: string
}

export type KeptLevels = { readonly entries: readonly LevelEntry[] }

export type Levels = {
  /**
   * The strictest that holds for a request. `actsFor`: whoever is above the agent; their containment is its own, as is
   * that of the session that has handed the work on.
   */
  of(agent: string, sessionId: string, actsFor: readonly string[], handedBy?: string): Level
  /** The same without what the disk does, which is nobody's fault. */
  byIncidents(agent: string, sessionId: string, actsFor: readonly string[], handedBy?: string): Level
  readonly daemon: Level
  /** `what` names the violation: the same one counts as the same. */
  incident(incident: Incident, who: Offender, why: string, nowMs: number): void
  /**
   * What the disk lets the daemon do: it goes up and down with the room there is, beside the level that incidents and
   * operators set, and does not outlive a restart.
   */
  storage(to: 'NORMAL' | 'RESTRICT' | 'HALT', why: string): void
  set(scope: LevelScope, name: string, level: Level, why: string, by: string, instance?: string): void
  /** `instance`: whose session it was. */
  sessionEnded(sessionId: string, instance?: string): void
  list(): readonly LevelEntry[]
  /** What must outlive a restart. */
  kept(): KeptLevels
}

/** What an incident of that severity does at once; a violation only counts. */
const RAISES: Readonly<Record<Exclude<Incident, 'violation'>, { scope: LevelScope; level: Level }>> =
  Object.freeze({
    medium: { scope: 'session', level: 'RESTRICT' },
    high: { scope: 'session', level: 'CHECKPOINT' },
    critical: { scope: 'agent', level: 'CONTAIN' },
  })

/** The name of the daemon's level that the disk sets. No agent and no session has it: it has a capital. */
export const STORAGE = 'Storage'

/** How the level of one is called: `daemon/`, `agent/NAME`, `session/ID`. */
export function levelKey(scope: LevelScope, name: string): string {
  return `${scope}/${name}`
}
const DAEMON = levelKey('daemon', '')

export function createLevels(
  kept: KeptLevels,
  wallMs: () => number,
  stepped: (step: LevelStep) => void,
  isAutomatic = true,
): Levels {
  const entries = new Map<string, LevelEntry>(
    kept.entries.map((entry) => [levelKey(entry.scope, entry.name), entry]),
  )
  /** What each agent violated and when, monotonic; at most as many as lead to containment. */
  const violations = new Map<string, { readonly what: string; readonly atMs: number }[]>()
  let containedAt: { readonly agent: string; readonly atMs: number }[] = []

  function levelOf(key: string): Level {
    return entries.get(key)?.level ?? 'NORMAL'
  }

  function daemonLevel(): Level {
    return stricter(levelOf(DAEMON), levelOf(`${DAEMON}${STORAGE}`))
  }

  function put(
    scope: LevelScope,
    name: string,
    to: Level,
    why: string,
    by = '',
    instance: string | null = null,
  ): void {
    const key = levelKey(scope, name)
    const from = levelOf(key)
    if (from === to) return
    if (to === 'NORMAL') entries.delete(key)
    else entries.set(key, { scope, name, level: to, why, sinceMs: wallMs() })
    stepped({ scope, name, from, to, why, by, instance })
  }

  function raise(scope: LevelScope, name: string, to: Level, why: string, instance: string | null): void {
    put(scope, name, stricter(levelOf(`${scope}/${name}`), to), why, '', instance)
  }

  function contain({ agent, instance }: Offender, why: string, nowMs: number): void {
    if (levelOf(`agent/${agent}`) === 'CONTAIN') return
    raise('agent', agent, 'CONTAIN', why, instance)
    containedAt = containedAt.filter(
      (entry) => entry.agent !== agent && nowMs - entry.atMs < VIOLATIONS_KEPT_MS,
    )
    containedAt.push({ agent, atMs: nowMs })
    // Different agents: one alone must not be able to stop the device for everybody.
    if (containedAt.length >= CONTAINED_TO_HALT)
      raise('daemon', '', 'HALT', `${containedAt.length} agents had to be contained within a day.`, instance)
  }

  /** The same one three times, or whatever ten times: both are no mistake any more. */
  function countViolation(offender: Offender, why: string, nowMs: number): void {
    const { agent, what } = offender
    const recent = (violations.get(agent) ?? []).filter(({ atMs }) => nowMs - atMs < VIOLATIONS_KEPT_MS)
    recent.push({ what, atMs: nowMs })
    violations.set(agent, recent.slice(-ANY_VIOLATIONS_TO_CONTAIN))
    const same = recent.filter((violation) => violation.what === what).length
    if (same >= VIOLATIONS_TO_CONTAIN)
      contain(offender, `The same violation ${same} times within a day: ${why}`, nowMs)
    else if (recent.length >= ANY_VIOLATIONS_TO_CONTAIN)
      contain(offender, `${recent.length} violations within a day, the last one: ${why}`, nowMs)
  }

  function byIncidents(
    agent: string,
    sessionId: string,
    actsFor: readonly string[],
    handedBy = sessionId,
  ): Level {
    let level = stricter(levelOf(DAEMON), levelOf(`agent/${agent}`))
    for (const name of actsFor) level = stricter(level, levelOf(`agent/${name}`))
    return stricter(level, stricter(levelOf(`session/${sessionId}`), levelOf(`session/${handedBy}`)))
  }

  return {
    of: (...who) => stricter(daemonLevel(), byIncidents(...who)),
    byIncidents,
    get daemon() {
      return daemonLevel()
    },
    incident(incident, offender, why, nowMs) {
      if (!isAutomatic) return
      if (incident !== 'violation') {
        const { scope, level } = RAISES[incident]
        if (level === 'CONTAIN') contain(offender, why, nowMs)
        else raise(scope, offender.sessionId, level, why, offender.instance)
      }
      countViolation(offender, why, nowMs)
    },
    storage: (to, why) => put('daemon', STORAGE, to, why),
    set(scope, name, level, why, by, instance) {
      if (scope === 'agent' && level !== 'CONTAIN') {
        violations.delete(name)
        containedAt = containedAt.filter((entry) => entry.agent !== name)
      }
      if (scope === 'daemon' && level !== 'HALT') containedAt = []
      put(scope, name, level, why, by, instance)
    },
    sessionEnded: (sessionId, instance) =>
      put('session', sessionId, 'NORMAL', 'The session has ended.', '', instance),
    list: () => [...entries.values()],
    kept: () => ({
      entries: [...entries.values()].filter(({ scope, name }) => scope !== 'session' && name !== STORAGE),
    }),
  }
}

/** The levels that a run begins with, for its first record; null where they are more than one record can say. */
export function levelsTold(entries: readonly LevelEntry[]): Readonly<Record<string, Level>> | null {
  if (entries.length > LEVELS_TOLD) return null
  return Object.fromEntries(entries.map(({ scope, name, level }) => [levelKey(scope, name), level]))
}
