/**
 * The ways to hide text from a person or a filter while a model still reads it, as bits of a mask, and their names.
 * @module
 */

export const LOOKALIKE_LETTERS = 1 << 0
export const STYLED_LETTERS = 1 << 1
export const ZERO_WIDTH = 1 << 2
export const UNICODE_TAGS = 1 << 3
export const VARIATION_SELECTORS = 1 << 4
export const SNEAKY_BITS = 1 << 5
export const BIDI_OVERRIDE = 1 << 6
export const TERMINAL_CONCEAL = 1 << 7
export const TERMINAL_SEQUENCES = 1 << 8
export const CARRIAGE_RETURN = 1 << 9
export const BACKSPACE = 1 << 10
export const CURSOR_MOVES = 1 << 11
export const TERMINAL_STRINGS = 1 << 12
export const SPACED_LETTERS = 1 << 13
export const LEET = 1 << 14
export const BASE64 = 1 << 15
export const BASE32 = 1 << 16
export const HEX = 1 << 17
export const ESCAPES = 1 << 18
export const ROT13 = 1 << 19
export const REVERSED = 1 << 20
export const CONTROLS = 1 << 21

const NAMES: readonly string[] = [
  'look-alike-letters',
  'styled-letters',
  'zero-width',
  'unicode-tags',
  'variation-selectors',
  'sneaky-bits',
  'bidi-override',
  'terminal-conceal',
  'terminal-sequences',
  'carriage-return-overwrite',
  'backspace-overwrite',
  'cursor-overwrite',
  'terminal-strings',
  'spaced-letters',
  'leet',
  'base64',
  'base32',
  'hex',
  'escapes',
  'rot13',
  'reversed',
  'control-characters',
]

/** The names of a mask, in the order of the bits. */
export function techniqueNames(mask: number): readonly string[] {
  return mask === 0 ? [] : NAMES.filter((_, bit) => (mask & (1 << bit)) !== 0)
}
