/**
 * What the daemon remembered before each decision, rebuilt forward from the records before it and nothing else: levels
 * of alarm, sessions and what each of them was permitted, commands that may run, and how far the decisions were counted.
 * What a record says of it must be what comes out here; how much room there is at a moment, and how many bytes have left,
 * are observations, sealed with the decision that they were made for.
 *
 * A run of the daemon says in its first record which levels it stands with. Where that record, or the beginning of a
 * session, is not there any more, what follows from it is not known, and is not compared.
 * Rules: docs/responses.md, section 7 (replay).
 * @module
 */
import { canonicalize } from '../../base/encoding/canonical-json.ts'
import type { Json } from '../../base/encoding/strict-json.ts'
import type { Facts, Ledger } from '../../defense/facts.ts'
import { isLevel, type Level, stricter } from '../../defense/level.ts'
import type { Verdict } from '../../defense/verdict.ts'
import type { AuditEvent } from '../../ports.ts'
import { newMemory, recalled, remember, type SessionMemory } from '../callers/session-memory.ts'
import { SESSION_TABLE, type SessionState } from '../callers/sessions.ts'
import { levelKey, STORAGE } from './levels.ts'

/** A decision as it was opened and made again. */
export type Decided = { readonly facts: Facts; readonly ledger: Ledger; readonly verdict: Verdict }

/** What a record says, and what the records before it lead to. */
export type Departure = { readonly what: string; readonly recorded: string; readonly rebuilt: string }

export type Taken = {
  /** False: what is needed for it was dropped or purged. */
  readonly isTold: boolean
  readonly departures: readonly Departure[]
}

export type RebuiltState = {
  /**
   * Compares the record with what those before it lead to, and takes it in.
   * @param decided of a decision: what it was made from and to; undefined where that is not there
   */
  take(event: AuditEvent, decided: Decided | undefined): Taken
}

type KnownSession = {
  state: SessionState
  /** Undefined: what it was permitted is not known. */
  memory: SessionMemory | undefined
}

const TOLD: Taken = Object.freeze({ isTold: true, departures: Object.freeze([]) })
const DAEMON = levelKey('daemon', '')
const DISK = levelKey('daemon', STORAGE)

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const isState = (value: unknown): value is SessionState =>
  typeof value === 'string' && Object.hasOwn(SESSION_TABLE, value)

/** What the decision is told of a session in that state. */
const STATES_TOLD: Readonly<Record<SessionState, readonly string[]>> = Object.freeze({
  CREATED: ['unproven'],
  // The connection may still have to prove that the session is its own.
  ACTIVE: ['live', 'unproven'],
  EXECUTING: ['live', 'unproven'],
  EXPIRED: ['expired'],
  DESTROYED: ['unknown'],
})

/** Records do not tell ACTIVE from EXECUTING: the decisions and ends of commands between them do. */
const coarse = (state: SessionState): SessionState => (state === 'EXECUTING' ? 'ACTIVE' : state)

function departure(what: string, recorded: Json, rebuilt: Json): readonly Departure[] {
  const [found, expected] = [canonicalize(recorded), canonicalize(rebuilt)]
  return found === expected ? [] : [{ what, recorded: found, rebuilt: expected }]
}

/** The levels that a run says it stands with; undefined where it does not say. */
function levelsOf({ levels }: AuditEvent): Map<string, Level> | undefined {
  if (typeof levels !== 'object' || levels === null) return undefined
  return new Map(
    Object.entries(levels).flatMap(([key, level]) =>
      typeof level === 'string' && isLevel(level) ? [[key, level] as const] : [],
    ),
  )
}

