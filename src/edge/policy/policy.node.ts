/**
 * From a configuration to the policy that the decision reads: rules found and compiled, pins and ranges as tables, the
 * daemon's own files named. The daemon and `sass-edge policy explain` make it here, so that they cannot differ.
 * Refuses, with every reason at once, rules that cannot be read and patterns that the configuration wants refused.
 * @module
 */
import { createHash, type Hash } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'
import { dirname } from 'node:path'
import { hostTextDigest } from '../../base/crypto/sha256.node.ts'
import { errnoOf, errnoText } from '../../base/files.node.ts'
import { isWithin } from '../../base/text/lexical-path.ts'
import { nearest } from '../../base/text/suggest.ts'
import { readCombination } from '../../base/toxic-property.ts'
import type { Config } from '../../config/config.ts'
import type { Policy } from '../../defense/layer.ts'
import { SassError } from '../../errors.ts'
import { UNAUTHENTICATED_CONNECTIONS } from '../../limits.ts'
import { currentUser } from '../host/current-user.node.ts'
import { realPlace } from '../state/real-place.node.ts'
import type { Judge } from './judge.node.ts'
import { packedRulesDigest, rulesPaths, shippedRulesPath } from './rules-path.node.ts'

/** Directories that are nobody's own, whoever keeps a file there. */
const SHARED: readonly string[] = Object.freeze([
  '/',
  '/etc',
  '/home',
  '/root',
  '/srv',
  '/opt',
  '/tmp',
  '/var/tmp',
  '/var/log',
  '/run',
  '/var/run',
  '/dev/shm',
  currentUser().home,
])

/** The directory of one of our files, where it is for such files alone. */
function ownDirectory({ security }: Config, path: string): readonly string[] {
  const directory = dirname(path)
  const isShared = SHARED.includes(directory) || isWithin(directory, security.workspace_root)
  return isShared ? [] : [directory]
}

/** Allowed commands that look narrow and are not, one sentence each. */
export async function broadPatterns(config: Config): Promise<readonly string[]> {
  const { lintCapability } = await import('../../defense/capability-lint.ts')
  const lists: readonly (readonly [string, readonly string[]])[] = [
    ['security.allowed_commands', config.security.allowed_commands],
    ...Object.entries(config.capabilities).map(
      ([name, set]) => [`capabilities.${name}.allowed_commands`, set.allowed_commands] as const,
    ),
  ]
  return lists.flatMap(([path, patterns]) =>
    lintCapability(patterns).map(({ pattern, opens }) => `${path} allows "${pattern}": ${opens}`),
  )
}

/** Rules that are disabled and do not exist: they disable nothing, so each is a mistake. `hint` says what to do. */
export function unknownRules(
  disabled: readonly string[],
  ids: readonly string[],
): readonly { readonly id: string; readonly hint: string }[] {
  const known = new Set(ids)
  return disabled
    .filter((id) => !known.has(id))
    .map((id) => {
      const meant = nearest(id, ids)
      return { id, hint: meant === undefined ? 'see sass-edge policy lint' : `did you mean "${meant}"?` }
    })
}

function refuseUnknown(disabled: readonly string[], ids: readonly string[]): void {
  const [unknown] = unknownRules(disabled, ids)
  if (unknown === undefined) return
  throw new SassError(
    'CONFIG_INVALID',
    `policy.disabled_rules names "${unknown.id}", which is no rule here: ${unknown.hint}.`.replace('?.', '?'),
    { path: 'policy.disabled_rules' },
  )
}

/** A pin on a symbolic link would never hold: a program is known by where it really lies. */
function refusePinnedLinks(config: Config): void {
  for (const { path } of config.security.executables) {
    const target = realPlace(path)
    if (target === path) continue
    throw new SassError(
      'CONFIG_INVALID',
      `security.executables pins ${path}, which is a link to ${target}, so the pin would never hold: write ${target}.`,
      { path: 'security.executables' },
    )
  }
}

/** Before it is loaded nothing can be judged: the layers that ask are denied on error. */
const UNLOADED: Judge = Object.freeze({
  rules: {
    count: 0,
    strictest: () => notLoaded(),
    everyMatch: () => notLoaded(),
    knows: () => notLoaded(),
  },
  effective: () => notLoaded(),
})

function notLoaded(): never {
  throw new SassError(
    'INTERNAL',
    'A command was to be judged before the rules were loaded; nothing was done.',
  )
}

const HASH_READ_BYTES = 65_536

