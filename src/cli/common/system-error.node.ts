/**
 * What the system did not do, as an error that says so.
 * @module
 */
import { errnoOf, errnoText, whyNotMade } from '../../base/files.node.ts'
import { type Code, SassError } from '../../errors.ts'

/** `sentence` is given the clause after "since"; what is no error of the system comes back as it is. */
export function systemError(
  cause: unknown,
  code: Code,
  path: string,
  sentence: (since: string) => string,
): unknown {
  const errno = errnoOf(cause)
  if (errno === undefined) return cause
  return new SassError(code, sentence(errnoText(errno)), { path, errno }, cause)
}

/** The same where the path was to be made. */
export function makingError(
  cause: unknown,
  code: Code,
  path: string,
  sentence: (since: string) => string,
): unknown {
  return systemError(cause, code, path, () => sentence(whyNotMade(cause, path)))
}
