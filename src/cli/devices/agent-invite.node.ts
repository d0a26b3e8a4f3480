/**
 * `sass-edge agent invite NAME`: a line to paste on the client that is to come in under that name, with where the device
 * is and which key it shows. The device keeps the hash of what is in it alone; whoever has the line has the invitation.
 * Rules: docs/protocol.md, section 4; docs/operations.md (enrolment).
 * @module
 */
import { hostname, networkInterfaces } from 'node:os'
import { decodeBase64Url } from '../../base/encoding/base64.ts'
import { visible } from '../../base/text/visible.ts'
import { DEFAULT_CAPABILITY } from '../../config/caller-fields.ts'
import type { Config } from '../../config/config.ts'
import { misuse } from '../../errors.ts'
import { ENROLMENT_ADDRESSES, INVITATION_MAX_SECONDS } from '../../limits.ts'
import { writeEnrolmentLine } from '../../wire/enrolment-line.ts'
import { localPin, localPort } from '../common/device.node.ts'
import { targetOf } from '../common/hosts.node.ts'
import { localConfig } from '../common/local-config.node.ts'
import { asOperator, utcTime } from '../common/operator.node.ts'
import { duration, optionValue, optionValues } from '../words/arguments.ts'
import type { CommandContext } from '../words/command.ts'
import { parseTarget, targetAddress } from '../words/target.ts'

/** Where clients reach a device, which key it shows, and what it is called. */
export type Reached = {
  readonly addresses: readonly string[]
  readonly fingerprint: string
  readonly device: string
}

/** A name for the device that is one: the first label, of the characters that names have. */
function nameOf(host: string): string {
  const label =
    host
      .split('.')[0]
      ?.replace(/[^A-Za-z0-9_-]/g, '-')
      .slice(0, 64) ?? ''
  return /[A-Za-z0-9]/.test(label) ? label : 'device'
}

/** Those of its own interfaces that others may reach, where it listens on all of them. */
function listeningAddresses({ listen }: Config): readonly string[] {
  const { address } = listen
  if (address !== '0.0.0.0' && address !== '::') return [address]
  const found = Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .filter(
      ({ internal, family, scopeid }) => !internal && (family === 'IPv4' || (address === '::' && !scopeid)),
    )
    .map((entry) => entry.address)
  return found.length === 0 ? ['127.0.0.1'] : found.slice(0, ENROLMENT_ADDRESSES)
}

function givenAddresses(context: CommandContext, port: number): readonly string[] {
  return optionValues(context.arguments.options, 'address').map((text) => {
    const parsed = parseTarget(text)
    if (parsed.ok && parsed.target.agent === undefined) {
      const hasPort =
        /:\d+$/.test(text) && (text.includes(']:') || text.indexOf(':') === text.lastIndexOf(':'))
      return targetAddress({ host: parsed.target.host, port: hasPort ? parsed.target.port : port })
    }
    throw misuse('--address is HOST[:PORT], as clients reach the device: write one that they can.')
  })
}

/** The device of a configuration on this machine. */
export function reachedHere(context: CommandContext, config: Config): Reached {
  const port = localPort(config)
  const given = givenAddresses(context, port)
  const own = () => listeningAddresses(config).map((host) => targetAddress({ host, port }))
  return {
    addresses: given.length > 0 ? given : own(),
    fingerprint: localPin(config.tls.certificate),
    device: nameOf(hostname()),
  }
}

/** The line for an invitation to that device. */
export function lineFor(
  { addresses, fingerprint, device }: Reached,
  invited: { readonly agent: string; readonly token: Uint8Array; readonly expiresAt: number },
): string {
  const keyDigest = decodeBase64Url(fingerprint.slice('sha256:'.length), 32) ?? new Uint8Array(32)
  return writeEnrolmentLine({
    device,
    addresses: addresses.slice(0, ENROLMENT_ADDRESSES),
    keyDigest,
    ...invited,
  })
}

function secondsOf(context: CommandContext): number | undefined {
  const text = optionValue(context.arguments.options, 'ttl')
  if (text === undefined) return undefined
  const seconds = duration(text)
  if (seconds !== undefined && seconds >= 1 && seconds <= INVITATION_MAX_SECONDS) return seconds
  throw misuse('--ttl is a time like 90s, 15m, 24h or 7d, which is the longest: write one of them.')
}

export async function invite(context: CommandContext, name: string): Promise<number> {
  const { options } = context.arguments
  const role = optionValue(options, 'role') ?? 'agent'
  if (role !== 'agent' && role !== 'operator') throw misuse('--role is agent or operator: write one of them.')
  const capability = optionValue(options, 'capability') ?? DEFAULT_CAPABILITY
  const request = {
    agent_name: name,
    is_operator: role === 'operator',
    capability,
    ttl_seconds: secondsOf(context),
  }
  const word = optionValue(options, 'target')
  const target = word === undefined ? undefined : targetOf(word, context.environment)
  const here = target === undefined ? reachedHere(context, localConfig(context).config) : undefined
  const { answer, reached } = await asOperator(context, async ({ operator, fingerprint }) => {
    const there = target && {
      addresses:
        optionValues(options, 'address').length > 0
          ? givenAddresses(context, target.port)
          : [targetAddress(target)],
      fingerprint: fingerprint ?? '',
      device: nameOf(word ?? ''),
    }
    return { answer: await operator.invite(request), reached: here ?? there }
  })
  const { token, expires_at: expiresAt } = answer
  if (!answer.success || token === undefined || expiresAt === undefined || reached === undefined) {
    const said = visible(answer.message)
    throw misuse(said === '' ? 'The device did not invite anybody, and does not say why.' : said)
  }
  const line = lineFor(reached, { agent: name, token, expiresAt })
  context.output.note(`Good once, until ${utcTime(expiresAt)}, for whoever has it first. On the client:`)
  context.output.note('  sass-edge enroll -     and paste it there')
  return context.output.result(
    {
      line,
      agent: name,
      role,
      capability,
      expires_at: expiresAt,
      addresses: reached.addresses,
      fingerprint: reached.fingerprint,
    },
    [line],
  )
}
