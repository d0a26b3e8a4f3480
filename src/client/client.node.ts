/**
 * The client as a library: `connect` opens a TLS connection or an admin socket, checks the device's key before a
 * byte is sent, authenticates, and gives what can be asked of the device. A connection that breaks is made again, and
 * what runs goes on as if nothing had been.
 *
 *     import { connect } from 'sass-edge/client'
 *     const device = await connect({ host, agent: 'agent', privateKey, pin: 'sha256:…' })
 *     const { exitCode, stdout } = await device.execute('uname', ['-a'])
 *
 * Runs on Node 20 and later. Rules: docs/protocol.md, sections 1, 4 and 6.
 * @module
 */
import { randomInt } from 'node:crypto'
import { publicKeyOf } from '../base/crypto/ed25519.node.ts'
import { encodeHex } from '../base/encoding/hex.ts'
import { asSassError, misuse, SassError } from '../errors.ts'
import { keyRotation, type RulesTold } from '../wire/identity-messages.ts'
import * as m from '../wire/messages.ts'
import type { SecurityStatus } from '../wire/status-messages.ts'
import {
  type BranchClient,
  createBranchClient,
  type OwnChanges,
  type OwnChangesOptions,
  readOwnChanges,
  type TextSink,
} from './branch-client.ts'
import type { ExecuteRequestInput, OutputSink, UnaryResult } from './calls/call-words.ts'
import type { Caller } from './calls/caller.ts'
import { type AskAlong, type Connected, createLink, type Link, type OnLink } from './calls/link.ts'
import { createRunning, type OnGap, type StreamedExecution } from './calls/running.ts'
import { executeOnce } from './calls/unary.ts'
import type { OnWaiting } from './calls/waiting.ts'
import { type DelegatedWork, type DelegateOptions, delegateWork } from './delegate.ts'
import { createFileClient, type FileClient } from './files.node.ts'
import { createHandoffClient, type HandoffClient } from './handoff-client.ts'
import { createIdSource, idBytes, wireSignal } from './ids.node.ts'
import { createIntentClient, type IntentClient } from './intent-client.ts'
import { RECONNECT_GIVE_UP_MS } from './limits.ts'
import { type ConnectionOptions, type Opened, openConnection } from './link/connection.node.ts'
import type { Head } from './link/heads.node.ts'
import { requestWords } from './long-arguments.node.ts'
import { createOperatorClient, type OperatorClient, type Outcome } from './operator-client.ts'
import { createPlanClient, type PlanClient } from './plan-client.ts'
import { createProposalClient, type ProposalClient } from './proposal-client.ts'

export type { BranchClient, OwnChanges, OwnChangesOptions, TalkedTo, TextSink } from './branch-client.ts'
export type { OutputSink, RemoteExit, UnaryResult } from './calls/call-words.ts'
export type { LinkEvent, OnLink } from './calls/link.ts'
export type { OnGap, Source, StreamedExecution } from './calls/running.ts'
export type { OnWaiting, Waiting } from './calls/waiting.ts'
export type { DelegatedWork, DelegateOptions } from './delegate.ts'
export type {
  DownloadOptions,
  FileClient,
  OnProgress,
  ReadOptions,
  RemoteEntry,
  RemoteListing,
  RemotePiece,
  Transferred,
  UploadOptions,
} from './files.node.ts'
export type { Handoff, HandoffArtifact, HandoffClient, TakenHandoff } from './handoff-client.ts'
export type { Envelope, IntentClient, QuarantinedEnvelope, TakenEnvelope } from './intent-client.ts'
export type { ClientCertificate } from './link/client-certificate.ts'
export type { Compression } from './link/compression.node.ts'
export type { AdminTarget, TlsTarget } from './link/connection.node.ts'
export { fileHeads, type Head, type HeadStore } from './link/heads.node.ts'
export type { OperatorClient } from './operator-client.ts'
export type { PlanCallState, PlanClient, PlanResult, PlanTool } from './plan-client.ts'
export type { DecidedProposal, Proposal, ProposalClient } from './proposal-client.ts'

export type ConnectOptions = ConnectionOptions & {
  /**
   * Whether a connection that breaks is made again. Default: yes, and after 120 s of trying in vain it is given up.
   * The first connection is tried once.
   */
  readonly reconnect?: boolean | { readonly giveUpMs: number } | undefined
  /** Hears that the connection is lost, tried for, back or given up. */
  readonly onLink?: OnLink | undefined
  /** What is to run first: it is asked for with the authentication, which saves a round trip. See `Client.first`. */
  readonly first?: FirstCommand | undefined
}

