/**
 * The data of the firewall: what ships, and what the operator has added to it. What ships cannot be taken out or changed
 * by what is added (JF-086): kinds and patterns come behind, names that ship keep their meaning.
 * A build puts what ships into the program itself; from the sources it is read where it is written.
 * Rules: docs/firewall.md, "Own patterns".
 * @module
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import { errnoOf, errnoText, readBounded } from '../../base/files.node.ts'
import { OWN_PATTERNS_BYTES } from '../../defense/firewall/limits.ts'
import { SassError } from '../../errors.ts'

/** A line of JSON and the weights of the model, Brotli in Base64: build/bundle.node.ts packs it. */
declare const PACKED_FIREWALL: string | undefined

/** As firewall/ has it. */
export type FirewallData = {
  readonly secrets: unknown
  readonly injections: unknown
  readonly weights: unknown
  /** SHA-256 of all of it, hex. */
  readonly digest: string
}

type Fields = Readonly<Record<string, unknown>>

function shipped(): { readonly secrets: Fields; readonly injections: Fields; readonly weights: Fields } {
  if (typeof PACKED_FIREWALL === 'string') {
    const bytes = brotliDecompressSync(Buffer.from(PACKED_FIREWALL, 'base64'))
    const end = bytes.indexOf('\n')
    const data = JSON.parse(bytes.toString('utf8', 0, end))
    return { ...data, weights: { ...data.weights, weights: bytes.toString('base64', end + 1) } }
  }
  const read = (name: string): Fields =>
    JSON.parse(readFileSync(new URL(`../../../firewall/${name}.json`, import.meta.url), 'utf8'))
  return {
    secrets: read('secrets'),
    injections: read('injections'),
    weights: read('injection-weights'),
  }
}

function refusal(path: string, problem: string, cause?: unknown): SassError {
  return new SassError(
    'CONFIG_LOAD_FAILED',
    `The own patterns of the firewall in ${path} cannot be used: ${problem}.`,
    { path },
    cause,
  )
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined
}

/** @throws SassError CONFIG_LOAD_FAILED */
function ownFile(path: string): Fields {
  let text: string
  try {
    const read = readBounded(path, OWN_PATTERNS_BYTES)
    if (!read.ok) throw refusal(path, `it is no file of at most ${OWN_PATTERNS_BYTES} bytes`)
    text = Buffer.from(read.bytes).toString('utf8')
  } catch (cause) {
    if (cause instanceof SassError) throw cause
    throw refusal(path, errnoText(errnoOf(cause)), cause)
  }
  try {
    const fields = fieldsOf(JSON.parse(text))
    const unknown = Object.keys(fields ?? {}).find((name) => !OWN_FIELDS.includes(name))
    if (fields === undefined || fields['version'] !== 1) throw refusal(path, 'version is to be 1')
    if (unknown !== undefined) throw refusal(path, `there is no field ${JSON.stringify(unknown)}`)
    return fields
  } catch (cause) {
    if (cause instanceof SassError) throw cause
    throw refusal(path, 'it is no JSON', cause)
  }
}

const OWN_FIELDS = ['version', 'secrets', 'sets', 'patterns']

function listOf(path: string, fields: Fields, name: string): readonly unknown[] {
  const value = fields[name] ?? []
  if (!Array.isArray(value)) throw refusal(path, `${name} is to be a list`)
  return value
}

/** @param path the operator's file; null: what ships alone. @throws SassError CONFIG_LOAD_FAILED */
export function firewallData(path: string | null): FirewallData {
  const { secrets, injections, weights } = shipped()
  const hash = createHash('sha256').update(JSON.stringify([secrets, injections, weights]))
  if (path === null) return { secrets, injections, weights, digest: hash.digest('hex') }
  const own = ownFile(path)
  const sets = fieldsOf(own['sets'] ?? {})
  if (sets === undefined) throw refusal(path, 'sets is to be an object')
  return {
    secrets: {
      ...secrets,
      kinds: [...listOf(path, secrets, 'kinds'), ...listOf(path, own, 'secrets')],
    },
    injections: {
      ...injections,
      sets: { ...sets, ...fieldsOf(injections['sets']) },
      patterns: [...listOf(path, injections, 'patterns'), ...listOf(path, own, 'patterns')],
    },
    weights,
    digest: hash.update(JSON.stringify(own)).digest('hex'),
  }
}
