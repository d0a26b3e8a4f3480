/**
 * The bytes of one window to the text that a model reads: folded codes without what shows nothing, in the order of the
 * bytes, so that text that a terminal hides or overwrites is there as well. Broken UTF-8 (a window may begin and end
 * within a character) becomes spaces. Beside it what was hidden: text in tags, variation selectors or pairs of invisible
 * characters, and how much is concealed. One pass, and a bounded amount of work for each byte whatever it is.
 * The sequences are those of ECMA-48 and xterm; tags and selectors those of Unicode 16, chapter 23.
 * @module
 */

import { COMBINING, foldStyled, HIDDEN } from './fold.ts'
import { type Invisible, invisible, newInvisible, readInvisible, resetInvisible } from './invisible.ts'
import { INJECTION_WINDOW_BYTES } from './limits.ts'
import * as technique from './techniques.ts'

const ESC = 0x1b
const TAB = 0x09
const SPACE = 0x20
const NEWLINE = 0x0a
const RETURN = 0x0d
const BACK = 0x08
/** Stands in the text where the cursor was moved otherwise; no letter, like every code below the space. */
const MOVE = 0x0c

/** Controls but tab and line feed, and everything above ASCII need a reader. */
const ODD = 128
/**
 * What begins an escape, in three bits, and four below them what may come next: a digit of base 16 behind `%`, the sign
 * or the first letter of an entity behind `&`, and `x`, `u` or `U` behind a backslash.
 */
const KINDS = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte > 0x7e || (byte < SPACE && byte !== TAB && byte !== NEWLINE)) return ODD
  const character = String.fromCharCode(byte)
  const begins = 16 << '%&\\'.indexOf(character)
  const follows = [/[0-9a-fA-F]/, /[#aglnq]/, /[xuU]/].map((kind, bit) =>
    kind.test(character) ? 1 << bit : 0,
  )
  return ('%&\\'.includes(character) ? begins : 0) | follows.reduce((sum, bit) => sum | bit, 0)
})
/** Fewer escapes make no other text. */
const ESCAPES_MIN = 3

/** How the cursor moves: by columns, to a column, or not at all while the line is erased (before it, behind it, all). */
export const BY = 0
export const TO = 1
export const ERASE = 2

/** What normalising one window fills; every field is written anew for each. */
export interface Normalised {
  /** Folded codes in the order of the bytes; a space stands behind the last. */
  readonly codes: Uint16Array
  length: number
  /** Bits of techniques.ts that were met. */
  techniques: number
  /** Letters that a terminal was told to conceal. */
  concealed: number
  readonly invisible: Invisible
  /** Moves of the cursor: before which code, how, and how far. */
  readonly moveAt: Uint16Array
  readonly moveKind: Uint8Array
  readonly moveBy: Int16Array
  moves: number
  /** Whether the text, as far as it was copied, has so many escapes that it may be another one. */
  escapes: boolean
}

/** Room for one window, some 50 KiB. */
export function newNormalised(): Normalised {
  return {
    codes: new Uint16Array(INJECTION_WINDOW_BYTES + 1),
    length: 0,
    techniques: 0,
    concealed: 0,
    invisible: newInvisible(),
    moveAt: new Uint16Array(INJECTION_WINDOW_BYTES),
    moveKind: new Uint8Array(INJECTION_WINDOW_BYTES),
    moveBy: new Int16Array(INJECTION_WINDOW_BYTES),
    moves: 0,
    escapes: false,
  }
}

function reset(into: Normalised): void {
  into.length = 0
  into.techniques = 0
  into.concealed = 0
  into.moves = 0
  resetInvisible(into.invisible)
}

/**
 * Copies ASCII without controls as it is.
 * @returns whether that is all there was; otherwise `readText` must read it
 */
export function copyPlain(into: Normalised, bytes: Uint8Array, start: number, end: number): boolean {
  const { codes } = into
  let seen = 0
  let length = 0
  let escapes = 0
  let before = 0
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0
    const kind = KINDS[byte] ?? 0
    seen |= kind
    escapes += (((before >> 4) & kind & 7) + 7) >> 3
    before = kind & 0x7f
    codes[length] = byte
    length += 1
  }
  codes[length] = SPACE
  reset(into)
  into.length = length
  into.escapes = escapes >= ESCAPES_MIN
  return (seen & ODD) === 0
}

/** The colours and the concealment that SGR set. */
interface Pen {
  concealed: boolean
  front: number
  back: number
}