export type FirstCommand = {
  readonly command: string
  readonly args: readonly string[]
  readonly options: StreamOptions
  /** Called when it has been asked for: from here on it may begin. */
  readonly onAsked?: (() => void) | undefined
}

export type ExecuteOptions = {
  readonly cwd?: string | undefined
  readonly environment?: Readonly<Record<string, string>> | undefined
  readonly timeoutSeconds?: number | undefined
  /** What the command leaves running when it ends stays in its session; default: it ends with it. */
  readonly keepBackground?: boolean | undefined
  /** Hex of 16 bytes; drawn at random where absent. The same id never starts twice. */
  readonly id?: string | undefined
  /** Hears what the command waits for before it begins, at every change. */
  readonly onWaiting?: OnWaiting | undefined
}
export type StreamOptions = ExecuteOptions & {
  readonly output: OutputSink
  /**
   * Hears of output that the device no longer had when we came back, or that was there before with this id. Absent: such
   * a gap ends it with RING_BUFFER_DATA_LOSS.
   */
  readonly onGap?: OnGap | undefined
  /** Of an id that ran before: at most this many bytes before the end of each stream. */
  readonly tail?: number | undefined
  /** True: `write` and `end` feed the command's stdin. */
  readonly stdin?: boolean | undefined
  readonly terminal?:
    | { readonly rows: number; readonly columns: number; readonly term?: string | undefined }
    | undefined
}
export type AttachOptions = {
  readonly output: OutputSink
  /** As of StreamOptions. */
  readonly onGap?: OnGap | undefined
  readonly onWaiting?: OnWaiting | undefined
  readonly stdin?: boolean | undefined
  /** Where to go on: the highest offset and length that were received. */
  readonly stdoutOffset?: number | undefined
  readonly stderrOffset?: number | undefined
  /** Instead: at most this many bytes before the end of each stream. */
  readonly tail?: number | undefined
}

export type Client = FileClient & {
  /** What `connect` was told to run. */
  readonly first: RunningExecution | undefined
  /** Another one where the device did not know ours any more when we came back. */
  readonly sessionId: string
  /** False while a lost connection is not yet made again. */
  readonly isConnected: boolean
  readonly daemonVersion: string
  /** Unix seconds. */
  readonly expiresAt: number
  /** Of the device's key; undefined on the admin socket. */
  readonly fingerprint: string | undefined
  /** Of the key that follows it: whoever keeps it beside the pin goes on without being asked when the device changes over. */
  readonly nextFingerprint: string | undefined
  /** The key that the device's audit chain begins with, for who has come in by an enrolment just now. */
  readonly auditKey: Uint8Array | undefined
  /** The head of the device's audit chain as it was at Authenticate. */
  readonly auditHead: Head
  /** One sentence where the record of the device contradicts what `heads` remembers of it; then that is kept. */
  readonly recordProblem: string | undefined
  /** Runs to the end and returns at most 1 MiB of each stream. */
  execute(command: string, args?: readonly string[], options?: ExecuteOptions): Promise<UnaryResult>
  /** Runs with output as it comes. */
  stream(command: string, args: readonly string[], options: StreamOptions): RunningExecution
  /** Goes back to a running execution, or to the result of a finished one. */
  attach(id: string, options: AttachOptions): RunningExecution
  /** POSIX number, to the whole process group. */
  signal(id: string, signal: number): Promise<void>
  /** SIGKILL to every process of the execution. */
  cancel(id: string): Promise<void>
  executions(): Promise<readonly m.ExecutionSummary[]>
  ping(): Promise<m.PingResponse>
  status(): Promise<SecurityStatus>
  capabilities(): Promise<m.Capabilities>
  /** What holds for this caller, a rule a line: for the model that works as it. The device records that it was told. */
  rules(): Promise<string>
  renewSession(): Promise<number>
  /** What the branch of this session would change, by names, kinds and sizes, as lines of text. */
  changes(output: TextSink, options?: OwnChangesOptions): Promise<OwnChanges>
  /**
   * Puts the key of another seed in the place of the agent's own; both are taken until that one is used for the first
   * time, or a day is over. Keep the seed before: its answer may be lost. Not over the admin socket (USAGE).
   */
  changeKey(seed: Uint8Array): Promise<Outcome>
  /**
   * Hands work on to another agent, for as long as this session lives and no longer than asked for: a token, good for one
   * session of that agent, in which it may do what both may and what is named here. Needs the tool `Task` (tier T5).
   * @throws SassError USAGE with what the device says where it does not
   */
  delegate(worker: string, options?: DelegateOptions): Promise<DelegatedWork>
  /** What only operators may ask. */
  readonly operator: OperatorClient
  /** What agents have changed, for operators. */
  readonly branches: BranchClient
  /** What agents of the device hand to each other. */
  readonly handoffs: HandoffClient
  readonly plans: PlanClient
  readonly intent: IntentClient
  /** What is proposed, decided by the constitution of the device. */
  readonly proposals: ProposalClient
  /** Somebody waits for an answer to what was just done: a link that has gone silent is found sooner. */
  expectAnswer(): void
  /** Resolves when the connection is gone for good, whoever ended it. */
  readonly closed: Promise<void>
  close(): Promise<void>
}

