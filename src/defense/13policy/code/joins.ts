/**
 * How the values in code are put together: joined, laid one beneath another as paths are, or put into a text. Of what is
 * put together of known and unknown parts, the known ones are kept.
 * @module
 */
import { WorkSpent } from '../../work.ts'
import { HOLE } from './holes.ts'
import { patternOf, UNKNOWN, type Value } from './reading.ts'

export const EMPTY: Value = Object.freeze({ kind: 'text', text: '', isOpaque: false })

/** `left/right`; a whole path stands for itself. */
export function beneath(left: Value, right: Value): Value {
  if (right.kind === 'text' && right.text.startsWith('/')) return right
  if (left.kind === 'list') return UNKNOWN
  const isSeparated = patternOf(left).endsWith('/')
  return join(isSeparated ? left : join(left, SEPARATOR), right)
}

export const SEPARATOR: Value = Object.freeze({ kind: 'text', text: '/', isOpaque: false })

/** `"/".join(["", "etc"])` of Python and `["", "etc"].join("/")` of the others. */
export function joined(value: Value, other: Value): Value {
  const [parts, separator] = value.kind === 'list' ? [value, other] : [other, value]
  if (parts.kind !== 'list' || separator.kind !== 'text') return UNKNOWN
  const [first = UNKNOWN, ...others] = parts.items
  return others.reduce((left, right) => join(join(left, separator), right), first)
}

/** `"/etc/%s" % "x"` and `"/etc/{}".format("x")`: up to what is not known. */
export function filled(
  value: Value & { readonly kind: 'text' },
  given: readonly Value[],
  hole: RegExp,
): Value {
  const [start = '', ...rest] = value.text.split(hole, given.length + 1)
  return rest.reduce<Value>(
    (left, text, index) => join(join(left, given[index] ?? UNKNOWN), { ...value, text }),
    { ...value, text: start },
  )
}

/** What code puts together of several parts: a line, a path, a page at most. A text that doubles ends here. */
const JOINED_MAX = 8_192
const ITEMS_MAX = 1_024

/** @throws WorkSpent where it is too long */
export function join(left: Value, right: Value): Value {
  if (left.kind === 'list' && right.kind === 'list' && left.items.length + right.items.length > ITEMS_MAX)
    throw new WorkSpent('The code makes a list that is longer than anybody writes.')
  if (left.kind === 'list' && right.kind === 'list')
    return { kind: 'list', items: [...left.items, ...right.items] }
  if (left.kind !== 'text' && (left.kind !== 'unknown' || right.kind !== 'text')) return UNKNOWN
  const isWhole = left.kind === 'text' && !left.isOpaque && right.kind === 'text' && !right.isOpaque
  const known = left.kind !== 'text' ? '' : left.text
  if (patternOf(left).length + patternOf(right).length > JOINED_MAX)
    throw new WorkSpent('The code makes a text that is longer than anybody writes.')
  if (isWhole) return { kind: 'text', text: known + right.text, isOpaque: false }
  const isEnd = left.kind !== 'text' || left.isOpaque || right.kind !== 'text'
  return {
    kind: 'text',
    text: isEnd ? known : known + right.text,
    isOpaque: true,
    pattern: (patternOf(left) + patternOf(right)).replace('**', HOLE),
  }
}

/** The directory that a path lies in. */
export function parentOf(path: Value): Value {
  if (path.kind !== 'text' || !path.text.includes('/')) return path
  return { kind: 'text', text: path.text.slice(0, path.text.lastIndexOf('/')) || '/', isOpaque: false }
}
