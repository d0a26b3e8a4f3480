/**
 * What one key says about others: `listen.profile` "metered" about those of the link, `security.questions` about what
 * people are asked, and `security.allowed_domains` about `sandbox.egress`. Those below that have their defaults, written
 * or not, have other values; what somebody chose otherwise stays. `security.founding_rules` has other defaults.
 * @module
 */

import { KEEPALIVE_MAX_MS } from '../limits.ts'
import { AGENT, ALL_WORD } from './caller-fields.ts'
import { EGRESS_SHIPPED } from './egress-fields.ts'
import { CONFIG_FIELDS } from './fields.ts'
import type { AgentConfig, Config } from './shape.ts'

const { session: SESSION, tls: TLS, defense: DEFENSE, security: SECURITY } = CONFIG_FIELDS.fields
const KEEPALIVE_SECONDS = KEEPALIVE_MAX_MS / 1_000

function unlessChosen<T>(value: T, standard: T, metered: T): T {
  return value === standard ? metered : value
}

type Asking = Pick<
  Config['security'],
  'sensitive_files' | 'toxic_combinations' | 'unlisted_domains' | 'opaque'
>
/** What happens to what would be asked about. */
const QUESTIONS: Readonly<Record<'strict' | 'permissive', Asking>> = Object.freeze({
  strict: {
    sensitive_files: 'deny',
    toxic_combinations: 'deny',
    unlisted_domains: 'deny',
    opaque: 'deny',
  },
  permissive: {
    sensitive_files: 'ask',
    toxic_combinations: 'audit',
    unlisted_domains: 'ask',
    opaque: 'ask',
  },
})

function withQuestions(config: Config): Config {
  const { security } = config
  if (security.questions === 'standard') return config
  const chosen = QUESTIONS[security.questions]
  const fields = SECURITY.fields
  const held = <Key extends keyof Asking>(key: Key) =>
    unlessChosen(security[key], fields[key].default, chosen[key])
  return Object.freeze({
    ...config,
    security: Object.freeze({
      ...security,
      sensitive_files: held('sensitive_files'),
      toxic_combinations: held('toxic_combinations'),
      unlisted_domains: held('unlisted_domains'),
      opaque: held('opaque'),
    }),
  })
}

/** An older file has the list of the gate in `security.allowed_domains`, and none in `sandbox.egress`. */
function withOlderList(config: Config): Config {
  const { security, sandbox } = config
  const { allowed_domains: listed } = security
  const hosts = sandbox.egress.map(({ host }) => host)
  if (listed.includes(ALL_WORD) || hosts.join() !== EGRESS_SHIPPED.join()) return config
  const egress = listed.map((domain) => ({
    host: domain.includes(':') ? `[${domain}]` : domain,
    ports: null,
    protocol: 'tcp' as const,
    methods: null,
    bytes_per_hour: null,
  }))
  return Object.freeze({ ...config, sandbox: Object.freeze({ ...sandbox, egress: Object.freeze(egress) }) })
}

/** The tier of who does not say: under founding rules whoever is new reads. */
export function tierUnsaid(foundingRules: boolean, role: unknown): AgentConfig['tier'] {
  return foundingRules && role !== 'operator' ? 'T1' : AGENT.fields.tier.default
}

/** The configuration as it holds, frozen like the one that is given. */
export function withProfile(config: Config): Config {
  return withQuestions(withLink(withOlderList(config)))
}

function withLink(config: Config): Config {
  if (config.listen.profile === 'default') return config
  const { session, tls, defense } = config
  const keepalive = SESSION.fields.keepalive_seconds.default
  const mode = unlessChosen(defense.tarpit.mode, DEFENSE.fields.tarpit.fields.mode.default, 'hold')
  return Object.freeze({
    ...config,
    session: Object.freeze({
      ...session,
      keepalive_seconds: unlessChosen(session.keepalive_seconds, keepalive, KEEPALIVE_SECONDS),
    }),
    tls: Object.freeze({ ...tls, groups: unlessChosen(tls.groups, TLS.fields.groups.default, 'metered') }),
    defense: Object.freeze({ ...defense, tarpit: Object.freeze({ ...defense.tarpit, mode }) }),
  })
}
