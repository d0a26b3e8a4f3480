/**
 * The lists that keep commands from the device, each in one line: what they see, what is hidden in it, where they write,
 * which devices and sockets they are given, what they reach over the network. And what happens to what nobody has read.
 * Told as it is configured; whether this device can give it is tried elsewhere.
 * Rules: docs/sandbox.md, docs/egress.md; docs/policy.md, "What is not read".
 * @module
 */
import { listText } from '../../base/text/list-text.ts'
import { ALL_WORD, SECRETS_WORD, WORKSPACE_SECRETS_WORD } from '../../config/caller-fields.ts'
import type { Config } from '../../config/config.ts'
import type { EgressItem } from '../../config/egress-fields.ts'
import { entryText } from '../../egress/lists/egress-list.ts'
import { weaknessesOf } from '../../sandbox/places/weaknesses.ts'
import { type Finding, pass } from './finding.ts'

/** Entries of a list that are named before the rest is counted. */
const SHOWN = 3

const some = (list: readonly string[]): string => listText(list, SHOWN)

const HIDDEN_WORDS: ReadonlyMap<string, string> = new Map([
  [SECRETS_WORD, 'the known places of secrets'],
  [WORKSPACE_SECRETS_WORD, 'what has the name of a secret where they write'],
])

function hiddenText(hidden: readonly string[]): string {
  const own = hidden.filter((path) => !HIDDEN_WORDS.has(path))
  const told = [
    ...hidden.flatMap((path) => HIDDEN_WORDS.get(path) ?? []),
    ...(own.length === 0 ? [] : [some(own)]),
  ]
  return told.length === 0 ? 'nothing of it is hidden' : `${told.join(' and ')} are not there`
}

function hostsText(list: readonly EgressItem[]): string {
  const datagrams = list.flatMap(({ host, ports, protocol }) =>
    protocol === 'udp' ? [ports === null ? host : entryText(host, ports)] : [],
  )
  const hosts = list.flatMap(({ host, protocol }) => (protocol === 'tcp' ? [host] : []))
  const connected = hosts.length === 0 ? [] : [hosts.includes(ALL_WORD) ? 'every host outside' : some(hosts)]
  const told = [...connected, ...(datagrams.length === 0 ? [] : [`${some(datagrams)} over UDP`])]
  return told.length === 0 ? 'nothing' : told.join(', and ')
}

const UNLISTED: Readonly<Record<Config['security']['unlisted_domains'], string>> = {
  ask: 'a human is asked about anything else',
  deny: 'anything else is refused',
  audit: 'anything else is let through and recorded',
  allow: 'anything else is let through and recorded',
}

function networkLine({ sandbox, security }: Config): Finding {
  switch (sandbox.network) {
    case 'host':
      return pass(
        'sandbox.network',
        "commands have the device's network: they reach whatever it does, and no list holds",
      )
    case 'none':
      return pass('sandbox.network', 'commands have no network')
    case 'gate':
      return pass(
        'sandbox.egress',
        `commands reach ${hostsText(sandbox.egress)}, and ${UNLISTED[security.unlisted_domains]}`,
      )
  }
}

const OPAQUE: Readonly<Record<Config['security']['opaque'], string>> = {
  ask: 'a human is asked about each',
  deny: 'each is refused',
  allow: 'each runs all the same',
}

function opaqueLine({ sandbox, security }: Config): Finding {
  const { require, network, devices, sockets } = sandbox
  const isWeak = require === 'none' || weaknessesOf({ network, devices, sockets }).length > 0
  return pass(
    'security.opaque',
    isWeak
      ? `commands that nobody has read could reach the device, so ${OPAQUE[security.opaque]}`
      : 'commands that nobody has read (code, build tools, a terminal) run, since they reach nothing but this',
  )
}

/** One line for each list. */
export function tellLists(config: Config): readonly Finding[] {
  const { require, branch_roots: roots, read, hidden, devices, sockets } = config.sandbox
  if (require === 'none')
    return [
      pass('sandbox.require', 'commands run on the real files of the device, and no list holds'),
      opaqueLine(config),
    ]
  return [
    pass('sandbox.read', `commands see ${some(read)}, and nothing else of the device`),
    pass('sandbox.hidden', hiddenText(hidden)),
    pass(
      'sandbox.branch_roots',
      `commands write in ${some(roots)}, where the real files change by a merge alone, and in memory`,
    ),
    pass('sandbox.devices', `commands have ${devices.length === 0 ? 'no device' : some(devices)}`),
    pass(
      'sandbox.sockets',
      `commands reach ${sockets.length === 0 ? 'no socket of the device' : some(sockets)}`,
    ),
    networkLine(config),
    opaqueLine(config),
  ]
}
