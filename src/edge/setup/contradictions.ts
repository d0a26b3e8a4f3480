/**
 * What a configuration says and takes back: keys that are each valid, and of which one makes the other void. The daemon
 * starts with them and does the stricter thing; whoever wrote both meant something else. Two values that were both
 * written fail; one that only meets a default is a warning, since it may be meant.
 * Rules: docs/configuration.md (what check finds beyond the file).
 * @module
 */
import { isLoopback, parseIpAddress, parseIpRange, rangeContains } from '../../base/ip-address.ts'
import { isDangerousVariable } from '../../base/loading-variables.ts'
import { isWithin } from '../../base/text/lexical-path.ts'
import { TIERS } from '../../base/tool-name.ts'
import { ALL_WORD } from '../../config/caller-fields.ts'
import type { Config } from '../../config/config.ts'
import { isShell, namesOf } from '../../defense/13policy/programs/names.ts'
import { matchesWord } from '../../defense/capability.ts'
import { type Finding, fail, warn } from './finding.ts'

/** Whether the file itself holds a key. */
export type IsWritten = (path: string) => boolean

function* addressFindings({ listen, acl }: Config): Iterable<Finding> {
  const address = parseIpAddress(listen.address)
  const ranges = acl.allow.flatMap((text) => {
    const parsed = text === ALL_WORD ? undefined : parseIpRange(text)
    return parsed?.ok ? [parsed.range] : []
  })
  if (address === undefined || acl.allow.length === 0) return
  if (acl.allow.includes(ALL_WORD)) {
    if (acl.allow.length === 1) return
    yield warn('acl.allow', 'has "*", so its other entries say nothing', 'keep either "*" or the others')
    return
  }
  const isAny = address.bytes.every((byte) => byte === 0)
  // A socket on :: takes IPv4 as well.
  const families = ranges.filter(
    ({ address: { family } }) => family === address.family || (isAny && address.family === 6),
  )
  const loopback = address.family === 4 ? '127.0.0.1' : '::1'
  const own = parseIpAddress(loopback)
  const reaching = isLoopback(address)
    ? families.filter(
        (range) => isLoopback(range.address) || (own !== undefined && rangeContains(range, own)),
      )
    : families
  if (reaching.length > 0) return
  const where = isLoopback(address) ? 'only this machine reaches' : `only IPv${address.family} reaches`
  const remedy = isLoopback(address)
    ? `add "${loopback}" to it, or listen on an address of the network`
    : `add a range of IPv${address.family}, or listen on "::"`
  yield fail(
    'acl.allow',
    `lets nobody in of those who could connect, since ${where} listen.address ${listen.address}`,
    remedy,
  )
}

/** True where everything that fits `pattern` fits `cover` too, as far as their words show it. */
function coversCommand(cover: string, pattern: string): boolean {
  if (cover === ALL_WORD) return true
  const wanted = cover.split(' ')
  const words = pattern.split(' ')
  if (wanted.length > words.length) return false
  return wanted.every((word, index) => {
    const own = words[index] ?? ''
    const base = index === 0 && !word.includes('/') ? own.slice(own.lastIndexOf('/') + 1) : own
    return matchesWord(word, base)
  })
}

function coversPath(cover: string, path: string): boolean {
  return cover === ALL_WORD || (path !== ALL_WORD && isWithin(cover, path))
}

function isSwallowed(
  allowed: readonly string[],
  denied: readonly string[],
  covers: (cover: string, one: string) => boolean,
): boolean {
  return allowed.length > 0 && allowed.every((one) => denied.some((cover) => covers(cover, one)))
}

function isShellPattern(pattern: string): boolean {
  const program = pattern.split(' ', 1)[0] ?? ''
  return (
    !program.includes(ALL_WORD) && isShell(namesOf(program.slice(program.lastIndexOf('/') + 1), undefined))
  )
}

