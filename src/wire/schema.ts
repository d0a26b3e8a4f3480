/**
 * The small language in which messages are described: one description gives the reader that names every bad
 * path, the writer, the static type and the CDDL. Integer keys on the wire, names in the code; absent means the
 * default; a key that the message does not have is refused by a strict reader and skipped by a lenient one.
 * Rules: docs/protocol.md, section 3.
 * @module
 */
import type { CborValue } from '../base/encoding/cbor.ts'
import { utf8Length } from '../base/encoding/utf8.ts'
import { asUnsigned } from './frame.ts'

export type Problem = { readonly path: string; readonly problem: string }

/** How strictly a reader treats keys that the message does not have: the daemon refuses, a client skips. */
export type Strictness = 'strict' | 'lenient'
type Reading = { readonly problems: Problem[]; readonly strictness: Strictness }

export type Type<T> = {
  readonly cddl: string
  /** Pushes to `problems` whatever is wrong below `path`; the result is used only when nothing was pushed. */
  read(value: unknown, path: string, reading: Reading): T | undefined
  write(value: T): CborValue
}

function refuse(reading: Reading, path: string, problem: string): undefined {
  reading.problems.push({ path, problem })
  return undefined
}

/** An unsigned integer up to `most` (default 2^53 - 1). */
export function unsigned(most: number = Number.MAX_SAFE_INTEGER): Type<number> {
  return {
    cddl: most === Number.MAX_SAFE_INTEGER ? 'uint' : `0..${most}`,
    read(value, path, reading) {
      const number = asUnsigned(value)
      if (number === undefined) return refuse(reading, path, 'must be an unsigned integer')
      return number > most ? refuse(reading, path, `must be at most ${most}`) : number
    },
    write: (value) => value,
  }
}

export const bool: Type<boolean> = Object.freeze({
  cddl: 'bool',
  read: (value: unknown, path: string, reading: Reading) =>
    typeof value === 'boolean' ? value : refuse(reading, path, 'must be true or false'),
  write: (value: boolean) => value,
})

/** Text of at most `limitBytes` in UTF-8, without NUL: it may become an argument, a path or a line. */
export function text(limitBytes: number): Type<string> {
  return {
    cddl: `tstr .size (0..${limitBytes})`,
    read(value, path, reading) {
      if (typeof value !== 'string') return refuse(reading, path, 'must be text')
      if (value.includes('\0')) return refuse(reading, path, 'must not contain NUL')
      if (utf8Length(value) > limitBytes) return refuse(reading, path, `must be at most ${limitBytes} bytes`)
      return value
    },
    write: (value) => value,
  }
}

/** A byte string of `least` to `most` bytes, copied out of the frame. */
export function bytes(least: number, most: number = least): Type<Uint8Array> {
  return {
    cddl: least === most ? `bstr .size ${least}` : `bstr .size (${least}..${most})`,
    read(value, path, reading) {
      if (!(value instanceof Uint8Array)) return refuse(reading, path, 'must be a byte string')
      if (value.length < least || value.length > most)
        return refuse(
          reading,
          path,
          least === most ? `must be ${least} bytes` : `must be ${least} to ${most} bytes`,
        )
      return value.slice()
    },
    write: (value) => value,
  }
}

/** A byte string left where it is: valid until the frame's callback returns. For bulk data only. */
export function borrowedBytes(most: number): Type<Uint8Array> {
  return {
    cddl: `bstr .size (0..${most})`,
    read(value, path, reading) {
      if (!(value instanceof Uint8Array)) return refuse(reading, path, 'must be a byte string')
      return value.length > most ? refuse(reading, path, `must be at most ${most} bytes`) : value
    },
    write: (value) => value,
  }
}

