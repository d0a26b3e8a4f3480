/**
 * `sass-edge enroll LINE`: makes a key here, has the device list it by the invitation that is in the line, and writes
 * down the device's pin, its name and the key's place, so that the next command works. The private key never leaves.
 *
 * The key is kept before the device hears of it, so whoever gives the same line again after a broken connection comes in
 * with the key that the device lists by then. With its answer comes the key of its record, which is kept beside. A device with another key than the line says is told nothing.
 * Rules: docs/protocol.md, section 4.
 * @module
 */
import { existsSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { isatty } from 'node:tty'
import { publicKeyOf } from '../../base/crypto/ed25519.node.ts'
import { encodeBase64Url } from '../../base/encoding/base64.ts'
import { createFile, makeDirectories } from '../../base/files.node.ts'
import { isName } from '../../base/text/name.ts'
import { userConfigDirectory } from '../../base/user-directory.ts'
import { type Client, connect } from '../../client/client.node.ts'
import { fileHeads } from '../../client/link/heads.node.ts'
import { loadPins, pinFile, savePin } from '../../client/link/pins.node.ts'
import { programVersion } from '../../edge/host/version.node.ts'
import { createKeyFiles, readPrivateKey, readPublicKey } from '../../edge/state/key-file.node.ts'
import { asSassError, misuse, SassError } from '../../errors.ts'
import { ENROLMENT_LINE_CHARS } from '../../limits.ts'
import { type EnrolmentLine, readEnrolmentLine } from '../../wire/enrolment-line.ts'
import { loadHosts, saveHost } from '../common/hosts.node.ts'
import { takeWords } from '../common/local-config.node.ts'
import { utcTime } from '../common/operator.node.ts'
import { optionValue } from '../words/arguments.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { parseTarget, type Target, targetAddress } from '../words/target.ts'

const STDIN_FD = 0

/** All of stdin; of a terminal the first line that says something. */
function pasted(context: CommandContext): string {
  const bytes = Buffer.alloc(2 * ENROLMENT_LINE_CHARS)
  const isTerminal = isatty(STDIN_FD)
  if (isTerminal) context.output.note('Paste the line, then press Enter:')
  let length = 0
  while (length < bytes.length) {
    const count = readSync(STDIN_FD, bytes, length, bytes.length - length, null)
    length += count
    if (count === 0 || (isTerminal && /\S\s*\n/.test(bytes.toString('latin1', 0, length)))) break
  }
  return bytes.toString('latin1', 0, length)
}

function lineOf(context: CommandContext): EnrolmentLine {
  const [word, ...more] = takeWords(context, 64)
  if (word === undefined)
    throw misuse('No line is given: write sass-edge enroll - and paste it, or sass-edge enroll LINE.')
  const read = readEnrolmentLine(word === '-' ? pasted(context) : [word, ...more].join(''))
  if (read.ok) return read.line
  throw misuse(
    read.problem === 'foreign'
      ? 'This is no enrolment line: it begins with sass1: and comes from sass-edge agent invite NAME on the device.'
      : 'The line is cut or mistyped, and nothing was sent: copy the whole of it, from sass1: to its end.',
  )
}

function directoryOf(context: CommandContext): string {
  const directory = userConfigDirectory(context.environment)
  if (directory !== undefined) return directory
  throw misuse('Neither HOME nor XDG_CONFIG_HOME is set, so there is no place for the key: set one of them.')
}

/** The key for that device: the one of an earlier try, or a new one, on the disk before anybody hears of it. */
function keyFor(directory: string, name: string): { readonly seed: Uint8Array; readonly path: string } {
  const base = join(directory, name)
  const path = `${base}.key`
  if (existsSync(path)) return { seed: readPrivateKey(path), path }
  makeDirectories(directory, 0o700)
  return { seed: createKeyFiles(base).seed, path }
}

type Place = Pick<Target, 'host' | 'port'> & { readonly address: string }

function placesOf({ addresses }: EnrolmentLine): readonly Place[] {
  return addresses.map((text) => {
    const parsed = parseTarget(text)
    if (!parsed.ok || parsed.target.agent !== undefined)
      throw misuse('The line names an address that cannot be read: have a new one made.')
    const { host, port } = parsed.target
    return { host, port, address: targetAddress({ host, port }) }
  })
}

/** A pin that says otherwise stands: who gave the line may be wrong, too. */
function checkPinned(path: string, address: string, fingerprint: string): void {
  const pin = loadPins(path).get(address)
  if (pin === undefined || pin.key === fingerprint || pin.next === fingerprint) return
  const since = pin.since === undefined ? '' : ` since ${pin.since}`
  throw new SassError(
    'PIN_MISMATCH',
    `The line says that ${address} has the key ${fingerprint} where ${pin.key} is pinned${since}, and nothing was sent: find out which is right, and only if the device was set up anew run sass-edge trust --replace ${address} ${fingerprint}.`,
    { address, pinned: pin.key, seen: fingerprint, since: pin.since ?? null },
  )
}

/** The device does not say why; the likeliest is told. */
function refused(line: EnrolmentLine, cause: unknown): SassError {
  const until = utcTime(line.expiresAt)
  const isPast = line.expiresAt * 1_000 <= Date.now()
  const why = isPast
    ? `it was good until ${until} and has expired`
    : `it was used or withdrawn, a newer one was made for ${line.agent}, or by the clock of the device it has expired`
  return new SassError(
    'CONNECT_FAILED',
    `The device did not take the line, and does not say why; most likely ${why}: have a new one made with sass-edge agent invite ${line.agent}.`,
    { expires_at: line.expiresAt, expired: isPast },
    cause,
  )
}

/** Keeps the key of the device's record, once: another one under that name is of another device, or of a forged record. */
function keepAuditKey(path: string, { auditKey }: Client): string | null {
  if (auditKey === undefined) return null
  if (!existsSync(path)) createFile(path, auditKey, 0o644)
  else if (!Buffer.from(readPublicKey(path)).equals(auditKey))
    throw new SassError(
      'PIN_MISMATCH',
      `The record of the device begins with another key than the one in ${path}: find out which is right, and only if the device was set up anew remove that file and give the line again.`,
      { path },
    )
  return path
}

type Joined = { readonly client: Client; readonly place: Place }

async function comeIn(
  context: CommandContext,
  line: EnrolmentLine,
  seed: Uint8Array,
  fingerprint: string,
): Promise<Joined> {
  let last: unknown
  for (const place of placesOf(line)) {
    // Not there: the device may be at the next one.
    const before = asSassError(last)
    if (before !== undefined) context.output.note(before.message)
    checkPinned(pinFile(context.environment), place.address, fingerprint)
    try {
      const client = await connect({
        host: place.host,
        port: place.port,
        agent: line.agent,
        privateKey: seed,
        pin: fingerprint,
        enrolment: line.token,
        clientVersion: programVersion(),
        heads: fileHeads(context.environment),
        reconnect: false,
      })
      return { client, place }
    } catch (error) {
      const known = asSassError(error)
      if (known?.code !== 'CONNECT_FAILED') throw error
      if (known.details['refused'] !== undefined) throw refused(line, error)
      last = error
    }
  }
  throw last
}

export const command: Command = {
  usage: ['enroll -', 'enroll LINE'],
  options: {
    '--name NAME': 'what to call the device here (what it calls itself)',
  },
  examples: {
    'sass-edge enroll -': 'paste the line there: then no history of a shell has it',
    'sass-edge enroll sass1:... --name porch': 'call the device porch from then on',
  },
  async run(context) {
    const line = lineOf(context)
    const name = optionValue(context.arguments.options, 'name') ?? line.device
    if (!isName(name))
      throw misuse('--name is not a valid name: use 1 to 64 of the characters A-Z a-z 0-9 . _ -.')
    const directory = directoryOf(context)
    const known = loadHosts(context.environment)[name]
    const targets = placesOf(line).map(({ address }) => `${line.agent}@${address}`)
    if (known !== undefined && !targets.includes(known.target))
      throw misuse(
        `${name} stands for ${known.target} already, and nothing was sent: choose another name with --name NAME.`,
      )
    const fingerprint = `sha256:${encodeBase64Url(line.keyDigest)}`
    const { seed, path } = keyFor(directory, name)
    const { client, place } = await comeIn(context, line, seed, fingerprint)
    let auditKey: string | null
    try {
      auditKey = keepAuditKey(join(directory, `${name}-audit.pub`), client)
      savePin(pinFile(context.environment), place.address, fingerprint, client.nextFingerprint)
      saveHost(context.environment, name, { target: `${line.agent}@${place.address}`, key: `${name}.key` })
    } finally {
      await client.close()
    }
    const result = {
      name,
      agent: line.agent,
      address: place.address,
      fingerprint,
      key_file: path,
      public_key: encodeBase64Url(publicKeyOf(seed)),
      audit_key_file: auditKey,
    }
    return context.output.result(result, [
      `${name} (${place.address}) lists this machine as ${line.agent}; its key is pinned, yours is ${path}.`,
      ...(auditKey === null ? [] : [`Its record is verified with sass-edge audit verify --key ${auditKey}.`]),
      `Next:  sass-edge exec ${name} -- uname -a`,
    ])
  },
}
