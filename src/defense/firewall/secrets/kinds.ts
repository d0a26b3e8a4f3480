/**
 * The kinds of secrets, from their data file to tables: by key word, which shapes to try and how sure the name is.
 * Refuses unknown fields, shapes that cannot be read, kinds without a key word, and files with more than the bounds.
 * Rules: docs/firewall.md, "Secrets"; jerry.md L4-C03.
 * @module
 */
import { type Beginnings, beginningsOf, buildKeyWords, type KeyWords } from '../key-words.ts'
import { KEY_WORD_LEAST_BYTES, KEY_WORD_MOST_BYTES, KEY_WORDS, SECRET_KINDS } from '../limits.ts'
import { type KnownValue, type LiteralKey, literalKeys } from './known.ts'
import { type Part, parseShape, type Shape } from './shape.ts'
import type { NameStrength } from './value.ts'

export type Run = Extract<Part, { kind: 'run' }>

export type Kind = {
  readonly id: string
  readonly shape: Shape
  /** Least randomness, in thousandths of a bit for each byte. */
  readonly leastMilliBits: number
  /** It counts only where something assigns it: alone it is no secret. */
  readonly isAssigned: boolean
  /** Its first part is JSON in Base64. */
  readonly isJson: boolean
  /** What stands before the shape and belongs to the secret. */
  readonly behind: Run | undefined
}

/** What takes more than a shape. */
export type Special =
  | 'plain'
  | 'block'
  | 'block-end'
  | 'userinfo'
  | 'curl'
  | 'user-option'
  | 'compared'
  | 'document'
  | 'data'

/** What one key word leads to. */
export type Lead = {
  readonly length: number
  /** It ends with the operator that assigns: what follows is the value. */
  readonly operatorBytes: 0 | 1
  /** Its text is where such a secret begins. */
  readonly tokens: Kind[]
  /** What is assigned to a name with this key word in it. */
  readonly values: Kind[]
  /** Known secrets whose text this is the beginning of. */
  readonly literals: LiteralKey[]
  strength: NameStrength | undefined
  special: Special | undefined
}

export type SecretTables = {
  readonly words: KeyWords
  readonly begins: Beginnings
  /** By the number of an accepting state of `words`: what its key words lead to. */
  readonly leads: readonly (readonly Lead[])[]
  readonly kinds: number
}

const SPECIALS: Readonly<Record<string, Special>> = {
  '-----begin ': 'block',
  '-----end ': 'block-end',
  '://': 'userinfo',
  'curl ': 'curl',
  ' -u ': 'user-option',
  '--user ': 'user-option',
  '" ==': 'compared',
  '" !=': 'compared',
  "' ==": 'compared',
  "' !=": 'compared',
  'apiversion:': 'document',
  'data:': 'data',
}
const STRENGTHS: readonly NameStrength[] = ['password', 'token', 'key']
const KIND_FIELDS = ['id', 'shape', 'near', 'bits', 'assigned', 'behind', 'json']
const ID = /^[a-z0-9]+(-[a-z0-9]+)*$/
const WORD = /^[!-~ ]+$/

type Fields = Readonly<Record<string, unknown>>

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isWords(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.every(
      (word) =>
        typeof word === 'string' &&
        word.length >= KEY_WORD_LEAST_BYTES &&
        word.length <= KEY_WORD_MOST_BYTES &&
        WORD.test(word),
    )
  )
}

/** The words that a text of that shape begins with: as far as letters go that are always there. */
function beginnings({ parts }: Shape): string[] {
  let found = ['']
  for (const part of parts) {
    if (part.kind !== 'word' || part.isOptional) break
    const words = part.words.map((word) => String.fromCharCode(...word))
    found = found.flatMap((begun) => words.map((word) => begun + word))
    if (found.length > 64) break
  }
  return found.map((word) => word.slice(0, KEY_WORD_MOST_BYTES))
}

function runOf(text: unknown): Run | string {
  const shape = typeof text === 'string' ? parseShape(text) : 'it is to be a text'
  if (typeof shape === 'string') return shape
  const [part, ...others] = shape.parts
  return part?.kind === 'run' && others.length === 0 ? part : 'it is to be one class with its count'
}

type Collected = { readonly leads: Map<string, Lead>; readonly problems: string[]; kinds: number }

