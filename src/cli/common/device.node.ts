/**
 * Which device a command means, and the connection to it: a TARGET of the command line with a key and a pin of the
 * user, or without one the daemon of the nearest configuration.
 * @module
 */
import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { deviceFingerprint } from '../../base/crypto/fingerprint.node.ts'
import { decodeBase64Url } from '../../base/encoding/base64.ts'
import { decodeUtf8 } from '../../base/encoding/utf8.ts'
import { readBounded } from '../../base/files.node.ts'
import { userConfigDirectory } from '../../base/user-directory.ts'
import {
  type Client,
  type Compression,
  type ConnectOptions,
  connect,
  type FirstCommand,
  type OnLink,
} from '../../client/client.node.ts'
import { fileHeads } from '../../client/link/heads.node.ts'
import { checkPin, loadPins, pinFile, pinMismatch, savePin } from '../../client/link/pins.node.ts'
import type { Config } from '../../config/config.ts'
import { CONFIG_FIELDS } from '../../config/fields.ts'
import { programVersion } from '../../edge/host/version.node.ts'
import { readPrivateKey } from '../../edge/state/key-file.node.ts'
import { readRunningPort } from '../../edge/state/running.node.ts'
import { asSassError, misuse, SassError } from '../../errors.ts'
import { TIMEOUT_MAX_SECONDS } from '../../limits.ts'
import { DELEGATION_TOKEN_BYTES } from '../../wire/limits.ts'
import type { Described } from '../words/arguments.ts'
import { optionValue, wholeNumber } from '../words/arguments.ts'
import type { CommandContext } from '../words/command.ts'
import { type Target, targetAddress } from '../words/target.ts'
import { ask } from './ask.node.ts'
import { targetOf, unlistedHint } from './hosts.node.ts'
import { localConfig, localConfigPath } from './local-config.node.ts'

/** Who one is to a device. */
export const CALLER_OPTIONS: Described = Object.freeze({
  '--agent NAME': 'the name to authenticate as',
  '--key FILE': 'its private key, 32 raw bytes of mode 0600',
})

/** Options of every command that talks to a device as an agent or operator, but for the branch. */
export const LINK_OPTIONS: Described = Object.freeze({
  '--delegation TOKEN|FILE': 'what another agent has handed on, good for one session: see sass-edge delegate',
  '--metered':
    'for a link that is paid by the byte: output compressed, X25519 without post-quantum protection',
})

/** All of them. */
export const DEVICE_OPTIONS: Described = Object.freeze({
  ...CALLER_OPTIONS,
  '--branch new|latest|ID': 'where files are changed: in a branch of its own, or one that is there (latest)',
  ...LINK_OPTIONS,
})

/** Options of the commands that show output as it comes. */
export const OUTPUT_OPTIONS: Described = Object.freeze({
  '-z, --compress': 'have the output compressed on its way; on a slow link it is by itself',
  '--no-compress': 'never have it compressed',
})

/** Where `init` puts it. */
const ADMIN_SOCKET_NAME = 'admin.sock'

type Common = Pick<Extract<ConnectOptions, { host: string }>, 'groups' | 'compression' | 'delegation'> & {
  readonly clientVersion: string
  readonly window: number
  readonly branch: string
  readonly reconnect: false
}

/** Of commands that come back by themselves where a connection breaks. */
export const RECONNECT_OPTION: Described = Object.freeze({
  '--reconnect SECONDS': 'how long to try for a lost link, 0 not at all; else until you leave',
})

/** The user leaves when they have waited enough; whoever wants a script to end says after how long. */
export function reconnecting(context: CommandContext): Pick<Connecting, 'reconnect'> {
  const text = optionValue(context.arguments.options, 'reconnect')
  if (text === undefined) return { reconnect: { giveUpMs: Number.POSITIVE_INFINITY } }
  const seconds = wholeNumber(text, 0, TIMEOUT_MAX_SECONDS)
  if (seconds === undefined)
    throw misuse(`--reconnect ${text} is not a number of seconds from 0 to ${TIMEOUT_MAX_SECONDS}.`)
  return { reconnect: seconds === 0 ? false : { giveUpMs: seconds * 1_000 } }
}

/** What some commands want otherwise: another credit to start with, and to come back where a connection breaks. */
export type Connecting = {
  readonly window?: number
  readonly reconnect?: ConnectOptions['reconnect']
  readonly onLink?: OnLink
  readonly first?: FirstCommand
  /** Another key than that of the user's files. */
  readonly privateKey?: Uint8Array
}

/** A token and a line feed, with room for blanks. */
const TOKEN_FILE_BYTES = 256
const BRANCH_ID = /^[0-9a-f]{32}$/

/** One command goes on where the last one was: to whoever types them they are one piece of work. */
function branchOf(context: CommandContext): string {
  const word = optionValue(context.arguments.options, 'branch') ?? 'latest'
  if (word === 'new' || word === 'latest' || BRANCH_ID.test(word)) return word
  throw misuse(
    `${JSON.stringify(word.slice(0, 64))} is no branch: write new, latest or the 32 digits of sass-edge branch list.`,
  )
}

