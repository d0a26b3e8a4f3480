/**
 * The client as a library: `connect` opens a TLS connection or an admin socket, checks the device's key before a
 * byte is sent, authenticates, and gives what can be asked of the device.
 *
 *     import { connect } from 'sass-edge/client'
 *     const device = await connect({ host, agent: 'agent', privateKey, pin: 'sha256:…' })
 *     const { exitCode, stdout } = await device.execute('uname', ['-a'])
 *
 * Runs on Node 20 and later. Rules: docs/protocol.md, sections 1 and 4.
 * @module
 */
import { randomFillSync } from 'node:crypto'
import type { Socket } from 'node:net'
import { publicKeyOf, signWith } from '../base/ed25519.node.ts'
import { encodeHex } from '../base/hex.ts'
import { SassError } from '../errors.ts'
import {
  AUTH_NONCE_BYTES,
  CHALLENGE_EKM_BYTES,
  CHALLENGE_LABEL,
  CHANNEL_BINDING_BYTES,
  CHANNEL_BINDING_LABEL,
  CONNECT_TIMEOUT_MS,
  DEFAULT_PORT,
} from '../limits.ts'
import { authSigningInput } from '../wire/auth-input.ts'
import type { Challenge } from '../wire/challenge.ts'
import * as m from '../wire/messages.ts'
import { type BranchClient, createBranchClient } from './branch-client.ts'
import {
  type Caller,
  createCaller,
  type ExecuteRequestInput,
  type OutputSink,
  type StreamedExecution,
  type UnaryResult,
} from './caller.ts'
import type { ClientCertificate } from './client-certificate.ts'
import { acceptedForms, type Compression } from './compression.node.ts'
import { dialAdmin, dialTls } from './dial.node.ts'
import { createFileClient, type FileClient } from './files.node.ts'
import { contradiction, type Head, type HeadStore } from './heads.node.ts'
import { createIdSource, idBytes, wireSignal } from './ids.node.ts'
import { createOperatorClient, type OperatorClient } from './operator-client.ts'
import type { OnWaiting } from './waiting.ts'
import { zstdFrames } from './zstd-frames.node.ts'

export type { BranchClient } from './branch-client.ts'
export type { OutputSink, RemoteExit, StreamedExecution, UnaryResult } from './caller.ts'
export type { ClientCertificate } from './client-certificate.ts'
export type { Compression } from './compression.node.ts'
export type {
  DownloadOptions,
  FileClient,
  OnProgress,
  RemoteEntry,
  RemoteListing,
  Transferred,
  UploadOptions,
} from './files.node.ts'
export { fileHeads, type Head, type HeadStore } from './heads.node.ts'
export type { OperatorClient } from './operator-client.ts'
export type { OnWaiting, Waiting } from './waiting.ts'

export type TlsTarget = {
  readonly host: string
  /** Default 19284. */
  readonly port?: number | undefined
  /** The name under which the device lists the key. */
  readonly agent: string
  /** The Ed25519 seed, 32 bytes. */
  readonly privateKey: Uint8Array
  /** `sha256:<base64url>` of the device's public key, or a function that answers whether to go on with the one shown. */
  readonly pin: string | ((fingerprint: string) => boolean | Promise<boolean>)
  /** `metered` offers X25519 alone: 2.3 KB less in the handshake, no post-quantum protection. */
  readonly groups?: 'default' | 'metered' | undefined
  /** For a device with `tls.client_ca`: its CN must be `agent`. */
  readonly certificate?: ClientCertificate | undefined
}
/** The admin socket of a daemon on this machine: the operator, by the kernel's word. */
export type AdminTarget = { readonly socketPath: string }

