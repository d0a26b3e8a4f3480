/**
 * Whether this machine can run a configuration: files and their modes, directories, the port, the admin socket, the
 * clock, the limits. Every finding at once, each failure with its remedy. Looks and probes, changes nothing that stays.
 * @module
 */
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
} from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { errnoOf, errnoText } from '../base/files.node.ts'
import { utf8Length } from '../base/utf8.ts'
import type { Config } from '../config.ts'
import { asSassError } from '../errors.ts'
import { CONNECTIONS_MAX, SOCKET_PATH_BYTES, UNAUTHENTICATED_CONNECTIONS } from '../limits.ts'
import { CLIENT_CA_REMEDY, readClientCa } from './client-ca.node.ts'
import { isClockSet } from './clock.node.ts'
import { checkStateFormat, STATE_FORMAT } from './state-format.node.ts'
import { whatIsNotKept } from './state-place.node.ts'

/** One thing that was looked at. `detail` is a clause; `remedy` says what to do where it is not ok, or not what it seems. */
export type Finding =
  | { readonly check: string; readonly ok: true; readonly detail: string; readonly remedy?: string }
  | { readonly check: string; readonly ok: false; readonly detail: string; readonly remedy: string }

/** Descriptors of the daemon itself: listeners, audit, libraries, the runtime. */
const OWN_DESCRIPTORS = 64
/** Three pipes or a terminal and its peers. */
const DESCRIPTORS_PER_EXECUTION = 6
const PROBE_TIMEOUT_MS = 1_000

export function pass(check: string, detail: string): Finding {
  return { check, ok: true, detail }
}

/** Nothing that keeps the daemon from starting, and still worth a look. */
export function warn(check: string, detail: string, remedy: string): Finding {
  return { check, ok: true, detail, remedy }
}

export function fail(check: string, detail: string, remedy: string): Finding {
  return { check, ok: false, detail, remedy }
}

/** The errno of the error, or the error again where it is none of the system's. */
function errnoOrThrow(error: unknown): string {
  const errno = errnoOf(error)
  if (errno === undefined) throw error
  return errno
}

function checkKeyFile(config: Config): Finding[] {
  const { key, certificate } = config.tls
  const hasKey = existsSync(key)
  const hasCertificate = existsSync(certificate)
  if (!hasKey && !hasCertificate) return [pass('tls.key', `${key} will be made at the first start`)]
  if (!hasKey) {
    const detail = `the certificate ${certificate} is there and its key ${key} is not`
    return [fail('tls.key', detail, 'put the key back, or move the certificate away to have a new pair made')]
  }
  const findings: Finding[] = []
  const mode = statSync(key).mode & 0o7777
  if (mode === 0o600) findings.push(pass('tls.key', `${key} has mode 0600`))
  else {
    findings.push(
      fail(
        'tls.key',
        `${key} has mode ${mode.toString(8).padStart(4, '0')} in place of 0600`,
        `run chmod 600 ${key}`,
      ),
    )
  }
  if (!hasCertificate)
    return [...findings, pass('tls.certificate', `${certificate} will be made for this key`)]
  return [...findings, checkReadable('tls.certificate', certificate)]
}

function checkReadable(check: string, path: string): Finding {
  try {
    accessSync(path, constants.R_OK)
    return pass(check, `${path} can be read`)
  } catch (error) {
    return fail(
      check,
      `${path} cannot be read, since ${errnoText(errnoOrThrow(error))}`,
      'correct the path or its permissions',
    )
  }
}

/** The CA as the daemon itself would read it. */
function checkClientCa(path: string): Finding {
  const check = 'tls.client_ca'
  try {
    readClientCa(path)
    return pass(check, `${path} holds certificates`)
  } catch (error) {
    const known = asSassError(error)
    if (known === undefined) throw error
    return fail(check, `${path} ${known.details['problem']}`, CLIENT_CA_REMEDY)
  }
}

/** The nearest directory of `path` that exists, `path` itself included. */
function nearestExisting(path: string): string {
  let directory = path
  while (!existsSync(directory) && directory !== dirname(directory)) directory = dirname(directory)
  return directory
}

/** Writes and removes a file, since only that tells a read-only mount, a full disk and a missing right. */
function checkWritable(check: string, path: string): Finding {
  const directory = nearestExisting(path)
  const probe = join(directory, `.${randomBytes(8).toString('hex')}.tmp`)
  try {
    closeSync(openSync(probe, 'wx', 0o600))
    unlinkSync(probe)
    return pass(check, directory === path ? `${path} can be written` : `${path} will be made`)
  } catch (error) {
    const why = errnoText(errnoOrThrow(error))
    return fail(
      check,
      `${path} cannot be written, since ${why}`,
      'make it a directory that this user may write, or name another one',
    )
  }
}

/** Whether this program may use the state that is there: what an upgrade asks before it takes the place of another one. */
export function checkState({ state_directory: directory }: Pick<Config, 'state_directory'>): Finding {
  const check = 'state'
  try {
    const found = checkStateFormat(directory)
    if (found?.format === STATE_FORMAT) return pass(check, `${directory} has format ${STATE_FORMAT}`)
    return existsSync(directory)
      ? pass(
          check,
          `${directory} has format ${found?.format ?? 0}, and the daemon brings it to ${STATE_FORMAT}`,
        )
      : pass(check, `${directory} will be made in format ${STATE_FORMAT}`)
  } catch (error) {
    const known = asSassError(error)
    if (known?.code !== 'STATE_FORMAT') throw error
    const [detail = '', remedy = ''] = known.message.split(': nothing was changed; ')
    return fail(check, detail, remedy.replace(/\.$/, ''))
  }
}

