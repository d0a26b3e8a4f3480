/**
 * Whether this machine can run a configuration: the port and the admin socket here, its files, directories and the
 * device itself beside it. Every finding at once, each failure with its remedy. Looks and probes, changes nothing that stays.
 * @module
 */

import { existsSync, lstatSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { utf8Length } from '../../base/encoding/utf8.ts'
import { errnoText } from '../../base/files.node.ts'
import { parseEndpoint } from '../../base/ip-address.ts'
import type { Config } from '../../config/config.ts'
import { SOCKET_PATH_BYTES } from '../../limits.ts'
import { isClockSet } from '../host/clock.node.ts'
import { logFileProblem } from '../host/log-file.node.ts'
import { createFileLock } from '../state/file-lock.node.ts'
import { isStateInUse } from '../state/state-format.node.ts'
import { whatIsNotKept } from '../state/state-place.node.ts'
import { type Finding, fail, pass, warn } from './finding.ts'
import {
  checkClock,
  checkDescriptors,
  checkDevices,
  checkDisks,
  checkLimits,
  checkMemory,
  checkUsers,
} from './preflight-device.node.ts'
import {
  checkDirectory,
  checkSocketDirectory,
  checkWorkspace,
  checkWritable,
} from './preflight-files.node.ts'
import { checkIntent } from './preflight-intent.node.ts'
import { checkState } from './preflight-state.node.ts'
import { checkTls } from './preflight-tls.node.ts'

const PROBE_TIMEOUT_MS = 1_000

/** Nothing that keeps the daemon from working, and a surprise after a loss of power. */
function* checkKept(config: Config): Iterable<Finding> {
  const problem = whatIsNotKept(config)
  if (problem === undefined) return
  yield warn(
    'state_directory',
    problem,
    'put it on a disk, or live with a device that is new after each start',
  )
}

async function checkPort(address: string, port: number, check = 'listen.port'): Promise<Finding> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.ErrnoException | undefined>()
  const server = createServer()
  server.once('error', resolve)
  server.listen({ host: address, port, exclusive: true }, () => resolve(undefined))
  const error = await promise
  server.close()
  if (error === undefined && port === 0) return pass(check, 'any free port will be taken')
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
        check === 'listen.port' ? 'listen.address' : check,
        `${address} is not an address of this machine`,
        'choose one that ip addr shows',
      )
    case 'EACCES':
      return fail(
        check,
        `this user may not listen on port ${port}`,
        'use 19284 or another one from 1024 up, or give the daemon CAP_NET_BIND_SERVICE',
      )
    default:
      return fail(
        error.code === 'EINVAL' && check === 'listen.port' ? 'listen.address' : check,
        `${address} port ${port} cannot be used, since ${errnoText(error.code)}`,
        'choose one that ip addr shows',
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

async function checkSocket(check: string, path: string, isPortTried: boolean): Promise<Finding> {
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
    if (await isAlive(path)) {
      if (!isPortTried) return pass(check, `a daemon answers on ${path}`)
      return fail(check, `a daemon answers on ${path} already`, 'stop it first or choose another path')
    }
    return pass(check, `${path} is left from an earlier daemon and will be replaced`)
  }
  return checkWritable(check, path)
}

async function checkMetrics(place: string | null, isPortTried: boolean): Promise<readonly Finding[]> {
  const check = 'metrics.listen'
  if (place === null) return []
  const endpoint = parseEndpoint(place)
  if (endpoint === undefined)
    return [await checkSocket(check, place, isPortTried), ...checkSocketDirectory(check, place)]
  return isPortTried ? [await checkPort(endpoint.host, endpoint.port, check)] : []
}

/** A file that the log goes to must be one that nobody else has chosen. */
function* checkLogFile(path: string | null): Iterable<Finding> {
  const check = 'log.file'
  if (path === null) return
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats === undefined) {
    yield checkWritable(check, path)
    return
  }
  const [problem = '', remedy = ''] = logFileProblem(stats)?.split(': ') ?? []
  yield problem === ''
    ? pass(check, `${path} will be gone on with`)
    : fail(check, `${path} ${problem}`, remedy.replace(/\.$/, ''))
}

/**
 * Looks at everything that the configuration needs of this machine.
 * @param wallMs the time of day, Unix milliseconds
 * @param mayTryPort whether it matters that somebody listens already where this daemon would; what a daemon with this very
 *   state has, never does
 */
export async function checkMachine(
  config: Config,
  wallMs: number,
  mayTryPort = true,
): Promise<readonly Finding[]> {
  // Whoever asks before a reload has the daemon itself there.
  const runs =
    mayTryPort &&
    (await isAlive(config.listen.admin_socket)) &&
    isStateInUse(config.state_directory, createFileLock())
  const isPortTried = mayTryPort && !runs
  return [
    ...checkTls(config, wallMs, isClockSet(wallMs)),
    checkState(config),
    checkDirectory('state_directory', config.state_directory),
    checkDirectory('audit.directory', config.audit.directory),
    ...checkKept(config),
    checkWorkspace(config.security.workspace_root),
    ...(isPortTried ? [await checkPort(config.listen.address, config.listen.port)] : []),
    ...(runs ? [pass('listen.port', 'not tried, since the daemon of this state runs')] : []),
    await checkSocket('listen.admin_socket', config.listen.admin_socket, isPortTried),
    ...checkSocketDirectory('listen.admin_socket', config.listen.admin_socket),
    ...(await checkMetrics(config.metrics.listen, isPortTried)),
    ...checkLogFile(config.log.file),
    checkClock(wallMs),
    checkDescriptors(config),
    ...checkDisks(config),
    ...checkMemory(config),
    ...checkLimits(config),
    ...checkUsers(config),
    ...checkDevices(config),
    ...(await checkIntent(config)),
  ]
}