/** A list of at most `most` members. */
export function listOf<T>(member: Type<T>, most: number): Type<readonly T[]> {
  return {
    cddl: `[0*${most} ${member.cddl}]`,
    read(value, path, reading) {
      if (!Array.isArray(value)) return refuse(reading, path, 'must be a list')
      if (value.length > most) return refuse(reading, path, `must have at most ${most} members`)
      return value.map((item: unknown, index) => member.read(item, `${path}[${index}]`, reading) as T)
    },
    write: (value) => value.map((item) => member.write(item)),
  }
}

/** A map from text to text, of at most `most` entries. */
export function textMap(
  key: Type<string>,
  value: Type<string>,
  most: number,
): Type<ReadonlyMap<string, string>> {
  return {
    cddl: `{0*${most} ${key.cddl} => ${value.cddl}}`,
    read(raw, path, reading) {
      if (!(raw instanceof Map)) return refuse(reading, path, 'must be a map')
      if (raw.size > most) return refuse(reading, path, `must have at most ${most} entries`)
      const result = new Map<string, string>()
      let index = 0
      for (const [k, v] of raw) {
        const name = key.read(k, `${path}{key ${index}}`, reading)
        const item = value.read(v, `${path}{${index}}`, reading)
        if (name !== undefined && item !== undefined) result.set(name, item)
        index++
      }
      return result
    },
    write: (map) => map,
  }
}

/** A map from small numbers to counts. */
export function countMap(most: number): Type<ReadonlyMap<number, number>> {
  return {
    cddl: `{0*${most} uint => uint}`,
    read(raw, path, reading) {
      if (!(raw instanceof Map)) return refuse(reading, path, 'must be a map')
      if (raw.size > most) return refuse(reading, path, `must have at most ${most} entries`)
      const result = new Map<number, number>()
      for (const [k, v] of raw) {
        const key = asUnsigned(k)
        const count = asUnsigned(v)
        if (key === undefined || count === undefined)
          return refuse(reading, path, 'must map numbers to numbers')
        result.set(key, count)
      }
      return result
    },
    write: (map) => map,
  }
}

type Presence = 'required' | 'optional' | 'defaulted'
export type Field<T, P extends Presence> = {
  readonly key: number
  readonly type: Type<T>
  readonly presence: P
  readonly fallback: T | undefined
  /** One clause for the CDDL and the documentation. */
  readonly says: string
}

export function required<T>(key: number, type: Type<T>, says = ''): Field<T, 'required'> {
  return { key, type, presence: 'required', fallback: undefined, says }
}
/** Undefined in the code when absent. */
export function optional<T>(key: number, type: Type<T>, says = ''): Field<T, 'optional'> {
  return { key, type, presence: 'optional', fallback: undefined, says }
}
/** `fallback` when absent; not sent when it equals the fallback (booleans, numbers, and empty text, bytes or lists). */
export function defaulted<T>(key: number, type: Type<T>, fallback: T, says = ''): Field<T, 'defaulted'> {
  return { key, type, presence: 'defaulted', fallback, says }
}

// biome-ignore lint/suspicious/noExplicitAny: a table of fields of many types; each keeps its own through inference
type Fields = Readonly<Record<string, Field<any, Presence>>>
type TypeIn<F> = F extends Field<infer T, Presence> ? T : never
type NamesWith<F extends Fields, P extends Presence> = {
  [K in keyof F]: F[K] extends Field<infer _, infer Q> ? (Q extends P ? K : never) : never
}[keyof F]
type MessageIn<F extends Fields> = {
  readonly [K in NamesWith<F, 'required' | 'defaulted'>]: TypeIn<F[K]>
} & {
  readonly [K in NamesWith<F, 'optional'>]?: TypeIn<F[K]> | undefined
}
/** What a writer takes: defaulted fields may be left out. */
type MessageOut<F extends Fields> = { readonly [K in NamesWith<F, 'required'>]: TypeIn<F[K]> } & {
  readonly [K in NamesWith<F, 'optional' | 'defaulted'>]?: TypeIn<F[K]> | undefined
}

