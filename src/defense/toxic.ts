/**
 * Combinations that are harmless one by one and toxic together: a session that takes in what strangers wrote, sees
 * secrets, and can send out or change things. What a session has done is a set, so the order does not matter. What may
 * not come together is a registry of the configuration; pairs that only come close are recorded.
 * Rules: docs/responses.md, section 1 (specifics); the rule of two.
 * @module
 */
import { readCombination, TOXIC_PROPERTIES, type ToxicProperty } from '../base/toxic-property.ts'
import type { Effective, EffectiveCommand } from './13policy/effective.ts'
import { isProgram, isSubcommand } from './program-kinds.ts'
import { usesSecret } from './secret-use.ts'
import { isSensitive } from './sensitive-file.ts'

export type ToxicRule = {
  readonly id: string
  readonly properties: readonly ToxicProperty[]
  /** Whether the configuration says what follows, or the record only says more. */
  readonly isNoted: boolean
  readonly description: string
}

/** What is recorded where nothing of the registry is complete. */
const NOTED: readonly (readonly ToxicProperty[])[] = Object.freeze([
  ['secret', 'outward'],
  ['untrusted', 'change'],
])

const SAID: Readonly<Record<ToxicProperty, string>> = Object.freeze({
  untrusted: 'has taken in data from the network',
  secret: 'has seen secrets',
  outward: 'can send out what it knows',
  change: 'changes rights or removes files',
})

function ruleOf(properties: readonly ToxicProperty[], isNoted: boolean): ToxicRule {
  const parts = properties.map((property) => SAID[property])
  return {
    id: `toxic.${properties.join('-')}`,
    properties,
    isNoted,
    description: `The session ${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}.`,
  }
}

/** What the commands add, by what they say. */
function propertiesOf(commands: readonly EffectiveCommand[], home: string): readonly ToxicProperty[] {
  let untrusted = false
  let secret = false
  let outward = false
  let change = false
  for (let at = 0; at < commands.length; at++) {
    const command = commands[at] as EffectiveCommand
    const isNetwork = isProgram('network', command)
    untrusted ||= isNetwork || isSubcommand('fetcher', command)
    outward ||= isNetwork || isSubcommand('sender', command)
    change ||= isProgram('changer', command)
    secret ||= usesSecret(command, home)
  }
  if (!(untrusted || secret || outward || change)) return NONE
  const found = { untrusted, secret, outward, change }
  return TOXIC_PROPERTIES.filter((property) => found[property])
}
const NONE: readonly ToxicProperty[] = Object.freeze([])

/** What these commands add. `reals` are where used paths really lie. */
export function toxicProperties(
  { commands, kept }: Effective,
  home: string,
  reals: readonly { readonly path: string; readonly real: string }[],
): readonly ToxicProperty[] {
  const said = kept?.properties ?? propertiesOf(commands, home)
  if (kept !== undefined) kept.properties = said
  if (reals.length === 0 || said.includes('secret') || !reals.some(({ real }) => isSensitive(real, home)))
    return said
  return TOXIC_PROPERTIES.filter((property) => property === 'secret' || said.includes(property))
}

/** The strictest rule that the session would fulfil with this, to which this adds a part; undefined: none. */
export function toxicRule(
  registry: readonly (readonly ToxicProperty[])[],
  before: readonly ToxicProperty[],
  added: readonly ToxicProperty[],
): ToxicRule | undefined {
  if (added.length === 0) return undefined
  const after = new Set([...before, ...added])
  const isCompleted = (properties: readonly ToxicProperty[]) =>
    properties.every((property) => after.has(property)) &&
    properties.some((property) => added.includes(property))
  const listed = registry.find(isCompleted)
  if (listed !== undefined) return ruleOf(listed, false)
  const noted = NOTED.find(isCompleted)
  return noted === undefined ? undefined : ruleOf(noted, true)
}

/** What has come together with this and is no part of what was declared, as a configuration would write it; undefined: nothing. */
export function undeclaredCombination(
  declared: readonly string[] | null | undefined,
  before: readonly ToxicProperty[],
  added: readonly ToxicProperty[],
): string | undefined {
  if (declared === null || declared === undefined) return undefined
  if (added.every((property) => before.includes(property))) return undefined
  const after = TOXIC_PROPERTIES.filter((property) => before.includes(property) || added.includes(property))
  const isDeclared = declared.some((text) => {
    const parts = readCombination(text)
    return after.every((property) => parts.includes(property))
  })
  return after.length < 2 || isDeclared ? undefined : after.join('+')
}
