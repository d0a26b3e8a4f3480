/**
 * Combinations of a configuration that cannot work although each value alone is fine: names that point nowhere,
 * one key for two callers, a public address for nobody in particular, sizes that contradict each other.
 * @module
 */
import { isLoopback, parseIpAddress } from './base/ip-address.ts'
import { ADMIN_NAME } from './base/name.ts'
import { nearest } from './base/suggest.ts'
import { utf8Length } from './base/utf8.ts'
import type { Config, ConfigProblem } from './config.ts'
import { CONFIG_PROBLEMS, RING_POOL_BYTES, SOCKET_PATH_BYTES } from './limits.ts'

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

/**
 * Every conflict of a configuration whose values are each valid (invalid ones were replaced by their defaults).
 * @param allowGiven whether the file itself holds acl.allow
 */
export function findConflicts(config: Config, allowGiven: boolean): readonly ConfigProblem[] {
  const problems = findAgentConflicts(config)
  const { listen, tls, execution, session, defense } = config
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
  const socketBytes = utf8Length(listen.admin_socket)
  if (socketBytes > SOCKET_PATH_BYTES) {
    problems.push({
      path: 'listen.admin_socket',
      problem: `is ${socketBytes} bytes long, and a Unix socket can have ${SOCKET_PATH_BYTES}`,
      hint: 'choose a shorter path, like /run/sass-edge/admin.sock',
    })
  }
  if (tls.certificate === tls.key) {
    problems.push({
      path: 'tls.key',
      problem: 'is the same file as tls.certificate',
      hint: 'keep the two apart',
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