/** The code point at `at`, and how many bytes it takes in the upper bits; a broken one is a space of one byte. */
function decode(bytes: Uint8Array, at: number, end: number): number {
  const lead = bytes[at] ?? 0
  const second = at + 1 < end ? (bytes[at + 1] ?? 0) : 0
  if (lead >= 0xc2 && lead < 0xe0) {
    if ((second & 0xc0) === 0x80) return (2 << 24) | ((lead & 0x1f) << 6) | (second & 0x3f)
    return (1 << 24) | SPACE
  }
  const third = at + 2 < end ? (bytes[at + 2] ?? 0) : 0
  if (lead >= 0xe0 && lead < 0xf0) {
    if ((second & 0xc0) === 0x80 && (third & 0xc0) === 0x80)
      return (3 << 24) | ((lead & 0x0f) << 12) | ((second & 0x3f) << 6) | (third & 0x3f)
    return (1 << 24) | SPACE
  }
  const fourth = at + 3 < end ? (bytes[at + 3] ?? 0) : 0
  if (lead >= 0xf0 && lead < 0xf5 && (second & third & fourth & 0xc0) === 0x80)
    return (4 << 24) | ((lead & 7) << 18) | ((second & 0x3f) << 12) | ((third & 0x3f) << 6) | (fourth & 0x3f)
  return (1 << 24) | SPACE
}

function isLetter(code: number): boolean {
  const small = code | 0x20
  return (small >= 0x61 && small <= 0x7a) || (code >= 0x80 && code < COMBINING)
}

function addMove(into: Normalised, kind: number, by: number): void {
  into.moveAt[into.moves] = into.length
  into.moveKind[into.moves] = kind
  into.moveBy[into.moves] = Math.max(-INJECTION_WINDOW_BYTES, Math.min(INJECTION_WINDOW_BYTES, by))
  into.moves += 1
}

function put(into: Normalised, code: number): void {
  into.codes[into.length] = code
  into.length += 1
}

/** SGR: what it conceals, and whether it writes in the colour of the ground; -1 is the default colour. */
function paint(pen: Pen, bytes: Uint8Array, from: number, to: number): void {
  let value = 0
  /** 38 and 48 take the numbers behind them as a colour: 5 and one, or 2 and three. */
  let ground = 0
  let left = 0
  for (let at = from; at <= to; at += 1) {
    const byte = at < to ? (bytes[at] ?? 0) : 0x3b
    if (byte >= 0x30 && byte <= 0x39) {
      value = Math.min(9_999, value * 10 + byte - 0x30)
      continue
    }
    if (left < 0) left = value === 5 ? 1 : value === 2 ? 3 : 0
    else if (left > 0) {
      left -= 1
      if (ground === 38) pen.front = pen.front * 256 + (value & 255)
      else pen.back = pen.back * 256 + (value & 255)
    } else if (value === 0) [pen.concealed, pen.front, pen.back] = [false, -1, -1]
    else if (value === 8 || value === 28) pen.concealed = value === 8
    else if (value === 38 || value === 48) {
      ground = value
      left = -1
      if (value === 38) pen.front = 1_000
      else pen.back = 1_000
    } else if (value === 39 || (value >= 30 && value < 38)) pen.front = value === 39 ? -1 : value - 30
    else if (value === 49 || (value >= 40 && value < 48)) pen.back = value === 49 ? -1 : value - 40
    value = 0
  }
}

/** One control sequence whose parameters begin at `from`. @returns the index behind it */
function controlSequence(into: Normalised, pen: Pen, bytes: Uint8Array, from: number, end: number): number {
  let at = from
  while (at < end && at < from + 64 && (bytes[at] ?? 0) >= 0x20 && (bytes[at] ?? 0) < 0x40) at += 1
  const final = bytes[at] ?? 0
  if (at >= end || final < 0x40 || final > 0x7e) return at
  let value = 0
  for (let digit = from; digit < at && (bytes[digit] ?? 0) >= 0x30 && (bytes[digit] ?? 0) <= 0x39; digit += 1)
    value = Math.min(9_999, value * 10 + (bytes[digit] ?? 0) - 0x30)
  const before = into.length > 0 ? (into.codes[into.length - 1] ?? 0) : 0
  if (isLetter(before) && at + 1 < end && isLetter(bytes[at + 1] ?? 0))
    into.techniques |= technique.TERMINAL_SEQUENCES
  if (final === 0x6d) paint(pen, bytes, from, at)
  // K, X and P take away; C, D and G move in the line; H, f, d, A, B, E and F leave it.
  else if (final === 0x4b) {
    // Behind the last column nothing is erased, which is what programs that colour do all the time.
    if (value !== 0 || into.moves > 0) addMove(into, ERASE, value)
  } else if (final === 0x43 || final === 0x44 || final === 0x47) {
    put(into, MOVE)
    if (final === 0x47) addMove(into, TO, Math.max(0, value - 1))
    else addMove(into, BY, final === 0x43 ? Math.max(1, value) : -Math.max(1, value))
    into.techniques |= technique.CURSOR_MOVES
  } else if (final === 0x48 || final === 0x66 || (final >= 0x41 && final <= 0x46)) put(into, NEWLINE)
  return at + 1
}

