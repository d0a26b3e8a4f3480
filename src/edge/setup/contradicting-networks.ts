/**
 * The network of commands as it is configured: what would surprise whoever wrote it. Judged as text; whoever reads what the entries of a list mean takes the lists from here.
 * Rules: docs/configuration.md (what check finds beyond the file); docs/sandbox.md (the network).
 * @module
 */
import type { CapabilityConfig, Config } from '../../config/config.ts'
import { writtenEgress } from '../../config/egress-fields.ts'
import { parseEgressList } from '../../egress/lists/egress-list.ts'
import type { IsWritten } from './contradictions.ts'
import { type Finding, fail, warn } from './finding.ts'

type Network = Config['sandbox']['network']

/** What the commands of a set have. */
export function networkOf({ sandbox }: Config, { network }: CapabilityConfig): Network {
  return network === 'default' ? sandbox.network : network
}

/** Every list of the configuration, by the path of its key, as its author wrote it. */
export function egressLists({ sandbox, capabilities }: Pick<Config, 'sandbox' | 'capabilities'>): readonly {
  readonly path: string
  readonly list: readonly unknown[]
}[] {
  const sets = Object.entries(capabilities).flatMap(([name, { egress }]) =>
    egress === null ? [] : [{ path: `capabilities.${name}.egress`, list: egress.map(writtenEgress) }],
  )
  return [{ path: 'sandbox.egress', list: sandbox.egress.map(writtenEgress) }, ...sets]
}

/** Entries that are none, by the path of each. */
export function egressProblems(
  config: Config,
): { readonly path: string; readonly problem: string; readonly hint: string }[] {
  return egressLists(config).flatMap(({ path, list }) => {
    const read = parseEgressList(list, path)
    return read.ok ? [] : read.problems.map(({ field, problem }) => ({ path: field, problem, hint: '' }))
  })
}

/** Agents that have a set, for a sentence. */
function agentsWith({ agents }: Config, name: string): readonly string[] {
  return agents
    .filter(({ role, capability }) => role === 'agent' && capability === name)
    .map((agent) => agent.name)
}

function* hostFindings(config: Config, isWritten: IsWritten): Iterable<Finding> {
  for (const [name, set] of Object.entries(config.capabilities)) {
    const isOwn = set.network === 'host'
    if (networkOf(config, set) !== 'host' || !(isOwn || isWritten('sandbox.network'))) continue
    const agents = agentsWith(config, name)
    if (agents.length === 0) continue
    yield warn(
      isOwn ? `capabilities.${name}.network` : 'sandbox.network',
      `gives ${agents.join(', ')} the network of the device, so they reach everything that it does and can send out what they read`,
      'write "gate" and list in sandbox.egress what they need',
    )
  }
}

function* listFindings(config: Config, isWritten: IsWritten): Iterable<Finding> {
  const networks = Object.values(config.capabilities).map((set) => networkOf(config, set))

  if (isWritten('sandbox.egress') && isWritten('sandbox.network') && !networks.includes('gate'))
    yield warn(
      'sandbox.egress',
      'lists what commands reach, and no capability set has the network that it holds for',
      'write "gate" as sandbox.network, or take the list out',
    )
  for (const [name, set] of Object.entries(config.capabilities)) {
    if (set.egress === null || networkOf(config, set) === 'gate') continue
    yield fail(
      `capabilities.${name}.egress`,
      `lists what its commands reach, and their network is "${networkOf(config, set)}", for which no list holds`,
      'write "gate" as its network, or take the list out',
    )
  }
}

/** `isWritten`: whether the file itself holds a key. */
export function* findNetworkContradictions(config: Config, isWritten: IsWritten): Iterable<Finding> {
  if (config.sandbox.require === 'none') return
  yield* hostFindings(config, isWritten)
  yield* listFindings(config, isWritten)
}
