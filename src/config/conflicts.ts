/**
 * Combinations of a configuration that cannot work although each value alone is fine: names that point nowhere,
 * one key for two callers, delegates that could do more than whoever they act for, a public address for nobody in
 * particular, sizes that contradict each other.
 * @module
 */

import { utf8Length } from '../base/encoding/utf8.ts'
import { isLoopback, parseEndpoint, parseIpAddress } from '../base/ip-address.ts'
import { baseName, directoryOf, isWithin, resolvePath } from '../base/text/lexical-path.ts'
import { ADMIN_NAME } from '../base/text/name.ts'
import { nearest } from '../base/text/suggest.ts'
import { grantedTools, TIERS } from '../base/tool-name.ts'
import { CONFIG_PROBLEMS, RING_POOL_BYTES, SOCKET_PATH_BYTES } from '../limits.ts'
import type { AgentConfig, Config, ConfigProblem } from './shape.ts'

/** Draft 3.4: the port of a protocol that this one must not be mistaken for. */
const SSH_PORT = 22

function findAgentConflicts(config: Config): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  const indexByName = new Map<string, number>()
  const indexByKey = new Map<string, number>()
  const sets = Object.keys(config.capabilities)
  for (const [index, agent] of config.agents.entries()) {
    if (problems.length >= CONFIG_PROBLEMS) break
    const sameName = indexByName.get(agent.name)
    if (agent.name !== '' && sameName !== undefined) {
      problems.push({
        path: `agents[${index}].name`,
        problem: `is also the name of agents[${sameName}]`,
        hint: 'give each caller a name of its own',
      })
    }
    const sameKey = indexByKey.get(agent.public_key)
    if (agent.public_key !== '' && sameKey !== undefined) {
      problems.push({
        path: `agents[${index}].public_key`,
        problem: `is also the key of agents[${sameKey}]`,
        hint: 'give each caller a key of its own, so that the audit can tell them apart',
      })
    }
    if (agent.name === ADMIN_NAME) {
      problems.push({
        path: `agents[${index}].name`,
        problem: `is "${ADMIN_NAME}", the name of whoever comes through the admin socket`,
        hint: 'choose another one, so that the two do not own the same sessions and executions',
      })
    }
    if (sameName === undefined) indexByName.set(agent.name, index)
    if (sameKey === undefined) indexByKey.set(agent.public_key, index)
    if (!Object.hasOwn(config.capabilities, agent.capability)) {
      const meant = nearest(agent.capability, sets)
      problems.push({
        path: `agents[${index}].capability`,
        problem: `names "${agent.capability}", which capabilities does not have`,
        hint: meant === undefined ? `add capabilities.${agent.capability}` : `did you mean "${meant}"?`,
      })
    }
  }
  return problems
}

/** A delegate of `parent` that could do more than it. */
function findWiderDelegate(agent: AgentConfig, parent: AgentConfig, path: string): ConfigProblem | undefined {
  if (agent.role === 'operator') {
    return {
      path: `${path}.role`,
      problem: `is operator while it acts for "${parent.name}", and nobody bounds what an operator sees`,
      hint: 'make it an agent, or let it act for itself',
    }
  }
  const granted = grantedTools(parent.tier, parent.tools)
  const more = grantedTools(agent.tier, agent.tools).filter((tool) => !granted.includes(tool))
  if (more.length === 0) return undefined
  return {
    path: `${path}.tools`,
    problem: `and tier ${agent.tier} give ${more.join(', ')}, which "${parent.name}" does not have: no subset of what it may hand on`,
    hint: granted.length === 0 ? 'nothing can be handed on' : `write ${JSON.stringify(granted)}`,
  }
}

