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

/** What bounds a session's processes. */
export interface SpawnGroup {
  /** Lists of threads of version 1: who is in there starts programs there. In the order of the launcher's homes. */
  readonly entered: readonly number[]
  /** The directory of the last of them, which lists them all, and how many it may have; -1 for none. */
  readonly directory: number
  readonly processes: number
  /** The list of processes of version 2, which the number of a program is written to; -1: there is none. */
  readonly joined: number
  /** For who runs for longer: puts everything of the session where its processor time is bounded, beside other work. */
  follow(): void
  /** True where the kernel killed something for want of memory since this was asked last. */
  tookMemoryKill(): boolean
  /** While forbidden, nothing of the session can start a process. */
  forbidForks(areForbidden: boolean): void
}

/** Namespaces of a session, by descriptor; see docs/sandbox.md. */
export interface SpawnNamespaces {
  /** Never given twice, and not 0: descriptors are. */
  readonly number: number
  readonly mount: number
  readonly pid: number
  readonly ipc: number
  /** -1: the host's network. */
  readonly network: number
  /** The first process there: with it all end. */
  readonly initPid: number
  /** Lists its children, whom all fall to that lose their parent (proc(5), children); -1 where the kernel lists none. */
  readonly children: number
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
  /** Where it runs; absent: where the daemon does. Paths are those that are seen there. */
  readonly namespaces?: SpawnNamespaces | undefined
  readonly group?: SpawnGroup | undefined
  /** O_PATH on `/` as it is seen there. */
  readonly rootDescriptor?: number | undefined
  /** Who runs it; absent: the daemon's user. */
  readonly runAs?: { readonly userId: number; readonly groupId: number } | undefined
  /** What it leaves running at its end stays, in its session; absent: it ends with it. */
  readonly keepsBackground?: boolean | undefined
  /** The file is a descriptor of the daemon's, as `/proc/self/fd/N`. */
  readonly isDescriptor?: boolean | undefined
  /** A descriptor of the daemon's that the program has beside its three, as its fourth; absent: none. */
  readonly fourthDescriptor?: number | undefined
  /** What the file must still be when it is started; absent: whatever is there. */
  readonly pinned?:
    | {
        readonly device: string
        readonly inode: string
        readonly size: string
        readonly changedNs: string
        /** Lower-case hex. */
        readonly sha256: string
      }
    | undefined
}

export const STDOUT = 0
export const STDERR = 1
/** Which of a process's two outputs; a terminal has STDOUT only. */
export type OutputSource = typeof STDOUT | typeof STDERR

/** Processes that a command was asked to leave. None of it may be called once the place that they run in is given up. */
export interface LeftBehind {
  /** Of those that were there when the command ended: how many are. */
  alive(): number
  /** To each of those. False: none is there. */
  signal(number: number): boolean
  /** SIGKILL to them, and to whatever else of the place nobody has asked to stay. */
  end(): void
}

/**
 * `tookMemoryKill`: something of the session was killed for want of memory while it ran.
 * `left`: it was asked to leave what it started, and something is there.
 */
export type ExitStatus = (
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: number }
) & { readonly tookMemoryKill?: boolean; readonly left?: LeftBehind | undefined }

/** How fast what a child writes may be read; absent: as it comes. */
export interface OutputPace {
  /** The most that the next read of that output may bring; 0: none is due. */
  readBytes(source: OutputSource): number
  /** How much the child may have written ahead of what is read. */
  aheadBytes(): number
}

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
  /** Asked at the start and after each read. */
  readonly pace?: OutputPace | undefined
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

/** A Zstandard frame in the making. Every piece of it is flushed: what was put in can be read as soon as it is there. */
export interface OutputCoder {
  /**
   * Puts in the next piece; one at a time. `plain` is borrowed until `done` is called, once and never from inside.
   * Undefined: it could not be coded, and nothing can any more.
   */
  code(plain: Uint8Array, done: (coded: Uint8Array | undefined) => void): void
  /** Gives back what it holds; `done` is not called any more. */
  close(): void
}

/** Who makes them, so many at once as there is memory for. */
export interface OutputCoders {
  /** Undefined: as many as there may be are at work. */
  open(): OutputCoder | undefined
}

/** `corrupt`: it is no sound frame of that size; `slow`: decoding it was given up. */
export type ZstdDecoded = Uint8Array | 'corrupt' | 'slow'

