/**
 * Where a path of the configuration really lies.
 * @module
 */
import { realpathSync } from 'node:fs'

/** With its symbolic links resolved; what is not there yet lies where it says. */
export function realPlace(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
