/**
 * Secrets in one stream of output: they are hidden wherever control sequences of a terminal stand in them. Bytes go on in
 * the order in which they came;
 * the sequences within a secret stand behind what stands for it, and too many of them before it. What links and titles say
 * is looked through as well, each by itself.
 * Bounded: what is kept of text and of sequences, and what is remembered of findings.
 * Rules: docs/firewall.md; jerry.md L4-C03, JF-080 to 082.
 * @module
 */
import { type Controls, createControls, type FindByte, findByteAlone, isString } from '../controls.ts'
import { KEY_WORD_START, scanKeyWords } from '../key-words.ts'
import {
  CONTROL_STRING_BYTES,
  SCREEN_WORK_BYTES,
  SECRET_REMEMBERED_BYTES,
  SECRETS_REMEMBERED,
} from '../limits.ts'
import type { SecretTables } from './kinds.ts'
import { createSecretPass, type Emit, type Pause, type SecretPass, type Span } from './pass.ts'

/** What was hidden in one stream. */
export type SecretFindings = {
  readonly count: number
  /** Secrets whose beginning had gone on when they were found: their caller has a part of them (JF-089). */
  readonly late: number
  /** By kind. */
  readonly kinds: ReadonlyMap<string, number>
  /** The first of them as they came, for the sealed record alone. */
  readonly secrets: readonly { readonly kind: string; readonly offset: number; readonly secret: Uint8Array }[]
}

export type SecretScreen = {
  /** Bytes are lent, both ways. */
  push(bytes: Uint8Array, emit: (bytes: Uint8Array) => void): void
  /** Nothing has come for so long: what is kept goes on as far as that says. */
  pause(pause: Pause, emit: (bytes: Uint8Array) => void): void
  finish(emit: (bytes: Uint8Array) => void): void
  /** Something came that has not gone on. */
  readonly isKeeping: boolean
  /** Undefined: nothing was found. */
  readonly findings: SecretFindings | undefined
}

const ESC = 0x1b
const SHORT_BYTES = 64
/** Whoever keeps nothing needs no room to put it together with what comes. */
const EMPTY = new Uint8Array(0)

type Found = {
  count: number
  late: number
  kinds: Map<string, number>
  secrets: { kind: string; offset: number; secret: Uint8Array }[]
}

/** What makes screens: tables and memory that all of them share. */
export function createSecretScreens(
  tables: SecretTables,
  findByte: FindByte = findByteAlone,
): { open(): SecretScreen } {
  const work = new Uint8Array(SCREEN_WORK_BYTES)
  const text = new Uint8Array(SCREEN_WORK_BYTES)
  const out = new Uint8Array(SCREEN_WORK_BYTES)
  const string = new Uint8Array(CONTROL_STRING_BYTES)
  const lent = { text, out, findByte }
  return {
    open: () =>
      createSecretScreen(
        createSecretPass(tables, work),
        createStringScreen(tables, string),
        createControls(findByte),
        lent,
      ),
  }
}

/** Hides secrets in one string after the other, and gives what is left of it. False: it goes on as it is, and nothing was given. */
type HideInString = (bytes: Uint8Array, from: number, to: number, emit: Emit) => boolean

/** @param work lent to one call at a time */
function createStringScreen(tables: SecretTables, work: Uint8Array): HideInString {
  const now = { state: KEY_WORD_START }
  let pass: SecretPass | undefined
  return (bytes, from, to, emit) => {
    now.state = KEY_WORD_START
    if (scanKeyWords(tables.words, tables.begins, bytes, from, to, now) === to) return false
    pass ??= createSecretPass(tables, EMPTY)
    // Copied: what is left of it is put where it lies.
    if (to - from > SHORT_BYTES) work.set(bytes.subarray(from, to))
    else for (let at = from; at < to; at++) work[at - from] = bytes[at] as number
    return pass.whole(work, to - from, emit)
  }
}

