/**
 * A file of the command line, or stdin where it is `-`, within a bound.
 * @module
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { errnoOf, errnoText, readBounded } from '../../base/files.node.ts'
import { SassError } from '../../errors.ts'
import type { CommandContext } from '../words/command.ts'

const STDIN = '-'

/**
 * @param what begins the sentence of a refusal, like `The plan`
 * @throws SassError USAGE
 */
export function readInput(
  context: CommandContext,
  file: string,
  limitBytes: number,
  what: string,
): Uint8Array {
  try {
    if (file === STDIN) {
      const bytes = readFileSync(0)
      if (bytes.length <= limitBytes) return bytes
      throw new SassError('USAGE', `${what} on stdin is longer than ${limitBytes} bytes, so it was not read.`)
    }
    const path = resolve(context.cwd, file)
    const read = readBounded(path, limitBytes)
    if (read.ok) return read.bytes
    const why = read.reason === 'too-large' ? `is longer than ${limitBytes} bytes` : 'is no regular file'
    throw new SassError('USAGE', `${what} ${path} ${why}, so it was not read.`)
  } catch (cause) {
    const errno = errnoOf(cause)
    if (errno === undefined) throw cause
    throw new SassError(
      'USAGE',
      `${what} ${file} cannot be read, since ${errnoText(errno)}: name a file, or - for stdin.`,
      { errno },
      cause,
    )
  }
}