function* capabilityFindings(config: Config): Iterable<Finding> {
  const { capabilities, security, quota, execution } = config
  for (const [name, set] of Object.entries(capabilities)) {
    const path = `capabilities.${name}`

    if (isSwallowed(set.allowed_commands, set.denied_commands, coversCommand))
      yield fail(
        `${path}.denied_commands`,
        'denies everything that allowed_commands allows, so no command may run',
        'deny less, or empty allowed_commands if that is meant',
      )
    else if (isSwallowed(set.allowed_commands, security.blocked_commands, coversCommand))
      yield fail(
        `${path}.allowed_commands`,
        'allows only what security.blocked_commands blocks, so no command may run',
        'block less, or empty allowed_commands if that is meant',
      )
    if (isSwallowed(set.allowed_paths, set.denied_paths, coversPath))
      yield fail(
        `${path}.denied_paths`,
        'denies everything that allowed_paths allows, so no path may be used',
        'deny less, or empty allowed_paths if that is meant',
      )
    const isOpen = set.allowed_paths.some((allowed) => coversPath(allowed, security.workspace_root))
    if (set.allowed_commands.length > 0 && !isOpen)
      yield warn(
        `${path}.allowed_paths`,
        'does not hold security.workspace_root, where commands start that name no directory',
        'add "$WORKSPACE" to it',
      )
    for (const [index, pattern] of set.allowed_commands.entries()) {
      if (security.allow_shell || !isShellPattern(pattern)) continue
      yield fail(
        `${path}.allowed_commands[${index}]`,
        `allows "${pattern}" while security.allow_shell is false, so it may not run`,
        'take it out, or set security.allow_shell to true',
      )
    }
    for (const [index, variable] of set.allowed_env.entries()) {
      // What only begins like one (`GIT_*`) also means those that pass.
      if (variable.includes(ALL_WORD) ? variable !== 'LD_*' : !isDangerousVariable(variable)) continue
      yield fail(`${path}.allowed_env[${index}]`, `names ${variable}, which never passes`, 'take it out')
    }
    const seconds = quota.tool_timeout_seconds
    if (seconds !== null && set.timeout_seconds !== null && set.timeout_seconds > seconds)
      yield warn(
        `${path}.timeout_seconds`,
        `is more than quota.tool_timeout_seconds (${seconds}), which ends a command before`,
        `write ${seconds}, or raise that`,
      )
    if (set.max_concurrent > execution.max_concurrent)
      yield warn(
        `${path}.max_concurrent`,
        `is more than execution.max_concurrent (${execution.max_concurrent}), which bounds all agents together`,
        `write ${execution.max_concurrent}, or raise that`,
      )
  }
}

function* agentFindings({ agents }: Config): Iterable<Finding> {
  for (const [index, agent] of agents.entries()) {
    for (const [place, tool] of agent.tools.entries()) {
      if (tool === ALL_WORD || (TIERS[agent.tier] as readonly string[]).includes(tool)) continue
      const tier = Object.entries(TIERS).find(([, tools]) => (tools as readonly string[]).includes(tool))?.[0]
      yield fail(
        `agents[${index}].tools[${place}]`,
        `names ${tool}, which tier ${agent.tier} does not give`,
        `take it out, or set tier to "${tier}"`,
      )
    }
  }
}

const NO_WILDCARD: readonly (readonly [
  path: string,
  entries: (config: Config) => readonly string[],
  remedy: string,
])[] = [
  [
    'security.blocked_commands',
    ({ security }) => security.blocked_commands,
    'empty security.allowed_commands instead',
  ],
  [
    'security.known_programs',
    ({ security }) => security.known_programs,
    'set security.opaque to "allow" instead',
  ],
  [
    'security.reachable_addresses',
    ({ security }) => security.reachable_addresses,
    'set security.internal_addresses to "allow" instead',
  ],
]