/** What begins with ESC at `at`. @returns the index behind what was read; the text of a string is read as text */
function escapeSequence(into: Normalised, pen: Pen, bytes: Uint8Array, at: number, end: number): number {
  const kind = at + 1 < end ? (bytes[at + 1] ?? 0) : 0
  if (kind === 0x5b) return controlSequence(into, pen, bytes, at + 2, end)
  // OSC, DCS, SOS, PM, APC, and the end of one.
  if (kind === 0x5d || kind === 0x50 || kind === 0x58 || kind === 0x5e || kind === 0x5f || kind === 0x5c) {
    put(into, NEWLINE)
    into.techniques |= technique.TERMINAL_STRINGS
    return at + 2
  }
  if (kind >= 0x20 && kind < 0x30) return Math.min(end, at + 3)
  return kind >= 0x30 && kind < 0x7f ? at + 2 : at + 1
}

/**
 * Reads what `copyPlain` could not copy.
 * @param gapsAsSpaces whether invisible characters stand between words rather than in them
 */
export function readText(
  into: Normalised,
  fold: Uint16Array,
  bytes: Uint8Array,
  start: number,
  end: number,
  gapsAsSpaces: boolean,
): void {
  const { codes } = into
  const hidden = into.invisible
  const pen: Pen = { concealed: false, front: -1, back: -1 }
  reset(into)
  /** The letter before was ASCII as it stands: a look-alike beside it is one, in a word of its own script it is not. */
  let latin = false
  let at = start
  while (at < end) {
    const byte = bytes[at] ?? 0
    if (((KINDS[byte] ?? 0) & ODD) === 0) {
      codes[into.length] = byte
      into.length += 1
      at += 1
      latin = byte > 0x40
      hidden.previous = byte
      if ((pen.concealed || (pen.front === pen.back && pen.front >= 0)) && isLetter(byte)) into.concealed += 1
    } else if (byte === ESC) at = escapeSequence(into, pen, bytes, at, end)
    else if (byte < 0x80) {
      at += 1
      if (byte === RETURN && bytes[at] !== NEWLINE && at < end) {
        put(into, RETURN)
        addMove(into, TO, 0)
        into.techniques |= technique.CARRIAGE_RETURN
      } else if (byte === BACK) {
        put(into, BACK)
        addMove(into, BY, -1)
        into.techniques |= technique.BACKSPACE
      } else if (byte === 0x07 || byte === 0x0b || byte === MOVE) put(into, SPACE)
    } else {
      const decoded = decode(bytes, at, end)
      const code = decoded & 0xffffff
      at += decoded >> 24
      if (code === 0x9b) at = controlSequence(into, pen, bytes, at, end)
      else if (code > 0xffff) {
        const styled = foldStyled(code)
        if (styled !== 0) {
          put(into, styled)
          hidden.previous = code
          into.techniques |= technique.STYLED_LETTERS
        } else if (!invisible(hidden, code)) put(into, SPACE)
      } else {
        const folded = fold[code] ?? SPACE
        if (folded === HIDDEN) {
          invisible(hidden, code)
          if (into.length > 0 && isLetter(codes[into.length - 1] ?? 0)) hidden.gaps += 1
          if (gapsAsSpaces) put(into, SPACE)
        } else if (folded !== COMBINING) {
          if (code >= 0x1d00 && folded < 0x80 && isLetter(folded)) into.techniques |= technique.STYLED_LETTERS
          else if (code >= 0x250 && folded < 0x80 && isLetter(folded) && latin)
            into.techniques |= technique.LOOKALIKE_LETTERS
          latin = false
          codes[into.length] = folded
          into.length += 1
        }
        hidden.previous = code
      }
    }
  }
  codes[into.length] = SPACE
  if (into.concealed > 0) into.techniques |= technique.TERMINAL_CONCEAL
  if (hidden.count > 0 || hidden.secretLength > 0) into.techniques |= readInvisible(hidden)
}

/**
 * What stands on the screen in the end, line by line, from a text in which the cursor was moved; `moves` is not 0.
 * What would lie beyond the length of a window is dropped.
 */
export function readScreen(from: Normalised, screen: Uint16Array): number {
  const room = screen.length - 1
  let line = 0
  let width = 0
  let column = 0
  let move = 0
  for (let at = 0; at <= from.length; at += 1) {
    for (; move < from.moves && (from.moveAt[move] ?? 0) <= at; move += 1) {
      const by = from.moveBy[move] ?? 0
      const kind = from.moveKind[move] ?? 0
      if (kind === BY) column = Math.max(0, column + by)
      else if (kind === TO) column = by
      else {
        if (by === 2) screen.fill(SPACE, line, line + width)
        else if (by === 1) screen.fill(SPACE, line, Math.min(line + width, line + column))
        else width = Math.min(width, column)
      }
      column = Math.min(column, room - line)
    }
    const code = from.codes[at] ?? 0
    if (at === from.length) break
    if (code === NEWLINE) {
      if (line + width >= room) break
      screen[line + width] = NEWLINE
      line += width + 1
      width = 0
      column = 0
    } else if (code >= SPACE || code === TAB) {
      if (line + column >= room) continue
      while (width < column) {
        screen[line + width] = SPACE
        width += 1
      }
      screen[line + column] = code
      column += 1
      width = Math.max(width, column)
    }
  }
  screen[line + width] = SPACE
  return line + width
}
