/**
 * Where every command is, each loaded only when it is wanted.
 * @module
 */
import { LOADERS as DEVICE_LOADERS, FOREIGN_WORDS, type Loader } from './device-commands.node.ts'
import type { NamedCommand } from './words/command.ts'
import { type CommandName, SUMMARIES } from './words/summaries.ts'

export { FOREIGN_WORDS } from './device-commands.node.ts'

type Request = 'terminate' | 'purge' | 'reload' | 'drain' | 'metrics'

function request(name: Request): Loader {
  return async () => ({ command: (await import('./operate/requests.node.ts'))[name] })
}

/** The loader of each command. */
export const LOADERS: Readonly<Record<CommandName, Loader>> = {
  ...DEVICE_LOADERS,
  run: () => import('./operate/run.node.ts'),
  init: () => import('./operate/init.node.ts'),
  check: () => import('./operate/check.node.ts'),
  config: () => import('./operate/config.node.ts'),
  policy: () => import('./review/policy.node.ts'),
  keygen: () => import('./devices/keygen.node.ts'),
  agent: () => import('./devices/agent.node.ts'),
  delegate: () => import('./devices/delegate.node.ts'),
  enroll: () => import('./devices/enroll.node.ts'),
  trust: () => import('./devices/trust.node.ts'),
  mcp: () => import('./mcp/mcp.node.ts'),
  handoff: () => import('./run/handoff.node.ts'),
  intent: () => import('./intent/intent.node.ts'),
  decide: () => import('./intent/decide.node.ts'),
  branch: () => import('./review/branch.node.ts'),
  confirm: () => import('./review/confirm.node.ts'),
  level: () => import('./operate/level.node.ts'),
  penalties: () => import('./operate/penalties.node.ts'),
  audit: () => import('./review/audit.node.ts'),
  terminate: request('terminate'),
  purge: request('purge'),
  why: () => import('./review/why.node.ts'),
  reload: request('reload'),
  drain: request('drain'),
  doctor: () => import('./operate/doctor.node.ts'),
  status: () => import('./operate/status.node.ts'),
  metrics: request('metrics'),
  completion: async () => ({
    command: (await import('./completion.node.ts')).completionCommand(loadCommands, FOREIGN_WORDS),
  }),
  version: () => import('./operate/version.node.ts'),
}

/** Every command, in the order of the overview: for the manual and for completion. */
export async function loadCommands(): Promise<readonly NamedCommand[]> {
  const all = Object.entries(SUMMARIES) as [CommandName, string][]
  return Promise.all(
    all.map(async ([name, summary]) => ({ ...(await LOADERS[name]()).command, name, summary })),
  )
}