/** Nothing that keeps the daemon from working, and a surprise after a loss of power. */
function checkKept(config: Config): readonly Finding[] {
  const problem = whatIsNotKept(config)
  if (problem === undefined) return []
  return [
    warn('state_directory', problem, 'put it on a disk, or live with a device that is new after each start'),
  ]
}

/** What is not there yet is made at the start. */
function checkWorkspace(path: string): Finding {
  const check = 'security.workspace_root'
  if (!existsSync(path)) return checkWritable(check, path)
  return statSync(path).isDirectory()
    ? pass(check, `${path} is there`)
    : fail(check, `${path} is not a directory`, 'name a directory')
}

async function checkPort(config: Config): Promise<Finding> {
  const { address, port } = config.listen
  const check = 'listen.port'
  if (port === 0) return pass(check, 'any free port will be taken')
  const { promise, resolve } = Promise.withResolvers<NodeJS.ErrnoException | undefined>()
  const server = createServer()
  server.once('error', resolve)
  server.listen({ host: address, port, exclusive: true }, () => resolve(undefined))
  const error = await promise
  server.close()
  if (error === undefined) return pass(check, `${address} port ${port} is free`)
  switch (error.code) {
    case 'EADDRINUSE':
      return fail(
        check,
        `${address} port ${port} is taken`,
        `stop what listens there (ss -ltnp sport = :${port} names it) or choose another port`,
      )
    case 'EADDRNOTAVAIL':
      return fail(
        'listen.address',
        `${address} is not an address of this machine`,
        'choose one that ip addr shows',
      )
    case 'EACCES':
      return fail(check, `this user may not listen on port ${port}`, 'choose a port from 1024 up')
    default:
      return fail(
        check,
        `${address} port ${port} cannot be used, since ${errnoText(error.code)}`,
        'choose another one',
      )
  }
}

/** True where something accepts connections on the socket. */
async function isAlive(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = createConnection({ path })
  socket.once('connect', () => resolve(true))
  socket.once('error', () => resolve(false))
  socket.setTimeout(PROBE_TIMEOUT_MS, () => resolve(true))
  const alive = await promise
  socket.destroy()
  return alive
}

async function checkAdminSocket(path: string): Promise<Finding> {
  const check = 'listen.admin_socket'
  const bytes = utf8Length(path)
  if (bytes > SOCKET_PATH_BYTES) {
    return fail(
      check,
      `${path} is ${bytes} bytes long and a Unix socket can have ${SOCKET_PATH_BYTES}`,
      'choose a shorter path',
    )
  }
  if (existsSync(path)) {
    if (!lstatSync(path).isSocket())
      return fail(check, `${path} is there and is not a socket`, 'move it away')
    if (await isAlive(path))
      return fail(check, `a daemon answers on ${path} already`, 'stop it first or choose another path')
    return pass(check, `${path} is left from an earlier daemon and will be replaced`)
  }
  return checkWritable(check, path)
}

function checkClock(wallMs: number): Finding {
  const shown = new Date(wallMs).toISOString()
  if (isClockSet(wallMs)) return pass('clock', `it is ${shown}`)
  // No reason to leave a device without its daemon: it may be what the clock is to be set by.
  return warn(
    'clock',
    `it says ${shown}, which is before this program was built, so it was never set`,
    'have a time service set it: until then the record has wrong times',
  )
}

/** Descriptors that this configuration can need at the same time. */
function descriptorsNeeded(config: Config): number {
  return (
    OWN_DESCRIPTORS +
    CONNECTIONS_MAX +
    UNAUTHENTICATED_CONNECTIONS +
    config.defense.tarpit.max_concurrent +
    DESCRIPTORS_PER_EXECUTION * config.execution.max_concurrent
  )
}

function checkDescriptors(config: Config): Finding {
  const line = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))
  const limit = line?.[1] === 'unlimited' ? Number.POSITIVE_INFINITY : Number(line?.[1] ?? 0)
  const needed = descriptorsNeeded(config)
  if (limit >= needed) return pass('ulimit', `${limit} open files are allowed and ${needed} can be needed`)
  return fail(
    'ulimit',
    `${limit} open files are allowed and ${needed} can be needed`,
    `run ulimit -n ${needed}, or set LimitNOFILE=${needed} in the unit`,
  )
}

/**
 * Looks at everything that the configuration needs of this machine.
 * @param wallMs the time of day, Unix milliseconds
 */
export async function checkMachine(
  config: Config,
  wallMs: number,
  isPortTried = true,
): Promise<readonly Finding[]> {
  return [
    ...checkKeyFile(config),
    ...(config.tls.client_ca === null ? [] : [checkClientCa(config.tls.client_ca)]),
    checkState(config),
    checkWritable('state_directory', config.state_directory),
    checkWritable('audit.directory', config.audit.directory),
    ...checkKept(config),
    checkWorkspace(config.security.workspace_root),
    ...(isPortTried ? [await checkPort(config)] : []),
    await checkAdminSocket(config.listen.admin_socket),
    checkClock(wallMs),
    checkDescriptors(config),
  ]
}