/** Who decodes the Zstandard frames of payloads; for such alone as the gate has passed. */
export interface ZstdDecoder {
  /** `frame` is kept until the promise settles, which it always does, with exactly `plainBytes` bytes or a word. */
  decode(frame: Uint8Array, plainBytes: number): Promise<ZstdDecoded>
}

export interface Spawner {
  spawn(plan: SpawnPlan, events: ChildEvents): Child
}

/** What a session sees of the device's files. */
export interface SessionView {
  /** An open directory, for looking up alone: the `/` of the session. */
  readonly rootDescriptor: number
  /** Absolute paths in it: the directories that the session may write in. */
  readonly writable: readonly string[]
  /** Whose rights hold in it; undefined: the daemon's user, without what its capabilities add. */
  readonly user?: { readonly userId: number; readonly groupId: number } | undefined
}

/** What is at the end of a path, without anything having been opened for it. */
export type FileLook = {
  /** Where it really lies, links followed; of what is not there, where its nearest directory lies and the rest. */
  readonly real: string
  /** `orphan`: not even its directory is there. `other`: a device, a FIFO, a socket, or a link that leads nowhere. */
  readonly kind: 'file' | 'directory' | 'missing' | 'orphan' | 'other'
  readonly size: number
}

/** One file that is to be written; paths are absolute, and the real one of a look. */
export type ReceivePlan = {
  readonly real: string
  readonly size: number
  /** Permission bits; undefined: those of the file that is replaced, or the usual ones. */
  readonly mode: number | undefined
  /** Lower-case hex. Undefined: whatever it turns out to be. */
  readonly sha256: string | undefined
  /** What was written of it before may be gone on with up to here; 0: from the beginning. */
  readonly offset: number
  /** Names what is written until it is whole: the same key finds it again. Lower-case hex. */
  readonly key: string
}

/** A file that is being written beside its place. Every rejection is a SassError with a code of files. */
export interface FileReceiver {
  /** How much of it is there already, and the SHA-256 of that. */
  readonly offset: number
  readonly sha256: Uint8Array
  /** Takes the bytes over; one at a time. */
  write(bytes: Uint8Array): Promise<void>
  /**
   * Checks it, and puts it in its place in one step; resolves with the SHA-256 of the whole.
   * @param view as it is now: another one where the branch was mounted anew meanwhile, and then the place has moved
   */
  finish(view: SessionView): Promise<Uint8Array>
  /** Gives up: what is there stays for another time, or goes. After a write has settled; does nothing after `finish`. */
  stop(keeps: boolean): Promise<void>
}

/** A file, or the list of a directory, that is being read. */
export interface FileReader {
  readonly kind: 'file' | 'directory'
  readonly size: number
  readonly mode: number
  /** Where reading begins. */
  readonly offset: number
  /** Fills the beginning of `target`; resolves with how much, 0 at the end. */
  read(target: Uint8Array): Promise<number>
  /** At the end: the SHA-256 of the whole. Rejects where it is not what it was when reading began. */
  finish(): Promise<Uint8Array>
  close(): void
}

/** The daemon's own work on the files of a session. It decides nothing: who calls it has redeemed a warrant for it. */
export interface FileWork {
  /** Opens nothing, and throws only for what cannot be looked at at all. */
  look(view: SessionView, path: string): FileLook
  receive(view: SessionView, plan: ReceivePlan): Promise<FileReceiver>
  /** Makes a directory, and those that it lies in; one that is there gets the mode. */
  makeDirectory(view: SessionView, real: string, mode: number | undefined): Promise<void>
  /** Makes a symbolic link in place of a file or link that may be there. */
  makeLink(view: SessionView, real: string, target: string): Promise<void>
  /**
   * @param prefix SHA-256 of the `offset` bytes that are known already: where they are others, reading begins at 0
   */
  read(
    view: SessionView,
    real: string,
    offset: number,
    prefix: Uint8Array | undefined,
    limitBytes: number,
  ): Promise<FileReader>
}

/** What a handshake agreed; empty strings on the admin socket, which has none. */
export type TransportAgreement = { readonly version: string; readonly suite: string; readonly alpn: string }

/** Bytes of TCP payload: TLS records and handshakes, without the heads of TCP and IP. */
export type WireBytes = { received: number; sent: number }

