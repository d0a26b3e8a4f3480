/**
 * What the kind of the device's link says about other keys: with `listen.profile` "metered" those below that have their
 * defaults, written or not, have other values. What somebody chose otherwise stays.
 * @module
 */
import type { Config } from './config.ts'
import { CONFIG_FIELDS } from './config-fields.ts'
import { KEEPALIVE_MAX_MS } from './limits.ts'

const { session: SESSION, tls: TLS, defense: DEFENSE } = CONFIG_FIELDS.fields
const KEEPALIVE_SECONDS = KEEPALIVE_MAX_MS / 1_000

function unlessChosen<T>(value: T, standard: T, metered: T): T {
  return value === standard ? metered : value
}

/** The configuration as it holds, frozen like the one that is given. */
export function withProfile(config: Config): Config {
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
