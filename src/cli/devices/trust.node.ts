/**
 * `sass-edge trust [--replace] HOST [FINGERPRINT]`, `trust list`: which key belongs to which device.
 * Without a fingerprint the device is asked and a person confirms; a pin that is there changes only with --replace.
 * @module
 */

import { fetchDeviceFingerprint } from '../../client/link/dial.node.ts'
import {
  checkPin,
  givenMismatch,
  isFingerprint,
  loadPins,
  pinFile,
  pinMismatch,
  savePin,
} from '../../client/link/pins.node.ts'
import { misuse, SassError } from '../../errors.ts'
import { CONNECT_TIMEOUT_MS } from '../../limits.ts'
import { ask } from '../common/ask.node.ts'
import { targetOf } from '../common/hosts.node.ts'
import { takeWords } from '../common/local-config.node.ts'
import { isGiven } from '../words/arguments.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { targetAddress } from '../words/target.ts'

function list(context: CommandContext): number {
  const path = pinFile(context.environment)
  const pins = [...loadPins(path)]
  const width = Math.max(0, ...pins.map(([address]) => address.length))
  const lines = pins.map(
    ([address, { key, since }]) =>
      `${address.padEnd(width)}  ${key}${since === undefined ? '' : `  since ${since}`}`,
  )
  if (pins.length === 0)
    lines.push(`No device is pinned in ${path}: the first connection asks, or use sass-edge trust HOST.`)
  return context.output.result({ file: path, devices: Object.fromEntries(pins) }, lines)
}

async function trust(context: CommandContext, host: string, given: string | undefined): Promise<number> {
  const { options } = context.arguments
  if (given !== undefined && !isFingerprint(given)) {
    throw misuse('The second word is not a fingerprint: write sha256: and 43 characters of base64url.')
  }
  const target = targetOf(host, context.environment)
  const address = targetAddress(target)
  const path = pinFile(context.environment)
  const pins = loadPins(path)
  const fingerprint = given ?? (await fetchDeviceFingerprint(target.host, target.port, CONNECT_TIMEOUT_MS))
  const verdict = checkPin(pins, address, fingerprint)
  if (verdict.kind === 'match') {
    return context.output.result({ address, fingerprint, changed: false }, [
      `${address} is pinned to this key already: ${fingerprint}`,
    ])
  }
  if (verdict.kind === 'changed' && !isGiven(options, 'replace'))
    throw (given === undefined ? pinMismatch : givenMismatch)(address, verdict.pin, fingerprint)
  const pinned = verdict.kind === 'unknown' ? undefined : verdict.pin
  const before = pinned?.key ?? null
  if (pinned !== undefined) {
    const since = pinned.since === undefined ? '' : `  since ${pinned.since}`
    context.output.note(`pinned so far  ${pinned.key}${since}`)
  }
  context.output.note(`${given === undefined ? `${address} shows` : 'given'}  ${fingerprint}`)
  // A fingerprint on the command line was compared by whoever wrote it.
  if (given === undefined && !isGiven(options, 'yes') && !ask('Is this what the device itself says?')) {
    const sentence = `Nothing was pinned for ${address}, since nobody confirmed its key: compare it with the device, then add --yes or the fingerprint.`
    throw new SassError('PIN_UNKNOWN', sentence, { address, seen: fingerprint })
  }
  savePin(path, address, fingerprint)
  return context.output.result({ address, fingerprint, replaced: before, changed: true }, [
    `Pinned ${address} in ${path}.`,
  ])
}

export const command: Command = {
  usage: ['trust [--replace] HOST [FINGERPRINT]', 'trust list'],
  options: {
    '--replace': 'accept a key other than the pinned one',
  },
  examples: {
    'sass-edge trust edge7.example': 'show its key, ask, pin it',
    'sass-edge trust edge7.example sha256:...': 'pin a key that was read on the device',
    'sass-edge trust --replace edge7.example': 'after the device was set up anew',
  },
  async run(context) {
    const [host, fingerprint] = takeWords(context, 2)
    if (host === undefined) throw misuse('No device is named: write sass-edge trust HOST or trust list.')
    return host === 'list' && fingerprint === undefined ? list(context) : trust(context, host, fingerprint)
  },
}
