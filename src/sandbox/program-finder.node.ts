/**
 * Finds a program as execvp does, and says which inode was looked at. Reads the file system, opens nothing.
 * @module
 */
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { resolvePath } from '../base/lexical-path.ts'
import { createPinLook } from './pinned.node.ts'
import type { FoundProgram, ProgramFinder } from './plan.ts'

function look(path: string): FoundProgram | undefined {
  const status = statSync(path, { bigint: true, throwIfNoEntry: false })
  if (status === undefined || !status.isFile()) return undefined
  return { path, realPath: realpathSync.native(path), device: String(status.dev), inode: String(status.ino) }
}

/** Errors of a single place (no permission to search it, a loop of links) mean: not here. */
function tryLook(path: string, mustBeExecutable: boolean): FoundProgram | undefined {
  try {
    if (mustBeExecutable) accessSync(path, constants.X_OK)
    return look(path)
  } catch {
    return undefined
  }
}

/** realpath(3) of the longest beginning of the path that exists, with the rest behind it. */
function realBeginning(path: string): string {
  let rest = ''
  for (let at = path; at !== '/' && at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
    try {
      const real = realpathSync.native(at)
      return rest === '' ? real : `${real === '/' ? '' : real}${rest}`
    } catch {
      rest = `${at.slice(at.lastIndexOf('/'))}${rest}`
    }
  }
  return path
}

export function createProgramFinder(): ProgramFinder {
  const pin = createPinLook()
  return {
    pin,
    realPath: (path) => (path.includes('\0') ? path : realBeginning(path)),
    find(program, cwd, searchPath) {
      if (program.includes('\0')) return undefined
      if (program.includes('/')) return tryLook(resolvePath(cwd, program), false)
      for (const directory of searchPath.split(':')) {
        // An empty or relative entry means the working directory, which the agent can write: it is skipped.
        if (!directory.startsWith('/')) continue
        const found = tryLook(`${directory}/${program}`, true)
        if (found !== undefined) return found
      }
      return undefined
    },
    realDirectory(path) {
      try {
        return realpathSync.native(path)
      } catch {
        return path
      }
    },
  }
}