/** The token of --delegation, given as it is or in a file; undefined: none is. */
function delegationOf(context: CommandContext): Uint8Array | undefined {
  const word = optionValue(context.arguments.options, 'delegation')
  if (word === undefined) return undefined
  const token = tokenOf(word) ?? tokenIn(word)
  if (token !== undefined) return token
  throw misuse(
    '--delegation is neither a token nor a file with one: write what sass-edge delegate has printed.',
  )
}

function tokenOf(text: string): Uint8Array | undefined {
  const token = decodeBase64Url(text, DELEGATION_TOKEN_BYTES)
  return token?.length === DELEGATION_TOKEN_BYTES ? token : undefined
}

function tokenIn(path: string): Uint8Array | undefined {
  try {
    const read = readBounded(path, TOKEN_FILE_BYTES)
    const text = read.ok ? decodeUtf8(read.bytes)?.trim() : undefined
    return text === undefined ? undefined : tokenOf(text)
  } catch {
    return undefined
  }
}

/** Credit that a stream starts with on a link that is not found slow; it follows the measured throughput from there. */
const START_WINDOW_BYTES = 131_072

function compressionOf({ arguments: { options } }: CommandContext, isMetered: boolean): Compression {
  if (options.has('compress') && options.has('no-compress'))
    throw misuse('-z and --no-compress contradict each other; leave one of them out.')
  if (options.has('no-compress')) return 'never'
  return isMetered || options.has('compress') ? 'always' : 'auto'
}

function common(context: CommandContext, isMeteredHost = false): Common {
  const isMetered = isMeteredHost || context.arguments.options.has('metered')
  return {
    groups: isMetered ? 'metered' : 'default',
    compression: compressionOf(context, isMetered),
    clientVersion: programVersion(),
    window: START_WINDOW_BYTES,
    branch: branchOf(context),
    delegation: delegationOf(context),
    // What answers at once is sooner asked again than waited for.
    reconnect: false,
  }
}

/** A daemon that listens everywhere is reached at home. */
function localHost(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1'
  return address === '::' ? '::1' : address
}

/** The agent of a local installation: the one named, else the first whose key lies beside the configuration. */
function localAgent(
  context: CommandContext,
  config: Config,
  directory: string,
): { agent: string; keyPath: string } {
  const named = optionValue(context.arguments.options, 'agent')
  const keyFile = optionValue(context.arguments.options, 'key')
  const keyOf = (name: string) => keyFile ?? join(directory, 'keys', `${name}.key`)
  if (named !== undefined) return { agent: named, keyPath: keyOf(named) }
  const found = config.agents.find(({ name, role }) => role === 'agent' && existsSync(keyOf(name)))
  if (found !== undefined) return { agent: found.name, keyPath: keyOf(found.name) }
  throw misuse(
    `No agent's key lies in ${join(directory, 'keys')}, so nobody could authenticate; name one with --agent NAME --key FILE.`,
  )
}

/** Where the daemon of a configuration on this machine listens. SassError CONNECT_FAILED where nobody knows. */
export function localPort(config: Config): number {
  const port = config.listen.port === 0 ? readRunningPort(config.state_directory) : config.listen.port
  if (port !== undefined) return port
  throw new SassError(
    'CONNECT_FAILED',
    'listen.port is 0 and no daemon says which port it took; start it with sass-edge run.',
  )
}

/** The fingerprint of the key that the daemon of this machine has, read from its own certificate. */
export function localPin(path: string): string {
  try {
    return deviceFingerprint(new X509Certificate(readFileSync(path)))
  } catch (cause) {
    throw new SassError(
      'CONNECT_FAILED',
      `The certificate ${path} cannot be read, so the daemon of this machine cannot be told from another; start it with sass-edge run, or name a TARGET.`,
      { path },
      cause,
    )
  }
}

function connectLocal(context: CommandContext, more: Connecting): Promise<Client> {
  const { path, config } = localConfig(context)
  const { agent, keyPath } = localAgent(context, config, dirname(path))
  return connect({
    ...common(context),
    ...more,
    host: localHost(config.listen.address),
    port: localPort(config),
    agent,
    privateKey: readPrivateKey(keyPath),
    pin: localPin(config.tls.certificate),
  })
}

/** The user's key for a device: --key, the one of hosts.json, else `AGENT.key` in the user's configuration directory. */
function userKeyPath(context: CommandContext, agent: string, fromHosts: string | undefined): string {
  const named = optionValue(context.arguments.options, 'key') ?? fromHosts
  if (named !== undefined) return named
  const directory = userConfigDirectory(context.environment)
  if (directory === undefined)
    throw misuse('Neither HOME nor XDG_CONFIG_HOME is set, so no key can be found; name one with --key FILE.')
  return join(directory, `${agent}.key`)
}