export function createRebuiltState(): RebuiltState {
  /** The record in which the run says where it begins is there. */
  let isBegun = false
  let levels = new Map<string, Level>()
  const sessions = new Map<string, KnownSession>()
  /** Warrants of commands that were permitted and have not ended. */
  const permitted = new Set<string>()
  let cycle = -1

  const levelAt = (key: string): Level | undefined => levels.get(key) ?? (isBegun ? 'NORMAL' : undefined)

  function begin(event: AuditEvent): Taken {
    const stands = levelsOf(event)
    const departures: Departure[] = []
    if (isBegun && stands !== undefined)
      for (const [key, level] of levels) {
        const now = stands.get(key) ?? 'NORMAL'
        // Stricter than recorded is what a loss of power leaves: it has cost the record of it, and widens nothing.
        if (!key.startsWith('session/') && key !== DISK && stricter(now, level) !== now)
          departures.push(...departure(`level of ${key}`, now, level))
      }
    isBegun = stands !== undefined
    levels = stands ?? new Map()
    sessions.clear()
    permitted.clear()
    cycle = -1
    return { isTold: true, departures }
  }

  function takeLevel({ scope, name, from, to }: AuditEvent): Taken {
    const key = `${textOf(scope)}/${textOf(name)}`
    const before = levelAt(key)
    if (typeof to === 'string' && isLevel(to)) levels.set(key, to)
    if (before === undefined) return { isTold: false, departures: [] }
    return { isTold: true, departures: departure(`level of ${key}`, from ?? null, before) }
  }

  function sessionOf(id: string): KnownSession | undefined {
    const known = sessions.get(id)
    if (known !== undefined || !isBegun) return known
    const fresh: KnownSession = { state: 'CREATED', memory: newMemory() }
    sessions.set(id, fresh)
    return fresh
  }

  function takeSession({ session, from, to }: AuditEvent): Taken {
    const id = textOf(session)
    if (!isState(from) || !isState(to)) return { isTold: false, departures: [] }
    if (from === 'CREATED' && !sessions.has(id)) sessions.set(id, { state: from, memory: newMemory() })
    const known = sessionOf(id)
    if (known === undefined) {
      sessions.set(id, { state: to, memory: undefined })
      return { isTold: false, departures: [] }
    }
    const before = known.state
    known.state = to
    const isStep = Object.values(SESSION_TABLE[from]).includes(to)
    return {
      isTold: true,
      departures: [
        ...departure('session', coarse(from), coarse(before)),
        ...(isStep ? [] : departure('session', to, from)),
      ],
    }
  }

  /** The strictest level that holds for the decision; undefined where one of them is not known. */
  function levelFor({ identity, session }: Facts): Level | undefined {
    const delegation = identity.kind === 'known' ? identity.delegation : undefined
    const chain = delegation?.chain ?? []
    const agents = [...(identity.kind === 'known' ? [identity.name] : []), ...chain.map(({ name }) => name)]
    const known = [DAEMON, DISK, ...agents.map((name) => levelKey('agent', name))].map(levelAt)
    // Nobody sets the level of a session before there is one.
    for (const id of [session?.id, delegation?.handed?.session])
      if (id !== undefined)
        known.push(levelAt(levelKey('session', id)) ?? (sessions.has(id) ? 'NORMAL' : undefined))
    let level: Level = 'NORMAL'
    for (const at of known) {
      if (at === undefined) return undefined
      level = stricter(level, at)
    }
    return level
  }

  function compared({ facts, ledger }: Decided): Taken {
    const { session, request } = facts
    const known = session === undefined ? undefined : sessionOf(session.id)
    const level = levelFor(facts)
    const departures = level === undefined ? [] : [...departure('level', ledger.level, level)]
    if (session === undefined) return { isTold: level !== undefined, departures }
    if (known !== undefined && !STATES_TOLD[known.state].includes(session.state))
      departures.push(...departure('session', session.state, known.state))
    const memory = known?.memory
    if (memory === undefined) return { isTold: false, departures }
    const { ticks, toxic } = recalled(memory, request)
    departures.push(
      ...departure('ticks', ledger.ticks, ticks),
      ...departure('toxic', [...ledger.toxic], [...toxic]),
    )
    return { isTold: level !== undefined, departures }
  }

  function counted(event: AuditEvent): readonly Departure[] {
    const { cycle: number } = event
    if (typeof number !== 'number') return []
    const before = cycle
    cycle = number
    return number > before ? [] : departure('cycle', number, before + 1)
  }

  function takeDecision(event: AuditEvent, decided: Decided | undefined): Taken {
    const { action, response, warrant, session } = event
    const taken = decided === undefined ? { isTold: false, departures: [] } : compared(decided)
    const departures = [...counted(event), ...taken.departures]
    if (response !== 'R1') return { ...taken, departures }
    if (action === 'execute') permitted.add(textOf(warrant))
    const known = typeof session === 'string' ? sessionOf(session) : undefined
    if (known?.memory !== undefined) {
      if (decided === undefined) known.memory = undefined
      else remember(known.memory, decided.facts.request, decided.verdict)
    }
    return { ...taken, departures }
  }

  /** A command ends once, and began by a warrant. */
  function takeEnd({ warrant }: AuditEvent): Taken {
    if (permitted.delete(textOf(warrant))) return TOLD
    return { isTold: isBegun, departures: isBegun ? departure('warrant', warrant ?? null, null) : [] }
  }

  return {
    take(event, decided) {
      switch (event.type) {
        case 'decision':
          return takeDecision(event, decided)
        case 'level':
          return takeLevel(event)
        case 'session':
          return takeSession(event)
        case 'execution_ended':
          return takeEnd(event)
        case 'exit':
          // A start that found its record changed: the next one stands at HALT.
          if (event['by'] === 'start' && event['reason'] === 'INTEGRITY_RISK') levels.set(DAEMON, 'HALT')
          return TOLD
        case 'daemon':
          return event['what'] === 'started' ? begin(event) : TOLD
        case 'recovered':
          // Records of what has happened meanwhile are not there: only the next start says again what holds.
          if (event['what'] === 'records_lost') {
            isBegun = false
            levels = new Map()
            sessions.clear()
            permitted.clear()
          }
          return TOLD
        default:
          return TOLD
      }
    },
  }
}
