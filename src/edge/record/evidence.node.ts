/**
 * The evidence of one session as one file that proves itself: the part of the chain from its first record to its last,
 * the way of the keys from the first one to there, its sealed facts with their keys, and the policies of that time.
 * Whoever has the file and the pinned key needs nothing else; to check it, it is laid out as a record of its own.
 * Rules: docs/responses.md, section 7 (evidence).
 * @module
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { followKeys } from '../../audit/beginning.node.ts'
import { EPOCH, GENESIS, hashIn, isSealed, policyNamed, readRecord } from '../../audit/chain.ts'
import { factsPairs, pairPaths, readFacts, slotsIn } from '../../audit/facts-files.node.ts'
import {
  chainPaths,
  droppedPath,
  type Link,
  linksOf,
  linksPath,
  readDropped,
} from '../../audit/retention.node.ts'
import { LENGTH_BYTES, SESSION_ID_BYTES, SLOT_BYTES } from '../../audit/sealed-form.ts'
import { activePath, eachLine, openSegment, textOfLine } from '../../audit/segments.node.ts'
import { createVerifier, isFinding } from '../../audit/verify.ts'
import { signatureVerifier, type Verified, verifyChain } from '../../audit/verify-chain.node.ts'
import { closing } from '../../base/closing.node.ts'
import { hostSha256 } from '../../base/crypto/sha256.node.ts'
import { decodeBase64, encodeBase64 } from '../../base/encoding/base64.ts'
import { decodeHex } from '../../base/encoding/hex.ts'
import { parseStrictJson } from '../../base/encoding/strict-json.ts'
import { SassError } from '../../errors.ts'
import { EVIDENCE_BYTES } from '../../limits.ts'
import { type ReplayReport, replayChain } from './replay-chain.node.ts'

export type Evidence = {
  readonly form: 1
  /** Its id, hex. */
  readonly session: string
  /** Records that brought in keys before the first of `records`. */
  readonly links: readonly Link[]
  /** The record that says which policy held when the session began; null where `records` has it. */
  readonly context: Link | null
  /** The hash that the first record follows, hex. */
  readonly previous: string
  /** Lines of the chain. */
  readonly records: readonly string[]
  /** Sealed bodies and key slots, base64. */
  readonly frames: readonly string[]
  readonly keys: readonly string[]
  /** Files of `policies/` by their name, base64. */
  readonly policies: Readonly<Record<string, string>>
  /** What its branch would change, as RFC 8785 JSON; absent where it has none. */
  readonly branch?: string
}

export type Checked = {
  readonly verified: Verified
  readonly replay: ReplayReport | undefined
}

type Found = Pick<Evidence, 'links' | 'context' | 'previous' | 'records'>

/** The records from the first of the session to its last, and what leads there. */
function recordsOf(directory: string, session: string): Found | undefined {
  const dropped = readDropped(directory)
  const kept = linksOf(directory)
  const links: Link[] = kept
    .filter(({ event }) => event.type === EPOCH)
    .map(({ previous: before, line }) => ({ previous: before, line }))
  const said = kept.findLast(({ event }) => policyNamed(event) !== undefined)
  const needle = Buffer.from(`"session":"${session}"`)
  let [previous, before] = [dropped?.last_hash ?? GENESIS, '']
  let context: Link | null = said === undefined ? null : { previous: said.previous, line: said.line }
  let pending: string[] = []
  let isOwed = false
  const records: string[] = []
  for (const path of chainPaths(directory)) {
    const descriptor = openSegment(path)
    using _descriptor = closing(descriptor)
    eachLine(descriptor, (bytes) => {
      const line = textOfLine(bytes) ?? ''
      const isOwn = bytes.includes(needle)
      if (isOwn && records.length === 0) before = previous
      if (isOwn || (isOwed && records.length > 0)) {
        // A later record's signature may stand for its last one.
        isOwed = !isSealed(line)
        records.push(...pending, line)
        pending = []
      } else if (records.length > 0) pending.push(line)
      else {
        const event =
          bytes.includes('"type":"epoch"') || bytes.includes('"frozen"') ? readRecord(line)?.event : undefined
        if (event?.type === EPOCH) links.push({ previous, line })
        if (event !== undefined && policyNamed(event) !== undefined) context = { previous, line }
      }
      previous = hashIn(line)
      return false
    })
  }
  return records.length === 0 ? undefined : { links, context, previous: before, records }
}

function digestsIn(records: readonly string[], session: string): ReadonlySet<string> {
  return new Set(
    records.flatMap((line) => {
      const event = readRecord(line)?.event
      return event?.['session'] === session && typeof event['facts'] === 'string' ? [event['facts']] : []
    }),
  )
}

/** Names of the policies that held at any of these records. */
function policiesIn(lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => {
    const event = line.includes('"frozen"') ? readRecord(line)?.event : undefined
    return (event === undefined ? undefined : policyNamed(event)) ?? []
  })
}

function slotsOf(directory: string, session: string): readonly string[] {
  const id = decodeHex(session) ?? new Uint8Array(SESSION_ID_BYTES)
  return factsPairs(directory).flatMap((first) => {
    const bytes = slotsIn(pairPaths(directory, first).keys)
    const slots: string[] = []
    for (let at = 0; at + SLOT_BYTES <= bytes.length; at += SLOT_BYTES)
      if (bytes.subarray(at, at + SESSION_ID_BYTES).equals(id))
        slots.push(encodeBase64(bytes.subarray(at, at + SLOT_BYTES)))
    return slots
  })
}

