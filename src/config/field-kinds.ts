/**
 * The kinds of field that a configuration key can be, as types; the table itself is config/fields.ts.
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
