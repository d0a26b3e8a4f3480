/**
 * What of the lists of what commands see is there on this device: places to be read, and sockets that are some.
 * Looks, and changes nothing.
 * Rules: docs/sandbox.md (what a command sees).
 * @module
 */
import { existsSync } from 'node:fs'
import { statOf } from '../../base/files.node.ts'
import type { Config } from '../../config/config.ts'
import { READ_PLACES } from '../../config/sandbox-fields.ts'
import { realPlace } from '../state/real-place.node.ts'
import { type Finding, fail, warn } from './finding.ts'

export function* checkView({ sandbox, listen }: Config): Iterable<Finding> {
  if (sandbox.require === 'none') return
  // What ships names the places of several distributions.
  for (const [index, path] of sandbox.read.entries())
    if (!READ_PLACES.includes(path) && !existsSync(path))
      yield warn(
        `sandbox.read[${index}]`,
        `${path} does not exist, so commands find nothing there`,
        'make it, correct the path, or take it out',
      )
  for (const [index, path] of sandbox.sockets.entries()) {
    const check = `sandbox.sockets[${index}]`
    const found = statOf(path)
    if (path !== listen.admin_socket && realPlace(path) === realPlace(listen.admin_socket))
      yield fail(check, `${path} leads to the admin socket of this daemon`, 'take it out')
    else if (found === undefined)
      yield warn(
        check,
        `${path} is not there, so commands cannot connect to it`,
        'start what listens there, or take it out',
      )
    else if (!found.isSocket())
      yield warn(check, `${path} is no socket, so commands cannot connect to it`, 'name the socket itself')
  }
}