/** Counts what one connection carries. */
export interface WireMeter {
  /** Whose it is, once; what it has carried so far is theirs too. */
  charge(account: WireBytes): void
  /** It carries nothing more. */
  close(): void
}

/** Who has connections counted. `read` tells what one has carried so far, also when it is closed. */
export interface WireMeters {
  open(read: () => WireBytes): WireMeter
}

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
  /** Counts what it carries; undefined where that is no link. */
  readonly meter?: Pick<WireMeter, 'charge'> | undefined
  /**
   * Sends in order; what is written in one turn travels together. `taken` is called when `bytes` may be reused: with true
   * where the connection ended before them.
   */
  write(bytes: Uint8Array, taken?: (isLost?: boolean) => void): void
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
  /** How much was kept since the start. */
  readonly sealedBytes: number
  /** Destroys the keys of that session: what was sealed with them is gone. Gives how many there were. */
  purge(session: string): number
}

/** Where a line stands in a LineFile, and how long it is there. Whoever writes the file anew moves it. */
export type LinePlace = { at: number; readonly bytes: number }

/** A file of lines: appended to, and now and then written anew with those that are still wanted. */
export interface LineFile {
  /**
   * Gives every line that is whole with its place, oldest first; once, before everything else. What a crash has left of
   * a last line is cut off. Returns how many lines were not what was once written.
   */
  read(take: (line: string, place: LinePlace) => void): number
  /**
   * In the kernel when this returns.
   * @throws STATE_UNWRITABLE; nothing of it is in the file then
   */
  append(line: string): LinePlace
  /** @throws STATE_UNWRITABLE where it cannot be read */
  line(place: LinePlace): string
  readonly sizeBytes: number
  /**
   * Writes the file anew with the lines at these places alone, and moves the places; what a crash leaves is the old file
   * or the new one. Nothing else is in it, and will be found on the disk, when this returns.
   * @throws STATE_UNWRITABLE; the file is as it was then
   */
  keepOnly(places: () => Iterable<LinePlace>): void
  /** The same, a little later and without making anybody wait; what is appended meanwhile is kept. */
  keepOnlySoon(places: () => Iterable<LinePlace>): void
  /** As in AuditSink: absent where nothing waits for what was written to outlive a loss of power. */
  readonly whenKept?: (done: (problem?: Error) => void) => void
}

/** One file that is being kept. */
export interface CopyWriter {
  /** `bytes` are lent until it resolves. */
  write(bytes: Uint8Array): Promise<void>
  /** Once the disk has all of it: its SHA-256, lower-case hex. */
  finish(): Promise<string>
  close(): void
}

/** Files that belong to what is kept elsewhere. One that nothing there names is what a crash has left. */
export interface CopyStore {
  /** @throws STATE_UNWRITABLE, as everything of the writer does */
  create(name: string): CopyWriter
  /** As `FileWork.read`. */
  open(name: string, offset: number, prefix: Uint8Array | undefined): Promise<FileReader>
  /** `erases`: what was in them is not found on the disk either. What cannot be removed goes at the next start. */
  remove(names: readonly string[], erases: boolean): void
  keepOnly(isWanted: (name: string) => boolean): void
}

/** How the disk does that the record is kept on. */
export interface DiskHealth {
  /** Milliseconds that it took the last time to keep what was written, or takes already where that is longer. */
  readonly syncMs: number
  /** True while it is being asked to. */
  readonly isSyncing: boolean
  /** Why nothing is recorded any more until a restart, as a sentence. */
  readonly failure: string | undefined
  /** Finds out anew how long it takes. */
  probe(): void
}

/** The record of what was decided and done. A record that cannot be written throws, and nothing is done then. */
export interface AuditSink {
  /** `isPast`: it has happened already, and nothing waits for its record. */
  append(event: AuditEvent, isPast?: boolean): void
  /**
   * Calls back, later, once what was recorded by now outlives a loss of power, or with why it does not: then nothing of
   * it may be done. Absent where actions do not wait for that.
   */
  readonly whenKept?: (done: (problem?: Error) => void) => void
  readonly head: AuditHead
  readonly publicKey: Uint8Array
  /** `sha256:<base64url>` of the public key. */
  readonly keyFingerprint: string
  /** The key of the first epoch, which whoever verifies pins. */
  genesisKey(): Uint8Array | undefined
  readonly epoch: number
}