/** Delegates: of somebody who is listed, once and no further, and never more than whoever they act for. */
function findDelegationConflicts({ agents }: Config): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  const byName = new Map(agents.map((agent) => [agent.name, agent]))
  for (const [index, agent] of agents.entries()) {
    if (problems.length >= CONFIG_PROBLEMS) break
    const above = agent.delegated_by
    if (above === null) continue
    const path = `agents[${index}]`
    const parent = byName.get(above)
    if (parent === undefined) {
      const meant = nearest(above, [...byName.keys()])
      problems.push({
        path: `${path}.delegated_by`,
        problem: `names "${above}", which agents does not have`,
        hint: meant === undefined ? 'name an agent of the list, or null' : `did you mean "${meant}"?`,
      })
    } else if (above === agent.name) {
      problems.push({
        path: `${path}.delegated_by`,
        problem: 'names the agent itself',
        hint: 'write null: then it acts for itself',
      })
    } else if (parent.delegated_by === agent.name) {
      problems.push({
        path: `${path}.delegated_by`,
        problem: `names "${above}", which acts for "${agent.name}": a circle`,
        hint: 'write null for the one who decides',
      })
    } else if (parent.delegated_by !== null) {
      problems.push({
        path: `${path}.delegated_by`,
        problem: `names "${above}", which acts for "${parent.delegated_by}" itself, and work may be handed on only once`,
        hint: `write "${parent.delegated_by}"`,
      })
    } else if (TIERS[agent.tier].includes('Task')) {
      // It is a tier of those who hand work on, and whoever acts for another must not.
      problems.push({
        path: `${path}.tier`,
        problem: `is ${agent.tier}, and "${agent.name}" acts for "${above}": work may be handed on only once`,
        hint: 'give it a tier without Task',
      })
    } else {
      const wider = findWiderDelegate(agent, parent, path)
      if (wider !== undefined) problems.push(wider)
    }
  }
  return problems
}

function findPinConflicts({ security }: Config): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  const indexByPath = new Map<string, number>()
  for (const [index, { path }] of security.executables.entries()) {
    if (problems.length >= CONFIG_PROBLEMS) break
    const same = indexByPath.get(path)
    if (same === undefined) indexByPath.set(path, index)
    else if (path !== '') {
      problems.push({
        path: `security.executables[${index}].path`,
        problem: `is pinned by security.executables[${same}] already`,
        hint: 'keep one of them: a program has one content',
      })
    }
  }
  return problems
}

/** JF-R07: fewer say nothing of what a set is not for. */
const FORBIDDEN_MIN = 3

/** A set without its founding rules is none, and what nothing decides is for a human. */
function findFoundingConflicts({ security, capabilities }: Config): ConfigProblem[] {
  if (!security.founding_rules) return []
  const under = 'while security.founding_rules is true'
  const problems = Object.entries(capabilities).flatMap(([name, { forbidden_commands: forbidden }]) => {
    const path = `capabilities.${name}.forbidden_commands`
    const { size } = new Set(forbidden)
    const hint = `forbid what nobody with this set has any business with, like ["shutdown", "mkfs*", "insmod"]`
    return size < FORBIDDEN_MIN
      ? [{ path, problem: `forbids ${size} commands ${under}, and ${FORBIDDEN_MIN} is the least`, hint }]
      : []
  })
  if (!security.confirm_dangerous_actions)
    problems.push({
      path: 'security.confirm_dangerous_actions',
      problem: `is false ${under}`,
      hint: 'leave it out: a human is asked about what nothing lists',
    })
  if (security.opaque === 'allow')
    problems.push({
      path: 'security.opaque',
      problem: `lets run what nobody has read ${under}`,
      hint: 'write "ask" or "deny"',
    })
  return problems
}

function findLongSocket(path: string, socket: string): ConfigProblem[] {
  const bytes = utf8Length(socket)
  if (bytes <= SOCKET_PATH_BYTES) return []
  const problem = `is ${bytes} bytes long, and a Unix socket can have ${SOCKET_PATH_BYTES}`
  return [{ path, problem, hint: `choose a shorter path, like /run/sass-edge/${baseName(socket)}` }]
}

/** What an agent may write, it could read, forge and have run. */
function findPlaceConflicts({ log, alerts, security }: Config): ConfigProblem[] {
  const own = [
    {
      path: 'log.file',
      place: log.file,
      like: 'in state_directory, or one like /var/log/sass-edge/edge.log',
    },
    { path: 'alerts.program', place: alerts.program, like: 'like /etc/sass-edge/alert' },
  ]
  return own
    .filter(({ place }) => place !== null && isWithin(security.workspace_root, place))
    .map(({ path, like }) => ({
      path,
      problem: 'lies in security.workspace_root, where agents write',
      hint: `write a path ${like}`,
    }))
}

/** Where others may be first, or could put a link, no socket is made. */
function findMetricsConflicts({ metrics, listen, state_directory }: Config): ConfigProblem[] {
  const path = 'metrics.listen'
  const place = metrics.listen
  if (place === null) return []
  const endpoint = parseEndpoint(place)
  if (endpoint !== undefined) {
    if (endpoint.port === 0 || endpoint.port !== listen.port) return []
    return [{ path, problem: 'has the port of listen.port', hint: 'choose another one' }]
  }
  if (place === listen.admin_socket)
    return [{ path, problem: 'is listen.admin_socket', hint: 'give the metrics a socket of their own' }]
  const beside = directoryOf(listen.admin_socket)
  if (!isWithin(state_directory, place) && directoryOf(place) !== beside)
    return [
      {
        path,
        problem: `lies neither in state_directory nor beside listen.admin_socket`,
        hint: `write ${resolvePath(beside, 'metrics.sock')}`,
      },
    ]
  return findLongSocket(path, place)
}

