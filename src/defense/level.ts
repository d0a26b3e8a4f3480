/**
 * The levels of alarm, in their order. A level narrows what is still answered with R1; it never widens anything.
 * Rules: docs/responses.md, sections 1 and 8.
 * @module
 */

export const LEVELS = Object.freeze(['NORMAL', 'RESTRICT', 'CHECKPOINT', 'CONTAIN', 'HALT'] as const)
export type Level = (typeof LEVELS)[number]

export function isLevel(text: string): text is Level {
  return (LEVELS as readonly string[]).includes(text)
}

/** The stricter of two. */
export function stricter(a: Level, b: Level): Level {
  return LEVELS.indexOf(a) >= LEVELS.indexOf(b) ? a : b
}
