/**
 * Combinations that are harmless one by one and toxic together: a session that takes in what strangers wrote, sees
 * secrets, and can send out or change things. What a session has done is a set, so the order does not matter.
 * Rules: docs/responses.md, section 1 (specifics); the rule of two.
 * @module
 */
import type { Effective } from './13policy/effective.ts'
import { usesSecret } from './secret-use.ts'
import { isSensitive } from './sensitive-file.ts'
import { NETWORK_PROGRAMS } from './tools.ts'

/** `untrusted`: took in what comes from elsewhere. `secret`: saw sensitive data. `outward`: sent out or changed rights. */
export const TOXIC_PROPERTIES = Object.freeze(['untrusted', 'secret', 'outward', 'change'] as const)
export type ToxicProperty = (typeof TOXIC_PROPERTIES)[number]

export type ToxicRule = {
  readonly id: string
  readonly properties: readonly ToxicProperty[]
  /** Whether a human is asked, or the record only says more. */
  readonly measure: 'ask' | 'audit'
  readonly description: string
}

export const TOXIC_RULES: readonly ToxicRule[] = Object.freeze([
  {
    id: 'toxic.untrusted-secret-outward',
    properties: ['untrusted', 'secret', 'outward'],
    measure: 'ask',
    description:
      'The session has taken in data from the network, has seen secrets, and can send them out or change rights.',
  },
  {
    id: 'toxic.secret-outward',
    properties: ['secret', 'outward'],
    measure: 'audit',
    description: 'The session has seen secrets and can send them out.',
  },
  {
    id: 'toxic.untrusted-change',
    properties: ['untrusted', 'change'],
    measure: 'audit',
    description: 'The session has taken in data from the network and changes rights or removes files.',
  },
] as const)

const CHANGERS: ReadonlySet<string> = new Set([
  'rm',
  'shred',
  'unlink',
  'chmod',
  'chown',
  'chgrp',
  'setfacl',
  'chattr',
])

/** What these commands add. `reals` are where used paths really lie. */
export function toxicProperties(
  { commands }: Effective,
  home: string,
  reals: readonly { readonly path: string; readonly real: string }[],
): readonly ToxicProperty[] {
  const found = new Set<ToxicProperty>()
  for (const command of commands) {
    const { names } = command
    if (names.some((name) => NETWORK_PROGRAMS.has(name))) {
      found.add('untrusted')
      found.add('outward')
    }
    if (names.some((name) => CHANGERS.has(name))) found.add('change')
    if (usesSecret(command, home)) found.add('secret')
  }
  if (reals.some(({ real }) => isSensitive(real, home))) found.add('secret')
  return TOXIC_PROPERTIES.filter((property) => found.has(property))
}

/** The strictest rule that the session would fulfil with this, to which this adds a part; undefined: none. */
export function toxicRule(
  before: readonly ToxicProperty[],
  added: readonly ToxicProperty[],
): ToxicRule | undefined {
  const after = new Set([...before, ...added])
  const matching = TOXIC_RULES.filter(
    ({ properties }) =>
      properties.every((property) => after.has(property)) &&
      properties.some((property) => added.includes(property)),
  )
  return matching.find(({ measure }) => measure === 'ask') ?? matching[0]
}
