/**
 * What the pure rooms need from outside, as interfaces; the adapters live in `*.node.ts` files and are
 * joined to the rooms in `daemon.node.ts` alone. Everything that a test may want to stage is here.
 * @module
 */

/** Monotonic time for decisions and timers, wall time only for what people and certificates read. */
export interface Clock {
  monotonicMs(): number
  /** Unix time in milliseconds. */
  wallMs(): number
  /** Calls back once after `ms`; the returned function cancels. Never keeps the process alive. */
  after(ms: number, callback: () => void): () => void
}

/** The system's CSPRNG. */
export interface Random {
  bytes(count: number): Uint8Array
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
/** One line an event: `event` is a stable lower_snake_case name, the fields are short and never a peer's raw bytes. */
export interface Log {
  write(level: LogLevel, event: string, fields?: Readonly<Record<string, string | number | boolean>>): void
}

/** What it takes to start one program; everything is resolved, nothing is looked up any more. */
export interface SpawnPlan {
  /** Absolute path of the executable. */
  readonly file: string
  /** argv, argv[0] included. */
  readonly argv: readonly string[]
  /** `NAME=value`, complete: nothing is inherited. */
  readonly environment: readonly string[]
  /** Absolute. */
  readonly cwd: string
  /** `none` is /dev/null. Ignored with a terminal, which is always readable. */
  readonly stdin: 'none' | 'pipe'
  readonly terminal: { readonly rows: number; readonly columns: number } | undefined
  /** What the file must still be when it is started; absent: whatever is there. */
  readonly pinned?:
    | {
        readonly device: string
        readonly inode: string
        readonly size: string
        readonly changedNs: string
      }
    | undefined
}

export const STDOUT = 0
export const STDERR = 1
/** Which of a process's two outputs; a terminal has STDOUT only. */
export type OutputSource = typeof STDOUT | typeof STDERR

export type ExitStatus =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: number }

/** What a child tells; calls come on the main thread, never from inside `spawn` itself, exit last and once. */
export interface ChildEvents {
  spawned(pid: number): void
  /** Not started: the errno of posix_spawn. Nothing else is called after it. */
  failed(errno: number): void
  /** `bytes` are borrowed: valid until the call returns. */
  output(source: OutputSource, bytes: Uint8Array): void
  /** The child took what was written: `writeStdin` may go on. */
  stdinDrained(): void
  /** After the last output of both sources. */
  exited(status: ExitStatus): void
}

export interface Child {
  /** False: enough for now, wait for `stdinDrained`. `bytes` are taken over by the callee. */
  writeStdin(bytes: Uint8Array): boolean
  /** End of file on stdin once all is written (on a terminal: ^D at the start of a line). */
  endStdin(): void
  /** Stops reading that output, so that the pipe fills and the process is held back. */
  pause(source: OutputSource): void
  resume(source: OutputSource): void
  resize(rows: number, columns: number): void
  /** POSIX number, to the whole process group. False: no such process any more. */
  signal(number: number): boolean
  /** SIGKILL to every process that descends from this one. */
  killTree(): void
}

export interface Spawner {
  spawn(plan: SpawnPlan, events: ChildEvents): Child
}

/** What a handshake agreed; empty strings on the admin socket, which has none. */
export type TransportAgreement = { readonly version: string; readonly suite: string; readonly alpn: string }

/** One connection that is past its handshake. Bytes are decrypted ones. */
export interface Transport {
  readonly kind: 'tls' | 'admin'
  /** Canonical text of the peer's IP address; `local` on the admin socket. */
  readonly remoteAddress: string
  readonly agreement: TransportAgreement
  /** RFC 5705 / RFC 8446 7.5; undefined where the transport has no keys to derive from. */
  exportKeyingMaterial(bytes: number, label: string, context: Uint8Array): Uint8Array | undefined
  /** Admin socket: the peer's user id, as the kernel says. */
  readonly peerUserId: number | undefined
  /** The CN of the verified client certificate; undefined where none was asked for. */
  readonly clientName?: string | undefined
  /** Sends in order; what is written in one turn travels together. `taken` is called when `bytes` may be reused. */
  write(bytes: Uint8Array, taken?: () => void): void
  /** Written and not yet taken by the kernel. */
  readonly waitingBytes: number
  pauseReading(): void
  resumeReading(): void
  /** Sends what waits, then an orderly end. */
  end(): void
  /** RST, at once. */
  reset(): void
}

export interface TransportEvents {
  /** Borrowed: valid until the call returns. */
  data(bytes: Uint8Array): void
  /** All that was written has been taken. */
  drained(): void
  /** The peer sent an orderly end. */
  ended(): void
  /** Gone, for whatever reason; once, last. */
  closed(): void
}

/** Who hears of connections. */
export interface Acceptor {
  /** At accept, before a byte is read. Undefined: reset it. */
  admit(kind: Transport['kind'], address: string, reset: () => void): Admission | undefined
}

/** One admitted connection on its way; exactly one of `connected` and `failed` follows, or `gone`. */
export interface Admission {
  connected(transport: Transport): TransportEvents
  /** The first byte, the handshake or the peer's credentials were refused; `problem` ends a sentence. */
  failed(problem: string): void
  gone(): void
}

/** A way in. TLS over TCP and the admin socket are two of them. */
export interface TransportAdapter {
  readonly name: string
  /** Starts to accept; returns where, for people. */
  listen(acceptor: Acceptor): Promise<string>
  /** Takes no more connections. */
  close(): Promise<void>
}

export type AuditHead = { readonly sequence: number; readonly hash: Uint8Array }
export type AuditValue = string | number | boolean | null | { readonly [name: string]: AuditValue }
export type AuditEvent = { readonly type: string; readonly [name: string]: AuditValue }

/** What decisions were made from, sealed under a key of the session. */
export interface FactsSink {
  /**
   * Keeps the content, which JSON can hold, and gives the SHA-256 (hex) of what was kept. Throws where it cannot.
   * @param session its id, 32 hex digits; undefined: of nobody's session
   */
  seal(session: string | undefined, content: unknown): string
  /** Destroys the keys of that session: what was sealed with them is gone. Gives how many there were. */
  purge(session: string): number
}

/** The record of what was decided and done. A record that cannot be written throws, and nothing is done then. */
export interface AuditSink {
  /** `isPast`: it has happened already, and nothing waits for its record. */
  append(event: AuditEvent, isPast?: boolean): void
  readonly head: AuditHead
  readonly publicKey: Uint8Array
  /** `sha256:<base64url>` of the public key. */
  readonly keyFingerprint: string
  readonly epoch: number
}