/**
 * Gathers what there is of a session.
 * @throws SassError PROCESS_NOT_FOUND where there is no record of it, or the system's error
 */
export function gatherEvidence(directory: string, session: string): Evidence {
  const found = recordsOf(directory, session)
  if (found === undefined)
    throw new SassError(
      'PROCESS_NOT_FOUND',
      `The record has nothing of a session ${session}: see sass-edge audit tail.`,
    )
  const digests = digestsIn(found.records, session)
  const frames: string[] = []
  for (const { digest, body } of readFacts(directory))
    if (digests.has(digest)) frames.push(encodeBase64(body))
  const policies: Record<string, string> = {}
  const place = join(directory, 'policies')
  const named = policiesIn([...(found.context === null ? [] : [found.context.line]), ...found.records])
  for (const name of existsSync(place) ? readdirSync(place) : []) {
    const isRules = name.endsWith('.rules')
    if (isRules || named.includes(basename(name, '.json')))
      policies[name] = encodeBase64(readFileSync(join(place, name)))
  }
  return { form: 1, session, ...found, frames, keys: slotsOf(directory, session), policies }
}

/** @throws SassError FILE_IO where the text is no evidence */
export function parseEvidence(bytes: Uint8Array, path: string): Evidence {
  const parsed = parseStrictJson(bytes, { size: EVIDENCE_BYTES, depth: 4, items: 10_000_000 })
  const value = parsed.ok ? (parsed.value as unknown as Partial<Evidence> | null) : null
  const isList = (list: unknown) => Array.isArray(list)
  if (
    value?.form !== 1 ||
    !/^[0-9a-f]{32}$/.test(String(value.session)) ||
    !/^([0-9a-f]{64}|SASS_GENESIS_BLOCK)$/.test(String(value.previous)) ||
    ![value.links, value.records, value.frames, value.keys].every(isList) ||
    typeof value.policies !== 'object' ||
    !['string', 'undefined'].includes(typeof value.branch)
  )
    throw new SassError(
      'FILE_IO',
      `${path} is no evidence of a session: make one with sass-edge audit export.`,
      { path },
    )
  return value as Evidence
}

const bytesOf = (text: string): Uint8Array => decodeBase64(text, EVIDENCE_BYTES) ?? new Uint8Array()

/** Lays the evidence out in an empty directory, as the record of a device that has nothing else. */
function layOut(evidence: Evidence, directory: string): void {
  const { records, links, previous } = evidence
  writeFileSync(activePath(directory), records.map((line) => `${line}\n`).join(''))
  if (previous !== GENESIS) {
    const first = readRecord(records[0] ?? '')?.event['seq']
    const last = typeof first === 'number' ? first - 1 : 0
    writeFileSync(droppedPath(directory), JSON.stringify({ last, last_hash: previous, from: '', to: '' }))
    writeFileSync(linksPath(directory), links.map((link) => `${JSON.stringify(link)}\n`).join(''))
  }
  const { frames, keys } = pairPaths(directory, 1)
  const framed = evidence.frames.map((text) => {
    const body = bytesOf(text)
    const head = Buffer.alloc(LENGTH_BYTES)
    head.writeUInt32BE(body.length, 0)
    return Buffer.concat([head, body])
  })
  writeFileSync(frames, Buffer.concat(framed))
  writeFileSync(keys, Buffer.concat(evidence.keys.map(bytesOf)))
  mkdirSync(join(directory, 'policies'))
  for (const [name, text] of Object.entries(evidence.policies))
    if (/^[0-9a-f]{64}\.(json|rules)$/.test(name))
      writeFileSync(join(directory, 'policies', name), bytesOf(text))
}

/** The policy that the context record names, where that record was signed with the key of its time. */
function policyOfContext({ context, links }: Evidence, isGenesis: Pin): string | undefined {
  if (context === null) return undefined
  const event = readRecord(context.line)?.event
  const sequence = event?.['seq']
  const hash = decodeHex(context.previous)
  if (typeof sequence !== 'number' || hash?.length !== 32) return undefined
  const verifySignature = signatureVerifier()
  const before = links.filter(({ line }) => Number(readRecord(line)?.event['seq']) < sequence)
  const keys = followKeys(
    before.map((link) => `${JSON.stringify(link)}\n`).join(''),
    sequence,
    { isGenesis },
    verifySignature,
  )
  if (typeof keys === 'string') return undefined
  const beginning = { ...keys, hash, sequence: sequence - 1 }
  const verifier = createVerifier({ hash: hostSha256, verifySignature, beginning })
  if (verifier.push(context.line) !== undefined) return undefined
  const end = verifier.end('')
  if (isFinding(end) || end.unfinished) return undefined
  return event === undefined ? undefined : policyNamed(event)
}

type Pin = ((publicKey: Uint8Array) => boolean) | undefined

/**
 * Verifies and replays evidence with nothing but itself.
 * @param directory an empty one, for what it is laid out in
 * @param program the version of this program
 */
export function checkEvidence(
  evidence: Evidence,
  directory: string,
  isGenesis: Pin,
  program: string,
): Checked {
  layOut(evidence, directory)
  const verified = verifyChain(chainPaths(directory), { isGenesis, directory, isExcerpt: true })
  if (!verified.ok) return { verified, replay: undefined }
  const { session } = evidence
  return {
    verified,
    replay: replayChain(directory, program, { policy: policyOfContext(evidence, isGenesis), session }),
  }
}