/** The network of the device knows no list: an agent has it where somebody has said that it is to be trusted. */
/** Whoever could not tell a receiver from the device, and a vault whose key nobody has pinned. */
function findIntentConflicts({ intent, agents }: Config): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  if (intent.vault !== null && intent.dispatcher_pin === null)
    problems.push({
      path: 'intent.dispatcher_pin',
      problem: 'is missing beside intent.vault, so that nobody could tell whose vault it is',
      hint: 'write the SHA-256 that sass-edge intent vault prints',
    })
  if (intent.vault !== null && agents.some(({ name }) => name === intent.id))
    problems.push({
      path: 'intent.id',
      problem: `is ${intent.id}, and so is an agent`,
      hint: 'give the device a name of its own',
    })
  if (!/^[A-Za-z0-9_-]+$/.test(intent.id))
    problems.push({
      path: 'intent.id',
      problem: 'has a dot, and it becomes the name of a directory',
      hint: 'use A-Z, a-z, 0-9, _ and -',
    })
  return problems
}

function findNetworkConflicts({ agents, capabilities, sandbox }: Config): ConfigProblem[] {
  if (sandbox.trust_network || sandbox.require === 'none') return []
  return Object.entries(capabilities).flatMap(([name, { network }]): ConfigProblem[] => {
    const agent = agents.find(({ role, capability }) => role === 'agent' && capability === name)
    const own = network === 'default' ? sandbox.network : network
    if (own !== 'host' || agent === undefined) return []
    return [
      {
        path: network === 'default' ? 'sandbox.network' : `capabilities.${name}.network`,
        problem: `is "host", the network of the device, for "${agent.name}", which is an agent: no list holds there`,
        hint: 'write "gate" and list in sandbox.egress what it needs, or set sandbox.trust_network to true',
      },
    ]
  })
}

/**
 * Every conflict of a configuration whose values are each valid (invalid ones were replaced by their defaults).
 * @param allowGiven whether the file itself holds acl.allow
 */
export function findConflicts(config: Config, allowGiven: boolean): readonly ConfigProblem[] {
  const problems = [
    ...findAgentConflicts(config),
    ...findDelegationConflicts(config),
    ...findPinConflicts(config),
    ...findNetworkConflicts(config),
    ...findFoundingConflicts(config),
  ]
  const { listen, tls, execution, session, defense, acl } = config
  const address = parseIpAddress(listen.address)
  if (address !== undefined && !isLoopback(address) && !allowGiven) {
    problems.push({
      path: 'acl.allow',
      problem: `is absent while listen.address ${listen.address} is reachable from other machines`,
      hint: 'list the sources, like ["192.0.2.0/24"], or ["*"] for everybody',
    })
  }
  if (listen.port === SSH_PORT) {
    problems.push({
      path: 'listen.port',
      problem: 'is 22, where every scanner looks for ssh and this protocol must never listen',
      hint: 'use 19284',
    })
  }
  problems.push(...findLongSocket('listen.admin_socket', listen.admin_socket))
  problems.push(
    ...findMetricsConflicts(config),
    ...findPlaceConflicts(config),
    ...findIntentConflicts(config),
  )
  if (tls.certificate === tls.key) {
    problems.push({
      path: 'tls.key',
      problem: 'is the same file as tls.certificate',
      hint: 'keep the two apart',
    })
  }
  if (acl.penalties.max_seconds < acl.penalties.min_seconds) {
    problems.push({
      path: 'acl.penalties.max_seconds',
      problem: `is less than min_seconds (${acl.penalties.min_seconds})`,
      hint: 'raise it or lower min_seconds',
    })
  }
  if (defense.tarpit.total_bytes < defense.tarpit.chunk_bytes) {
    problems.push({
      path: 'defense.tarpit.total_bytes',
      problem: `is less than chunk_bytes (${defense.tarpit.chunk_bytes})`,
      hint: 'raise it or lower chunk_bytes',
    })
  }
  const poolBytes = 2 * execution.max_concurrent * session.ring_bytes
  if (poolBytes > RING_POOL_BYTES) {
    problems.push({
      path: 'session.ring_bytes',
      problem: `times two streams times execution.max_concurrent needs ${poolBytes} bytes at start, and ${RING_POOL_BYTES} is the most`,
      hint: 'lower one of the two',
    })
  }
  return problems
}
