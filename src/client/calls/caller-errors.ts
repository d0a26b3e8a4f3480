/**
 * What ends a call, as an error: a STATUS of the device, or a connection that is gone and says whether the device may
 * have begun.
 * Rules: docs/protocol.md, sections 7 and 9.
 * @module
 */
import { codeName, SassError } from '../../errors.ts'
import { UNARY_OUTPUT_BYTES } from '../../limits.ts'
import type { Status } from '../../wire/messages.ts'

/** A STATUS as an error of the same code; a code that we do not know keeps its number in the details. */
export function errorOfStatus({ code, text, details }: Status): SassError {
  const name = codeName(code) ?? 'INTERNAL'
  const errno = name === 'SPAWN_FAILED' ? details?.get(1) : undefined
  return new SassError(name, text === '' ? `The device ended the request with code ${code}.` : text, {
    ...(details === undefined ? {} : { details: Object.fromEntries(details) }),
    ...(errno === undefined ? {} : { errno: errno === 2 ? 'ENOENT' : String(errno) }),
    number: code,
  })
}

export function lostError(cause: unknown, mayHaveBegun: boolean): SassError {
  const why = cause instanceof Error && cause.message !== '' ? ` (${cause.message})` : ''
  return mayHaveBegun
    ? new SassError(
        'CONNECTION_LOST',
        `The connection was lost${why} and the outcome is unknown; ask for it again with the same id.`,
        {},
        cause,
      )
    : new SassError(
        'CONNECT_FAILED',
        `The connection was lost${why} before the request was sent; nothing was started.`,
        {},
        cause,
      )
}

export function overlongError(): SassError {
  return new SassError(
    'FRAME_MALFORMED',
    `The device sent more than the ${UNARY_OUTPUT_BYTES} bytes of one output that an answer may have, so it was not read on.`,
  )
}