export type ConnectOptions = (TlsTarget | AdminTarget) & {
  /** Credit of every stream and direction, bytes. Default 65,536. */
  readonly window?: number | undefined
  /** Hex id of a session to take back, with its executions. */
  readonly resumeSessionId?: string | undefined
  /**
   * Where a new session's commands change files: `new` (default), a branch of its own; `latest`, the caller's latest one
   * that nobody has merged or dropped; or the id of one.
   */
  readonly branch?: 'new' | 'latest' | (string & {}) | undefined
  /** Default 15,000. */
  readonly timeoutMs?: number | undefined
  /** Shown to the operator of the device. */
  readonly clientVersion?: string | undefined
  /**
   * Whether output is asked for compressed: `auto` (default) where the link was slow when it was made. Needs Node 22.15;
   * with an earlier one it never is.
   */
  readonly compression?: Compression | undefined
  /** Remembers how far the record of each device went: see `Client.recordProblem`. */
  readonly heads?: HeadStore | undefined
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
  /** True: `write` and `end` feed the command's stdin. */
  readonly stdin?: boolean | undefined
  readonly terminal?:
    | { readonly rows: number; readonly columns: number; readonly term?: string | undefined }
    | undefined
}
export type AttachOptions = {
  readonly output: OutputSink
  readonly onWaiting?: OnWaiting | undefined
  readonly stdin?: boolean | undefined
  /** Where to go on: the highest offset and length that were received. */
  readonly stdoutOffset?: number | undefined
  readonly stderrOffset?: number | undefined
  /** Instead: at most this many bytes before the end of each stream. */
  readonly tail?: number | undefined
}

export type Client = FileClient & {
  readonly sessionId: string
  readonly daemonVersion: string
  /** Unix seconds. */
  readonly expiresAt: number
  /** Of the device's key; undefined on the admin socket. */
  readonly fingerprint: string | undefined
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
  status(): Promise<m.SecurityStatus>
  capabilities(): Promise<m.Capabilities>
  renewSession(): Promise<number>
  /** What only operators may ask. */
  readonly operator: OperatorClient
  /** What agents have changed, for operators. */
  readonly branches: BranchClient
  /** Resolves when the connection is gone, whoever ended it. */
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
    command,
    args,
    execution_id: id,
    cwd,
    env: environment === undefined ? undefined : new Map(Object.entries(environment)),
    timeout_seconds: timeoutSeconds,
    keep_background: keepBackground ?? false,
  }
}

type Dialled = {
  readonly socket: Socket
  readonly fingerprint: string | undefined
  readonly authenticate: (nonce: Uint8Array) => { name: string; publicKey: Uint8Array; signature: Uint8Array }
  /** What challenges of that session are answered with; undefined on the admin socket, where there are none. */
  readonly challengeKeys: ((sessionId: Uint8Array) => Uint8Array) | undefined
}

/** Whether to go on with the key that the device shows; what a pin function throws passes. */
async function judged(pin: TlsTarget['pin'], fingerprint: string): Promise<boolean> {
  return typeof pin === 'function' ? pin(fingerprint) : pin === fingerprint
}

async function dial(options: ConnectOptions, timeoutMs: number): Promise<Dialled> {
  if ('socketPath' in options) {
    const socket = await dialAdmin(options.socketPath, timeoutMs)
    const nothing = new Uint8Array(0)
    return {
      socket,
      fingerprint: undefined,
      authenticate: () => ({ name: 'admin', publicKey: nothing, signature: nothing }),
      challengeKeys: undefined,
    }
  }
  const { host, port = DEFAULT_PORT, groups = 'default', agent, privateKey, certificate } = options
  const { socket, fingerprint } = await dialTls({ host, port, groups, timeoutMs, certificate })
  const isTrusted = await judged(options.pin, fingerprint).catch((error: unknown) => {
    socket.destroy()
    throw error
  })
  if (!isTrusted) {
    socket.destroy()
    const pinned = typeof options.pin === 'string' ? ` where ${options.pin} is pinned` : ''
    throw new SassError(
      'PIN_MISMATCH',
      `${host}:${port} shows the key ${fingerprint}${pinned}, so it was not trusted and nothing was sent; find out which device it is.`,
      { host, port, fingerprint },
    )
  }
  return {
    socket,
    fingerprint,
    authenticate(nonce) {
      const binding = socket.exportKeyingMaterial(
        CHANNEL_BINDING_BYTES,
        CHANNEL_BINDING_LABEL,
        Buffer.alloc(0),
      )
      return {
        name: agent,
        publicKey: publicKeyOf(privateKey),
        signature: signWith(privateKey, authSigningInput(agent, nonce, binding)),
      }
    },
    challengeKeys: (sessionId) =>
      socket.exportKeyingMaterial(CHALLENGE_EKM_BYTES, CHALLENGE_LABEL, Buffer.from(sessionId)),
  }
}

