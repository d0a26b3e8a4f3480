/**
 * The daemon's composition root: configuration to adapters, adapters to rooms, then listen, and at the end drain.
 * The only place where they are joined; nothing here decides.
 * @module
 */
import { realpathSync } from 'node:fs'
import type { Journal } from './audit/journal.node.ts'
import { createBufferPool } from './base/buffer-pool.ts'
import { verifyWith } from './base/crypto/ed25519.node.ts'
import { hostSha256 } from './base/crypto/sha256.node.ts'
import type { Config } from './config/config.ts'
import { createDeceptionBudget } from './defense/deception/budget.ts'
import { createFigures } from './defense/deception/figures.ts'
import { createPenalties } from './defense/penalties.ts'
import { keepSmall } from './edge/host/allocator.node.ts'
import { createClock, createRandom } from './edge/host/clock.node.ts'
import { currentUser } from './edge/host/current-user.node.ts'
import { createLog } from './edge/host/log.node.ts'
import type { LogSink } from './edge/host/log-sink.node.ts'
import { createSpareTime, type SpareTime } from './edge/host/spare-time.node.ts'
import { createOutputCoders } from './edge/host/zstd.node.ts'
import { createZstdDecoder } from './edge/host/zstd-decoder.node.ts'
import { type Intent, openIntent } from './edge/intent/intent.node.ts'
import { joinPlans } from './edge/intent/plans.node.ts'
import { createPolicyInUse, type PolicyInUse } from './edge/policy/policy-in-use.node.ts'
import { endingOnRecord, type Opened } from './edge/record/integrity.node.ts'
import { openWhole, type RecordObserver } from './edge/record/record.node.ts'
import { createStorage } from './edge/record/storage.node.ts'
import { claimAdminSocket, createAdminSocket } from './edge/sockets/admin-socket.node.ts'
import { ensureCertificate } from './edge/sockets/certificate.node.ts'
import { readClientCa } from './edge/sockets/client-ca.node.ts'
import { type MetricsServer, serveMetrics } from './edge/sockets/metrics-server.node.ts'
import { createPeerUser } from './edge/sockets/peer-user.node.ts'
import { createTlsAdapter } from './edge/sockets/tls-adapter.node.ts'
import { makeDirectory } from './edge/state/directory.node.ts'
import { createFileLock } from './edge/state/file-lock.node.ts'
import { openEnrolments } from './edge/state/identity-book.node.ts'
import { checkHalt, type LevelStore, openLevelStore } from './edge/state/level-store.node.ts'
import { openReserve, type Reserve } from './edge/state/reserve.node.ts'
import { removeRunning, writeRunning } from './edge/state/running.node.ts'
import { bringForward, checkStateFormat, STATE_FORMAT } from './edge/state/state-format.node.ts'
import { whatIsNotKept } from './edge/state/state-place.node.ts'
import { loadTraffic } from './edge/state/traffic-store.node.ts'
import { createClockTelling } from './edge/work/clock-telling.node.ts'
import { createLazyConfined } from './edge/work/confined.node.ts'
import { drain, longestDrainSeconds } from './edge/work/drain.node.ts'
import { createEgress, type Egress } from './edge/work/egress.node.ts'
import { createHostReadings } from './edge/work/host-readings.node.ts'
import {
  createReload,
  dropUnsoundKeys,
  type Reloadable,
  reloadableOf,
  warnAboutPatterns,
} from './edge/work/reload.node.ts'
import { rulesAtStart } from './edge/work/rules-change.node.ts'
import { createSandbox, type Sandbox, wakeSpawner } from './edge/work/sandbox.node.ts'
import { tarpitLimits } from './edge/work/tarpit-limits.ts'
import { startTicker } from './edge/work/ticker.node.ts'
import { createCounting, createWatch, watchTold } from './edge/work/watching.node.ts'
import { createWork, record } from './edge/work/work.node.ts'
import { CLEARING_BYTES, FRAME_BYTES, OUTPUT_BUFFERS, OUTPUT_BUFFERS_PER_CONNECTION } from './limits.ts'
import type { Clock, FactsSink, LineFile, Log, TransportAdapter } from './ports.ts'
import { branchDirectory } from './sandbox/branch/threads/branch-store.node.ts'
import { createFileWork } from './sandbox/files/file-work.node.ts'
import { createProgramFinder } from './sandbox/places/program-finder.node.ts'
import { createBranches } from './session/branches/branch-room.ts'
import { createChallengeRates } from './session/callers/challenges.ts'
import { createDelegations } from './session/callers/delegations.ts'
import { sessionOver } from './session/common/handed-on.ts'
import type { HostReadings } from './session/common/host-readings.ts'
import { metricsText } from './session/common/metrics.ts'
import { capabilityOf, type ReloadResult, type Rooms, slotsOf, tenantOf } from './session/common/rooms.ts'
import { createPeers, type Peers } from './session/connection/peers.ts'
import { createLevelSteps } from './session/decisions/level-steps.ts'
import { createQueue } from './session/executions/queue.ts'
import { createTransfers } from './session/executions/transfers.ts'
import { askMeanwhile } from './session/standing/asking-meanwhile.ts'
import { createConfirmations } from './session/standing/confirmations.ts'
import { createCounts } from './session/standing/counts.ts'
import { createExplanations } from './session/standing/explanations.ts'
import { createLevels, levelsTold } from './session/standing/levels.ts'
import { createRecordShares } from './session/standing/record-shares.ts'
import { createRefusals } from './session/standing/refusals.ts'
import { createTarpits } from './session/standing/tarpits.ts'
import { createTraffic } from './session/standing/traffic.ts'