/** In pieces: the text is not needed, and would stay as garbage. */
function hashFile(hash: Hash, path: string): void {
  const buffer = new Uint8Array(HASH_READ_BYTES)
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, 'r')
    for (let count = -1; count !== 0; ) {
      count = readSync(descriptor, buffer)
      hash.update(buffer.subarray(0, count))
    }
    hash.update('\0')
  } catch (cause) {
    throw new SassError(
      'CONFIG_LOAD_FAILED',
      `The rules in ${path} cannot be read, since ${errnoText(errnoOf(cause))}: correct that, or name another file.`,
      { path },
      cause,
    )
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** What names the rules: the files as they are, and what is disabled of them. */
function digestRules({ policy }: Config): string {
  const hash = createHash('sha256')
  for (const path of rulesPaths({ defaultRules: policy.default_rules, rulesFile: policy.rules_file }))
    if (path === shippedRulesPath() && packedRulesDigest() !== undefined)
      hash.update(packedRulesDigest() ?? '')
    else hashFile(hash, path)
  return hash.update(policy.disabled_rules.join('\0')).digest('hex')
}

/** Files and directories that are the daemon's own, as they are configured. `configPath`: where that stands. */
export function ownPlaces(config: Config, configPath: string | undefined): readonly string[] {
  const { known_secrets: secrets, canaries } = config.defense.firewall
  const own = [
    ...[config.state_directory, config.audit.directory, config.listen.admin_socket, config.tls.key],
    ...[secrets, canaries].filter((path) => path !== null),
  ]
  // With its directory: a cover over the file alone would move away with it when it is rotated.
  if (config.log.file !== null) own.push(config.log.file, ...ownDirectory(config, config.log.file))
  if (config.metrics.listen?.startsWith('/')) own.push(config.metrics.listen)
  if (configPath !== undefined) {
    own.push(configPath)
    // Keys lie beside it. With a workspace beside it and the state elsewhere it is a directory like any other.
    const directory = dirname(configPath)
    const isInstallation = config.state_directory.startsWith(`${directory}/`)
    own.push(...(isInstallation ? [directory] : ownDirectory(config, configPath)))
  }
  return own
}

/**
 * The light half, with which a daemon starts. What is wrong with own rules is found here; those that ship are tested
 * when they are built.
 * @param configPath the file that it came from: it is the daemon's own as well
 * @throws SassError CONFIG_INVALID or CONFIG_LOAD_FAILED
 */
export async function makePolicy(config: Config, configPath: string | undefined): Promise<Policy> {
  if (config.policy.rules_file !== null || config.policy.disabled_rules.length > 0) {
    const { readRuntimePolicy } = await import('./policy-file.node.ts')
    const { default_rules: defaultRules, rules_file: rulesFile } = config.policy
    const { rules } = readRuntimePolicy({ defaultRules, rulesFile })
    refuseUnknown(
      config.policy.disabled_rules,
      rules.map(({ id }) => id),
    )
  }
  refusePinnedLinks(config)
  const broad = config.policy.broad_patterns === 'refuse' ? await broadPatterns(config) : []
  if (broad.length > 0) {
    throw new SassError(
      'CONFIG_INVALID',
      `The policy allows more than it seems to: ${broad.map((sentence) => sentence.replace(/\.$/, '')).join('; ')}. Name the arguments too, or set policy.broad_patterns to "warn".`,
      { problems: broad },
    )
  }
  const { security, quota, session, acl, defense } = config
  const own = ownPlaces(config, configPath)
  const workspace = realPlace(security.workspace_root)
  return {
    capabilities: config.capabilities,
    security: {
      allowShell: security.allow_shell,
      allowedCommands: security.allowed_commands,
      blockedCommands: security.blocked_commands,
      confirmsUnlisted: security.confirm_dangerous_actions,
      sensitiveFiles: security.sensitive_files,
      toxicCombinations: security.toxic_combinations,
      toxicRegistry: security.toxic_registry.map(readCombination),
      opaque: security.opaque,
      rulesAsk: security.questions !== 'strict',
      foundingRules: security.founding_rules,
      knownPrograms: security.known_programs,
      pins: Object.fromEntries(security.executables.map(({ path, sha256 }) => [path, sha256])),
      pinnedOnly: security.pinned_only,
    },
    ...UNLOADED,
    rulesDigest: digestRules(config),
    home: currentUser().home,
    ownPaths: {
      // A workspace may lie among them, and is none of them; it is never one itself.
      paths: [...new Set(own.flatMap((path) => [path, realPlace(path)]))].filter(
        (path) => path !== workspace,
      ),
      except: [...new Set([security.workspace_root, workspace])].filter((path) =>
        own.some((place) => path.startsWith(`${place}/`) || path.startsWith(`${realPlace(place)}/`)),
      ),
    },
    quota: {
      ticksPerTask: quota.ticks_per_task,
      tokensPerSession: quota.tokens_per_session,
      sessionsPerCaller: session.max_per_agent ?? Number.POSITIVE_INFINITY,
    },
    earlyDrop: {
      start: acl.penalties.early_drop_start,
      ratePercent: acl.penalties.early_drop_percent,
      full: UNAUTHENTICATED_CONNECTIONS,
    },
    deceives: defense.localhost.enabled,
    digestOf: hostTextDigest,
  }
}

/** The whole policy: with it commands can be judged. */
export async function loadPolicy(light: Policy, config: Config): Promise<Policy> {
  const { makeJudge } = await import('./judge.node.ts')
  return { ...light, ...makeJudge(config) }
}