/** Without a key of its own a word is more likely a mistyped name than a host that nobody has listed. */
function readUserKey(context: CommandContext, word: string, path: string): Uint8Array {
  const isNamed = optionValue(context.arguments.options, 'key') !== undefined
  const hint = isNamed || existsSync(path) ? undefined : unlistedHint(word, context.environment)
  if (hint === undefined) return readPrivateKey(path)
  throw new SassError(
    'KEY_FILE_INVALID',
    `${hint}, and the key ${path} that a host of that name is asked with does not exist: use a name that is listed, give the key with --key FILE, or come in with sass-edge enroll.`,
    { path },
  )
}

/** The file of the key that a connection to the device of that word is made with. */
export function keyPathOf(context: CommandContext, word: string): string {
  const target = targetOf(word, context.environment)
  return userKeyPath(context, agentOf(context, target), target.key)
}

const agentOf = (context: CommandContext, { agent }: Target): string =>
  optionValue(context.arguments.options, 'agent') ?? agent ?? 'agent'

/** Trust on first use, but only by a person: a script never trusts a key that nobody looked at. */
async function mayTrust(context: CommandContext, address: string, fingerprint: string): Promise<boolean> {
  const path = pinFile(context.environment)
  const verdict = checkPin(loadPins(path), address, fingerprint)
  if (verdict.kind === 'match') return true
  if (verdict.kind === 'changed') throw pinMismatch(address, verdict.pin, fingerprint)
  if (verdict.kind === 'follows') {
    savePin(path, address, fingerprint)
    context.output.note(`${address} has gone over to the key that it had announced: ${fingerprint}`)
    return true
  }
  context.output.note(`${address} is not known yet. It shows ${fingerprint}`)
  if (!context.arguments.options.has('yes') && !ask('Is this what the device itself says?')) {
    throw new SassError(
      'PIN_UNKNOWN',
      `The key of ${address} is not pinned, so nothing was sent; compare ${fingerprint} with the device and run sass-edge trust ${address}.`,
      { address, seen: fingerprint },
    )
  }
  savePin(path, address, fingerprint)
  return true
}

/** What the device announces is kept beside the pin, and goes where it announces it no more. */
function keepNextKey(context: CommandContext, address: string, client: Client): void {
  const { fingerprint, nextFingerprint } = client
  const path = pinFile(context.environment)
  const pin = loadPins(path).get(address)
  if (fingerprint === undefined || pin?.key !== fingerprint || pin.next === nextFingerprint) return
  try {
    savePin(path, address, fingerprint, nextFingerprint)
  } catch (error) {
    // What was asked for can be done all the same; the next change of the key will be asked about.
    context.output.warn(error instanceof Error ? error.message : 'The next key of the device was not kept.')
  }
}

/**
 * Connects to the device that `word` names, or without one to the daemon of the nearest configuration.
 * @throws SassError with what to do
 */
export async function connectDevice(
  context: CommandContext,
  word: string | undefined,
  more: Connecting = {},
): Promise<Client> {
  if (word === undefined) return connectLocal(context, more)
  const target = targetOf(word, context.environment)
  const agent = agentOf(context, target)
  const address = targetAddress(target)
  const client = await connect({
    ...common(context, target.metered),
    ...more,
    host: target.host,
    port: target.port,
    agent,
    privateKey: more.privateKey ?? readUserKey(context, word, userKeyPath(context, agent, target.key)),
    pin: (fingerprint) => mayTrust(context, address, fingerprint),
    heads: fileHeads(context.environment),
  })
  if (client.recordProblem !== undefined) context.output.warn(client.recordProblem)
  keepNextKey(context, address, client)
  return client
}

/** As an operator: the admin socket of the nearest configuration, or a TARGET with an operator's key. */
export function connectOperator(context: CommandContext, word: string | undefined): Promise<Client> {
  const wantsKey = context.arguments.options.has('agent') || context.arguments.options.has('key')
  if (word !== undefined || wantsKey) return connectDevice(context, word)
  return connect({ socketPath: adminSocketOf(context), clientVersion: programVersion(), reconnect: false })
}

/**
 * The admin socket of the nearest configuration. A file that is broken while the daemon runs must not lock the operator
 * out: then it is the socket where the daemon is most likely to have put it.
 */
function adminSocketOf(context: CommandContext): string {
  try {
    return localConfig(context).config.listen.admin_socket
  } catch (error) {
    const code = asSassError(error)?.code
    if (code !== 'CONFIG_INVALID' && code !== 'CONFIG_LOAD_FAILED') throw error
    const beside = join(dirname(brokenPath(context) ?? ''), ADMIN_SOCKET_NAME)
    const likely = [beside, CONFIG_FIELDS.fields.listen.fields.admin_socket.default].find((path) =>
      existsSync(path),
    )
    if (likely === undefined) throw error
    context.output.note(`The configuration cannot be read, so ${likely} is asked.`)
    return likely
  }
}

function brokenPath(context: CommandContext): string | undefined {
  try {
    return localConfigPath(context)
  } catch {
    return undefined
  }
}