declare const LAUNCHER_SOURCE: string | undefined

export type RunningDaemon = {
  /** `127.0.0.1:19284`, with the port that was really taken. */
  readonly address: string
  readonly port: number
  readonly adminSocket: string
  /** `sha256:<base64url>` of the device's public key: what clients pin. */
  readonly fingerprint: string
  /** Takes over what has changed in the configuration; what is wrong with it leaves everything as it was. */
  reload(): Promise<ReloadResult>
  /**
   * Takes no more work, lets running commands end, then ends them and everything else.
   * @param by who asked for it, for the record
   */
  stop(by: string): Promise<void>
  /** How long that takes at most. */
  readonly stopSeconds: number
  /** Resolves with the name of the operator who asks for it. */
  readonly askedToStop: Promise<string>
}

type Ground = {
  readonly config: Config
  readonly configPath: string | undefined
  readonly clock: Clock
  readonly log: Log
  readonly audit: Journal
  readonly observer: RecordObserver
  readonly facts: FactsSink
  readonly sandbox: Sandbox
  readonly egress: Egress
  readonly spareTime: SpareTime
  readonly levelStore: LevelStore
  readonly reserve: Reserve
  readonly kept: LineFile
  readonly sent: LineFile
  readonly launcherSource: string | undefined
  readonly sink: LogSink
  readonly host: () => HostReadings
  readonly intent: Intent | undefined
}

type Renewed = Reloadable & Pick<Rooms, 'enrolments'>