export type RunningExecution = StreamedExecution & { readonly id: string }

function executeInput(
  command: string,
  args: readonly string[],
  id: Uint8Array,
  options: ExecuteOptions,
): ExecuteRequestInput {
  const { cwd, environment, timeoutSeconds, keepBackground } = options
  return {
    ...requestWords(command, args),
    execution_id: id,
    cwd,
    env: environment === undefined ? undefined : new Map(Object.entries(environment)),
    timeout_seconds: timeoutSeconds,
    keep_background: keepBackground ?? false,
  }
}

function streamInput(
  command: string,
  args: readonly string[],
  id: Uint8Array,
  options: StreamOptions,
): ExecuteRequestInput {
  const { terminal, tail, stdin } = options
  const pty =
    terminal === undefined ? undefined : { rows: terminal.rows, cols: terminal.columns, term: terminal.term }
  return { ...executeInput(command, args, id, options), stdin, pty, tail }
}

/** From 1: 0 would be the default of no id. */
const SIGNAL_ID_END = 2 ** 47

/**
 * Connects and authenticates; where the device asks for proof, that too has been given when this resolves.
 * @throws SassError CONNECT_FAILED (not reached, or not let in: the device does not say why), PIN_MISMATCH,
 *   SESSION_LIMIT, CHALLENGE_FAILED; CONNECTION_LOST where what was asked for first may have begun
 */
export async function connect(options: ConnectOptions): Promise<Client> {
  const { reconnect = true, onLink } = options
  const prepared = options.first && prepare(options.first, reconnect !== false)
  const first = await openConnection(options, prepared?.ask).catch((error: unknown) => {
    throw prepared === undefined ? error : perhapsBegun(error, prepared.id)
  })
  let opened = first
  /** Names the branch that was made for the session. */
  let home = first.sessionId
  const again = async (before: Connected, along: AskAlong): Promise<Connected> => {
    const { sessionId } = before
    const resumed = { ...options, branch: branchAfter(options, home), resumeSessionId: sessionId }
    opened = await openConnection(resumed, along)
    // The device has forgotten the session, and says where the new one works.
    const { branch } = opened.welcome
    if (opened.sessionId !== sessionId) home = branch === undefined ? opened.sessionId : encodeHex(branch)
    return opened
  }
  const link = createLink({
    first,
    dial: reconnect === false ? undefined : again,
    giveUpMs: typeof reconnect === 'object' ? reconnect.giveUpMs : RECONNECT_GIVE_UP_MS,
    nowMs: () => performance.now(),
    pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    chance: Math.random,
    onLink,
  })
  prepared?.adopt(link)
  first.caller.goOn()
  return createClient(link, () => opened, prepared?.running)
}

type Prepared = {
  readonly id: string
  readonly running: RunningExecution
  readonly ask: AskAlong
  /** It was asked for on the connection that the link has. */
  adopt(link: Link): void
}

/** A command that is asked for before there is a link which could ask for it again. */
function prepare({ command, args, options, onAsked }: FirstCommand, comesBack: boolean): Prepared {
  const { output, onWaiting, onGap } = options
  const bytes = options.id === undefined ? createIdSource()() : idBytes(options.id)
  const id = encodeHex(bytes)
  const more = { output, onWaiting, onGap, comesBack, isNew: options.id === undefined }
  let over = false
  let leave = () => {
    over = true
  }
  const input = streamInput(command, args, bytes, options)
  const { execution, member } = createRunning(id, input, more, () => leave())
  return {
    id,
    running: { id, ...execution },
    ask(caller, accept) {
      member.join(caller, accept)
      onAsked?.()
    },
    adopt(link) {
      leave = () => link.leave(member)
      if (!over) link.add(member, true)
    },
  }
}

/** The link may have broken while the device let us in: it looks the same from here, and so nothing is proven. */
function perhapsBegun(error: unknown, id: string): unknown {
  const known = asSassError(error)
  if (known?.details['refused'] !== 'silence') return error
  const more = `If it was the link that broke just then, the command may have begun: sass-edge attach ${id} tells.`
  return new SassError('CONNECTION_LOST', `${known.message} ${more}`, { ...known.details, id }, error)
}

