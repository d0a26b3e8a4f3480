/**
 * A stage for the rooms behind a connection: clock, spawner, transport and audit are ports that a test drives by
 * hand; everything between them is real, and so is the protocol engine of the client at the other end.
 * @module
 */
import { createBufferPool } from '../../src/base/buffer-pool.ts'
import { publicKeyOf, signWith, verifyWith } from '../../src/base/crypto/ed25519.node.ts'
import { sha256 } from '../../src/base/crypto/hash.ts'
import type { CborValue } from '../../src/base/encoding/cbor.ts'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import { encodeUtf8 } from '../../src/base/encoding/utf8.ts'
import { createRing } from '../../src/base/ring.ts'
import { createMatcher } from '../../src/defense/13policy/rules/matcher.ts'
import type { Rule } from '../../src/defense/13policy/rules/rule.ts'
import { readRules } from '../../src/defense/13policy/rules/rules-file.ts'
import { effectiveCommands } from '../../src/defense/13policy/unwrap.ts'
import type { CapabilitySet } from '../../src/defense/capability.ts'
import { createDeceptionBudget, type DeceptionLimits } from '../../src/defense/deception/budget.ts'
import { createFigures } from '../../src/defense/deception/figures.ts'
import type { Policy } from '../../src/defense/layer.ts'
import { createPenalties, PENALTY_SECONDS, type PenaltySettings } from '../../src/defense/penalties.ts'
import { createZstdDecoder } from '../../src/edge/host/zstd-decoder.node.ts'
import { loadLaw } from '../../src/edge/intent/constitution.node.ts'
import { SassError } from '../../src/errors.ts'
import {
  CHALLENGE_EKM_BYTES,
  CHALLENGE_LABEL,
  CHANNEL_BINDING_BYTES,
  CHANNEL_BINDING_LABEL,
  FRAME_BYTES,
  OUTPUT_BUFFERS,
  UNAUTHENTICATED_CONNECTIONS,
} from '../../src/limits.ts'
import type {
  AuditEvent,
  AuditSink,
  Child,
  ChildEvents,
  Clock,
  CopyStore,
  FactsSink,
  FileWork,
  LineFile,
  Log,
  OutputCoders,
  Random,
  SessionView,
  Spawner,
  SpawnPlan,
  Transport,
  TransportEvents,
  ZstdDecoder,
} from '../../src/ports.ts'
import type { BranchWork } from '../../src/sandbox/branch/threads/branch-work.ts'
import type { ProgramFinder } from '../../src/sandbox/places/found-program.ts'
import type { Place, Places } from '../../src/sandbox/places/place.ts'
import { createBranches } from '../../src/session/branches/branch-room.ts'
import { createChallengeRates } from '../../src/session/callers/challenges.ts'
import { createDelegations } from '../../src/session/callers/delegations.ts'
import { type BookStore, createEnrolments, EMPTY_BOOK } from '../../src/session/callers/enrolments.ts'
import { type Caller, createIdentities } from '../../src/session/callers/identities.ts'
import { createSessions, type SessionChange } from '../../src/session/callers/sessions.ts'
import { sessionOver } from '../../src/session/common/handed-on.ts'
import type { HostReadings } from '../../src/session/common/host-readings.ts'
import { capabilityOf, type ReloadResult, type Rooms, slotsOf } from '../../src/session/common/rooms.ts'
import { createPeers, type Peers } from '../../src/session/connection/peers.ts'
import { createLevelSteps } from '../../src/session/decisions/level-steps.ts'
import type { Execution } from '../../src/session/executions/execution.ts'
import { createExecutions } from '../../src/session/executions/executions.ts'
import { createKeptResults } from '../../src/session/executions/kept-results.ts'
import { createQueue } from '../../src/session/executions/queue.ts'
import { createTransfers } from '../../src/session/executions/transfers.ts'
import { createAnomalies } from '../../src/session/standing/anomalies.ts'
import { createConfirmations } from '../../src/session/standing/confirmations.ts'
import { createCounts } from '../../src/session/standing/counts.ts'
import { createExplanations } from '../../src/session/standing/explanations.ts'
import { createHandoffs } from '../../src/session/standing/handoffs.ts'
import { createLevels, type KeptLevels, type LevelStep } from '../../src/session/standing/levels.ts'
import { createProposals } from '../../src/session/standing/proposals.ts'
import { createRecordShares } from '../../src/session/standing/record-shares.ts'
import { createRefusals } from '../../src/session/standing/refusals.ts'
import { createTarpits } from '../../src/session/standing/tarpits.ts'
import { createTraffic } from '../../src/session/standing/traffic.ts'
import { authSigningInput } from '../../src/wire/auth-input.ts'
import { answerChallenge, type Challenge } from '../../src/wire/challenge.ts'
import { type Connection, type ConnectionEvent, createConnection } from '../../src/wire/connection.ts'
import { type AuthResponse, authRequest, challengeAnswer, executeRequest } from '../../src/wire/messages.ts'
import { type MethodName, methodNamed } from '../../src/wire/methods.ts'
import type { LooseRule } from '../defense/13policy/staged-effective.ts'
import { openUnscreened, UNSCREENED } from './unscreened.ts'