/** `text` and `out` are lent to one call at a time. */
function createSecretScreen(
  pass: SecretPass,
  hideInString: HideInString,
  controls: Controls,
  { text, out, findByte }: { text: Uint8Array; out: Uint8Array; findByte: FindByte },
): SecretScreen {
  let found: Found | undefined
  /** Of `out`, what is put together and has not gone on. */
  let woven = 0
  /** The string that is looked through: where it stood, and who gets it. */
  const string = { offset: 0, emit: (_bytes: Uint8Array): void => {} }

  function remember({ kind }: Span, secret: Uint8Array, offset: number, isLate: boolean): void {
    found ??= { count: 0, late: 0, kinds: new Map(), secrets: [] }
    found.count++
    if (isLate) found.late++
    found.kinds.set(kind, (found.kinds.get(kind) ?? 0) + 1)
    if (found.secrets.length >= SECRETS_REMEMBERED) return
    found.secrets.push({ kind, offset, secret: secret.slice(0, SECRET_REMEMBERED_BYTES) })
  }

  const rememberText = (span: Span, secret: Uint8Array): void =>
    remember(span, secret, span.start, span.start < pass.passedBytes)

  /** Without sequences: as it comes. */
  function plain(emit: (bytes: Uint8Array) => void): Emit {
    return (bytes, _offset, span, secret) => {
      if (span !== undefined && secret !== undefined) rememberText(span, secret)
      emit(bytes)
    }
  }

  /** What was put together goes on. */
  function flush(emit: (bytes: Uint8Array) => void): void {
    if (woven > 0) emit(out.subarray(0, woven))
    woven = 0
  }

  function put(bytes: Uint8Array, from: number, to: number, emit: (bytes: Uint8Array) => void): void {
    if (woven + to - from > out.length) flush(emit)
    if (to - from > out.length) return emit(bytes.subarray(from, to))
    // Between sequences there are often a few bytes, for which a view of them would cost more than they do.
    if (to - from > SHORT_BYTES) {
      out.set(bytes.subarray(from, to), woven)
      woven += to - from
    } else for (let at = from; at < to; at++) out[woven++] = bytes[at] as number
  }

  /** The sequences that stand before the text from `offset` on. */
  function putControls(offset: number, emit: (bytes: Uint8Array) => void): void {
    for (let at = controls.nextOffset; at <= offset; at = controls.nextOffset) {
      if (woven + CONTROL_STRING_BYTES > out.length) flush(emit)
      const end = woven + controls.giveUpTo(offset, out, woven)
      string.offset = at
      string.emit = emit
      if (!isString(out, woven) || !hideInString(out, woven, end, putString)) woven = end
    }
  }

  /** What is left of a string. */
  function putString(bytes: Uint8Array, _offset: number, span?: Span, secret?: Uint8Array): void {
    if (span !== undefined && secret !== undefined) remember(span, secret, string.offset, false)
    put(bytes, 0, bytes.length, string.emit)
  }

  /** Puts sequences back where they stood; those within a secret stand behind it. */
  function weaving(emit: (bytes: Uint8Array) => void): Emit {
    return (bytes, offset, span, secret) => {
      putControls(offset, emit)
      if (span !== undefined && secret !== undefined) {
        rememberText(span, secret)
        return put(bytes, 0, bytes.length, emit)
      }
      const end = offset + bytes.length
      let at = offset
      for (let next = controls.nextOffset; next < end; next = controls.nextOffset) {
        put(bytes, at - offset, next - offset, emit)
        putControls(next, emit)
        at = next
      }
      put(bytes, at - offset, bytes.length, emit)
    }
  }

  /** Behind what has gone on. */
  function endWeaving(offset: number, emit: (bytes: Uint8Array) => void): void {
    putControls(offset, emit)
    flush(emit)
  }

  function pushSome(bytes: Uint8Array, emit: (bytes: Uint8Array) => void): void {
    if (controls.isIdle && findByte(bytes, ESC) < 0) {
      controls.skip(bytes.length)
      pass.push(bytes, plain(emit))
      return
    }
    for (let at = 0; at < bytes.length; at += controls.takenBytes) {
      const length = controls.take(at === 0 ? bytes : bytes.subarray(at), text)
      pass.push(text.subarray(0, length), weaving(emit))
      endWeaving(pass.passedBytes, emit)
      // Too many wait for a text that waits itself: it is not let through for them.
      if (controls.isFull) endWeaving(Number.MAX_SAFE_INTEGER, emit)
    }
  }

  function endControls(emit: (bytes: Uint8Array) => void): void {
    const length = controls.finish(text)
    if (length > 0) pass.push(text.subarray(0, length), weaving(emit))
  }

  function goOn(pause: Pause, emit: (bytes: Uint8Array) => void): void {
    // Whoever reads may wait for what follows a string without an end.
    if (pause === 'long') endControls(emit)
    pass.pause(pause, weaving(emit))
    endWeaving(pass.passedBytes, emit)
  }

  return {
    push(bytes, emit) {
      const most = text.length - CONTROL_STRING_BYTES
      for (let at = 0; at < bytes.length; at += most)
        pushSome(bytes.length <= most ? bytes : bytes.subarray(at, at + most), emit)
    },
    pause: goOn,
    finish(emit) {
      endControls(emit)
      pass.finish(weaving(emit))
      endWeaving(Number.MAX_SAFE_INTEGER, emit)
    },
    get isKeeping() {
      return pass.keptBytes > 0 || !controls.isIdle
    },
    get findings() {
      return found
    },
  }
}
