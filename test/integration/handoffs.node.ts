/**
 * Agents that hand work to each other, for tests: a daemon with five of them, a message that breaks no rule, and what the
 * record has of it.
 * @module
 */
import type { Test } from 'tap'
import type { Client, Handoff } from '../../src/client/client.node.ts'
import { SHORT, startWithAgents } from './agentic.node.ts'
import type { Daemon, Json } from './daemon.node.ts'

export const AGENTS = [['helper'], ['third'], ['fourth'], ['fifth']]

export const MESSAGE = {
  to_agent: 'helper',
  task: 'Summarise the logs',
  success_criteria: ['report.md exists'],
  artifacts: [] as string[],
  key_findings: ['three restarts', 'no full disk', 'the clock was set'],
  blockers: ['[PERSISTENT] no network', 'slow disk'],
  confidence: 0.8,
  criticality: 'C2',
}

export function send(from: Client, change: Json = {}): Promise<Handoff> {
  return from.handoffs.send({ ...MESSAGE, ...change })
}

/** `done`, or the code and the sentence that it fails with. */
export async function told(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'done'
  } catch (cause) {
    const { code, message } = cause as { code: string; message: string }
    return `${code} ${message}`
  }
}

export const handed = (daemon: Daemon): Json[] => daemon.audit().filter(({ type }) => type === 'handoff')
export const rejected = (daemon: Daemon): unknown[] =>
  handed(daemon)
    .filter(({ what }) => what === 'rejected')
    .map(({ rule }) => rule)

export async function whole(t: Test, change: Json = SHORT): Promise<Daemon> {
  return startWithAgents(t, change, AGENTS)
}