/** A process that is as any other. */
const HOST: HostReadings = {
  runtime: 'node 26.10.0',
  startedAtMs: 1_800_000_000_000,
  rssBytes: 50_000_000,
  anonymousBytes: 20_000_000,
  virtualBytes: undefined,
  cpuSeconds: 1.5,
  openFiles: 30,
  maxFiles: 1_024,
  connections: {},
  audit: { unwritten: 0, failed: 0, syncMs: 2 },
  freeBytes: 1_000_000_000,
  certificate: { fromMs: 0, untilMs: 4_000_000_000_000 },
  clockStepMs: 0,
  log: { written: { debug: 0, info: 0, warn: 0, error: 0 }, suppressed: 0, missed: 0 },
}

export const CAPABILITY: CapabilitySet = {
  allowed_commands: ['*'],
  denied_commands: ['rm'],
  allowed_paths: ['/srv/work'],
  denied_paths: [],
  max_concurrent: 2,
  timeout_seconds: null,
  max_file_size_bytes: 0,
  allowed_env: [],
  output_bytes: null,
}

export type StagedClock = Clock & { pass(ms: number): void; readonly timers: number }

/** Time that passes when it is told to; timers run in their order, each at its own moment. */
export type StagedLineFile = LineFile & {
  /** What is in it, places and all. */
  lines: string[]
  /** While set, nothing can be written. */
  isFull: boolean
}

/** A line stands at its number; `lines` given: what an earlier daemon has left. */
export function stageLineFile(lines: readonly string[] = []): StagedLineFile {
  const full = () => new SassError('STATE_UNWRITABLE', 'The disk is full, so nothing was done.')
  const file: StagedLineFile = {
    lines: [...lines],
    isFull: false,
    read(take) {
      for (const [at, line] of file.lines.entries()) take(line, { at, bytes: line.length })
      return 0
    },
    append(line) {
      if (file.isFull) throw full()
      return { at: file.lines.push(line) - 1, bytes: line.length }
    },
    line: ({ at }) => file.lines[at] ?? '',
    get sizeBytes() {
      return file.lines.reduce((sum, line) => sum + line.length, 0)
    },
    keepOnly(places) {
      if (file.isFull) throw full()
      const wanted = [...places()].sort((a, b) => a.at - b.at)
      file.lines = wanted.map(({ at }) => file.lines[at] ?? '')
      for (const [at, place] of wanted.entries()) place.at = at
    },
    keepOnlySoon: (places) => file.keepOnly(places),
  }
  return file
}

/** The names of what is kept, and of what was erased; nothing is read or written, which is for the real one. */
export function stageCopies(...names: string[]): CopyStore & { names: string[]; readonly erased: string[] } {
  const none = () => {
    throw new TypeError('Nothing is copied here.')
  }
  const erased: string[] = []
  const copies = {
    ...{ names, erased, create: none, open: none },
    remove(gone: readonly string[], erases: boolean) {
      copies.names = copies.names.filter((name) => !gone.includes(name))
      if (erases) erased.push(...gone)
    },
    keepOnly(isWanted: (name: string) => boolean) {
      copies.names = copies.names.filter(isWanted)
    },
  }
  return copies
}

export function stageClock(): StagedClock {
  let now = 1_000
  let timers: { at: number; callback: () => void }[] = []
  return {
    monotonicMs: () => now,
    wallMs: () => 1_800_000_000_000 + now,
    after(ms, callback) {
      const timer = { at: now + ms, callback }
      timers.push(timer)
      return () => {
        timers = timers.filter((other) => other !== timer)
      }
    },
    pass(ms) {
      const until = now + ms
      for (;;) {
        const next = timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0]
        if (next === undefined) break
        timers = timers.filter((other) => other !== next)
        now = Math.max(now, next.at)
        next.callback()
      }
      now = until
    },
    get timers() {
      return timers.length
    },
  }
}

export type StagedChild = {
  readonly plan: SpawnPlan
  readonly events: ChildEvents
  /** What was done to it, in order: `signal 15`, `killTree`, `pause 0`, `stdin 5`, `endStdin`... */
  readonly deeds: string[]
  takesStdin: boolean
}

export type StagedSpawner = Spawner & { readonly children: StagedChild[]; refusal: Error | undefined }

