/**
 * What of a configuration can be replaced while the daemon runs, made whole from it, and the reload itself: read,
 * checked and compiled first, then put in place in one turn. What is wrong leaves everything as it was, and says so.
 * Sessions are kept, but those of callers that are not listed any more, or with another key or role,
 * end.
 * Rules: docs/operations.md (reload).
 * @module
 */

import { release } from 'node:os'
import { createAllowList } from '../../base/allow-list.ts'
import { hostTextDigest } from '../../base/crypto/sha256.node.ts'
import { canonicalize } from '../../base/encoding/canonical-json.ts'
import type { Json } from '../../base/encoding/strict-json.ts'
import { parseIpAddress } from '../../base/ip-address.ts'
import type { Config } from '../../config/config.ts'
import { tierUnsaid } from '../../config/profile.ts'
import {
  createPenalties,
  PENALTY_SECONDS,
  PENALTY_SOURCES,
  type PenaltySettings,
} from '../../defense/penalties.ts'
import { egressSettings } from '../../egress/egress-settings.ts'
import { SassError } from '../../errors.ts'
import type { AuditSink, Clock, Log } from '../../ports.ts'
import {
  type BesideTheList,
  createIdentities,
  type Identities,
  scopeOf,
} from '../../session/callers/identities.ts'
import { endSession } from '../../session/common/end-session.ts'
import type { PlanSettings } from '../../session/common/plan-room.ts'
import type { ReloadResult, Rooms } from '../../session/common/rooms.ts'
import { programVersion } from '../host/version.node.ts'
import { planSettings, renewPlans, runsPlans } from '../intent/plans.node.ts'
import { broadPatterns, loadPolicy, makePolicy } from '../policy/policy.node.ts'
import { freezePolicy, policiesPath } from '../record/frozen-policy.node.ts'
import { checkRulesPin } from '../record/integrity.node.ts'
import { invalid, loadConfig } from '../setup/config-file.node.ts'
import { nextKeyDigest } from '../sockets/certificate.node.ts'
import { keepRulesMark } from '../state/rules-mark.node.ts'
import { deniedBy, rulesChange } from './rules-change.node.ts'

export type Reloadable = Pick<Rooms, 'settings' | 'policy' | 'identities'> & {
  readonly penaltySettings: PenaltySettings
}

/** What a start alone takes over: sockets, files, and what is made once. */
const FIXED: readonly (readonly [string, (config: Config) => unknown])[] = Object.freeze([
  ['listen', ({ listen }: Config) => listen],
  ['state_directory', ({ state_directory }: Config) => state_directory],
  ['tls', ({ tls }: Config) => tls],
  // What a session is made with; how many of them a caller has, and how often it is asked for a sign, change at once.
  ['session.max_duration_seconds', ({ session }: Config) => session.max_duration_seconds],
  ['session.max_sessions', ({ session }: Config) => session.max_sessions],
  ['session.bind_ip', ({ session }: Config) => session.bind_ip],
  ['session.ring_bytes', ({ session }: Config) => session.ring_bytes],
  ['execution', ({ execution }: Config) => execution],
  ['sandbox', ({ sandbox }: Config) => ({ ...sandbox, egress: null })],
  ['security.workspace_root', ({ security }: Config) => security.workspace_root],
  ['quota.queue', ({ quota }: Config) => quota.queue],
  ['defense.tarpit', ({ defense }: Config) => defense.tarpit],
  ['defense.localhost', ({ defense }: Config) => defense.localhost],
  ['defense.anomaly', ({ defense }: Config) => defense.anomaly],
  ['defense.levels', ({ defense }: Config) => defense.levels],
  ['audit', ({ audit }: Config) => audit],
  ['alerts', ({ alerts }: Config) => alerts],
  ['log', ({ log }: Config) => log],
  ['metrics', ({ metrics }: Config) => metrics],
  ['intent.tools', runsPlans],
  // Whose plans run, by which tools, changes at once; what takes envelopes in is made once.
  [
    'intent',
    ({ intent }: Config) => ({
      ...intent,
      ...{ issuer_pins: null, tools: null, grants: null, plans_without_expiry: null },
    }),
  ],
] as const)

/** Whether an address, as text, is in a list of ranges. */
function inList(entries: readonly string[]): (address: string) => boolean {
  const list = createAllowList(entries)
  return (address) => {
    const parsed = parseIpAddress(address)
    return parsed !== undefined && list(parsed) !== undefined
  }
}