function* securityFindings(config: Config, isWritten: IsWritten): Iterable<Finding> {
  const { security, confirm, policy } = config
  for (const [path, entries, remedy] of NO_WILDCARD) {
    const index = entries(config).indexOf(ALL_WORD)
    if (index !== -1) yield fail(`${path}[${index}]`, 'is "*", and there is no wildcard here', remedy)
  }
  const elsewhere = security.unknown_programs === 'audit' ? 'allow' : security.unknown_programs
  if (isWritten('security.unknown_programs') && elsewhere !== security.opaque)
    yield warn(
      'security.unknown_programs',
      'is of no effect: a program that nothing is known of runs where the whole sandbox holds, and security.opaque says what happens elsewhere',
      `take it out, and write "opaque": "${elsewhere}" if elsewhere the same shall happen`,
    )
  if (!security.allowed_domains.includes(ALL_WORD))
    yield isWritten('sandbox.egress')
      ? fail(
          'security.allowed_domains',
          'says what commands reach, and so does sandbox.egress, which holds',
          'take it out, and list in sandbox.egress what is missing there',
        )
      : warn(
          'security.allowed_domains',
          'is the older name of sandbox.egress, and holds as that does: for the ports 80 and 443',
          'write the entries as sandbox.egress, and take it out',
        )
  if (security.pinned_only && security.executables.length === 0)
    yield fail(
      'security.pinned_only',
      'lets only the programs of security.executables run, and that names none',
      'pin the programs that shall run, or set it to false',
    )
  const asking = (['sensitive_files', 'toxic_combinations', 'opaque', 'unlisted_domains'] as const).filter(
    (key) => security[key] === 'ask',
  )
  if (confirm.max_pending === 0) {
    const written = asking.find((key) => isWritten(`security.${key}`))
    const key = security.confirm_dangerous_actions ? 'confirm_dangerous_actions' : (written ?? asking[0])
    if (key !== undefined) {
      const detail = `lets no question wait while security.${key} asks a human, so it refuses`
      const make = security.confirm_dangerous_actions || written !== undefined ? fail : warn
      yield make('confirm.max_pending', detail, 'write 1 or more, or let nothing ask')
    }
  }
  if (policy.rules_sha256 !== null && policy.rules_file === null)
    yield fail(
      'policy.rules_sha256',
      'pins a file that policy.rules_file does not name, so the daemon halts at its start',
      'name the file, or set policy.rules_sha256 to null',
    )
}

/** `low` must not be above `high`. */
type Order = {
  readonly path: string
  readonly other: string
  readonly low: number | null
  readonly high: number | null
  readonly means: string
  readonly isStrict?: true
  readonly isAlways?: true
  /** Of what nobody wrote nothing is said: the higher one bounds it then. */
  readonly isOnlyWritten?: true
}

function ordersOf({ session, quota, sandbox, defense, audit }: Config): readonly Order[] {
  const { limits } = sandbox
  return [
    {
      path: 'session.max_per_agent',
      other: 'session.max_sessions',
      low: session.max_per_agent,
      high: session.max_sessions,
      means: 'so no agent can have as many',
      isOnlyWritten: true,
    },
    {
      path: 'quota.tool_timeout_seconds',
      other: 'session.max_duration_seconds',
      low: quota.tool_timeout_seconds,
      high: session.max_duration_seconds,
      means: 'so a session has to be renewed before its command may end',
    },
    {
      path: 'sandbox.limits.silence_seconds',
      other: 'quota.tool_timeout_seconds',
      low: limits.silence_seconds,
      high: quota.tool_timeout_seconds,
      means: 'which ends a command before it was silent for so long',
      isStrict: true,
    },
    {
      path: 'sandbox.memory_directory_bytes',
      other: 'sandbox.limits.memory_bytes',
      low: sandbox.memory_directory_bytes,
      high: limits.memory_bytes,
      means: 'and what lies in memory counts there too',
    },
    {
      path: 'defense.tarpit.total_bytes',
      other: 'defense.tarpit.daily_bytes',
      low:
        defense.tarpit.mode === 'drip' && defense.tarpit.daily_bytes !== 0
          ? defense.tarpit.total_bytes
          : null,
      high: defense.tarpit.daily_bytes,
      means: 'so the day is used up before one caller has had all of it',
    },
    {
      path: 'audit.segment_bytes',
      other: 'audit.keep_bytes',
      low: audit.segment_bytes,
      high: audit.keep_bytes,
      means: 'so not even the file that is written fits in',
      isAlways: true,
    },
  ]
}

function* orderFindings(config: Config, isWritten: IsWritten): Iterable<Finding> {
  for (const { path, other, low, high, means, isStrict, isAlways, isOnlyWritten } of ordersOf(config)) {
    if (isOnlyWritten === true && !isWritten(path)) continue
    if (low === null || high === null || low < high || (low === high && isStrict === undefined)) continue
    const detail = `is ${low} while ${other} is ${high}, ${means}`
    const most = isStrict === true ? high - 1 : high
    const make = isAlways === true || (isWritten(path) && isWritten(other)) ? fail : warn
    yield make(
      isWritten(path) ? path : other,
      isWritten(path) ? detail : `is ${high} while ${path} is ${low}, ${means}`,
      `write ${most} at most for ${path}, or raise ${other}`,
    )
  }
}

/** Everything that the configuration says in vain. */
export function* findContradictions(config: Config, isWritten: IsWritten): Iterable<Finding> {
  yield* addressFindings(config)
  yield* agentFindings(config)
  yield* capabilityFindings(config)
  yield* securityFindings(config, isWritten)
  yield* orderFindings(config, isWritten)
}