export type Message<F extends Fields> = Type<MessageIn<F>> & {
  readonly name: string
  readonly fields: F
  /** The CBOR map of the message, keys ascending. */
  encode(value: MessageOut<F>): ReadonlyMap<number, CborValue>
}
export type MessageValue<M> = M extends Message<infer F> ? MessageIn<F> : never
export type MessageInput<M> = M extends Message<infer F> ? MessageOut<F> : never
// biome-ignore lint/suspicious/noExplicitAny: any message at all, for tables and generators
export type AnyMessage = Message<any>

function isDefault(value: unknown, fallback: unknown): boolean {
  if (value === fallback) return true
  if (value instanceof Uint8Array || Array.isArray(value)) return value.length === 0 && isEmptyLike(fallback)
  if (value instanceof Map) return value.size === 0 && fallback instanceof Map && fallback.size === 0
  return false
}

function isEmptyLike(value: unknown): boolean {
  return (value instanceof Uint8Array || Array.isArray(value)) && value.length === 0
}

/** Describes a message. Fields may be given in any order; they are written in the order of their keys. */
export function message<F extends Fields>(name: string, fields: F): Message<F> {
  const ordered = Object.entries(fields).sort(([, a], [, b]) => a.key - b.key)
  const byKey = new Map(ordered.map(([fieldName, field]) => [field.key, { fieldName, field }]))

  function encode(value: MessageOut<F>): ReadonlyMap<number, CborValue> {
    const map = new Map<number, CborValue>()
    for (const [fieldName, field] of ordered) {
      const item = (value as Readonly<Record<string, unknown>>)[fieldName]
      if (item === undefined || (field.presence === 'defaulted' && isDefault(item, field.fallback))) continue
      map.set(field.key, field.type.write(item))
    }
    return map
  }

  function read(raw: unknown, path: string, reading: Reading): MessageIn<F> | undefined {
    if (!(raw instanceof Map)) return refuse(reading, path === '' ? name : path, 'must be a map')
    const result: Record<string, unknown> = {}
    let known = 0
    for (const [fieldName, field] of ordered) {
      const at = path === '' ? fieldName : `${path}.${fieldName}`
      if (!raw.has(field.key)) {
        if (field.presence === 'required') refuse(reading, at, 'is missing')
        if (field.presence === 'defaulted') result[fieldName] = field.fallback
        continue
      }
      known++
      result[fieldName] = field.type.read(raw.get(field.key), at, reading)
    }
    if (reading.strictness === 'strict' && known < raw.size) {
      const strangers = [...raw.keys()].filter((key) => typeof key !== 'number' || !byKey.has(key))
      // A text key is a peer's own bytes: it is counted, not repeated.
      const numbers = strangers.filter((key) => typeof key === 'number').slice(0, 8)
      refuse(
        reading,
        path === '' ? name : path,
        `has ${strangers.length} unknown key(s): ${numbers.join(', ') || 'not integers'}`,
      )
    }
    return result as MessageIn<F>
  }

  return {
    name,
    fields,
    encode,
    read,
    write: encode as unknown as (value: MessageIn<F>) => CborValue,
    cddl: name,
  }
}

export type ReadMessage<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** Reads a frame's payload as `type`; every bad path is named. An absent payload reads as the empty message. */
export function readMessage<T>(type: Type<T>, payload: unknown, strictness: Strictness): ReadMessage<T> {
  const reading: Reading = { problems: [], strictness }
  const value = type.read(payload === undefined ? new Map() : payload, '', reading)
  if (reading.problems.length > 0 || value === undefined) return { ok: false, problems: reading.problems }
  return { ok: true, value }
}

/** `cwd must be text; args[2] must not contain NUL`, at most eight of them. */
export function describeProblems(problems: readonly Problem[]): string {
  const shown = problems.slice(0, 8).map(({ path, problem }) => `${path} ${problem}`)
  const rest = problems.length - shown.length
  return rest > 0 ? `${shown.join('; ')}; and ${rest} more` : shown.join('; ')
}
