/**
 * A directory that the configuration names and the daemon needs, private where it is made.
 * @module
 */
import { makePrivateDirectory, whyNotMade } from '../../base/files.node.ts'
import { SassError } from '../../errors.ts'

/**
 * @param name the key of the configuration that names it
 * @throws SassError STATE_UNWRITABLE
 */
export function makeDirectory(path: string, name: string): void {
  try {
    makePrivateDirectory(path)
  } catch (cause) {
    throw new SassError(
      'STATE_UNWRITABLE',
      `${name} ${path} cannot be made, since ${whyNotMade(cause, path)}: give the daemon a directory that it may write there, or change ${name}.`,
      { path },
      cause,
    )
  }
}
