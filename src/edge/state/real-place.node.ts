/**
 * Where a path of the configuration really lies.
 * @module
 */

import { realpathSync } from 'node:fs'
import { attempt } from '../../base/attempt.ts'

/** With its symbolic links resolved; what is not there yet lies where it says. */
export function realPlace(path: string): string {
  return attempt(() => realpathSync(path), path)
}
