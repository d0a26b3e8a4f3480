/**
 * The daemon's composition root: configuration to adapters, adapters to rooms, then listen, and at the end drain.
 * The only place where they are joined; nothing here decides.
 * @module
 */
import { realpathSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { release, userInfo } from 'node:os'
import { join } from 'node:path'
import { type Journal, openJournal } from './audit/journal.node.ts'
import { createAllowList } from './base/allow-list.ts'
import { createBufferPool } from './base/buffer-pool.ts'
import { canonicalize } from './base/canonical-json.ts'
import { verifyWith } from './base/ed25519.node.ts'
import { errnoOf, errnoText } from './base/files.node.ts'
import { sha256 } from './base/hash.ts'
import { encodeHex } from './base/hex.ts'
import { parseIpAddress } from './base/ip-address.ts'
import { createRing } from './base/ring.ts'
import { hostSha256 } from './base/sha256.node.ts'
import { encodeUtf8 } from './base/utf8.ts'
import type { Config } from './config.ts'
import { claimAdminSocket, createAdminSocket } from './edge/admin-socket.node.ts'
import { createTrimmer, keepSmall } from './edge/allocator.node.ts'
import { ensureCertificate } from './edge/certificate.node.ts'
import { readClientCa } from './edge/client-ca.node.ts'
import { createClock, createRandom } from './edge/clock.node.ts'
import { createFileLock } from './edge/file-lock.node.ts'
import { ensureKeyFile } from './edge/key-file.node.ts'
import { createLog } from './edge/log.node.ts'
import { createPeerUser } from './edge/peer-user.node.ts'
import { removeRunning, writeRunning } from './edge/running.node.ts'
import { createSpareTime, type SpareTime } from './edge/spare-time.node.ts'
import { createTlsAdapter } from './edge/tls-adapter.node.ts'
import { programVersion } from './edge/version.node.ts'
import { SassError } from './errors.ts'
import {
  DRAIN_POLL_MS,
  FRAME_BYTES,
  OUTPUT_BUFFERS,
  OUTPUT_BUFFERS_PER_CONNECTION,
  PIPE_READ_BYTES,
  TERM_TO_KILL_MS,
  TICK_MS,
} from './limits.ts'
import type { AuditEvent, Clock, Log, Spawner, TransportAdapter } from './ports.ts'
import { createProgramFinder } from './sandbox/program-finder.node.ts'
import { createSpawner } from './sandbox/spawner.node.ts'
import { createExecutions, type Execution, type RingPair } from './session/executions.ts'
import { createIdentities } from './session/identities.ts'
import { createPeers, type Peers } from './session/peers.ts'
import { createRefusals } from './session/refusals.ts'
import type { Rooms } from './session/rooms.ts'
import { createSessions } from './session/sessions.ts'
import { createTarpits } from './session/tarpits.ts'

declare const LAUNCHER_SOURCE: string | undefined

export type RunningDaemon = {
  /** `127.0.0.1:19284`, with the port that was really taken. */
  readonly address: string
  readonly port: number
  readonly adminSocket: string
  /** `sha256:<base64url>` of the device's public key: what clients pin. */
  readonly fingerprint: string
  /** Takes no more work, lets running commands end, then ends them and everything else. */
  stop(): Promise<void>
}

/** Both rings of every execution that may run, in memory that the kernel gives only where it is touched. */
function makeRings(count: number, ringBytes: number): RingPair[] {
  return Array.from({ length: count }, () => ({
    stdout: createRing(new Uint8Array(ringBytes)),
    stderr: createRing(new Uint8Array(ringBytes)),
  }))
}

/** Whether an address, as text, is in acl.allow. */
function allowedBy(config: Config): (address: string) => boolean {
  const allowed = createAllowList(config.acl.allow)
  return (address) => {
    const parsed = parseIpAddress(address)
    return parsed !== undefined && allowed(parsed) !== undefined
  }
}

function exitEvent(execution: Execution): Record<string, string | number | boolean | null> {
  const { exit } = execution
  return {
    execution: execution.id,
    agent: execution.owner,
    session: execution.sessionId,
    warrant: execution.warrantId,
    state: execution.state,
    exit_code: exit?.kind === 'exited' ? exit.code : null,
    signal: exit?.kind === 'signalled' ? exit.signal : null,
    errno: execution.errno,
    timed_out: execution.timedOut,
    stdout_bytes: execution.outputBytes[0],
    stderr_bytes: execution.outputBytes[1],
    discarded_bytes: execution.discardedBytes,
    duration_ms: Math.round(execution.endedAtMs - execution.startedAtMs),
  }
}

/** What has happened has happened whatever can be written; the next decision finds a broken chain and refuses. */
function record(audit: Journal, log: Log, event: AuditEvent): void {
  try {
    audit.append(event, true)
  } catch (cause) {
    log.write('error', 'audit_failed', { reason: cause instanceof Error ? cause.message : 'unknown' })
  }
}

function createRooms(
  config: Config,
  clock: Clock,
  log: Log,
  audit: Journal,
  spawner: Spawner,
  spareTime: SpareTime,
): Rooms {
  const random = createRandom()
  // Enough for everybody: who does not read must not keep the others' output back.
  const outputBuffers = Math.max(OUTPUT_BUFFERS, OUTPUT_BUFFERS_PER_CONNECTION * config.session.max_sessions)
  const user = userInfo()
  const { tarpit, vi_swap, deny_response } = config.defense
  const policy = { capabilities: config.capabilities, allowShell: config.security.allow_shell }

  const sessions = createSessions(
    {
      maxSessions: config.session.max_sessions,
      maxDurationMs: config.session.max_duration_seconds * 1_000,
      bindAddress: config.session.bind_ip,
    },
    ({ session, from, to }) => {
      // ACTIVE and EXECUTING change with the decision that starts and the end that stops: those records say so.
      if (from === 'CREATED' || to === 'EXPIRED' || to === 'DESTROYED' || from === 'EXPIRED') {
        record(audit, log, {
          type: 'session',
          session: session.id,
          agent: session.caller.name,
          source: session.address,
          from,
          to,
        })
      }
      if (to === 'DESTROYED') executions.sessionEnded(session.id)
    },
  )
  const executions = createExecutions({
    spawner,
    clock,
    // No smaller than what one read may bring: a client that is attached must lose nothing of it.
    rings: makeRings(config.execution.max_concurrent, Math.max(config.session.ring_bytes, PIPE_READ_BYTES)),
    // While a new command runs there is time: its client waits for it and not for us.
    begun: spareTime.spend,
    ended(execution) {
      const state = sessions.executionEnded(execution.sessionId, clock.monotonicMs())
      // Nobody waits for the record of what has already happened.
      spareTime.later(() =>
        record(audit, log, {
          type: 'execution_ended',
          session_state: state ?? null,
          ...exitEvent(execution),
        }),
      )
    },
  })

  return {
    settings: {
      version: programVersion(),
      os: `Linux ${release()} ${process.arch}`,
      startedAtMs: clock.monotonicMs(),
      keepaliveMs: config.session.keepalive_seconds * 1_000,
      viHoldMs: vi_swap.hold_seconds * 1_000,
      denyResponse: deny_response,
      ringBytes: config.session.ring_bytes,
      policyVersion: encodeHex(sha256(encodeUtf8(canonicalize(policy)))).slice(0, 16),
      adminUserIds: [0, process.getuid?.() ?? 0],
    },
    clock,
    random,
    log,
    audit,
    refusals: createRefusals(clock.monotonicMs()),
    policy: { ...policy, hash: hostSha256 },
    identities: createIdentities(config.agents),
    verify: verifyWith,
    sessions,
    executions,
    tarpits: createTarpits(
      {
        chunkBytes: tarpit.chunk_bytes,
        totalBytes: tarpit.total_bytes,
        delayMs: tarpit.delay_ms,
        concurrent: tarpit.max_concurrent,
        sendTimeoutMs: tarpit.send_timeout_ms,
      },
      clock,
      random,
    ),
    buffers: createBufferPool(new Uint8Array(outputBuffers * FRAME_BYTES), FRAME_BYTES),
    planner: {
      finder: createProgramFinder(),
      workspaceRoot: realpathSync(config.security.workspace_root),
      base: { home: user.homedir, user: user.username },
    },
    viHolds: new Map(),
    responses: new Map(),
    cycles: { next: 1 },
  }
}

async function makeDirectory(path: string, name: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw new SassError(
      'STATE_UNWRITABLE',
      `${name} ${path} cannot be made, since ${errnoText(errnoOf(cause))}: give the daemon a directory that it may write there, or change ${name}.`,
      { path },
      cause,
    )
  }
}