function createRooms(
  ground: Ground,
  reloadable: Renewed,
  prepare: PolicyInUse['prepare'],
  askToStop: (by: string) => void,
): Rooms {
  const { config, clock, log, audit, facts, launcherSource, levelStore, reserve, sandbox, host, sink } =
    ground
  const counts = createCounts(clock.wallMs())
  const reload = createReload(ground, () => rooms)
  const random = createRandom()
  // Enough for everybody: who does not read must not keep the others' output back.
  const outputBuffers = Math.max(OUTPUT_BUFFERS, OUTPUT_BUFFERS_PER_CONNECTION * config.session.max_sessions)
  const user = currentUser()
  const { tarpit, localhost } = config.defense

  const steps = createLevelSteps({
    incident: levelStore.state.incident,
    record: (event) => record(audit, log, event),
    save: levelStore.save,
    rooms: () => rooms,
  })

  const rooms: Rooms = {
    ...reloadable,
    clock,
    random,
    log,
    audit,
    facts,
    refusals: createRefusals(clock.monotonicMs()),
    delegations: createDelegations(clock, random),
    roomToClear: () => reserve.clear(CLEARING_BYTES),
    recordShares: createRecordShares(config.audit.keep_bytes),
    verify: verifyWith,
    ...createWork(ground, counts, {
      session: (id, instance) => sessionOver(rooms, id, instance),
      freed: () => rooms.queue.pump(),
      ask: (question, answer) =>
        askMeanwhile({ ...rooms, record: (event) => record(audit, log, event) }, question, answer),
      sealed: (agent, bytes) => rooms.recordShares.charge(agent, bytes, clock.monotonicMs()),
    }),
    transfers: createTransfers(),
    files: createFileWork(),
    intent: ground.intent?.room,
    places: sandbox.places,
    egress: ground.egress,
    branches: createBranches({
      ...{ clock, random, log, ...sandbox },
      rooms: () => rooms,
      record: (event) => record(audit, log, event),
    }),
    viewOf: (session) => sandbox.places.open(tenantOf(rooms, session)),
    tarpits: createTarpits(tarpitLimits(tarpit), clock, random),
    anomalies: createWatch(ground, () => rooms),
    buffers: createBufferPool(new Uint8Array(outputBuffers * FRAME_BYTES), FRAME_BYTES),
    coders: createOutputCoders(),
    decoder: createZstdDecoder(),
    traffic: createTraffic(clock, loadTraffic(config.state_directory)),
    planner: {
      finder: createProgramFinder(),
      workspaceRoot: realpathSync(config.security.workspace_root),
      base: { home: user.home, user: user.name },
    },
    queue: createQueue(config.quota.queue, (caller) => {
      const set = capabilityOf(rooms, rooms.identities.find(caller)?.capability ?? '')
      return rooms.executions.free > 0 && slotsOf(rooms, caller) < (set?.max_concurrent ?? 0)
    }),
    confirmations: createConfirmations(clock, random, hostSha256, () => ({
      timeoutMs: rooms.settings.confirmTimeoutMs,
      pendingPerSession: rooms.settings.confirmPending,
    })),
    levels: createLevels(levelStore.state, clock.wallMs, steps.took, config.defense.levels.automatic),
    challengeRates: createChallengeRates(clock.monotonicMs()),
    penalties: createPenalties(reloadable.penaltySettings),
    explanations: createExplanations(() => rooms.policy, clock.wallMs),
    deceptions: createDeceptionBudget({
      concurrent: localhost.max_concurrent,
      milliseconds: localhost.seconds * 1_000,
      bytes: localhost.bytes,
    }),
    figures: createFigures(random.bytes),
    ...createLazyConfined(launcherSource, () => rooms.policy.ownPaths.paths, log),
    async reload() {
      const problem = sink.reopen()
      if (problem !== undefined) log.write('error', 'log_not_reopened', { reason: problem })
      const result = await reload()
      counts.reloads[result.ok ? 'ok' : 'failed']++
      if (result.ok) counts.configuredAtMs = clock.wallMs()
      const vaultProblem = result.ok ? await ground.intent?.renew() : undefined
      if (vaultProblem === undefined) return result
      return { ok: false, problem: `The configuration was taken over, the vault was not. ${vaultProblem}` }
    },
    drain(by) {
      setImmediate(askToStop, by)
      const seconds = longestDrainSeconds(config.execution.drain_seconds)
      const { running } = rooms.executions
      return `The daemon takes nothing new${running === 0 ? '' : `, and ${running} that run may end`}: it is over within ${seconds} seconds.`
    },
    prepare,
    isReady: false,
    acknowledge: steps.acknowledge,
    incident: () => steps.incident,
    viHolds: new Map(),
    screens: new Map(),
    responses: new Map(),
    counts,
    host,
    openWarrant: undefined,
    cycles: { next: 1 },
  }
  return rooms
}

