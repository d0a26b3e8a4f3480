/**
 * Names of agents, capability sets and devices: 1 to 64 of A-Z a-z 0-9 . _ -, so that they are safe in paths of the
 * configuration, in file names after a directory, in logs and in a shell.
 * @module
 */

const NAME = /^[A-Za-z0-9._-]{1,64}$/

/** The same rule for a JSON Schema. */
export const NAME_PATTERN = NAME.source

/** Whoever comes through the admin socket; nobody else may be called so. */
export const ADMIN_NAME = 'admin'

/** True where `text` is a valid name. */
export function isName(text: string): boolean {
  return NAME.test(text)
}
