/**
 * One connection to a device: dialled, its key judged before a byte is sent, authenticated, and watched for whether it
 * is still there. What comes after it ends is for whoever asked for it.
 * Rules: docs/protocol.md, sections 1, 2 (keepalive) and 4.
 * @module
 */

import { randomFillSync } from 'node:crypto'
import type { Socket } from 'node:net'
import { publicKeyOf, signWith } from '../../base/crypto/ed25519.node.ts'
import { encodeBase64Url } from '../../base/encoding/base64.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { asSassError, SassError } from '../../errors.ts'
import {
  AUTH_NONCE_BYTES,
  CHALLENGE_EKM_BYTES,
  CHALLENGE_LABEL,
  CHANNEL_BINDING_BYTES,
  CHANNEL_BINDING_LABEL,
  CONNECT_TIMEOUT_MS,
  DEFAULT_PORT,
  END_LINGER_MS,
  INITIAL_WINDOW_BYTES,
  TICK_MS,
} from '../../limits.ts'
import { authSigningInput, keyRotationInput } from '../../wire/auth-input.ts'
import type { Challenge } from '../../wire/challenge.ts'
import * as m from '../../wire/messages.ts'
import { type Caller, createCaller } from '../calls/caller.ts'
import type { AskAlong, Connected } from '../calls/link.ts'
import { firstWindow, type LinkSpeed, settledSpeed, UNKNOWN_SPEED } from '../calls/link-speed.ts'
import { idBytes } from '../ids.node.ts'
import { PULSE_SILENCE_METERED_MS, PULSE_SILENCE_MS } from '../limits.ts'
import type { ClientCertificate } from './client-certificate.ts'
import { acceptedForms, type Compression } from './compression.node.ts'
import { dialAdmin, dialTls } from './dial.node.ts'
import { contradiction, type Head, type HeadStore } from './heads.node.ts'
import { createPulse } from './pulse.ts'
import { createFrameReader } from './zstd-frames.node.ts'

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
  /** The token of an invitation: where the device does not list the agent yet, it does with this key from then on. */
  readonly enrolment?: Uint8Array | undefined
  /** The token of work that another agent has handed on: the session may do that and no more. Good for one session. */
  readonly delegation?: Uint8Array | undefined
}
/** The admin socket of a daemon on this machine: the operator, by the kernel's word. */
export type AdminTarget = { readonly socketPath: string }

export type ConnectionOptions = (TlsTarget | AdminTarget) & {
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
   * Whether output is asked for compressed: `auto` (default) where the link was slow when it was made. Before
   * Node 22.15 a thread of its own reads it.
   */
  readonly compression?: Compression | undefined
  /** Remembers how far the record of each device went: see `Client.recordProblem`. */
  readonly heads?: HeadStore | undefined
}

type Dialled = {
  readonly socket: Socket
  readonly fingerprint: string | undefined
  readonly signNextKey: ((seed: Uint8Array) => Uint8Array) | undefined
  readonly speed: LinkSpeed
  /** What the handshake took; 0 on the admin socket. */
  readonly handshakeMs: number
  readonly authenticate: (nonce: Uint8Array) => { name: string; publicKey: Uint8Array; signature: Uint8Array }
  /** What challenges of that session are answered with; undefined on the admin socket, where there are none. */
  readonly challengeKeys: ((sessionId: Uint8Array) => Uint8Array) | undefined
}

/** Whether to go on with the key that the device shows; what a pin function throws passes. */
async function judged(pin: TlsTarget['pin'], fingerprint: string): Promise<boolean> {
  return typeof pin === 'function' ? pin(fingerprint) : pin === fingerprint
}

async function dial(options: ConnectionOptions, timeoutMs: number): Promise<Dialled> {
  if ('socketPath' in options) {
    const socket = await dialAdmin(options.socketPath, timeoutMs)
    const nothing = new Uint8Array(0)
    return {
      socket,
      fingerprint: undefined,
      signNextKey: undefined,
      speed: UNKNOWN_SPEED,
      handshakeMs: 0,
      authenticate: () => ({ name: 'admin', publicKey: nothing, signature: nothing }),
      challengeKeys: undefined,
    }
  }
  const { host, port = DEFAULT_PORT, groups = 'default', agent, privateKey, certificate } = options
  const dialled = await dialTls({ host, port, groups, timeoutMs, certificate })
  const { socket, fingerprint } = dialled
  const isTrusted = await judged(options.pin, fingerprint).catch((error: unknown) => {
    socket.destroy()
    throw error
  })
  if (!isTrusted) {
    socket.destroy()
    const pinned = typeof options.pin === 'string' ? ` where ${options.pin} is pinned` : ''
    throw new SassError(
      'PIN_MISMATCH',
      `${host}:${port} shows the key ${fingerprint}${pinned}, so it was not trusted and nothing was sent; find out which device it is, and pin the key that it shows only if it was set up anew.`,
      { host, port, fingerprint },
    )
  }
  const binding = () =>
    socket.exportKeyingMaterial(CHANNEL_BINDING_BYTES, CHANNEL_BINDING_LABEL, Buffer.alloc(0))
  return {
    ...dialled,
    signNextKey: (seed) => signWith(seed, keyRotationInput(agent, binding())),
    authenticate: (nonce) => ({
      name: agent,
      publicKey: publicKeyOf(privateKey),
      signature: signWith(privateKey, authSigningInput(agent, nonce, binding())),
    }),
    challengeKeys: (sessionId) =>
      socket.exportKeyingMaterial(CHALLENGE_EKM_BYTES, CHALLENGE_LABEL, Buffer.from(sessionId)),
  }
}