/** Names this policy: the same wherever capabilities, limits and rules are the same. */
function versionOf({ capabilities, security, policy, quota, agents }: Config, rules: string): string {
  const named = { capabilities, security, policy, quota, agents, rules } as unknown as Json
  return hostTextDigest(canonicalize(named)).slice(0, 16)
}

/** Those that the configuration lists, and those who have enrolled. */
function identitiesOf({ agents, security }: Config, enrolments: BesideTheList | undefined): Identities {
  return createIdentities(agents, enrolments, (role) => tierUnsaid(security.founding_rules, role))
}

/** @throws SassError for rules that cannot be used */
export async function reloadableOf(
  config: Config,
  configPath: string | undefined,
  startedAtMs: number,
  enrolments?: BesideTheList,
): Promise<Reloadable> {
  const { session, defense, confirm, quota, acl } = config
  const policy = await makePolicy(config, configPath)
  const isExempt = inList(acl.penalties.exempt)
  return {
    policy,
    identities: identitiesOf(config, enrolments),
    settings: {
      version: programVersion(),
      os: `Linux ${release()} ${process.arch}`,
      startedAtMs,
      keepaliveMs: session.keepalive_seconds * 1_000,
      isMetered: config.listen.profile === 'metered',
      viHoldMs: defense.vi_swap.hold_seconds * 1_000,
      challengeTtlMs: defense.challenge.ttl_seconds * 1_000,
      confirmTimeoutMs: confirm.timeout_seconds * 1_000,
      confirmPending: confirm.max_pending,
      denyResponse: defense.deny_response,
      ringBytes: session.ring_bytes,
      policyVersion: versionOf(config, policy.rulesDigest),
      outputBytes: quota.output_bytes,
      toolTimeoutSeconds: quota.tool_timeout_seconds,
      isAllowed: inList(acl.allow),
      isExempt,
      nextKeyDigest: nextKeyDigest(config.tls.key),
      egress: egressSettings(config),
      isBranched: config.sandbox.require !== 'none',
      network: config.sandbox.network,
      adminUserIds: [0, process.getuid?.() ?? 0],
    },
    penaltySettings: {
      enabled: acl.penalties.enabled,
      exempt: isExempt,
      minSeconds: acl.penalties.min_seconds,
      maxSeconds: Math.max(acl.penalties.min_seconds, acl.penalties.max_seconds),
      maxSources: PENALTY_SOURCES,
      perReasonSeconds: PENALTY_SECONDS,
    },
  }
}

type ReloadGround = {
  readonly config: Config
  readonly configPath: string | undefined
  readonly clock: Clock
  readonly log: Log
  readonly audit: AuditSink
}

function sameValue(a: unknown, b: unknown): boolean {
  return canonicalize(a as Json) === canonicalize(b as Json)
}

/** Ends the sessions of callers that are listed no more, with another key, or in another role. */
function endStrangers(rooms: Rooms): void {
  for (const session of [...rooms.sessions.all()]) {
    const { caller } = session
    const listed = rooms.identities.find(caller.name)
    // The admin socket's caller has no key: the kernel vouches for it, no list does.
    if (caller.publicKey.length === 0) continue
    const isSame = listed !== undefined && listed.role === caller.role && scopeOf(listed) === scopeOf(caller)
    if (isSame) continue
    endSession(rooms, session, 'reload')
  }
}

/** What the operator should see of a configuration that is good: not wrong, but not what it looks like. */
export async function warnAboutPatterns(config: Config, log: Log): Promise<void> {
  for (const reason of await broadPatterns(config)) log.write('warn', 'broad_pattern', { reason })
}

/**
 * Takes out of the list whose key is no point of the prime-order subgroup, and says so. At the start this comes after
 * the first moment of listening, since a program that `check` has passed should not wait for it.
 */
export async function dropUnsoundKeys(config: Config, rooms: Rooms): Promise<void> {
  const { identities } = rooms
  const { unsoundKeys } = await import('../../config/keys.ts')
  const unsound = unsoundKeys(config.agents)
  // Another list holds by now, and was looked at whole before.
  if (unsound.size === 0 || rooms.identities !== identities) return
  for (const [index, { path, problem }] of unsound)
    rooms.log.write('error', 'key_refused', {
      agent: config.agents[index]?.name ?? '',
      path,
      reason: problem,
    })
  const agents = config.agents.filter((_, index) => !unsound.has(index))
  rooms.identities = identitiesOf({ ...config, agents }, rooms.enrolments)
  endStrangers(rooms)
}