/**
 * Connects and authenticates; where the device asks for proof, that too has been given when this resolves.
 * @throws SassError CONNECT_FAILED (not reached, or not let in: the device does not say why), PIN_MISMATCH,
 *   SESSION_LIMIT, CHALLENGE_FAILED
 */
export async function connect(options: ConnectOptions): Promise<Client> {
  const timeoutMs = options.timeoutMs ?? CONNECT_TIMEOUT_MS
  const dialled = await dial(options, timeoutMs)
  const { socket, fingerprint, authenticate } = dialled
  let isCorked = false
  const caller = createCaller(
    (frame) => {
      // What is asked in one turn travels in one record.
      if (!isCorked) {
        isCorked = true
        socket.cork()
        process.nextTick(() => {
          isCorked = false
          socket.uncork()
        })
      }
      socket.write(frame)
    },
    () => performance.now(),
    () => socket.destroy(),
    zstdFrames(),
  )
  let failure: Error | undefined
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      caller.lost(failure)
      resolve()
    })
  })
  socket.on('error', (error) => {
    failure = error
  })
  socket.on('data', (bytes: Buffer) => caller.receive(bytes))

  const { heads } = options
  // Before it is asked: of two connections at once the earlier answer may come later.
  const known = fingerprint === undefined ? undefined : heads?.load(fingerprint)
  const nonce = randomFillSync(new Uint8Array(AUTH_NONCE_BYTES))
  const { name, publicKey, signature } = authenticate(nonce)
  const welcome = await authenticated(caller, dialled, timeoutMs, {
    agent_name: name,
    public_key: publicKey,
    signature,
    nonce,
    window: options.window,
    resume_session_id: options.resumeSessionId === undefined ? undefined : idBytes(options.resumeSessionId),
    client_version: options.clientVersion,
    branch: branchBytes(options.branch),
  })
  const recordProblem = compared({ heads, fingerprint, known }, welcome)
  const accept = acceptedForms(options.compression, { linkRate: undefined, isMetered: welcome.metered })
  return createClient(caller, { socket, welcome, fingerprint, closed, recordProblem, accept })
}

/** As Authenticate has it: absent for a new one, empty for the latest. */
function branchBytes(branch: ConnectOptions['branch']): Uint8Array | undefined {
  if (branch === undefined || branch === 'new') return undefined
  return branch === 'latest' ? new Uint8Array(0) : idBytes(branch)
}

/** What the head says beside the one that was known before it was asked for, which it replaces where it goes on. */
function compared(
  { heads, fingerprint, known }: Remembered,
  { audit_seq: sequence, audit_hash }: m.AuthResponse,
): string | undefined {
  const seen = { sequence, hash: encodeHex(audit_hash) }
  const problem = contradiction(known, seen)
  if (problem === undefined && fingerprint !== undefined) heads?.save(fingerprint, seen)
  return problem
}

type Remembered = {
  readonly heads: HeadStore | undefined
  readonly fingerprint: string | undefined
  readonly known: Head | undefined
}

/** The challenge that the device lets us in under; undefined where it asks for no further proof. */
function challengeIn(answer: m.AuthResponse): Challenge | undefined {
  const { challenge_id, challenge_nonce: nonce, challenge_ciphertext: ciphertext } = answer
  if (challenge_id === undefined || nonce === undefined || ciphertext === undefined) return undefined
  return { challenge_id, nonce, ciphertext }
}

