/**
 * Lists of what commands see (`sandbox.read`, `hidden`, `sockets`) that show more than anybody meant, or mean nothing.
 * Judged as text; what of it is there is looked at by preflight-view.node.ts.
 * Rules: docs/configuration.md (what check finds beyond the file); docs/sandbox.md (what a command sees).
 * @module
 */
import { isWithin } from '../../base/text/lexical-path.ts'
import { SECRETS_WORD } from '../../config/caller-fields.ts'
import type { Config } from '../../config/config.ts'
import { type Finding, fail, warn } from './finding.ts'

const HOME = /^\/(?:root|home(?:\/[^/]+)?)$/

/** Whoever can connect there has somebody outside of any branch do what it likes. */
const POWERS: readonly (readonly [name: RegExp, who: string])[] = [
  [/(?:^|\/)docker(?:[^/]*)\.sock$/, 'Docker'],
  [/(?:^|\/)(?:containerd|podman|crio)(?:\/|[^/]*\.sock)/, 'the container runtime'],
  [/\/dbus\/|\/(?:system_bus_socket|bus)$/, 'D-Bus, and by it every service of the device'],
  [/\/systemd\//, 'systemd'],
]

/** One place under two names: `/var/run` is a link to `/run` wherever it is one. */
const plain = (path: string): string => path.replace(/^\/var\/run(?=\/|$)/, '/run')

function* readFindings({ read }: Config['sandbox']): Iterable<Finding> {
  for (const [index, path] of read.entries()) {
    const check = `sandbox.read[${index}]`
    if (path === '/')
      yield warn(
        check,
        'is the whole device, homes and data of every service too, so commands read all that the user may and no list hides',
        'name the directories that they need, or leave the list out',
      )
    else if (HOME.test(path))
      yield warn(
        check,
        `${path} is where people keep what is theirs, and only the known places of secrets in it are hidden`,
        'name the directories in it that commands need',
      )
  }
}

function* hiddenFindings({ read, hidden, branch_roots: roots }: Config['sandbox']): Iterable<Finding> {
  if (hidden.length === 0) {
    yield warn(
      'sandbox.hidden',
      'is empty, so commands read every key and password in what they can read, as far as the user may',
      `write ["${SECRETS_WORD}"], which stands for all known places of secrets`,
    )
    return
  }
  const seen = [...read, ...roots]
  for (const [index, path] of hidden.entries()) {
    if (path.startsWith('$')) continue
    // As far as it is written without a pattern; a pattern may reach into what lies beneath.
    const star = path.indexOf('*')
    const fixed = star < 0 ? path : path.slice(0, Math.max(1, path.lastIndexOf('/', star)))
    const isMet = seen.some((place) => isWithin(place, fixed) || (star >= 0 && isWithin(fixed, place)))
    if (!isMet)
      yield warn(
        `sandbox.hidden[${index}]`,
        `${path} lies in nothing that commands can read, so it means nothing`,
        'take it out, or correct the path',
      )
  }
}

function* socketFindings({ sandbox, listen }: Config): Iterable<Finding> {
  for (const [index, path] of sandbox.sockets.entries()) {
    const check = `sandbox.sockets[${index}]`
    const power = POWERS.find(([name]) => name.test(path))
    if (plain(path) === plain(listen.admin_socket))
      yield fail(
        check,
        `${path} is the admin socket of this daemon, where every command would be its operator`,
        'take it out',
      )
    else if (power !== undefined)
      yield warn(
        check,
        `${path} leads to ${power[1]}, which does for commands whatever they ask, outside of any branch`,
        'take it out, unless that is what agents are there for',
      )
  }
}

export function* findViewContradictions(config: Config): Iterable<Finding> {
  const { sandbox } = config
  if (sandbox.require === 'none') return
  yield* readFindings(sandbox)
  yield* hiddenFindings(sandbox)
  yield* socketFindings(config)
}
