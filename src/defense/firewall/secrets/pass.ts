/**
 * Secrets of one stream of bytes, found while it passes: bytes come in whatever pieces, and go on as soon as no secret can
 * begin in them any more; a secret goes on as `[redacted:KIND]`.
 *
 * One scan looks for key words. At each the kinds that it leads to are tried on the bytes around it; where that depends on
 * bytes that are yet to come, the scan stops there and goes on with them, so that it decides in the same order however
 * the bytes are cut, and what comes out is the same to the byte. What is kept back is bounded: the last word, and from a
 * key word on what its kinds reach.
 *
 * Work is linear: a name is read once, however many key words it has, and what was taken for a value is not read again;
 * every shape has a length; a token begins where a word begins.
 * Rules: docs/firewall.md, "Secrets"; jerry.md L4-C03.
 * @module
 */
import { encodeUtf8 } from '../../../base/encoding/utf8.ts'
import { KEY_WORD_START, type KeyWordScan, scanKeyWords, staysInState } from '../key-words.ts'
import {
  CURL_LINE_BYTES,
  DOCUMENT_BYTES,
  KEY_BLOCK_BYTES,
  LINE_PREFIX_BYTES,
  SECRET_REACH_BYTES,
  WORD_KEPT_BYTES,
} from '../limits.ts'
import { type Assignment, readAssignment } from './assignment.ts'
import { createKeptBytes } from './kept-bytes.ts'
import { createBlockBody, readBlockEnd, readBlockHeader } from './key-block.ts'
import type { Kind, Lead, Run, SecretTables } from './kinds.ts'
import { type LiteralKey, matchLiteral, startOfLiteral } from './known.ts'
import { byteClass, isOptionAt, MORE, matchShape, NO, runStart, WORD } from './shape.ts'
import { type Place, readCompared, readDataLine, readUserinfo, readUserOption } from './surroundings.ts'
import { isJsonHead, isSecretValue, milliBits, type NameStrength } from './value.ts'

/** Where a secret was, among the bytes that came in; `end` is where it has ended so far. */
export type Span = { readonly start: number; end: number; readonly kind: string }

/**
 * What goes on: bytes as they came from the offset on; or what stands for a secret, with the span of it and as much of it
 * as is there.
 */
export type Emit = (bytes: Uint8Array, offset: number, span?: Span, secret?: Uint8Array) => void

/**
 * How long nothing has come: after a moment what may only begin goes on, after a while a value that has begun too, and at
 * last a token, since whoever waits for it would wait for ever.
 */
export type Pause = 'moment' | 'while' | 'long'

export type SecretPass = {
  /** Bytes are lent, both ways: whoever keeps them copies them. */
  push(bytes: Uint8Array, emit: Emit): void
  /** Nothing has come for so long: what is kept goes on as far as that says. */
  pause(pause: Pause, emit: Emit): void
  /** Nothing follows. */
  finish(emit: Emit): void
  /**
   * So many bytes that stand alone: nothing has come before them that did not go on, and nothing follows. False: nothing
   * in them is hidden, and nothing was given.
   */
  whole(bytes: Uint8Array, length: number, emit: Emit): boolean
  /** What has gone on, hidden or not, of the bytes that came. */
  readonly passedBytes: number
  /** Bytes that came and did not go on yet. */
  readonly keptBytes: number
}

/** Of a word: also of letters beyond ASCII, with which a known secret may begin. */
const RUN = byteClass('!-~').map((isIn, byte) => (byte >= 0x80 ? 1 : isIn))
const BEFORE_ASSIGNED = byteClass('=:"\'` \t\n>')
const LF = 0x0a
/** What has gone on and is looked at again: whether a word, or an option, begins there, and what a line begins with. */
const CONTEXT_BYTES = LINE_PREFIX_BYTES + 8
const NEVER = Number.POSITIVE_INFINITY
/** Kinds that are no data. */
const KINDS = {
  block: 'private-key',
  userinfo: 'url-password',
  'user-option': 'curl-password',
  data: 'kubernetes-secret',
}

function isRandomEnough(kind: Kind, bytes: Uint8Array, start: number, stop: number): boolean {
  if (kind.isJson && !isJsonHead(bytes, start, stop)) return false
  return kind.leastMilliBits === 0 || milliBits(bytes, start, stop) >= kind.leastMilliBits
}

