/**
 * What a session remembers of what it was permitted: the decisions of each of its tasks, and what it has done that may
 * become toxic together with something else. The daemon keeps it as it decides, and a replay makes it anew from the
 * decisions alone, by this same code.
 * Rules: docs/responses.md, sections 1 (specifics, quota) and 7 (replay).
 * @module
 */

import type { ToxicProperty } from '../../base/toxic-property.ts'
import type { Facts, Ledger } from '../../defense/facts.ts'
import type { Verdict } from '../../defense/verdict.ts'
import { TASKS_PER_SESSION } from '../../limits.ts'

export type SessionMemory = {
  /** Decisions by task; the oldest task is forgotten. */
  readonly ticks: Map<string, number>
  /** What the session has done so far. */
  readonly toxic: Set<ToxicProperty>
}

export function newMemory(): SessionMemory {
  return { ticks: new Map(), toxic: new Set() }
}

/** What the next decision of the session is told of it. */
export function recalled(
  memory: SessionMemory | undefined,
  request: Facts['request'],
): Pick<Ledger, 'ticks' | 'toxic'> {
  return {
    ticks: request?.task === undefined ? 0 : (memory?.ticks.get(request.task) ?? 0),
    toxic: memory === undefined ? [] : [...memory.toxic],
  }
}

/** A human allowed it although that rule would not. */
export function isAllowed(request: Facts['request'], rule: string): boolean {
  return request?.approvals.some((approval) => approval.rule === rule) === true
}

/** Takes in what was permitted; what a human allowed once more begins to count anew. */
export function remember(memory: SessionMemory, request: Facts['request'], verdict: Verdict): void {
  if (verdict.kind !== 'response' || verdict.response !== 'EXECUTE') return
  for (const property of verdict.toxic) memory.toxic.add(property)
  if (request?.task === undefined) return
  const { ticks } = memory
  const before = isAllowed(request, 'quota.ticks_per_task') ? 0 : (ticks.get(request.task) ?? 0)
  ticks.delete(request.task)
  ticks.set(request.task, before + 1)
  const [oldest] = ticks.keys()
  if (ticks.size > TASKS_PER_SESSION && oldest !== undefined) ticks.delete(oldest)
}
