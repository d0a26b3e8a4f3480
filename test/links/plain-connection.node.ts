/**
 * One connection to a daemon by the letter of docs/protocol.md: TLS, Authenticate, streams, credit, keepalive. It
 * shares the codec with the product and nothing of its client, and has no opinion about what comes: that is its
 * caller's. Whatever goes wrong ends it, once.
 * @module
 */
import { randomBytes } from 'node:crypto'
import { connect as connectTls } from 'node:tls'
import { publicKeyOf, signWith } from '../../src/base/crypto/ed25519.node.ts'
import { deviceFingerprint } from '../../src/base/crypto/fingerprint.node.ts'
import { defer } from '../../src/base/deferred.ts'
import type { CborMap, CborValue } from '../../src/base/encoding/cbor.ts'
import { ALPN_PROTOCOL, CHANNEL_BINDING_BYTES, CHANNEL_BINDING_LABEL, FRAME_BYTES } from '../../src/limits.ts'
import { authSigningInput } from '../../src/wire/auth-input.ts'
import { createDeframer } from '../../src/wire/deframer.ts'
import { encodeFrame, type Frame, type KindName, readFrame } from '../../src/wire/frame.ts'

/** Numbers of docs/protocol.md, section 3. */
export const METHOD = Object.freeze({ execute: 1, executeStream: 2, signal: 4, authenticate: 8 })

export type PlainOptions = {
  readonly port: number
  readonly pin: string
  readonly name: string
  readonly privateKey: Uint8Array
  readonly windowBytes: number
  readonly resumeSession: Uint8Array | undefined
  /** After so long without a byte it asks, and after as long again it gives up. */
  readonly silenceMs: number
}

/** What comes on a stream: MSG, END, STATUS, CREDIT, RESET. `lost` comes once, where none of those has ended it. */
export type PlainEvents = {
  frame(kind: KindName, payload: unknown): void
  lost(): void
}

export type PlainStream = {
  message(fields: CborMap): void
  end(): void
  credit(totalBytes: number): void
  reset(): void
}

export type PlainConnection = {
  readonly sessionId: Uint8Array
  readonly windowBytes: number
  open(method: number, request: CborMap, events: PlainEvents): PlainStream
  readonly isOpen: boolean
  readonly ended: Promise<void>
  /** Ends it in order. */
  close(): Promise<void>
  destroy(): void
}

export const field = (payload: unknown, key: number): unknown =>
  payload instanceof Map ? payload.get(key) : undefined

export function unsignedField(payload: unknown, key: number): number | undefined {
  const value = field(payload, key)
  return value === undefined ? undefined : Number(value)
}

export function bytesField(payload: unknown, key: number): Uint8Array | undefined {
  const value = field(payload, key)
  return value instanceof Uint8Array ? value : undefined
}

/** Connects and authenticates; rejects where the connection does not come that far. */
export async function openPlain(options: PlainOptions): Promise<PlainConnection> {
  const socket = connectTls({
    host: '127.0.0.1',
    port: options.port,
    ALPNProtocols: [ALPN_PROTOCOL],
    minVersion: 'TLSv1.3',
    ecdhCurve: 'X25519',
    rejectUnauthorized: false,
    ca: [],
  })
  socket.setNoDelay(true)
  const ended = defer<void>()
  const streams = new Map<number, PlainEvents>()
  let problem = 'the connection ended'
  let nextStream = 1
  let nextNonce = 1
  let isOpen = true
  let isAsked = false

  /** Any byte is a sign of life. */
  const silence = setTimeout(() => {
    if (isAsked) return fail('nothing came for too long')
    isAsked = true
    if (socket.getCipher() !== undefined && nextStream > 1) send(0, 'PING', nextNonce++)
    silence.refresh()
  }, options.silenceMs)

  function fail(why: string): void {
    problem = why
    socket.destroy()
  }

  function send(stream: number, kind: KindName, payload?: CborValue, method?: number): void {
    if (isOpen) socket.write(encodeFrame(stream, kind, payload, method))
  }

  function take({ stream, kind, payload }: Frame): void {
    if (kind === 'PING') return send(0, 'PONG', Number(payload))
    const events = streams.get(stream)
    if (kind === 'END' || kind === 'STATUS' || kind === 'RESET') streams.delete(stream)
    events?.frame(kind, payload)
  }

  const deframer = createDeframer(
    () => FRAME_BYTES,
    (event) => {
      const read = event.kind === 'body' ? readFrame(event.body.slice()) : undefined
      if (read?.ok) take(read.frame)
      else fail(`the daemon sent what is no frame: ${event.kind === 'fail' ? event.problem : ''}`)
    },
  )
  socket.on('data', (bytes: Buffer) => {
    isAsked = false
    silence.refresh()
    deframer.push(bytes)
  })
  socket.on('error', (error) => {
    problem = error.message
  })
  socket.on('close', () => {
    isOpen = false
    clearTimeout(silence)
    deframer.stop()
    for (const events of [...streams.values()]) events.lost()
    streams.clear()
    ended.resolve()
  })
  await Promise.race([new Promise((resolve) => socket.once('secureConnect', resolve)), ended.promise])
  if (!isOpen) throw new Error(problem)
  const shown = socket.getPeerX509Certificate()
  if (shown === undefined || deviceFingerprint(shown) !== options.pin) {
    fail('it is another device')
    throw new Error(problem)
  }

  function open(method: number, request: CborMap, events: PlainEvents): PlainStream {
    const id = nextStream
    nextStream += 2
    if (isOpen) streams.set(id, events)
    else queueMicrotask(() => events.lost())
    send(id, 'OPEN', request, method)
    return {
      message: (fields) => send(id, 'MSG', fields),
      end: () => send(id, 'END'),
      credit: (totalBytes) => send(id, 'CREDIT', totalBytes),
      reset() {
        streams.delete(id)
        send(id, 'RESET')
      },
    }
  }

  const welcome = defer<unknown>()
  const nonce = randomBytes(16)
  const binding = socket.exportKeyingMaterial(CHANNEL_BINDING_BYTES, CHANNEL_BINDING_LABEL, Buffer.alloc(0))
  const request = new Map<number, CborValue>([
    [1, options.name],
    [2, publicKeyOf(options.privateKey)],
    [3, signWith(options.privateKey, authSigningInput(options.name, nonce, binding))],
    [4, new Uint8Array(nonce)],
    [12, options.windowBytes],
  ])
  if (options.resumeSession !== undefined) request.set(13, options.resumeSession)
  open(METHOD.authenticate, request, {
    frame(kind, payload) {
      if (kind === 'END') return welcome.resolve(payload)
      fail(`Authenticate was answered with ${kind} ${unsignedField(payload, 1) ?? ''}`)
    },
    lost: () => welcome.reject(new Error(problem)),
  })
  const answer = await welcome.promise
  const sessionId = bytesField(answer, 2)
  if (sessionId === undefined) throw new Error('Authenticate was answered without a session.')
  return {
    sessionId,
    windowBytes: unsignedField(answer, 12) ?? 65_536,
    open,
    get isOpen() {
      return isOpen
    },
    ended: ended.promise,
    async close() {
      socket.end()
      await ended.promise
    },
    destroy: () => socket.destroy(),
  }
}