/** Starts nothing: the test says what the children do. */
export function stageSpawner(): StagedSpawner {
  const children: StagedChild[] = []
  const spawner: StagedSpawner = {
    children,
    refusal: undefined,
    spawn(plan, events) {
      if (spawner.refusal !== undefined) throw spawner.refusal
      const staged: StagedChild = { plan, events, deeds: [], takesStdin: true }
      children.push(staged)
      const child: Child = {
        writeStdin(bytes) {
          staged.deeds.push(`stdin ${bytes.length}`)
          return staged.takesStdin
        },
        endStdin: () => staged.deeds.push('endStdin'),
        pause: (source) => staged.deeds.push(`pause ${source}`),
        resume: (source) => staged.deeds.push(`resume ${source}`),
        resize: (rows, columns) => staged.deeds.push(`resize ${rows}x${columns}`),
        signal(number) {
          staged.deeds.push(`signal ${number}`)
          return true
        },
        killTree: () => staged.deeds.push('killTree'),
      }
      return child
    },
  }
  return spawner
}

export type StagedTransport = Transport & {
  /** What the daemon wrote, each with what tells it that the bytes were taken, where they have not been yet. */
  readonly writes: { readonly bytes: Uint8Array; readonly taken: (() => void) | undefined }[]
  /** `end`, `reset`, `pause`, `resume`, in order. */
  readonly deeds: string[]
  /** Where each write goes as well; by default nowhere. */
  onWrite: (bytes: Uint8Array) => void
  /** Calls `taken` at once, as a fast network does. */
  takesAtOnce: boolean
  waitingBytes: number
}

export const BINDING = new Uint8Array(CHANNEL_BINDING_BYTES).fill(7)

/** What a TLS connection exports: the same for the same question, and nothing that another connection has. */
export function exporterOf(connection: string): Transport['exportKeyingMaterial'] {
  return (bytes, label, context) => {
    if (label === CHANNEL_BINDING_LABEL) return BINDING
    const half = (which: number) =>
      sha256(encodeUtf8(`${connection} ${which} ${label} ${encodeHex(context)}`))
    return Uint8Array.of(...half(1), ...half(2)).slice(0, bytes)
  }
}

/** A connection over the admin socket, by root. */
export const ADMIN = {
  kind: 'admin',
  remoteAddress: 'local',
  agreement: { version: '', suite: '', alpn: '' },
  exportKeyingMaterial: () => undefined,
  peerUserId: 0,
} as const

export function stageTransport(change: Partial<Transport> = {}): StagedTransport {
  const transport: StagedTransport = {
    kind: 'tls',
    remoteAddress: '192.0.2.1',
    agreement: { version: 'TLSv1.3', suite: 'TLS_AES_256_GCM_SHA384', alpn: 'x-sakirpc-v5' },
    exportKeyingMaterial: exporterOf('one'),
    peerUserId: undefined,
    waitingBytes: 0,
    takesAtOnce: true,
    writes: [],
    deeds: [],
    onWrite: () => {},
    write(bytes, taken) {
      transport.writes.push({ bytes, taken: transport.takesAtOnce ? undefined : taken })
      transport.onWrite(bytes)
      if (transport.takesAtOnce) taken?.()
    },
    pauseReading: () => transport.deeds.push('pause'),
    resumeReading: () => transport.deeds.push('resume'),
    end: () => transport.deeds.push('end'),
    reset: () => transport.deeds.push('reset'),
    ...change,
  }
  return transport
}

/** One stream of bytes as even as a generator's, and the same in every run. */
export function stageRandom(): Random {
  let state = 1
  const next = () => {
    // mulberry32.
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) & 0xff
  }
  return { bytes: (count) => new Uint8Array(count).map(next) }
}

export type StagedAudit = AuditSink & { readonly events: AuditEvent[]; failure: Error | undefined }

export function stageAudit(): StagedAudit {
  const audit: StagedAudit = {
    events: [],
    failure: undefined,
    append(event) {
      if (audit.failure !== undefined) throw audit.failure
      audit.events.push(event)
    },
    get head() {
      return { sequence: audit.events.length, hash: new Uint8Array(32) }
    },
    publicKey: new Uint8Array(32),
    keyFingerprint: 'sha256:x',
    genesisKey: () => undefined,
    epoch: 0,
  }
  return audit
}

/** Whose facts were sealed; nothing of them is kept, as in the daemon. */
export type StagedFacts = FactsSink & { readonly sealed: (string | undefined)[] }

export function stageFacts(): StagedFacts {
  const sealed: (string | undefined)[] = []
  return {
    sealed,
    sealedBytes: 0,
    seal(session) {
      sealed.push(session)
      return 'fa'.repeat(32)
    },
    purge(session) {
      const before = sealed.length
      for (let at = sealed.length - 1; at >= 0; at--) if (sealed[at] === session) sealed.splice(at, 1)
      return before - sealed.length
    },
  }
}

