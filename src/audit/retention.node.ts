/**
 * The oldest files of a chain that has grown too large go, and the proof stays: a record in the chain itself, signed
 * like any other, says up to which record and which hash it was dropped, and the records that brought in keys are kept
 * for good, so that the way from the pinned key to today's has no gap. So are those that say which policy held.
 *
 *     dropped.json    the last such summary; the chain has the same
 *     links.jsonl     {previous, line}: each such record that was dropped, with the hash before it
 *
 * A crash at any point leaves a file that is there and dropped as well: it goes the next time, and some lines of
 * links.jsonl are there twice.
 * Rules: docs/responses.md, section 7 (retention).
 * @module
 */
import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { attempt } from '../base/attempt.ts'
import { encodeHex } from '../base/encoding/hex.ts'
import { parseStrictJson } from '../base/encoding/strict-json.ts'
import { decodeUtf8, encodeUtf8 } from '../base/encoding/utf8.ts'
import { readBounded, replaceFile, syncDirectory } from '../base/files.node.ts'
import { AUDIT_LINE_BYTES } from '../limits.ts'
import type { AuditEvent } from '../ports.ts'
import { DROPPED, EPOCH, GENESIS, hashIn, policyNamed, readRecord, sequenceOf } from './chain.ts'
import { tailOf } from './chain-tail.node.ts'
import { factsPairs, pairPaths } from './facts-files.node.ts'
import { activePath, eachLine, openSegment, type Segment, segmentsOf, textOfLine } from './segments.node.ts'

/** What was dropped in all: from the first record of the device on. */
export type Dropped = {
  /** Number and hash of the last record that is gone. */
  readonly last: number
  readonly last_hash: string
  /** Times of the first and the last of them. */
  readonly from: string
  readonly to: string
}

export type Link = { readonly previous: string; readonly line: string }

const SUMMARY_BYTES = 4_096

export const droppedPath = (directory: string): string => join(directory, 'dropped.json')
export const linksPath = (directory: string): string => join(directory, 'links.jsonl')

/** The summary beside the chain; undefined where nothing was dropped, or it is none. */
export function readDropped(directory: string): Dropped | undefined {
  const path = droppedPath(directory)
  if (!existsSync(path)) return undefined
  const read = readBounded(path, SUMMARY_BYTES)
  const text = read.ok ? decodeUtf8(read.bytes) : undefined
  const parsed = text === undefined ? undefined : parseStrictJson(text, { size: SUMMARY_BYTES, depth: 2 })
  if (parsed?.ok !== true || typeof parsed.value !== 'object' || parsed.value === null) return undefined
  const { last, last_hash, from, to } = parsed.value as Readonly<Record<string, unknown>>
  if (typeof last !== 'number' || typeof last_hash !== 'string') return undefined
  if (typeof from !== 'string' || typeof to !== 'string') return undefined
  return { last, last_hash, from, to }
}

/** A line of links.jsonl; undefined for anything else. */
export function readLink(text: string): Link | undefined {
  const parsed = parseStrictJson(text, { size: 2 * AUDIT_LINE_BYTES, depth: 2 })
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null) return undefined
  const { previous, line } = parsed.value as Readonly<Record<string, unknown>>
  return typeof previous === 'string' && typeof line === 'string' ? { previous, line } : undefined
}

export type KeptLink = Link & { readonly event: AuditEvent; readonly sequence: number }

/** What is kept of the records that are gone. One that is damaged is left out: verification names it. */
export function linksOf(directory: string): readonly KeptLink[] {
  const last = readDropped(directory)?.last ?? 0
  const path = linksPath(directory)
  const lines = last > 0 && existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []
  return lines.flatMap((text) => {
    const link = readLink(text)
    const record = link === undefined ? undefined : readRecord(link.line)
    const sequence = sequenceOf(record)
    if (link === undefined || record === undefined || sequence === undefined) return []
    // What a crash left behind may be of a file that is still there.
    return sequence > last ? [] : [{ ...link, event: record.event, sequence }]
  })
}

/** The name of the policy that held when the last record was made that is gone. */
export function policyOfDropped(directory: string): string | undefined {
  return linksOf(directory)
    .map(({ event }) => policyNamed(event))
    .findLast((name) => name !== undefined)
}

/** The files that hold the chain now: one that is there and dropped as well, after a crash, is none of them. */
export function chainPaths(directory: string): readonly string[] {
  const last = readDropped(directory)?.last ?? 0
  return segmentsOf(directory)
    .filter(({ first }) => first === undefined || first > last)
    .map(({ path }) => path)
}

/**
 * What `read` makes of the files of the chain; once more, unless it is good, where some were closed or dropped by a
 * daemon meanwhile: what was read is of no one moment then, and proves nothing.
 */
