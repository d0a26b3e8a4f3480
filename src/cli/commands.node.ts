/**
 * Where every command is, each loaded only when it is wanted.
 * @module
 */
import type { Command } from './command.ts'
import { type CommandName, SUMMARIES } from './summaries.ts'

/** The loader of each command. */
export const LOADERS: Readonly<Record<CommandName, () => Promise<{ readonly command: Command }>>> = {
  run: () => import('./run.node.ts'),
  init: () => import('./init.node.ts'),
  check: () => import('./check.node.ts'),
  config: () => import('./config.node.ts'),
  policy: () => import('./policy.node.ts'),
  keygen: () => import('./keygen.node.ts'),
  agent: () => import('./agent.node.ts'),
  enroll: () => import('./enroll.node.ts'),
  trust: () => import('./trust.node.ts'),
  exec: () => import('./exec.node.ts'),
  shell: () => import('./shell.node.ts'),
  attach: () => import('./attach.node.ts'),
  rsh: () => import('./rsh.node.ts'),
  cp: () => import('./cp.node.ts'),
  mcp: () => import('./mcp.node.ts'),
  jobs: () => import('./jobs.node.ts'),
  kill: () => import('./kill.node.ts'),
  branch: () => import('./branch.node.ts'),
  confirm: () => import('./confirm.node.ts'),
  level: () => import('./level.node.ts'),
  penalties: () => import('./penalties.node.ts'),
  audit: () => import('./audit.node.ts'),
  purge: () => import('./purge.node.ts'),
  why: () => import('./why.node.ts'),
  reload: () => import('./reload.node.ts'),
  drain: () => import('./drain.node.ts'),
  doctor: () => import('./doctor.node.ts'),
  ping: () => import('./ping.node.ts'),
  status: () => import('./status.node.ts'),
  metrics: () => import('./metrics.node.ts'),
  completion: () => import('./completion.node.ts'),
  version: () => import('./version.node.ts'),
}

/** Commands whose words are those of another program: they come as `rest`, whatever they look like. */
export const FOREIGN_WORDS: ReadonlySet<string | undefined> = new Set<CommandName>(['rsh'])

/** Every command, in the order of the overview: for the manual and for completion. */
export async function loadCommands(): Promise<readonly Command[]> {
  const names = Object.keys(SUMMARIES) as CommandName[]
  return Promise.all(names.map(async (name) => (await LOADERS[name]()).command))
}