async function drain(
  adapters: readonly TransportAdapter[],
  peers: Peers,
  rooms: Rooms,
  drainMs: number,
): Promise<void> {
  for (const adapter of adapters) await adapter.close()
  peers.drain()
  const isQuiet = () => rooms.executions.running === 0 && !peers.openStreams
  const until = async (ms: number) => {
    for (let left = ms; left > 0 && !isQuiet(); left -= DRAIN_POLL_MS) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(left, DRAIN_POLL_MS)))
    }
  }
  await until(drainMs)
  if (!isQuiet()) {
    rooms.executions.endAll('term')
    await until(TERM_TO_KILL_MS)
    rooms.executions.endAll('kill')
    await until(TERM_TO_KILL_MS)
  }
  peers.endAll()
}

/**
 * Starts the daemon of this process.
 * @throws SassError with one sentence and a remedy for whatever keeps it from starting
 */
export async function startDaemon(config: Config, writeLog: (line: string) => void): Promise<RunningDaemon> {
  keepSmall()
  const clock = createClock()
  const log = createLog(config.log.format, config.log.level, clock, writeLog)
  await makeDirectory(config.state_directory, 'state_directory')
  await makeDirectory(config.security.workspace_root, 'security.workspace_root')
  await claimAdminSocket(config.listen.admin_socket)
  const certificate = await ensureCertificate(config.tls.key, config.tls.certificate, {
    commonName: 'sass-edge',
  })
  const seed = ensureKeyFile(join(config.state_directory, 'audit'))
  const spareTime = createSpareTime()
  const audit = openJournal(config.audit.directory, seed, clock.wallMs, createFileLock(), spareTime.later)
  const launcherSource = typeof LAUNCHER_SOURCE === 'string' ? LAUNCHER_SOURCE : undefined
  const spawner = await createSpawner({ launcherSource })
  const rooms = createRooms(config, clock, log, audit, spawner, spareTime)
  const peers = createPeers(rooms, allowedBy(config))

  const tls = createTlsAdapter({
    address: config.listen.address,
    port: config.listen.port,
    keyPem: certificate.keyPem,
    certificatePem: certificate.certificatePem,
    clientCaPem: config.tls.client_ca === null ? undefined : readClientCa(config.tls.client_ca),
    groups: config.tls.groups,
  })
  const admin = createAdminSocket(config.listen.admin_socket, createPeerUser())
  const adapters: readonly TransportAdapter[] = [tls, admin]
  const { fingerprint } = certificate

  audit.append({
    type: 'daemon',
    what: 'started',
    version: rooms.settings.version,
    policy: rooms.settings.policyVersion,
    fingerprint,
  })
  const addresses: string[] = []
  try {
    for (const adapter of adapters) addresses.push(await adapter.listen(peers))
  } catch (cause) {
    for (const adapter of adapters) await adapter.close()
    await spawner.close()
    audit.append({ type: 'daemon', what: 'not_listening' })
    audit.close()
    throw cause
  }
  writeRunning(config.state_directory, tls.port)
  const trimmer = createTrimmer()
  const ticker = setInterval(() => {
    const now = clock.monotonicMs()
    trimmer.tick(rooms.executions.running === 0 && !peers.openStreams, now)
    peers.tick()
    rooms.sessions.tick(now)
    const refused = rooms.refusals.tick(now)
    if (refused !== undefined) record(audit, log, refused)
    rooms.executions.forgetOld(clock.wallMs())
    audit.sync()
  }, TICK_MS)
  ticker.unref()
  log.write('info', 'listening', {
    address: addresses[0] ?? '',
    admin_socket: addresses[1] ?? '',
    fingerprint,
  })

  let stopping: Promise<void> | undefined
  async function shutDown(): Promise<void> {
    log.write('info', 'stopping', { running: rooms.executions.running })
    await drain(adapters, peers, rooms, config.execution.drain_seconds * 1_000)
    clearInterval(ticker)
    await spawner.close()
    spareTime.spend()
    const refused = rooms.refusals.rest()
    if (refused !== undefined) record(audit, log, refused)
    removeRunning(config.state_directory)
    record(audit, log, { type: 'daemon', what: 'stopped' })
    audit.close()
    log.write('info', 'stopped')
  }

  return {
    address: addresses[0] ?? '',
    port: tls.port,
    adminSocket: config.listen.admin_socket,
    fingerprint,
    stop() {
      stopping ??= shutDown()
      return stopping
    },
  }
}