function leadOf({ leads }: Collected, word: string): Lead {
  const folded = word.toLowerCase()
  const known = leads.get(folded)
  if (known !== undefined) return known
  const operatorBytes = /[=:]$/.test(folded) ? 1 : 0
  const lead: Lead = {
    length: folded.length,
    operatorBytes,
    tokens: [],
    values: [],
    literals: [],
    strength: undefined,
    special: undefined,
  }
  leads.set(folded, lead)
  return lead
}

function addKind(fields: unknown, at: number, into: Collected): void {
  const refuse = (problem: string): void => void into.problems.push(`kinds[${at}]: ${problem}.`)
  if (!isFields(fields)) return refuse('it is no object')
  const { id, shape: text, near, bits = 0, assigned = false, behind: before, json = false } = fields
  const unknown = Object.keys(fields).find((name) => !KIND_FIELDS.includes(name))
  if (unknown !== undefined) return refuse(`there is no field ${JSON.stringify(unknown)}`)
  if (typeof id !== 'string' || !ID.test(id)) return refuse('id is to be small letters, digits and hyphens')
  if (typeof text !== 'string') return refuse('shape is to be a text')
  if (typeof bits !== 'number' || !Number.isInteger(bits) || bits < 0 || bits > 8_000)
    return refuse('bits is to be thousandths of a bit for each byte, from 0 to 8000')
  if (typeof assigned !== 'boolean') return refuse('assigned is to be true or false')
  if (typeof json !== 'boolean') return refuse('json is to be true or false')
  const shape = parseShape(text)
  if (typeof shape === 'string') return refuse(`shape: ${shape}`)
  const behind = before === undefined ? undefined : runOf(before)
  if (typeof behind === 'string') return refuse(`behind: ${behind}`)
  const kind: Kind = { id, shape, leastMilliBits: bits, isAssigned: assigned, isJson: json, behind }
  into.kinds++
  if (near !== undefined) {
    if (!isWords(near) || near.length === 0) return refuse('near is to be a list of words')
    for (const word of near) leadOf(into, word).values.push(kind)
    return
  }
  const words = beginnings(shape)
  if (!isWords(words))
    return refuse('shape is to begin with letters, or near is to say what stands before it')
  for (const word of words) leadOf(into, word).tokens.push(kind)
}

/** `strict`: a name that says little counts as much as another; `permissive`: names count for nothing. */
export type Sensitivity = 'strict' | 'standard' | 'permissive'

/** How sure a name is, by how much an operator wants of it. */
const COUNTED: Readonly<Record<Sensitivity, (strength: NameStrength) => NameStrength | undefined>> = {
  strict: (strength) => (strength === 'key' ? 'token' : strength),
  standard: (strength) => strength,
  permissive: () => undefined,
}

/**
 * @param known values that the device knows
 * @returns sentences that say what is wrong, where something is
 */
export function readSecretTables(
  file: unknown,
  known: readonly KnownValue[] = [],
  sensitivity: Sensitivity = 'standard',
): SecretTables | { readonly problems: readonly string[] } {
  if (!isFields(file) || file['version'] !== 1) return { problems: ['version is to be 1.'] }
  const { kinds, names } = file
  if (!Array.isArray(kinds) || kinds.length > SECRET_KINDS)
    return { problems: [`kinds is to be a list of at most ${SECRET_KINDS}.`] }
  const into: Collected = { leads: new Map(), problems: [], kinds: 0 }
  kinds.forEach((fields, at) => {
    addKind(fields, at, into)
  })
  if (!isFields(names)) return { problems: ['names is to be an object.'] }
  for (const strength of STRENGTHS) {
    const words = names[strength]
    if (!isWords(words)) into.problems.push(`names.${strength} is to be a list of words.`)
    else for (const word of words) leadOf(into, word).strength ??= COUNTED[sensitivity](strength)
  }
  const { plain } = names
  if (!isWords(plain)) into.problems.push('names.plain is to be a list of words.')
  else for (const word of plain) leadOf(into, word).special = 'plain'
  for (const [word, special] of Object.entries(SPECIALS)) leadOf(into, word).special = special
  if (into.leads.size > KEY_WORDS) into.problems.push(`there are more than ${KEY_WORDS} key words.`)
  if (into.problems.length > 0) return { problems: into.problems }
  for (const key of literalKeys(known)) leadOf(into, key.word).literals.push(key)
  const keyWords = [...into.leads.keys()]
  const words = buildKeyWords(keyWords)
  const leads = [...into.leads.values()]
  const found = words.found.map((numbers) => numbers.flatMap((number) => leads[number] ?? []))
  return { words, begins: beginningsOf(keyWords), leads: found, kinds: into.kinds }
}