export function steadily<T>(
  directory: string,
  read: () => T,
  isGood: (result: T) => boolean = () => false,
): T {
  const files = () => attempt(() => chainPaths(directory).join(), '')
  for (;;) {
    const before = files()
    try {
      const result = read()
      if (isGood(result) || files() === before) return result
    } catch (cause) {
      if (files() === before) throw cause
    }
  }
}

type Contents = { readonly links: readonly Link[]; readonly firstTime: string }

/** What of a file must be kept. `previous` is the hash before its first record. */
function contentsOf(path: string, previous: string): Contents {
  const links: Link[] = []
  const needles = [Buffer.from(`"type":"${EPOCH}"`), Buffer.from('"frozen":')]
  let [before, firstTime] = [previous, '']
  const descriptor = openSegment(path)
  try {
    eachLine(descriptor, (bytes) => {
      const line = textOfLine(bytes) ?? ''
      if (firstTime === '') firstTime = readRecord(line)?.timestamp ?? ''
      const event = needles.some((needle) => bytes.includes(needle)) ? readRecord(line)?.event : undefined
      if (event !== undefined && (event.type === EPOCH || policyNamed(event) !== undefined))
        links.push({ previous: before, line })
      before = hashIn(line)
      return false
    })
  } finally {
    closeSync(descriptor)
  }
  return { links, firstTime }
}

/** Appends and makes it last. What a full disk or a crash has left of a line goes: the next one would belong to it. */
function appendLinks(directory: string, links: readonly Link[]): void {
  if (links.length === 0) return
  const descriptor = openSync(
    linksPath(directory),
    constants.O_RDWR | constants.O_CREAT | constants.O_APPEND,
    0o600,
  )
  try {
    ftruncateSync(descriptor, readFileSync(descriptor).lastIndexOf('\n') + 1)
    writeFileSync(descriptor, links.map((link) => `${JSON.stringify(link)}\n`).join(''))
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

const sizeOf = (path: string): number => (existsSync(path) ? statSync(path).size : 0)

function totalBytes(directory: string, segments: readonly Segment[]): number {
  const chain = segments.reduce((sum, { path }) => sum + sizeOf(path), 0)
  return factsPairs(directory).reduce((sum, first) => sum + sizeOf(pairPaths(directory, first).frames), chain)
}

/** Facts of decisions that are dropped: of those pairs that end before the first record that is kept. */
function dropFacts(directory: string, last: number): void {
  const pairs = factsPairs(directory)
  for (const [index, first] of pairs.entries()) {
    const next = pairs[index + 1]
    if (next === undefined || next > last + 1) return
    const { frames, keys } = pairPaths(directory, first)
    // Frames without keys are a pair still, and gone on with; keys alone would lie there for good.
    rmSync(keys, { force: true })
    unlinkSync(frames)
  }
}

function dropSegment(directory: string, { path }: Segment, append: (event: AuditEvent) => void): void {
  const earlier = readDropped(directory)
  const tail = tailOf(path)
  if (tail.last === undefined) return
  if (earlier === undefined || tail.sequence > earlier.last) {
    const { links, firstTime } = contentsOf(path, earlier?.last_hash ?? GENESIS)
    const summary: Dropped = {
      last: tail.sequence,
      last_hash: encodeHex(tail.last.hash),
      from: earlier?.from ?? firstTime,
      to: tail.last.timestamp,
    }
    appendLinks(directory, links)
    append({ type: DROPPED, ...summary })
    replaceFile(droppedPath(directory), encodeUtf8(`${JSON.stringify(summary)}\n`), 0o600)
  }
  unlinkSync(path)
  dropFacts(directory, tail.sequence)
  syncDirectory(directory)
}

/** What is kept: so many bytes, and whatever is younger than that time (RFC 3339, UTC). */
export type Keep = { readonly bytes: number | null; readonly since: string | undefined }

/**
 * Drops closed files, the oldest first, until the record takes up no more than that; and one whose last record is older
 * than what is kept, at most: a clock that leaps takes no more than that with it.
 * @param append writes a record, and makes it last before it returns
 * @returns how many files of the chain are gone
 * @throws the system's error, or what `append` throws; then nothing is lost
 */
export function dropOldest(directory: string, keep: Keep, append: (event: AuditEvent) => void): number {
  let [count, old] = [0, 0]
  for (const segment of segmentsOf(directory)) {
    if (segment.path === activePath(directory)) break
    const isOver = keep.bytes !== null && totalBytes(directory, segmentsOf(directory)) > keep.bytes
    const isOld =
      old === 0 && keep.since !== undefined && (tailOf(segment.path).last?.timestamp ?? '~') < keep.since
    if (!isOver && !isOld) break
    if (!isOver) old++
    dropSegment(directory, segment, append)
    count++
  }
  return count
}
