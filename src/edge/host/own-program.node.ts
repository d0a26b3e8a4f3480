/**
 * How this program was started, by whoever starts it again or tells somebody how to: a single binary is its own Node.
 * @module
 */
import { isSea } from 'node:sea'

/** The words that start this program anew as it was started. */
export function ownCommand(): readonly string[] {
  // The options of Node are built into a single binary; its second word is its path again.
  if (isSea()) return [process.execPath, ...process.argv.slice(2)]
  return [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
}

/** What to type for it: as it was typed where it is a single binary, else as npm runs it. */
export function programName(): string {
  return isSea() ? process.argv0 : 'npx sass-edge'
}