/** A Zstandard frame of nothing. */
const EMPTY_FRAME = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0)

/** Once every payload that was sent until now has been opened, and what was in it gone on with. */
export async function unpacked({ rooms }: Stage): Promise<void> {
  // One at a time of a connection: behind the one that was opened may be another.
  for (let before = -1; before !== decodes; ) {
    before = decodes + 1
    await rooms.decoder.decode(EMPTY_FRAME, 0)
    await new Promise((done) => setImmediate(done))
  }
}

/** Frames that were given to the decoders of all stages. */
let decodes = 0

function countedDecoder(): ZstdDecoder {
  const { decode } = createZstdDecoder()
  return {
    decode(frame, plainBytes) {
      decodes++
      return decode(frame, plainBytes)
    },
  }
}

export type StageOptions = {
  readonly coders?: OutputCoders
  readonly decoder?: ZstdDecoder
  readonly branchWork?: BranchWork
  readonly places?: Places
  readonly capability?: Partial<CapabilitySet>
  readonly settings?: Partial<Rooms['settings']>
  readonly maxSessions?: number
  readonly maxDurationMs?: number
  readonly bindAddress?: boolean
  readonly executions?: number
  /** The file of their ids and results: that of another stage is what an earlier daemon has left. */
  readonly kept?: StagedLineFile
  /** The file of handoffs. */
  readonly sent?: StagedLineFile
  readonly ringBytes?: number
  readonly tarpits?: number
  readonly allowShell?: boolean
  readonly isAllowed?: (address: string) => boolean
  readonly isExempt?: (address: string) => boolean
  /** Rules as a file has them; the texts that no test asks about may be left out. */
  readonly rules?: readonly StagedRule[]
  readonly security?: Partial<Policy['security']>
  readonly quota?: Partial<Policy['quota']>
  readonly earlyDrop?: Partial<Policy['earlyDrop']>
  readonly deceives?: boolean
  readonly deceptions?: Partial<DeceptionLimits>
  /** False: the device cannot confine the reads of strangers. */
  readonly confines?: boolean
  readonly penalties?: Partial<PenaltySettings>
  /** Places of the queue. */
  readonly queue?: number
  readonly levels?: KeptLevels
  readonly automatic?: boolean
  readonly finder?: Partial<ProgramFinder>
  readonly random?: Random
  /** Changes and additions to the list of callers, by name. */
  readonly agents?: Readonly<Record<string, StagedAgent>>
  /** False: nothing is loaded yet that judges commands, until `stage.load()`. */
  readonly isReady?: boolean
  readonly reload?: () => Promise<ReloadResult>
  readonly drain?: (by: string) => string
  /** The host's work on files; by default there is no branch to do it in. */
  readonly files?: Partial<FileWork>
  readonly view?: SessionView
}

const unstaged = () => Promise.reject(new Error('this work on files is not staged'))
const NO_FILES: FileWork = {
  look: (_view, path) => ({ real: path, kind: 'missing', size: 0 }),
  receive: unstaged,
  read: unstaged,
  makeDirectory: unstaged,
  makeLink: unstaged,
}

/** A book of enrolments that no disk keeps. */
export function memoryBook(book = EMPTY_BOOK): BookStore {
  return {
    load: () => book,
    update(change) {
      book = change(book) ?? book
      return book
    },
  }
}

export type StagedAgent = Partial<Parameters<typeof createIdentities>[0][number]> & { readonly seed?: number }
export type StagedRule = Pick<Rule, 'action' | 'severity'> & LooseRule

/** A program whose name is not what it seems: refused by every layer's first look, and counted as one violation. */
export const HOSTILE = 'rm\u200b'

/** The policy of a configuration with that, made as the daemon makes it. */
export function stagePolicy(options: StageOptions = {}): Policy {
  const listed = (options.rules ?? []).map((rule, index) => ({
    id: `staged.rule-${index}`,
    description: 'A staged rule.',
    why: 'It is staged.',
    examples: { match: ['a'], pass: ['b'] },
    ...rule,
  }))
  const read = readRules(JSON.stringify({ sets: {}, rules: listed }), 'staged')
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  const home = '/home/u'
  return {
    capabilities: { default: { ...CAPABILITY, ...options.capability } },
    security: {
      allowShell: options.allowShell ?? true,
      allowedCommands: ['*'],
      blockedCommands: [],
      confirmsUnlisted: false,
      sensitiveFiles: 'ask',
      toxicCombinations: 'ask',
      toxicRegistry: [
        ['untrusted', 'secret', 'outward'],
        ['untrusted', 'secret', 'change'],
      ],
      opaque: 'allow',
      knownPrograms: [],
      pins: {},
      pinnedOnly: false,
      ...options.security,
    },
    rules: createMatcher(read.rules, home),
    rulesDigest: '00'.repeat(32),
    home,
    ownPaths: { paths: ['/var/lib/edge'], except: [] },
    quota: {
      ticksPerTask: null,
      tokensPerSession: null,
      sessionsPerCaller: Number.POSITIVE_INFINITY,
      ...options.quota,
    },
    earlyDrop: {
      start: UNAUTHENTICATED_CONNECTIONS,
      ratePercent: 30,
      full: UNAUTHENTICATED_CONNECTIONS + 1,
      ...options.earlyDrop,
    },
    deceives: options.deceives ?? true,
    effective({ argv, environment, cwd, terminal, stdin, executable }) {
      const whole = environment.length === 0 ? argv : ['env', ...environment, ...argv]
      const resolved = environment.length === 0 ? executable?.path : undefined
      return effectiveCommands(whole, { cwd, home, resolved, terminal, stdin })
    },
  }
}