/** A connection, and what the device said at its beginning. */
export type Opened = Connected & {
  readonly welcome: m.AuthResponse
  /** Of the device's key; undefined on the admin socket. */
  readonly fingerprint: string | undefined
  /** Of the key that follows it, where the device has one already. */
  readonly nextFingerprint: string | undefined
  /** What the key of that seed signs to follow; undefined on the admin socket. */
  readonly signNextKey: ((seed: Uint8Array) => Uint8Array) | undefined
}

/**
 * Connects and authenticates; where the device asks for proof, that too has been given when this resolves.
 * @param along is called once, when Authenticate was sent
 * @throws SassError CONNECT_FAILED (not reached, or not let in: the device does not say why; `refused` in its details
 *   says that it was reached), PIN_MISMATCH, SESSION_LIMIT, CHALLENGE_FAILED
 */
export async function openConnection(options: ConnectionOptions, along?: AskAlong): Promise<Opened> {
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
    createFrameReader,
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
  const window = firstWindow(options.window ?? INITIAL_WINDOW_BYTES, dialled.speed)
  const nonce = randomFillSync(new Uint8Array(AUTH_NONCE_BYTES))
  const { name, publicKey, signature } = authenticate(nonce)
  const linkRate = dialled.speed.bytesPerSecond
  const asked = authenticated(caller, dialled, timeoutMs, {
    agent_name: name,
    public_key: publicKey,
    signature,
    nonce,
    // What is left out is the first of all windows.
    window: window === INITIAL_WINDOW_BYTES ? undefined : window,
    resume_session_id: options.resumeSessionId === undefined ? undefined : idBytes(options.resumeSessionId),
    client_version: options.clientVersion,
    branch: branchBytes(options.branch),
    enrolment: 'socketPath' in options ? undefined : options.enrolment,
    delegation: 'socketPath' in options ? undefined : options.delegation,
  })
  try {
    if (along !== undefined) caller.askAlong(window)
    along?.(caller, acceptedForms(options.compression, { linkRate, isMetered: undefined }))
  } catch (cause) {
    // What cannot be asked for is no reason to stay: nobody would hear of this connection any more.
    asked.catch(() => {})
    socket.destroy()
    throw cause
  }
  const { welcome, speed } = await asked
  return {
    caller,
    welcome,
    fingerprint,
    nextFingerprint: welcome.next_key && `sha256:${encodeBase64Url(welcome.next_key)}`,
    signNextKey: dialled.signNextKey,
    closed,
    sessionId: encodeHex(welcome.session_id),
    recordProblem: compared({ heads, fingerprint, known }, welcome),
    accept: acceptedForms(options.compression, {
      linkRate: speed.bytesPerSecond,
      isMetered: welcome.metered,
    }),
    end() {
      socket.end()
      // Of a link that has fallen silent no answer comes.
      setTimeout(() => socket.destroy(), END_LINGER_MS).unref()
    },
    destroy: () => socket.destroy(),
    ...createWatch(caller, socket, welcome.metered),
  }
}

/** Looks into silences while somebody waits, and ends the connection where nothing answers. */
function createWatch(caller: Caller, socket: Socket, isMetered: boolean): Pick<Connected, 'watch' | 'poke'> {
  const pulse = createPulse(isMetered ? PULSE_SILENCE_METERED_MS : PULSE_SILENCE_MS, performance.now())
  socket.on('data', () => pulse.received(performance.now()))
  return {
    watch(isAwaited) {
      const timer = setInterval(() => {
        const due = pulse.tick(performance.now(), isAwaited(), caller.underwayBytes)
        if (due === 'ping') caller.ping()
        if (due === 'dead') socket.destroy(new Error('it does not answer any more'))
      }, TICK_MS)
      timer.unref()
      socket.once('close', () => clearInterval(timer))
    },
    poke: () => pulse.poke(performance.now()),
  }
}

/** As Authenticate has it: absent for a new one, empty for the latest. */
function branchBytes(branch: ConnectionOptions['branch']): Uint8Array | undefined {
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
  { socket, challengeKeys, speed: dialledSpeed, handshakeMs }: Dialled,
  timeoutMs: number,
  request: Parameters<typeof m.authRequest.encode>[0],
): Promise<{ readonly welcome: m.AuthResponse; readonly speed: LinkSpeed }> {
  const refused = (cause?: unknown) =>
    new SassError(
      'CONNECT_FAILED',
      'The device did not let this key in, and does not say why; check the agent’s name and key, and ask its operator.',
      { refused: asSassError(cause)?.code === 'FRAME_MALFORMED' || caller.broken ? 'noise' : 'silence' },
      cause,
    )
  const timer = setTimeout(() => socket.destroy(), timeoutMs)
  const askedMs = performance.now()
  try {
    const answer = (await caller.call('Authenticate', m.authRequest.encode(request))) as m.AuthResponse
    if (!answer.success) throw refused()
    const speed = settledSpeed(dialledSpeed, handshakeMs, performance.now() - askedMs)
    const { session_id: sessionId } = answer
    const keys = challengeKeys && { sessionId, exportKeys: () => challengeKeys(sessionId) }
    caller.authenticated(answer.window, keys, speed.roundTripMs)
    const challenge = challengeIn(answer)
    if (challenge !== undefined) {
      caller.goOn()
      await caller.meet(challenge)
    }
    return { welcome: answer, speed }
  } catch (cause) {
    socket.destroy()
    if (cause instanceof SassError && cause.code !== 'CONNECTION_LOST' && cause.code !== 'FRAME_MALFORMED')
      throw cause
    throw refused(cause)
  } finally {
    clearTimeout(timer)
  }
}
