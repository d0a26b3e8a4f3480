/**
 * The kinds of field that a configuration key can be, as types, and what makes one of each; the table itself is
 * config/fields.ts. The type of a parsed value follows from what its field was made with.
 * @module
 */
import type { TextFormatName } from './formats.ts'

type Documented = { readonly doc: string }
export type TextField = Documented & {
  readonly kind: 'text'
  readonly format: TextFormatName
  readonly maxBytes: number
  /** Absent: the key is required. */
  readonly default?: string | null
  readonly nullable?: true
}
/**
 * A path; `under` is a default that follows another key. `words` are values that are not paths and stay as they are.
 * `isPlace`: an address and port may stand in its place, and stays as it is.
 */
export type PathField = Documented & {
  readonly kind: 'path'
  readonly default?: string | { readonly under: 'state_directory'; readonly name: string } | null
  readonly nullable?: true
  readonly words?: readonly string[]
  readonly isPlace?: true
}
type IntegerField = Documented & {
  readonly kind: 'integer'
  readonly min: number
  readonly max: number
  readonly default: number | null
  readonly nullable?: true
}
type BooleanField = Documented & { readonly kind: 'boolean'; readonly default: boolean }
type ChoiceField = Documented & {
  readonly kind: 'choice'
  readonly choices: readonly string[]
  readonly default: string
}
export type ListField = Documented & {
  readonly kind: 'list'
  readonly item: TextField | PathField | IntegerField | ObjectField
  readonly maxItems: number
  readonly default: readonly string[] | null
  readonly nullable?: true
  readonly absent: string
  readonly empty: string
  readonly full: string
}
/** `short`: a text or a list by itself stands for an object with that key alone. */
export type ObjectField = Documented & {
  readonly kind: 'object'
  readonly short?: string
  readonly fields: Readonly<Record<string, Field>>
}
/** Named objects of one shape. `default` is what holds where the whole key is absent, in the form of the file. */
export type MapField = Documented & {
  readonly kind: 'map'
  readonly value: ObjectField
  readonly maxEntries: number
  readonly default: Readonly<Record<string, unknown>>
}
export type Field =
  | TextField
  | PathField
  | IntegerField
  | BooleanField
  | ChoiceField
  | ListField
  | ObjectField
  | MapField

type Nullable<F> = F extends { readonly nullable: true } ? null : never
/** The type of a parsed value, from its field. */
export type ValueOf<F> = F extends { readonly kind: 'text' }
  ? string | Nullable<F>
  : F extends { readonly kind: 'path' }
    ? string | Nullable<F>
    : F extends { readonly kind: 'integer' }
      ? number | Nullable<F>
      : F extends { readonly kind: 'boolean' }
        ? boolean
        : F extends { readonly kind: 'choice'; readonly choices: readonly (infer Choice)[] }
          ? Choice
          : F extends { readonly kind: 'list'; readonly item: infer Item }
            ? readonly ValueOf<Item>[] | Nullable<F>
            : F extends { readonly kind: 'map'; readonly value: infer Value }
              ? Readonly<Record<string, ValueOf<Value>>>
              : F extends { readonly kind: 'object'; readonly fields: infer Fields }
                ? { readonly [Key in keyof Fields]: ValueOf<Fields[Key]> }
                : never

/** A default of null: null may be written as well. */
type OrNull<D> = D extends null ? { readonly nullable: true } : object
function orNull<D>(standard: D): OrNull<D> {
  return (standard === null ? { nullable: true } : {}) as OrNull<D>
}

/** Keys of one subject. */
export function object<const F extends ObjectField['fields']>(doc: string, fields: F) {
  return { kind: 'object', doc, fields } as const
}

/** Named objects; `standard` in the form of the file. */
export function map<const V extends ObjectField>(
  value: V,
  maxEntries: number,
  standard: MapField['default'],
  more: Documented,
) {
  return { kind: 'map', value, maxEntries, default: standard, ...more } as const
}

/** A whole number in a range. */
export function integer<const D extends number | null, const M extends Documented>(
  min: number,
  max: number,
  standard: D,
  more: M,
) {
  return { kind: 'integer', min, max, default: standard, ...orNull(standard), ...more } as const
}

/** True or false. */
export function boolean(standard: boolean, more: Documented) {
  return { kind: 'boolean', default: standard, ...more } as const
}

/** One of some words. */
export function choice<const C extends readonly string[], const D extends C[number]>(
  choices: C,
  standard: D,
  more: Documented,
) {
  return { kind: 'choice', choices, default: standard, ...more } as const
}

/** A text that is required. */
export function text(format: TextFormatName, maxBytes: number, more: Documented) {
  return { kind: 'text', format, maxBytes, ...more } as const
}

/** A text that has a default. */
export function textOr<const D extends string | null>(
  standard: D,
  format: TextFormatName,
  maxBytes: number,
  more: Documented,
) {
  return { ...text(format, maxBytes, more), default: standard, ...orNull(standard) } as const
}

/** A path that is required. */
export function path(more: Omit<PathField, 'kind' | 'default' | 'nullable'>) {
  return { kind: 'path', ...more } as const
}

/** A path that has a default. */
export function pathOr<const D extends Exclude<PathField['default'], undefined>>(
  standard: D,
  more: Parameters<typeof path>[0],
) {
  return { ...path(more), default: standard, ...orNull(standard) } as const
}

/** Any number of one kind. */
export function list<const I extends ListField['item'], const D extends ListField['default']>(
  item: I,
  maxItems: number,
  standard: D,
  more: Pick<ListField, 'doc' | 'absent' | 'empty' | 'full'>,
) {
  return { kind: 'list', item, maxItems, default: standard, ...orNull(standard), ...more } as const
}
