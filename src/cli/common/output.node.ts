/**
 * stdout and stderr of a command. Written with write(2) itself, so that nothing is lost when the process exits at
 * once; a reader that has gone away (EPIPE) is not an error of the command.
 * @module
 */
import { writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import { attempt } from '../../base/attempt.ts'
import { errnoOf, whyFailed } from '../../base/files.node.ts'
import { visible } from '../../base/text/visible.ts'
import type { Environment } from '../../base/user-directory.ts'
import { asSassError, SassError } from '../../errors.ts'
import type { Output } from '../words/command.ts'
import { EXIT } from '../words/exit-codes.ts'

const STDOUT_FD = 1
const STDERR_FD = 2
/** Pause before a full pipe is tried again. */
const RETRY_MS = 2
/** Any value but the empty one adds the stack of an unexpected error. */
const TRACE_VARIABLE = 'SASS_EDGE_TRACE'

/** Writes all of it; waits where the other side is slow, gives up where it has gone: false. */
export function writeAll(fd: number, text: string | Uint8Array): boolean {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(fd, bytes, written)
    } catch (error) {
      if (errnoOf(error) === 'EPIPE') return false
      if (errnoOf(error) !== 'EAGAIN')
        throw new SassError('INTERNAL', `The output cannot be written, since ${whyFailed(error)}.`, {}, error)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
    }
  }
  return true
}

/** The sentence of an error that nobody expected; how to learn more for a report. */
function unexpected(error: unknown): string {
  const what = error instanceof Error ? error.message : String(error)
  return `Something happened that should not, namely ${what}: set ${TRACE_VARIABLE}=1 to see where, and report it.`
}

/** `text` in bold on a terminal that wants it. */
export function emphasis(output: Output, text: string): string {
  return output.colour ? `\u001b[1m${text}\u001b[0m` : text
}

/**
 * The output of one command.
 * @param json whether --json was given
 * @param environment where NO_COLOR (any value but the empty one, no-color.org) and TERM=dumb forbid colours
 */
export function createOutput(json: boolean, environment: Environment): Output {
  const wanted = (environment['NO_COLOR'] ?? '') === '' && environment['TERM'] !== 'dumb'
  return {
    json,
    colour: !json && wanted && isatty(STDOUT_FD),
    result(value, lines) {
      if (json) writeAll(STDOUT_FD, `${JSON.stringify(value)}\n`)
      else if (lines.length > 0) writeAll(STDOUT_FD, `${lines.join('\n')}\n`)
      return EXIT.OK
    },
    note(text) {
      if (!json) writeAll(STDERR_FD, `${text}\n`)
    },
    warn(sentence) {
      writeAll(STDERR_FD, `sass-edge: ${visible(sentence)}\n`)
    },
    error(error) {
      const known = asSassError(error)
      const code = known?.code ?? 'INTERNAL'
      const reason = known?.message ?? unexpected(error)
      // Where that fails as well nobody can be told; the exit code still says it.
      const tell = (fd: number, text: string) => attempt(() => writeAll(fd, text), undefined)
      // A device may have written it.
      tell(STDERR_FD, `sass-edge: ${visible(reason)}\n`)
      const traced = (environment[TRACE_VARIABLE] ?? '') !== ''
      if (known === undefined && traced && error instanceof Error) tell(STDERR_FD, `${error.stack}\n`)
      if (json) tell(STDOUT_FD, `${JSON.stringify({ ...known?.details, error: code, reason })}\n`)
    },
  }
}
