/**
 * What of the lists of what commands see is there on this device: places to be read, and sockets that are some.
 * Looks, and changes nothing.
 * Rules: docs/sandbox.md (what a command sees).
 * @module
 */
import { existsSync, realpathSync, statSync } from 'node:fs'
import type { Config } from '../../config/config.ts'
import { READ_PLACES } from '../../config/sandbox-fields.ts'
import { type Finding, fail, warn } from './finding.ts'

/** What it leads to; the path itself where it leads nowhere. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function isSocket(path: string): boolean | undefined {
  try {
    return statSync(path).isSocket()
  } catch {
    return undefined
  }
}

export function checkView({ sandbox, listen }: Config): readonly Finding[] {
  if (sandbox.require === 'none') return []
  // What ships names the places of several distributions.
  const read = sandbox.read.flatMap((path, index): readonly Finding[] =>
    READ_PLACES.includes(path) || existsSync(path)
      ? []
      : [
          warn(
            `sandbox.read[${index}]`,
            `${path} does not exist, so commands find nothing there`,
            'make it, correct the path, or take it out',
          ),
        ],
  )
  const sockets = sandbox.sockets.flatMap((path, index): readonly Finding[] => {
    const check = `sandbox.sockets[${index}]`
    if (path !== listen.admin_socket && realPath(path) === realPath(listen.admin_socket))
      return [fail(check, `${path} leads to the admin socket of this daemon`, 'take it out')]
    const found = isSocket(path)
    if (found === true) return []
    const what = found === false ? 'is no socket' : 'is not there'
    return [
      warn(
        check,
        `${path} ${what}, so commands cannot connect to it`,
        found === false ? 'name the socket itself' : 'start what listens there, or take it out',
      ),
    ]
  })
  return [...read, ...sockets]
}
