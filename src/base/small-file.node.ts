/**
 * Small files that may be absent, or not what they should be: then whoever reads them begins without.
 * @module
 */
import { attempt } from './attempt.ts'
import { type Json, parseStrictJson } from './encoding/strict-json.ts'
import { readBounded } from './files.node.ts'

/** The whole of a regular file; undefined where there is none of at most `limitBytes`, or none that we may read. */
export function bytesAt(path: string, limitBytes: number, noFollow = false): Buffer | undefined {
  const read = attempt(() => readBounded(path, limitBytes, noFollow), undefined)
  return read?.ok ? read.bytes : undefined
}

/** What a file of strict JSON says; undefined where there is none. */
export function jsonAt(path: string, limitBytes: number, noFollow = false): Json | undefined {
  const bytes = bytesAt(path, limitBytes, noFollow)
  const parsed = bytes === undefined ? undefined : parseStrictJson(bytes, { size: limitBytes })
  return parsed?.ok ? parsed.value : undefined
}

/** The fields of an object of JSON; none of anything else. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}

/** A whole number that counts something. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}