/** @throws SassError for another vault, or another pin for it, with which the daemon would not start */
async function checkVault({ intent: before }: Config, { intent }: Config): Promise<void> {
  const { vault, dispatcher_pin } = intent
  // The one that is open is read again by itself.
  if (vault === null || (vault === before.vault && dispatcher_pin === before.dispatcher_pin)) return
  const { readVault } = await import('../intent/vault.node.ts')
  await readVault(vault, dispatcher_pin ?? '')
}

/** What is named with all that lies within it is not named a second time. */
function restartNames(config: Config, started: Config): readonly string[] {
  const names = FIXED.flatMap(([name, part]) => (sameValue(part(config), part(started)) ? [] : [name]))
  return names.filter((name) => !names.some((other) => name.startsWith(`${other}.`)))
}

export function createReload(ground: ReloadGround, rooms: () => Rooms): () => Promise<ReloadResult> {
  const { config: started, configPath, log, audit } = ground
  let penalties = started.acl.penalties
  /** Of the configuration that holds, once there was a reload. */
  let denied: string | undefined
  /** One after the other: the file that was read last is the one that holds. */
  let last: Promise<unknown> = Promise.resolve()

  async function load(): Promise<{
    readonly config: Config
    readonly made: Reloadable
    readonly plans: PlanSettings | undefined
    readonly frozen: string
  }> {
    if (configPath === undefined)
      throw new SassError(
        'CONFIG_LOAD_FAILED',
        'The daemon was started without a configuration file, so there is nothing to read again; restart it.',
      )
    const { config } = loadConfig(configPath)
    const { unsoundKeys } = await import('../../config/keys.ts')
    const unsound = [...unsoundKeys(config.agents).values()]
    if (unsound.length > 0) throw invalid(configPath, unsound)
    checkRulesPin(config)
    await checkVault(started, config)
    // Looked at although only a restart takes it over: with what is refused here the daemon would not start.
    const plans =
      rooms().plans === undefined && !runsPlans(config)
        ? undefined
        : planSettings(config, { identities: () => rooms().identities })
    const made = await reloadableOf(config, configPath, rooms().settings.startedAtMs, rooms().enrolments)
    const { ringBytes } = rooms().settings
    const policy = await loadPolicy(made.policy, config)
    return {
      config,
      plans,
      // Last, and in one turn with the record that names it: what no record names may be removed.
      frozen: freezePolicy(policiesPath(config), config, made.policy),
      made: {
        ...made,
        // The rings are made once: how long they are is not what the file says, but what they are.
        settings: { ...made.settings, ringBytes },
        policy,
      },
    }
  }

  async function reload(): Promise<ReloadResult> {
    let loaded: Awaited<ReturnType<typeof load>>
    try {
      loaded = await load()
    } catch (cause) {
      const problem = cause instanceof Error ? cause.message : 'The configuration cannot be used.'
      log.write('error', 'reload_failed', { reason: problem })
      audit.append({ type: 'daemon', what: 'reload_failed', policy: rooms().settings.policyVersion })
      return { ok: false, problem: `Nothing was changed, the old configuration holds. ${problem}` }
    }
    const { config, made, plans, frozen } = loaded
    const needsRestart = restartNames(config, started)
    const { policyVersion } = made.settings
    // Recorded first: from here on decisions follow the new policy.
    const [from, to] = [
      denied ?? deniedBy(started, rooms().policy.rulesDigest),
      deniedBy(config, made.policy.rulesDigest),
    ]
    const changed = rulesChange(config, from, to)
    audit.append({ type: 'daemon', what: 'reloaded', policy: policyVersion, frozen, ...changed })
    denied = to
    keepRulesMark(config.state_directory, to)
    const target = rooms()
    target.enrolments?.reread()
    target.settings = made.settings
    target.policy = made.policy
    target.isReady = true
    target.identities = made.identities
    if (!sameValue(penalties, config.acl.penalties)) {
      penalties = config.acl.penalties
      target.penalties = createPenalties(made.penaltySettings)
    }
    renewPlans(plans, target)
    endStrangers(target)
    target.egress.relist()
    target.queue.pump()
    await warnAboutPatterns(config, log)
    log.write('info', 'reloaded', { policy: policyVersion, needs_restart: needsRestart.join(' ') })
    return { ok: true, policyVersion, needsRestart }
  }

  return () => {
    const next = last.then(reload, reload)
    last = next
    return next
  }
}