export const seedOf = (number: number): Uint8Array => new Uint8Array(32).fill(number)

export type Stage = {
  readonly rooms: Rooms
  readonly peers: Peers
  readonly clock: StagedClock
  readonly spawner: StagedSpawner
  readonly audit: StagedAudit
  readonly logged: { level: string; event: string; fields: Readonly<Record<string, unknown>> }[]
  readonly changes: SessionChange[]
  readonly endedExecutions: Execution[]
  /** What runs the reads of strangers. */
  readonly confined: StagedSpawner
  readonly steps: LevelStep[]
  /** What the steps leave in the chain. */
  readonly levelRecords: AuditEvent[]
  /** Lets what judges commands be loaded, or fail. */
  load(failure?: Error): void
}

/** Agents `bot` (seed 1) and `other` (seed 2), operator `boss` (seed 3), and who is named in `options.agents`. */
/** Every session is where the daemon is: what runs is staged itself. */
function stagePlaces(finder: () => ProgramFinder): Places {
  const place: Place = {
    branch: '',
    level: 'none',
    confinement: { digest: '00'.repeat(16), weak: ['real_files'] },
    namespaces: undefined,
    user: undefined,
    terms: { runAs: null, network: 'default', egress: null },
    group: undefined,
    rootDescriptor: -1,
    writable: [],
    get finder() {
      return finder()
    },
  }
  /** Of those who have other terms. */
  const own = new Map<string, Place>()
  return {
    prepare: () => {},
    find: (session) => own.get(session) ?? place,
    open(terms) {
      const opened = { ...place, terms }
      own.set(terms.session, opened)
      return Promise.resolve(opened)
    },
    close: () => Promise.resolve(),
    without: (_branch, work) => work(),
    has: () => false,
    processesIn: () => 0,
    sessionsIn: () => [],
    useOf: () => 'none',
    closeAll: () => Promise.resolve(),
  }
}

/** There are none, and none can be made. */
const NO_BRANCHES: BranchWork = {
  list: () => [],
  find: () => undefined,
  isEmpty: () => true,
  mergedAtMs: () => undefined,
  resume: async () => [],
  review: () => Promise.reject(new Error('not staged')),
  merge: () => Promise.reject(new Error('not staged')),
  undo: () => Promise.reject(new Error('not staged')),
  checkpoint: () => Promise.reject(new Error('not staged')),
  checkpoints: async () => [],
  restore: () => Promise.reject(new Error('not staged')),
  removeCheckpoint: () => Promise.reject(new Error('not staged')),
  drop: () => Promise.reject(new Error('not staged')),
  erase: async () => {},
  forget: async () => {},
  sweep: () => {},
}

