/**
 * Tables that are asked with words from outside.
 * @module
 */

/** A frozen table without inherited names: `constructor` and `__proto__` are in it only where somebody put them. */
export function tableOf<Value>(entries: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  return Object.freeze(Object.assign(Object.create(null), entries))
}