/** Where a session goes on that the device has forgotten: in the branch that was made for it. */
function branchAfter({ branch, resumeSessionId }: ConnectOptions, home: string): ConnectOptions['branch'] {
  const isNew = (branch === undefined || branch === 'new') && resumeSessionId === undefined
  return isNew ? home : branch
}

function createClient(link: Link, opened: () => Opened, first: RunningExecution | undefined): Client {
  const ask = async <T>(...args: Parameters<Caller['call']>): Promise<T> => (await link.call(...args)) as T
  const nothing = m.empty.encode({})
  const drawId = createIdSource()
  const { welcome, fingerprint, recordProblem } = opened()

  function running(
    id: Uint8Array,
    request: ExecuteRequestInput,
    options: Pick<StreamOptions, 'output' | 'onWaiting' | 'onGap'> & { readonly isNew: boolean },
  ): RunningExecution {
    const { output, onWaiting, onGap, isNew } = options
    const text = encodeHex(id)
    const { comesBack } = link
    const { execution, member } = createRunning(
      text,
      request,
      { output, onWaiting, onGap, comesBack, isNew },
      () => link.leave(member),
    )
    link.add(member)
    return { id: text, ...execution }
  }

  return {
    first,
    get sessionId() {
      return opened().sessionId
    },
    get isConnected() {
      return link.isUp
    },
    daemonVersion: welcome.daemon_version,
    expiresAt: welcome.expires_at,
    fingerprint,
    get nextFingerprint() {
      return opened().nextFingerprint
    },
    auditKey: welcome.audit_key,
    auditHead: { sequence: welcome.audit_seq, hash: encodeHex(welcome.audit_hash) },
    recordProblem,
    execute(command, args = [], options = {}) {
      const id = options.id === undefined ? drawId() : idBytes(options.id)
      return executeOnce(link, executeInput(command, args, id, options), options.onWaiting)
    },
    stream(command, args, options) {
      const isNew = options.id === undefined
      const id = options.id === undefined ? drawId() : idBytes(options.id)
      return running(id, streamInput(command, args, id, options), { ...options, isNew })
    },
    attach(id, options) {
      const bytes = idBytes(id)
      const request: ExecuteRequestInput = {
        is_reattach: true,
        execution_id: bytes,
        stdin: options.stdin,
        resume_offset: options.stdoutOffset,
        resume_offset_stderr: options.stderrOffset,
        tail: options.tail,
      }
      return running(bytes, request, { ...options, isNew: false })
    },
    async signal(id, signal) {
      link.poke()
      const request = {
        execution_id: idBytes(id),
        signal: wireSignal(signal),
        signal_id: randomInt(1, SIGNAL_ID_END),
      }
      await ask('Signal', m.signalRequest.encode(request))
    },
    async cancel(id) {
      link.poke()
      const request = m.executionReference.encode({ execution_id: idBytes(id) })
      let asked = 0
      await link.use(async (caller) => {
        asked++
        await caller.call('Cancel', request).catch((error: unknown) => {
          // It has ended since it was asked for the first time, which is what was asked for.
          if (asked === 1 || asSassError(error)?.code !== 'PROCESS_NOT_FOUND') throw error
        })
      }, true)
    },
    async executions() {
      const list = await ask<{ executions: readonly m.ExecutionSummary[] }>('ListExecutions', nothing)
      return list.executions
    },
    ping: () => ask<m.PingResponse>('Ping', nothing),
    status: () => ask<SecurityStatus>('SecurityStatus', nothing),
    capabilities: () => ask<m.Capabilities>('GetCapabilities', nothing),
    async rules() {
      const { text } = await ask<RulesTold>('ShowRules', nothing)
      return text
    },
    async renewSession() {
      const { expires_at } = await ask<{ expires_at: number }>('RenewSession', nothing)
      return expires_at
    },
    async changeKey(seed) {
      const { signNextKey } = opened()
      if (signNextKey === undefined)
        throw misuse('Whoever comes through the admin socket has no key to change; connect over TLS.')
      const signed = { public_key: publicKeyOf(seed), signature: signNextKey(seed) }
      return ask<Outcome>('RotateKey', keyRotation.encode(signed))
    },
    delegate: (worker, options) => delegateWork(ask, worker, options),
    ...createFileClient(link),
    changes: (output, options) => readOwnChanges(link, output, options),
    operator: createOperatorClient(link.call),
    branches: createBranchClient(link),
    handoffs: createHandoffClient(link.call),
    plans: createPlanClient(link),
    intent: createIntentClient(link.call),
    proposals: createProposalClient(link.call),
    expectAnswer: link.poke,
    closed: link.closed,
    close: link.close,
  }
}
