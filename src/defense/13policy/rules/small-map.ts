/**
 * Maps that are made once and then only read, in little memory: a few entries are two arrays, and equal lists of
 * numbers are one list. (A `Map` of one entry takes some 200 bytes, and there are thousands.)
 * @module
 */

export type SmallMap<Value> =
  | { readonly keys: readonly string[]; readonly values: readonly Value[] }
  | ReadonlyMap<string, Value>

/** From here on a search through the keys costs more than hashing. */
const FEW = 12

export function sealMap<Value>(map: ReadonlyMap<string, Value>): SmallMap<Value> {
  // A copy, since a map that has grown keeps room to grow.
  return map.size > FEW ? new Map(map) : { keys: [...map.keys()], values: [...map.values()] }
}

export function findValue<Value>(map: SmallMap<Value>, key: string): Value | undefined {
  if (map instanceof Map) return map.get(key)
  const few = map as { readonly keys: readonly string[]; readonly values: readonly Value[] }
  const at = few.keys.indexOf(key)
  return at === -1 ? undefined : few.values[at]
}

export function entriesOf<Value>(map: SmallMap<Value>): Iterable<readonly [string, Value]> {
  if (map instanceof Map) return map as ReadonlyMap<string, Value>
  const few = map as { readonly keys: readonly string[]; readonly values: readonly Value[] }
  return few.values.map((value, at) => [few.keys[at] ?? '', value] as const)
}

/** Gives every list that is equal to an earlier one as that one, without room to grow. */
export function createListPool(): (list: readonly number[]) => readonly number[] {
  const pool = new Map<string, readonly number[]>()
  return (list) => {
    const key = list.join(',')
    const known = pool.get(key)
    if (known !== undefined) return known
    const exact = list.slice()
    pool.set(key, exact)
    return exact
  }
}