export function stageRooms(options: StageOptions = {}): Stage {
  const clock = stageClock()
  const spawner = stageSpawner()
  const audit = stageAudit()
  const confined = stageSpawner()
  const random = options.random ?? stageRandom()
  const steps: LevelStep[] = []
  const levelRecords: AuditEvent[] = []
  const logged: Stage['logged'] = []
  const changes: SessionChange[] = []
  const endedExecutions: Execution[] = []
  const log: Log = { write: (level, event, fields = {}) => logged.push({ level, event, fields }) }
  const ringBytes = options.ringBytes ?? 1_048_576
  const agent = (name: string, { seed = 1, ...change }: StagedAgent) => ({
    name,
    public_key: Buffer.from(publicKeyOf(seedOf(seed))).toString('base64url'),
    role: 'agent' as const,
    capability: 'default',
    tier: 'T3' as const,
    tools: ['*'],
    delegated_by: null,
    ...change,
  })
  const agents: Record<string, StagedAgent> = {
    bot: { seed: 1, ...options.agents?.['bot'] },
    other: { seed: 2, ...options.agents?.['other'] },
    boss: { seed: 3, role: 'operator', ...options.agents?.['boss'] },
  }
  const policy = stagePolicy(options)
  let loaded = () => {}
  let failed: (cause: Error) => void = () => {}
  const preparing = new Promise<void>((resolve, reject) => {
    loaded = resolve
    failed = reject
  })
  preparing.catch(() => {})
  // Steps are told by themselves: what is in the audit and the log is about requests.
  const levelSteps = createLevelSteps({
    incident: undefined,
    record: (event) => levelRecords.push(event),
    save: () => {},
    rooms: () => ({ ...rooms, log: { write: () => {} } }),
  })
  const sessions = createSessions(
    {
      maxSessions: options.maxSessions ?? 10,
      maxDurationMs: options.maxDurationMs ?? 3_600_000,
      bindAddress: options.bindAddress ?? true,
    },
    (change) => {
      changes.push(change)
      if (change.to !== 'DESTROYED') return
      executions.sessionEnded(change.session.id)
      sessionOver(rooms, change.session.id, change.session.instance)
    },
  )
  const kept = options.kept ?? stageLineFile()
  const executions = createExecutions({
    spawner,
    clock,
    results: createKeptResults({ file: kept, clock, lost: () => {}, damaged: () => {} }),
    output: UNSCREENED,
    rings: Array.from({ length: options.executions ?? 4 }, () => ({
      stdout: createRing(new Uint8Array(ringBytes)),
      stderr: createRing(new Uint8Array(ringBytes)),
    })),
    freed: () => rooms.queue.pump(),
    ended(execution) {
      endedExecutions.push(execution)
      sessions.executionEnded(execution.sessionId, clock.monotonicMs())
    },
  })
  const places = options.places ?? stagePlaces(() => rooms.planner.finder)
  const enrolments = createEnrolments(memoryBook(), clock, random)
  const rooms: Rooms = {
    settings: {
      version: '0.0.0',
      os: 'Linux test',
      startedAtMs: 0,
      keepaliveMs: 60_000,
      isMetered: false,
      viHoldMs: 3_600_000,
      challengeTtlMs: 60_000,
      confirmTimeoutMs: 60_000,
      confirmPending: 3,
      outputBytes: null,
      toolTimeoutSeconds: null,
      isAllowed: options.isAllowed ?? (() => true),
      isExempt: options.isExempt ?? (() => false),
      denyResponse: 'vi_swap',
      ringBytes,
      policyVersion: 'p',
      egress: { list: [], unlisted: 'ask', refusesInternal: true, reachable: [] },
      adminUserIds: [0, 1000],
      isBranched: true,
      network: 'gate',
      ...options.settings,
    },
    clock,
    random,
    log,
    audit,
    facts: stageFacts(),
    recordShares: createRecordShares(null),
    refusals: createRefusals(0),
    policy,
    identities: createIdentities(
      Object.entries({ ...options.agents, ...agents }).map(([name, change]) => agent(name, change)),
      enrolments,
    ),
    enrolments,
    delegations: createDelegations(clock, random),
    verify: verifyWith,
    roomToClear() {},
    egress: {
      destinations: () => [],
      hasTalked: () => false,
      refused: () => [],
      nameOf: () => undefined,
      readings: () => ({
        ...{ sessions: 0, connections: 0, asked: 0, passed: 0, refused: 0, failed: 0 },
        ...{ sentBytes: 0, receivedBytes: 0, lately: [] },
      }),
      relist() {},
    },
    sessions,
    executions,
    firewall: {
      ...{ open: openUnscreened, asksAboutFiles: false, flagPermille: 700 },
      assess: () => ({ permille: 0, patterns: [], techniques: [] }),
      ...{ prepare: () => {}, forget: () => {} },
    },
    places,
    branches: createBranches({
      branches: options.branchWork ?? NO_BRANCHES,
      bounds: { stopped: () => undefined, recheck: () => Promise.resolve() },
      ...{ places, clock, random, log },
      rooms: () => rooms,
      record: (event) => audit.append(event),
    }),
    tarpits: createTarpits(
      {
        mode: 'drip',
        dailyBytes: null,
        chunkBytes: 64,
        totalBytes: 640,
        delayMs: 500,
        concurrent: options.tarpits ?? 32,
        sendTimeoutMs: 3_000,
      },
      clock,
      random,
    ),
    buffers: createBufferPool(new Uint8Array(OUTPUT_BUFFERS * FRAME_BYTES), FRAME_BYTES),
    traffic: createTraffic(clock),
    anomalies: createAnomalies({
      settings: { isEnabled: true, sigma: 3, consecutive: 3, driftPermille: 300, windowTokens: 200_000 },
      ...{ kept: [], clock, log: { write: () => {} }, record: () => {}, rooms: () => rooms },
    }),
    coders: options.coders ?? { open: () => undefined },
    decoder: options.decoder ?? countedDecoder(),
    planner: {
      finder: {
        find: (program) => ({
          path: `/bin/${program}`,
          realPath: `/bin/${program}`,
          device: '1',
          inode: '2',
        }),
        realDirectory: (path) => path,
        realPath: (path) => path,
        pin: () => undefined,
        ...options.finder,
      },
      workspaceRoot: '/srv/work',
      base: { home: '/', user: 'u' },
    },
    queue: createQueue(options.queue ?? 64, (caller) => {
      const set = capabilityOf(rooms, rooms.identities.find(caller)?.capability ?? '')
      return rooms.executions.free > 0 && slotsOf(rooms, caller) < (set?.max_concurrent ?? 0)
    }),
    confirmations: createConfirmations(clock, random, sha256, () => ({
      timeoutMs: rooms.settings.confirmTimeoutMs,
      pendingPerSession: rooms.settings.confirmPending,
    })),
    levels: createLevels(
      options.levels ?? { entries: [] },
      clock.wallMs,
      (step) => {
        steps.push(step)
        levelSteps.took(step)
      },
      options.automatic ?? true,
    ),
    challengeRates: createChallengeRates(clock.monotonicMs()),
    penalties: createPenalties({
      enabled: true,
      exempt: options.isExempt ?? (() => false),
      minSeconds: 15,
      maxSeconds: 600,
      maxSources: 64,
      perReasonSeconds: PENALTY_SECONDS,
      ...options.penalties,
    }),
    explanations: createExplanations(() => rooms.policy, clock.wallMs),
    intent: undefined,
    handoffs: createHandoffs({
      ...{ file: options.sent ?? stageLineFile(), copies: stageCopies(), clock },
      damaged: () => {},
    }),
    proposals: createProposals(loadLaw),
    readText: { hide: (text) => ({ text, hidden: 0 }), assess: () => 0 },
    deceptions: createDeceptionBudget({
      concurrent: 2,
      milliseconds: 10_000,
      bytes: 65_536,
      ...options.deceptions,
    }),
    figures: createFigures(random.bytes),
    confined: async () => ((options.confines ?? true) ? confined : undefined),
    closeConfined: async () => {},
    isReady: options.isReady ?? true,
    async prepare() {
      await preparing
      rooms.isReady = true
    },
    drain: options.drain ?? ((by) => `${by} ends it.`),
    reload: options.reload ?? (async () => ({ ok: true, policyVersion: 'q', needsRestart: [] })),
    acknowledge: levelSteps.acknowledge,
    incident: () => levelSteps.incident,
    viHolds: new Map(),
    screens: new Map(),
    responses: new Map(),
    counts: createCounts(clock.wallMs()),
    host: () => ({ ...HOST, connections: peers.phases() }),
    openWarrant: undefined,
    cycles: { next: 1 },
    transfers: createTransfers(),
    files: { ...NO_FILES, ...options.files },
    viewOf: async () => {
      if (options.view !== undefined) return options.view
      throw new SassError('SANDBOX_UNAVAILABLE', 'This device has no branch to move files in.')
    },
  }
  const peers: Peers = createPeers(
    rooms,
    (address) => rooms.settings.isAllowed(address),
    (address) => rooms.settings.isExempt(address),
  )
  const load = (failure?: Error) => (failure === undefined ? loaded() : failed(failure))
  return {
    ...{ rooms, peers, clock, spawner, audit, logged, changes, endedExecutions, confined },
    ...{ steps, levelRecords, load },
  }
}

