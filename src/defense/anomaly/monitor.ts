/**
 * The agents that are watched: at most AGENTS_WATCHED, of whom the one that was quiet longest is forgotten. The same
 * observations lead to the same findings, on any machine and at any time.
 * Rules: docs/anomaly.md; JF-045, JF-046, JF-084, JF-085, JF-090.
 * @module
 */
import { type Course, NO_COURSE, type Strayed, takeCommand } from './drift.ts'
import { AGENTS_WATCHED } from './limits.ts'
import { isCalibrated } from './sums.ts'
import {
  type Alert,
  type Baselines,
  MEASURES,
  NO_BASELINES,
  type Sign,
  type Turn,
  type TurnSettings,
  takeTurn,
  type Watched,
  watchedFrom,
} from './turns.ts'

export type MonitorSettings = TurnSettings & { readonly driftPermille: number }

/**
 * What is seen of an agent: a turn that is over, or what was permitted: whether it is outside of the plan, where there is
 * one, and what it completes that nobody has declared.
 */
export type Observation =
  | { readonly kind: 'turn'; readonly turn: Turn }
  | { readonly kind: 'command'; readonly isOutside: boolean | undefined; readonly undeclared?: string }

export type Found = {
  readonly alerts: readonly Alert[]
  readonly strayed: Strayed | undefined
  /** Properties that have come together, joined by +. */
  readonly undeclared?: string | undefined
  readonly contains: boolean
}

/** What an operator is told of one agent. */
export type AgentStanding = {
  readonly agent: string
  /** Commands that its baseline weighs. */
  readonly turns: number
  readonly isCalibrated: boolean
  readonly beyond: readonly (Sign | 'drift')[]
  /** Since the start. */
  readonly alerts: number
}

export type KeptBaselines = readonly (readonly [agent: string, baselines: Baselines])[]

export type Monitor = {
  take(agent: string, observation: Observation): Found
  list(): readonly AgentStanding[]
  /** The quietest first; what `createMonitor` goes on from. */
  kept(): KeptBaselines
}

type Agent = { watched: Watched; course: Course; alerts: number }

const isReady = ({ baselines }: Watched): boolean =>
  MEASURES.every((measure) => measure === 'failures' || isCalibrated(baselines[measure]))

export function createMonitor(settings: MonitorSettings, kept: KeptBaselines = []): Monitor {
  const agents = new Map<string, Agent>()
  for (const [agent, baselines] of kept.slice(-AGENTS_WATCHED))
    agents.set(agent, { watched: watchedFrom(baselines), course: NO_COURSE, alerts: 0 })

  function agentOf(name: string): Agent {
    const agent = agents.get(name) ?? { watched: watchedFrom(NO_BASELINES), course: NO_COURSE, alerts: 0 }
    agents.delete(name)
    agents.set(name, agent)
    const [quietest] = agents.keys()
    if (agents.size > AGENTS_WATCHED && quietest !== undefined) agents.delete(quietest)
    return agent
  }

  return {
    take(name, observation) {
      const agent = agentOf(name)
      if (observation.kind === 'turn') {
        const { watched, alerts, contains } = takeTurn(agent.watched, observation.turn, settings)
        agent.watched = watched
        agent.alerts += alerts.length
        return { alerts, strayed: undefined, contains }
      }
      const { isOutside, undeclared } = observation
      if (undeclared !== undefined) agent.alerts++
      if (isOutside === undefined) return { alerts: [], strayed: undefined, undeclared, contains: false }
      const { course, strayed } = takeCommand(agent.course, isOutside, settings.driftPermille)
      agent.course = course
      if (strayed !== undefined) agent.alerts++
      return { alerts: [], strayed, undeclared, contains: false }
    },
    list: () =>
      Array.from(agents, ([agent, { watched, course, alerts }]) => ({
        agent,
        turns: watched.baselines.volume.count,
        isCalibrated: isReady(watched),
        beyond: [...watched.beyond, ...(course.isAstray ? (['drift'] as const) : [])],
        alerts,
      })),
    kept: () => Array.from(agents, ([agent, { watched }]) => [agent, watched.baselines] as const),
  }
}
