/**
 * From a configuration to the policy that the decision reads: rules found and compiled, pins and ranges as tables, the
 * daemon's own files named. The daemon and `sass-edge policy explain` make it here, so that they cannot differ.
 * Refuses, with every reason at once, rules that cannot be read and patterns that the configuration wants refused.
 * @module
 */
import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname } from 'node:path'
import { canonicalize } from '../base/canonical-json.ts'
import { parseIpRange } from '../base/ip-address.ts'
import { hostSha256 } from '../base/sha256.node.ts'
import type { Json } from '../base/strict-json.ts'
import { nearest } from '../base/suggest.ts'
import type { Config } from '../config.ts'
import { lintCapability } from '../defense/13policy/capability-lint.ts'
import type { Effective } from '../defense/13policy/effective.ts'
import { createMatcher, type Matcher } from '../defense/13policy/matcher.ts'
import { effectiveCommands } from '../defense/13policy/unwrap.ts'
import type { ExecuteAction } from '../defense/facts.ts'
import type { Policy } from '../defense/layer.ts'
import { SassError } from '../errors.ts'
import { UNAUTHENTICATED_CONNECTIONS } from '../limits.ts'
import { readPolicy } from './policy-file.node.ts'

/** A path with its symbolic links resolved, as far as it exists. */
function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** Remembers the last action asked about: several layers ask about the same one. */
function effectiveOf(home: string): Policy['effective'] {
  let last: { readonly action: ExecuteAction; readonly effective: Effective } | undefined
  return (action) => {
    if (last?.action === action) return last.effective
    const { argv, environment, cwd, terminal, stdin, executable } = action
    // What the caller sets is judged as if it had been given to env(1): it may name a program, like PAGER.
    const whole = environment.length === 0 ? argv : ['env', ...environment, ...argv]
    const resolved = environment.length === 0 ? executable?.path : undefined
    const effective = effectiveCommands(whole, { cwd, home, resolved, terminal, stdin })
    last = { action, effective }
    return effective
  }
}

/** Allowed commands that look narrow and are not, one sentence each. */
export function broadPatterns(config: Config): readonly string[] {
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

/** The rules that hold on this device. A disabled one that does not exist is a mistake: it disables nothing. */
function compileRules(config: Config): { readonly rules: Matcher; readonly rulesDigest: string } {
  const { default_rules: defaultRules, rules_file: rulesFile, disabled_rules: disabled } = config.policy
  const set = readPolicy({ defaultRules, rulesFile })
  const ids = set.rules.map(({ id }) => id)
  const unknown = disabled.find((id) => !ids.includes(id))
  if (unknown !== undefined) {
    const meant = nearest(unknown, ids)
    throw new SassError(
      'CONFIG_INVALID',
      `policy.disabled_rules names "${unknown}", which is no rule here: ${meant === undefined ? 'see sass-edge policy lint' : `did you mean "${meant}"?`}`,
      { path: 'policy.disabled_rules' },
    )
  }
  const rules = set.rules.filter(({ id }) => !disabled.includes(id))
  const text = canonicalize(rules as unknown as Json)
  return {
    rules: createMatcher({ ...set, rules }, homedir()),
    rulesDigest: createHash('sha256').update(text).digest('hex'),
  }
}

/**
 * @param configPath the file that it came from: it is the daemon's own as well
 * @throws SassError CONFIG_INVALID or CONFIG_LOAD_FAILED
 */
export function makePolicy(config: Config, configPath: string | undefined): Policy {
  const broad = config.policy.broad_patterns === 'refuse' ? broadPatterns(config) : []
  if (broad.length > 0) {
    throw new SassError(
      'CONFIG_INVALID',
      `The policy allows more than it seems to: ${broad.join('; ')}. Name the arguments too, or set policy.broad_patterns to "warn".`,
      { problems: broad },
    )
  }
  const { security, quota, session, acl, defense } = config
  const ranges = security.reachable_addresses.flatMap((text) => {
    const parsed = parseIpRange(text)
    return parsed.ok ? [parsed.range] : []
  })
  const own = [config.state_directory, config.audit.directory, config.listen.admin_socket, config.tls.key]
  if (configPath !== undefined) own.push(configPath, dirname(configPath))
  const workspace = real(security.workspace_root)
  return {
    capabilities: config.capabilities,
    security: {
      allowShell: security.allow_shell,
      allowedCommands: security.allowed_commands,
      blockedCommands: security.blocked_commands,
      confirmsUnlisted: security.confirm_dangerous_actions,
      sensitiveFiles: security.sensitive_files,
      toxicCombinations: security.toxic_combinations,
      internalAddresses: security.internal_addresses,
      reachable: ranges,
      pins: Object.fromEntries(security.executables.map(({ path, sha256 }) => [path, sha256])),
      pinnedOnly: security.pinned_only,
    },
    ...compileRules(config),
    home: homedir(),
    ownPaths: {
      // A configuration in a place of its own brings that place; one in a workspace brings only itself.
      paths: [...new Set(own.flatMap((path) => [path, real(path)]))].filter(
        (path) => path !== workspace && !workspace.startsWith(`${path}/`),
      ),
      except: [...new Set([security.workspace_root, workspace])].filter((path) =>
        own.some((place) => path.startsWith(`${place}/`) || path.startsWith(`${real(place)}/`)),
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
    effective: effectiveOf(homedir()),
    hash: hostSha256,
  }
}