export type Client = {
  readonly transport: StagedTransport
  readonly events: TransportEvents
  readonly connection: Connection
  /** What came from the daemon, frame by frame. */
  readonly heard: ConnectionEvent[]
  open(method: MethodName, request: CborValue, more?: boolean): number
  /** Everything that came on that stream, in a form that is easy to compare. */
  on(stream: number): Heard[]
}

export type Heard = {
  readonly kind: string
  readonly code?: number
  readonly text?: string
  readonly details?: ReadonlyMap<number, number> | undefined
  readonly value?: Readonly<Record<string, unknown>>
}

/** One connection with a real protocol engine at its other end; not authenticated. */
export function connect(stage: Stage, change: Partial<Transport> = {}): Client {
  const transport = stageTransport(change)
  const admission = stage.peers.admit(transport.kind, transport.remoteAddress, () => transport.reset())
  if (admission === undefined) throw new Error('not admitted')
  const events = admission.connected(transport)
  const heard: ConnectionEvent[] = []
  const copies: Heard[][] = []
  const connection = createConnection(
    'client',
    (frame) => events.data(frame.slice()),
    (event) => {
      heard.push(event)
      if (!('stream' in event) || typeof event.stream === 'number') return
      const list = copies[event.stream.id] ?? []
      copies[event.stream.id] = list
      if (event.kind === 'status') {
        const { code, text, details } = event.status
        list.push({ kind: 'status', code, text, details })
      } else if ((event.kind === 'message' || event.kind === 'ended') && event.message?.ok === true) {
        list.push({ kind: event.kind, value: owned(event.message.value) })
      } else list.push({ kind: event.kind })
    },
  )
  transport.onWrite = (bytes) => void connection.receive(bytes.slice())
  return {
    transport,
    events,
    connection,
    heard,
    open: (method, request, more = false) => connection.open(methodNamed(method), request, more),
    on: (stream) => copies[stream] ?? [],
  }
}