/** A device that does not know us answers with noise or nothing: both mean that we were not let in. */
async function authenticated(
  caller: Caller,
  { socket, challengeKeys }: Dialled,
  timeoutMs: number,
  request: Parameters<typeof m.authRequest.encode>[0],
): Promise<m.AuthResponse> {
  const refused = (cause?: unknown) =>
    new SassError(
      'CONNECT_FAILED',
      'The device did not let this key in, and does not say why; check the agent’s name and key, and ask its operator.',
      {},
      cause,
    )
  const timer = setTimeout(() => socket.destroy(), timeoutMs)
  try {
    const answer = (await caller.call('Authenticate', m.authRequest.encode(request))) as m.AuthResponse
    if (!answer.success) throw refused()
    const { session_id: sessionId } = answer
    const keys = challengeKeys && { sessionId, exportKeys: () => challengeKeys(sessionId) }
    caller.authenticated(answer.window, keys)
    const challenge = challengeIn(answer)
    if (challenge !== undefined) await caller.meet(challenge)
    return answer
  } catch (cause) {
    socket.destroy()
    if (cause instanceof SassError && cause.code !== 'CONNECTION_LOST' && cause.code !== 'FRAME_MALFORMED')
      throw cause
    throw refused(cause)
  } finally {
    clearTimeout(timer)
  }
}

type Connected = {
  readonly socket: Socket
  readonly welcome: m.AuthResponse
  readonly fingerprint: string | undefined
  readonly closed: Promise<void>
  readonly recordProblem: string | undefined
  /** Forms of output that requests accept. */
  readonly accept: number
}

function createClient(
  caller: Caller,
  { socket, welcome, fingerprint, closed, recordProblem, accept }: Connected,
): Client {
  const ask = async <T>(...args: Parameters<Caller['call']>): Promise<T> => (await caller.call(...args)) as T
  const nothing = m.empty.encode({})
  const drawId = createIdSource()

  function running(
    id: Uint8Array,
    request: ExecuteRequestInput,
    { output, onWaiting }: Pick<StreamOptions, 'output' | 'onWaiting'>,
  ): RunningExecution {
    return { id: encodeHex(id), ...caller.stream(request, output, onWaiting) }
  }

  return {
    sessionId: encodeHex(welcome.session_id),
    daemonVersion: welcome.daemon_version,
    expiresAt: welcome.expires_at,
    fingerprint,
    auditHead: { sequence: welcome.audit_seq, hash: encodeHex(welcome.audit_hash) },
    recordProblem,
    execute(command, args = [], options = {}) {
      const id = options.id === undefined ? drawId() : idBytes(options.id)
      return caller.execute({ ...executeInput(command, args, id, options), accept }, options.onWaiting)
    },
    stream(command, args, options) {
      const id = options.id === undefined ? drawId() : idBytes(options.id)
      const { terminal } = options
      const pty =
        terminal === undefined
          ? undefined
          : { rows: terminal.rows, cols: terminal.columns, term: terminal.term }
      const input = executeInput(command, args, id, options)
      return running(id, { ...input, stdin: options.stdin, pty, accept }, options)
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
        accept,
      }
      return running(bytes, request, options)
    },
    async signal(id, signal) {
      const request = m.signalRequest.encode({ execution_id: idBytes(id), signal: wireSignal(signal) })
      await ask('Signal', request)
    },
    async cancel(id) {
      await ask('Cancel', m.executionReference.encode({ execution_id: idBytes(id) }))
    },
    async executions() {
      const list = await ask<{ executions: readonly m.ExecutionSummary[] }>('ListExecutions', nothing)
      return list.executions
    },
    ping: () => ask<m.PingResponse>('Ping', nothing),
    status: () => ask<m.SecurityStatus>('SecurityStatus', nothing),
    capabilities: () => ask<m.Capabilities>('GetCapabilities', nothing),
    async renewSession() {
      const { expires_at } = await ask<{ expires_at: number }>('RenewSession', nothing)
      return expires_at
    },
    ...createFileClient(caller),
    operator: createOperatorClient(caller.call),
    branches: createBranchClient(caller),
    closed,
    async close() {
      socket.end()
      await closed
    },
  }
}