export type StartOptions = {
  /** Where the configuration came from, so that it can be read again. */
  readonly configPath?: string
  /** Hash of the record of what halted the daemon: whoever names it has looked into it. */
  readonly ackIncident?: string
  /** A listening socket that a service manager has opened for it. */
  readonly listener?: number | undefined
}

/**
 * Starts the daemon of this process.
 * @throws SassError with one sentence and a remedy for whatever keeps it from starting
 */
export async function startDaemon(
  config: Config,
  sink: LogSink,
  options: StartOptions = {},
): Promise<RunningDaemon> {
  const clock = createClock()
  // Not even the record of a failed start belongs into state that this program does not know.
  checkStateFormat(config.state_directory)
  return endingOnRecord({ config, clock }, (opened) => start(config, clock, sink, options, opened))
}

async function start(
  config: Config,
  clock: Clock,
  sink: LogSink,
  { configPath, ackIncident, listener }: StartOptions,
  opened: Opened,
): Promise<RunningDaemon> {
  keepSmall()
  const launcherSource = typeof LAUNCHER_SOURCE === 'string' ? LAUNCHER_SOURCE : undefined
  const starting = wakeSpawner(config, launcherSource)
  opened.spawner = starting.spawner
  const log = createLog(config.log.format, config.log.level, clock, sink.write)
  makeDirectory(config.state_directory, 'state_directory')
  const reserve = openReserve(config.state_directory, config.sandbox.limits.reserve_bytes)
  makeDirectory(config.security.workspace_root, 'security.workspace_root')
  const formerFormat = bringForward({ directory: config.state_directory, lock: createFileLock() })
  const levelStore = openLevelStore(config.state_directory, reserve.pieceFor(config.state_directory))
  const isAcknowledged = checkHalt(levelStore.state, ackIncident)
  const enrolments = openEnrolments(config.state_directory, clock, createRandom())
  const reloadable = await reloadableOf(config, configPath, clock.monotonicMs(), enrolments)
  await claimAdminSocket(config.listen.admin_socket)
  const certificate = await ensureCertificate(config.tls.key, config.tls.certificate, {
    commonName: 'sass-edge',
  })
  const spareTime = createSpareTime()
  const { deviceRecord, frozen } = openWhole(
    { config, clock, levelStore, reserve },
    reloadable.policy,
    isAcknowledged ? ackIncident : undefined,
  )
  opened.record = deviceRecord
  const { audit, observer, facts } = deviceRecord
  const given = { config, configPath, clock, log, launcherSource, reserve, observer }
  const egress = createEgress({
    ...{ clock, rooms: () => rooms },
    directoryOf: (branch) => branchDirectory(config.state_directory, branch),
    record: (event) => record(audit, log, event),
    ownPorts: () => [tls.port],
  })
  const sandbox = createSandbox(given, starting, () => reloadable.policy.ownPaths.paths, egress)
  const volatile = whatIsNotKept(config)
  if (volatile !== undefined) log.write('warn', 'state_not_kept', { reason: volatile })
  const host = createHostReadings({
    ...{ clock, deviceRecord, certificate: certificate.validity, log: log.counts },
    connections: () => peers.phases(),
  })
  const { executions: kept, handoffs: sent } = deviceRecord
  const intent = await openIntent({
    ...{ config, clock, log, random: createRandom() },
    record: (event) => void audit.append(event),
    note: (event) => record(audit, log, event),
    keyOf: (name) => rooms.identities.find(name)?.publicKey,
  })
  const ground = {
    ...given,
    audit,
    facts,
    sandbox,
    egress,
    spareTime,
    levelStore,
    kept,
    sent,
    host,
    sink,
    intent,
  }
  const { promise: askedToStop, resolve: askToStop } = Promise.withResolvers<string>()
  const policyInUse = createPolicyInUse(config, reloadable.policy, () => rooms)
  const rooms: Rooms = createRooms(ground, { ...reloadable, enrolments }, policyInUse.prepare, askToStop)
  const peers: Peers = createPeers(
    rooms,
    (address) => rooms.settings.isAllowed(address),
    (address) => rooms.settings.isExempt(address),
  )

  const tls = createTlsAdapter({
    address: config.listen.address,
    port: config.listen.port,
    listener,
    keyPem: certificate.keyPem,
    certificatePem: certificate.certificatePem,
    clientCaPem: config.tls.client_ca === null ? undefined : readClientCa(config.tls.client_ca),
    groups: config.tls.groups,
    meters: rooms.traffic,
  })
  const admin = createAdminSocket(config.listen.admin_socket, createPeerUser(config.listen.admin_socket))
  const adapters: readonly TransportAdapter[] = [tls, admin]
  const { fingerprint } = certificate

  audit.append({
    type: 'daemon',
    what: 'started',
    version: rooms.settings.version,
    policy: rooms.settings.policyVersion,
    frozen,
    ...rulesAtStart(config, reloadable.policy.rulesDigest, log),
    fingerprint,
    levels: levelsTold(rooms.levels.list()),
    watch: watchTold(config, rooms),
  })
  if (formerFormat !== undefined) {
    const step = { from: formerFormat, to: STATE_FORMAT }
    log.write('info', 'state_migrated', step)
    record(audit, log, { type: 'daemon', what: 'migrated', ...step })
  }
  await rooms.branches.resume()
  const plans = joinPlans(config, rooms, intent)
  const storage = createStorage({ config, deviceRecord, reserve, bounds: sandbox.bounds }, rooms)
  const addresses: string[] = []
  let metrics: MetricsServer | undefined
  try {
    for (const adapter of adapters) addresses.push(await adapter.listen(peers))
    metrics = await serveMetrics(config.metrics.listen, () => metricsText(rooms))
    await sandbox.ready
  } catch (cause) {
    metrics?.close()
    for (const adapter of adapters) await adapter.close()
    await sandbox.close()
    throw cause
  }
  writeRunning(config.state_directory, tls.port)
  if (isAcknowledged)
    rooms.levels.set('daemon', '', 'NORMAL', `Incident ${ackIncident} was acknowledged.`, 'start')
  // Own rules are read once: what holds is what was digested, whatever becomes of the file.
  if (config.policy.rules_file !== null) await rooms.prepare()
  await warnAboutPatterns(config, log)
  spareTime.later(() => void dropUnsoundKeys(config, rooms))
  const counting = createCounting(config, rooms, clock)
  const endTicker = startTicker({
    ...{ config, clock, log, audit, rooms, peers, sandbox, policyInUse },
    others: [{ tick: createClockTelling(ground, rooms) }, deviceRecord, storage, rooms.branches, counting],
  })
  plans.start()
  log.write('info', 'listening', {
    address: addresses[0] ?? '',
    admin_socket: addresses[1] ?? '',
    fingerprint,
    ...(metrics === undefined ? {} : { metrics: metrics.address }),
  })

  let stopping: Promise<void> | undefined
  async function shutDown(by: string): Promise<void> {
    const waits = { by, running: rooms.executions.running, queued: rooms.queue.size }
    log.write('info', 'stopping', waits)
    record(audit, log, { type: 'daemon', what: 'draining', ...waits })
    await drain(adapters, peers, rooms, config.execution.drain_seconds)
    endTicker()
    await intent?.close()
    rooms.executions.tick()
    metrics?.close()
    await sandbox.close()
    await egress.close()
    plans.close()
    await rooms.closeConfined()
    spareTime.spend()
    counting.save()
    const refused = rooms.refusals.rest()
    if (refused !== undefined) record(audit, log, refused)
    removeRunning(config.state_directory)
    record(audit, log, { type: 'daemon', what: 'stopped' })
    deviceRecord.close()
    reserve.close()
    log.write('info', 'stopped')
  }

  return {
    address: addresses[0] ?? '',
    port: tls.port,
    adminSocket: config.listen.admin_socket,
    fingerprint,
    reload: rooms.reload,
    stop(by) {
      stopping ??= shutDown(by)
      return stopping
    },
    stopSeconds: longestDrainSeconds(config.execution.drain_seconds),
    askedToStop,
  }
}
