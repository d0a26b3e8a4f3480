/**
 * What is kept of a command to be listed: the base name of its program, as long as a name is. It is kept for hours, a
 * thousand times over, so it is bounded, and it is a text of its own: one that was cut out of a longer text would keep
 * all of that in memory.
 * Rules: docs/protocol.md, section 3 (ListExecutions).
 * @module
 */
import { baseName } from '../../base/text/lexical-path.ts'

const COMMAND_CHARS = 64

/** Half a character at the cut would make a whole list impossible to send. */
export function commandName(program: string): string {
  const name = baseName(program)
    .slice(0, COMMAND_CHARS)
    .replace(/[\ud800-\udbff]$/, '')
  return JSON.parse(JSON.stringify(name)) as string
}