/** Bytes of a received message are borrowed: a copy with texts in place of byte strings that hold text. */
function owned(value: unknown): Record<string, unknown> {
  const entries = Object.entries(value as Record<string, unknown>)
  return Object.fromEntries(
    entries.map(([key, item]) => [
      key,
      item instanceof Uint8Array ? Buffer.from(item).toString('latin1') : item,
    ]),
  )
}

export type AuthChange = {
  readonly name?: string
  readonly seed?: number
  readonly keySeed?: number
  readonly binding?: Uint8Array
  readonly signedNonce?: Uint8Array
  readonly resume?: Uint8Array
  readonly window?: number
  readonly enrolment?: Uint8Array
}

/** An Authenticate request, right unless something is changed about it. */
export function authOf(change: AuthChange = {}): CborValue {
  const { name = 'bot', seed = 1, keySeed = seed, binding = BINDING, resume, window } = change
  const nonce = new Uint8Array(16).fill(9)
  return authRequest.encode({
    agent_name: name,
    public_key: publicKeyOf(seedOf(keySeed)),
    signature: signWith(seedOf(seed), authSigningInput(name, change.signedNonce ?? nonce, binding)),
    nonce,
    resume_session_id: resume,
    window,
    enrolment: change.enrolment,
  })
}

/** Connects and authenticates; the answer is there as `welcome`. */
export function enter(
  stage: Stage,
  auth: AuthChange = {},
  transport: Partial<Transport> = {},
): Client & { readonly welcome: AuthResponse; readonly sessionId: Uint8Array } {
  const client = connect(stage, transport)
  const stream = client.open('Authenticate', authOf(auth))
  const answer = client.heard.find((event) => event.kind === 'ended' && event.stream.id === stream)
  if (answer?.kind !== 'ended' || answer.message?.ok !== true) {
    throw new Error(`not let in: ${JSON.stringify(client.on(stream))} ${client.transport.deeds.join()}`)
  }
  const welcome = answer.message.value as AuthResponse
  client.connection.becomeOpen(welcome.window)
  return { ...client, welcome, sessionId: welcome.session_id.slice() }
}

/** A command on a stream of its own, with more to come on stdin where the request says so. */
export function run(
  client: Client,
  command: string,
  request: Partial<Parameters<typeof executeRequest.encode>[0]> = {},
  method: 'Execute' | 'ExecuteStream' = 'ExecuteStream',
): number {
  return client.open(method, executeRequest.encode({ command, ...request }), request.stdin ?? false)
}

/** The challenge that came on that stream; undefined: none. */
export function challengeOn(client: Client, stream: number): Challenge | undefined {
  const found = client.on(stream).findLast(({ value }) => value?.['challenge'] !== undefined)
  return found?.value?.['challenge'] as Challenge | undefined
}

export type AnswerChange = {
  readonly plaintext?: Uint8Array
  readonly hmac?: Uint8Array
  readonly id?: Uint8Array
}

/** Answers a challenge as a client of ours does, unless something is changed about it; returns the stream. */
export function meet(
  client: Client & { readonly sessionId: Uint8Array },
  challenge: Challenge | undefined,
  change: AnswerChange = {},
): number {
  if (challenge === undefined) throw new Error('there was no challenge')
  const ekm = client.transport.exportKeyingMaterial(CHALLENGE_EKM_BYTES, CHALLENGE_LABEL, client.sessionId)
  const answer = ekm === undefined ? undefined : answerChallenge(ekm, client.sessionId, challenge)
  if (answer === undefined) throw new Error('it cannot be opened')
  return client.open(
    'CognitiveChallenge',
    challengeAnswer.encode({
      decrypted_plaintext: change.plaintext ?? answer.plaintext,
      client_ekm_hmac: change.hmac ?? answer.hmac,
      challenge_id: change.id ?? challenge.challenge_id,
    }),
  )
}

export function callerNamed({ rooms }: Stage, name: string): Caller {
  const found = rooms.identities.find(name)
  if (found === undefined) throw new Error(`${name} is not listed`)
  return found
}