/** @param work lent to one push at a time: what was kept and what comes, together; longer pushes are cut */
export function createSecretPass({ words, begins, leads }: SecretTables, work: Uint8Array): SecretPass {
  const { columns, next, firstAccepting, width } = words
  const place: Place = { start: 0, end: 0 }
  /** What came and may be looked at again; `base` is the offset of its first byte, and `passed` of what has gone on. */
  const kept = createKeptBytes()
  let [base, passed] = [0, 0]
  /** The scan goes on there, and in this state. */
  let scanned = 0
  const now: KeyWordScan = { state: KEY_WORD_START }
  let spans: Span[] = []
  /** What was told already: its end is yet to come. */
  let told: Span | undefined
  /** Key words in that value were judged with it; those before `hidden` are within a secret. */
  let [valueFrom, valueTo, hidden] = [0, 0, 0]
  /** The name that was read last, with the offset that its places count from. */
  const assignment: Assignment = { nameEnd: 0, start: 0, end: 0, quote: 0, after: -1 }
  /** The same, counted from the bytes of now. */
  const value: Assignment = { ...assignment }
  let [nameEnd, assigned, assignedBase] = [-1, NO, 0]
  let [curlAt, documentAt] = [-NEVER, -NEVER]
  /** The indented lines that follow are data of a Kubernetes object. */
  let isData = false
  let block: Span | undefined
  let isOfBlock: (byte: number) => boolean = () => false
  /** What stands for a secret, by its kind: as many as there are kinds. */
  const marks = new Map<string, Uint8Array>()
  /** A token, or a value, that begins there waits for its end. */
  let [tokenFrom, openFrom] = [NEVER, NEVER]

  function hide(start: number, end: number, kind: string): Span {
    const span: Span = { start: base + start, end: base + end, kind }
    spans.push(span)
    hidden = span.end
    return span
  }

  /** A token that begins at `start`, and its shape at `at`. */
  function endToken(
    bytes: Uint8Array,
    start: number,
    at: number,
    end: number,
    isLast: boolean,
    kind: Kind,
  ): number {
    const stop = matchShape(kind.shape, bytes, at, end, isLast)
    if (stop === MORE) tokenFrom = base + start
    if (stop < 0) return stop
    if (!isRandomEnough(kind, bytes, start, stop)) return NO
    hide(start, stop, kind.id)
    return 1
  }

  function tryToken(bytes: Uint8Array, start: number, end: number, isLast: boolean, kind: Kind): number {
    if (kind.behind !== undefined) return tryBehind(bytes, start, end, isLast, kind, kind.behind)
    const before = start > 0 ? (bytes[start - 1] ?? 0) : 0
    if (WORD[before] === 1 && WORD[bytes[start] ?? 0] === 1) return NO
    if (kind.isAssigned && (start === 0 || BEFORE_ASSIGNED[before] === 0)) return NO
    return endToken(bytes, start, start, end, isLast, kind)
  }

  /** A known secret; what of it is hidden already stays so, and the rest of it is too. */
  function tryLiteral(
    bytes: Uint8Array,
    start: number,
    end: number,
    isLast: boolean,
    key: LiteralKey,
  ): number {
    const stop = matchLiteral(bytes, start, end, isLast, key)
    if (stop === NO || (stop !== MORE && base + stop <= hidden)) return NO
    const from = startOfLiteral(bytes, start, key)
    if (stop === MORE) tokenFrom = base + from
    else hide(Math.max(from, hidden - base), stop, key.literal.kind)
    return stop === MORE ? MORE : 1
  }

  /** A token that its key word stands within. */
  function tryBehind(
    bytes: Uint8Array,
    at: number,
    end: number,
    isLast: boolean,
    kind: Kind,
    run: Run,
  ): number {
    const start = runStart(bytes, at, run.of, run.most + 1)
    if (at - start < run.least || at - start > run.most) return NO
    if (start > 0 && WORD[bytes[start - 1] ?? 0] === 1) return NO
    return endToken(bytes, start, at, end, isLast, kind)
  }

  function tryValue(
    bytes: Uint8Array,
    start: number,
    at: number,
    end: number,
    isLast: boolean,
    lead: Lead,
  ): number {
    if (base + at > nameEnd) {
      const from = at - lead.operatorBytes
      assigned = readAssignment(bytes, from, end, isLast, isOptionAt(bytes, start), assignment)
      if (assigned === MORE) {
        if (assignment.start >= 0) openFrom = base + assignment.start
        return MORE
      }
      nameEnd = base + Math.max(at, assignment.nameEnd)
      assignedBase = base
    }
    if (assigned !== 1) return NO
    const shift = assignedBase - base
    value.start = assignment.start + shift
    value.end = assignment.end + shift
    value.quote = assignment.quote
    value.after = assignment.after
    valueFrom = base + value.start
    valueTo = base + value.end
    for (const kind of lead.values) {
      const stop = matchShape(kind.shape, bytes, value.start, value.end, true)
      if (stop === NO || !isRandomEnough(kind, bytes, value.start, stop)) continue
      hide(value.start, stop, kind.id)
      return 1
    }
    if (lead.strength === undefined || !isSecretValue(bytes, value, lead.strength)) return NO
    hide(value.start, value.end, lead.strength)
    return 1
  }

  function markOf(kind: string): Uint8Array {
    const mark = marks.get(kind) ?? encodeUtf8(`[redacted:${kind}]`)
    marks.set(kind, mark)
    return mark
  }

  function endBlock(at: number): void {
    if (block === undefined) return
    block.end = at
    hidden = at
    block = undefined
  }

  function strengthOf(bytes: Uint8Array, start: number, end: number): NameStrength | undefined {
    let step = KEY_WORD_START
    for (let at = start; at < end; at++) {
      step = next[step + (columns[bytes[at] ?? 0] ?? 0)] ?? 0
      if (step < firstAccepting) continue
      const found = leads[(step - firstAccepting) / width]?.find((lead) => lead.strength !== undefined)
      if (found !== undefined) return found.strength
    }
    return undefined
  }

  function trySpecial(
    bytes: Uint8Array,
    start: number,
    at: number,
    end: number,
    isLast: boolean,
    lead: Lead,
  ): number {
    switch (lead.special) {
      case 'block': {
        const read = readBlockHeader(bytes, at, end, isLast, place)
        if (read !== 1) return read
        block = hide(start, NEVER, KINDS.block)
        isOfBlock = createBlockBody(bytes, start)
        return read
      }
      case 'userinfo': {
        const read = readUserinfo(bytes, at, end, isLast, place)
        if (read === 1) hide(place.start, place.end, KINDS.userinfo)
        return read
      }
      case 'user-option': {
        if (base + at - curlAt > CURL_LINE_BYTES) return NO
        const read = readUserOption(bytes, at, end, isLast, place)
        if (read === 1) hide(place.start, place.end, KINDS['user-option'])
        return read
      }
      case 'compared': {
        const strength = (from: number, to: number) => strengthOf(bytes, from, to)
        const read = readCompared(bytes, start, at, end, isLast, strength, place)
        if (read === 1) hide(place.start, place.end, 'token')
        return read
      }
      case 'plain':
        // Whatever other key words end here: nothing that is assigned to it is a secret.
        nameEnd = base + at
        assigned = NO
        return NO
      case 'curl':
        curlAt = base + at
        return NO
      case 'document':
        documentAt = base + at
        return NO
      case 'data':
        // At the beginning of a line, soon after `apiVersion:`.
        isData = base + at - documentAt < DOCUMENT_BYTES && (start === 0 || bytes[start - 1] === LF)
        return NO
      case 'block-end':
      case undefined:
        return NO
    }
  }

  function tryLead(bytes: Uint8Array, at: number, end: number, isLast: boolean, lead: Lead): number {
    const start = at - lead.length
    if (block !== undefined) {
      if (lead.special !== 'block-end') return NO
      const read = readBlockEnd(bytes, at, end, isLast, place)
      if (read === 1) endBlock(base + place.end)
      return read
    }
    for (let index = 0; index < lead.literals.length; index++) {
      const key = lead.literals[index]
      const tried = key === undefined ? NO : tryLiteral(bytes, start, end, isLast, key)
      if (tried !== NO) return tried
    }
    if (base + start < hidden) return NO
    for (let index = 0; index < lead.tokens.length; index++) {
      const kind = lead.tokens[index]
      const tried = kind === undefined ? NO : tryToken(bytes, start, end, isLast, kind)
      if (tried !== NO) return tried
    }
    const tried = lead.special === undefined ? NO : trySpecial(bytes, start, at, end, isLast, lead)
    const isWithinValue = base + start >= valueFrom && base + start < valueTo
    if (tried !== NO || isWithinValue) return tried
    if (lead.values.length === 0 && lead.strength === undefined) return NO
    return tryValue(bytes, start, at, end, isLast, lead)
  }

  /** At a key word that ends at `at`: whether it depends on what is yet to come. */
  function mustWait(bytes: Uint8Array, at: number, end: number, isLast: boolean): boolean {
    const isAll = isLast || end - at >= SECRET_REACH_BYTES
    const found = leads[(now.state - firstAccepting) / width] ?? []
    for (let index = 0; index < found.length; index++) {
      const lead = found[index]
      const tried = lead === undefined ? NO : tryLead(bytes, at, end, isAll, lead)
      if (tried !== NO) return tried === MORE
    }
    return false
  }

  /** At the beginning of a line of data. */
  function mustWaitForLine(bytes: Uint8Array, at: number, end: number, isLast: boolean): boolean {
    const read = readDataLine(bytes, at, end, isLast || end - at >= SECRET_REACH_BYTES, place)
    if (read === 0) isData = false
    if (read === 1 && base + place.start >= hidden) hide(place.start, place.end, KINDS.data)
    return read === MORE
  }

  /** Scans as far as can be decided; where what may go on ends. */
  function scan(bytes: Uint8Array, end: number, isLast: boolean): number {
    let at = scanned - base
    tokenFrom = NEVER
    openFrom = NEVER
    if (block === undefined && !isData && at < end && staysInState(words, bytes, at, end, now.state)) at = end
    for (; at < end; at++) {
      if (block === undefined && !isData) at = scanKeyWords(words, begins, bytes, at, end, now)
      if (at === end) break
      const byte = bytes[at] ?? 0
      if (block !== undefined && (!isOfBlock(byte) || base + at - block.start > KEY_BLOCK_BYTES))
        endBlock(base + at)
      const before = now.state
      now.state = next[before + (columns[byte] ?? 0)] ?? 0
      const waits =
        (isData && byte === LF && mustWaitForLine(bytes, at + 1, end, isLast)) ||
        (now.state >= firstAccepting && mustWait(bytes, at + 1, end, isLast))
      if (!waits) continue
      now.state = before
      break
    }
    scanned = base + at
    // The word at the end may belong to a key word that is yet to come, or to be ended.
    return base + (isLast ? end : runStart(bytes, at - words.depth(now.state), RUN, WORD_KEPT_BYTES))
  }

  /** Lets the bytes up to the offset `to` go on, without what is hidden; there are bytes up to `end`. */
  function pass(bytes: Uint8Array, end: number, to: number, emit: Emit): void {
    let done = 0
    for (let index = 0; index < spans.length; index++) {
      const span = spans[index]
      if (span === undefined || span.start >= to) break
      if (span.end <= to) done++
      if (span.start > passed) emit(bytes.subarray(passed - base, span.start - base), passed)
      if (told !== span)
        emit(
          markOf(span.kind),
          span.start,
          span,
          bytes.subarray(Math.max(0, span.start - base), Math.min(span.end - base, end)),
        )
      told = span
      passed = Math.max(passed, Math.min(span.end, to))
    }
    if (done > 0) spans = spans.slice(done)
    if (passed < to) emit(bytes.subarray(passed - base, to - base), passed)
    passed = Math.max(passed, to)
  }

  function pushSome(bytes: Uint8Array, emit: Emit): void {
    let [all, end] = [bytes, bytes.length]
    if (kept.length > 0) {
      kept.copyTo(work)
      work.set(bytes, kept.length)
      all = work
      end += kept.length
    }
    const to = scan(all, end, false)
    pass(all, end, Math.max(passed, to), emit)
    const from = Math.max(0, Math.min(to - base, end) - CONTEXT_BYTES)
    kept.keep(all, from, end)
    base += from
  }

  /** Where that is; what follows begins anew. */
  function scanToEnd(bytes: Uint8Array, length: number): number {
    const to = scan(bytes, length, true)
    endBlock(to)
    now.state = KEY_WORD_START
    isData = false
    return to
  }

  return {
    push(bytes, emit) {
      for (let at = 0; at < bytes.length; ) {
        const size = Math.min(bytes.length - at, work.length - kept.length)
        pushSome(at === 0 && size === bytes.length ? bytes : bytes.subarray(at, at + size), emit)
        at += size
      }
    },
    pause(pause, emit) {
      const kinds = pause === 'moment' ? Math.min(tokenFrom, openFrom) : pause === 'while' ? tokenFrom : NEVER
      const to = Math.min(base + kept.length, kinds)
      if (to > passed) pass(kept.bytes, kept.length, to, emit)
    },
    finish(emit) {
      const to = scanToEnd(kept.bytes, kept.length)
      pass(kept.bytes, kept.length, to, emit)
      base = to
      kept.keep(kept.bytes, 0, 0)
    },
    whole(bytes, length, emit) {
      const to = scanToEnd(bytes, length)
      const isFound = spans.length > 0
      if (isFound) pass(bytes, length, to, emit)
      base = passed = to
      return isFound
    },
    get passedBytes() {
      return passed
    },
    get keptBytes() {
      return base + kept.length - passed
    },
  }
}
