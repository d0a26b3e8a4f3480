/**
 * What a session has done that may be toxic together with something else, closed: what a configuration may write and
 * what the decision knows.
 * @module
 */

/**
 * `untrusted`: took in what comes from elsewhere. `secret`: saw sensitive data. `outward`: could send out. `change`:
 * changed rights or removed files.
 */
export const TOXIC_PROPERTIES = Object.freeze(['untrusted', 'secret', 'outward', 'change'] as const)
export type ToxicProperty = (typeof TOXIC_PROPERTIES)[number]

/** `untrusted+secret` as a configuration writes it, which has been checked. */
export function readCombination(text: string): readonly ToxicProperty[] {
  const parts = text.split('+')
  return TOXIC_PROPERTIES.filter((property) => parts.includes(property))
}
