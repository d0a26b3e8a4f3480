/**
 * The journal of the audit chain: appends signed records, continues over restarts, crashes and files, and changes its
 * key from epoch to epoch. A record with its chain hash is in the kernel before `append` returns; what cannot be
 * written throws, and nothing is done then. Its line is ended by the next record, or a moment later by a signature, which
 * stands for the records before it too; what a crash left without one is signed at the next start.
 * Rules: docs/responses.md, section 7.
 * @module
 */

import { hostSha256 } from '../base/crypto/sha256.node.ts'
import { encodeBase64Url } from '../base/encoding/base64.ts'
import { encodeHex } from '../base/encoding/hex.ts'
import { errnoOf, errnoText } from '../base/files.node.ts'
import type { MakeRoom } from '../base/room.ts'
import { SassError } from '../errors.ts'
import { AUDIT_RECORD_CHARS, AUDIT_SYNC_MS, HELD_RECORDS, SIGN_MS, UNSIGNED_RECORDS } from '../limits.ts'
import type { AuditEvent, AuditHead, AuditSink, DiskHealth } from '../ports.ts'
import { chainHash, EPOCH, GENESIS, readUnsealed, recordHead, recordSeal, standsAlone } from './chain.ts'
import { type ChainFile, type Lock, openChainFile } from './chain-file.node.ts'
import { firstSequenceOf } from './chain-tail.node.ts'
import type { EpochKey, EpochKeys } from './epoch-keys.ts'
import { keyNamed, type Standing, standingOf } from './standing.node.ts'
import { classified } from './taxonomy.ts'

/** When records outlive a loss of power: before their action, together after a moment, or as the system likes. */
export type Durability = 'always' | 'interval' | 'never'

export type JournalOptions = {
  readonly directory: string
  readonly keys: EpochKeys
  readonly wallMs: () => number
  readonly monotonicMs: () => number
  readonly lock: Lock
  /** Gives room on the disk of the directory where that is full. */
  readonly makeRoom?: MakeRoom | undefined
  /** Hash of the incident that this chain begins after, where one came before it. */
  readonly follows?: string | undefined
  readonly epochRecords: number
  readonly epochMs: number
  readonly segmentBytes: number
  readonly durability: Durability
  /** Is told of each record once it is written; it may append only later. */
  readonly observer?: { seen?: (event: AuditEvent, timestamp: string) => void }
  /** Calls back once after so many milliseconds. */
  readonly after: (ms: number, callback: () => void) => void
}

export type Journal = AuditSink & {
  /**
   * Records what has happened already. Where that cannot be written it is kept, and written before anything else is;
   * only what is more than HELD_RECORDS is lost, and the chain says how many.
   * @throws as append, where it is not in the chain yet
   */
  past(event: AuditEvent): void
  /** Signs, makes what was written survive a loss of power, changes the key where its time is over. */
  tick(): void
  /** How many files were closed since it was opened. */
  readonly closedFiles: number
  /** What has happened and waits for the disk, and how often a record could not be written. */
  readonly troubles: { readonly unwritten: number; readonly failed: number }
  /** Makes what was written last before it returns. False: it could not. */
  syncNow(): boolean
  readonly disk: DiskHealth
  close(): void
}

/** False for what no disk could take, which must not stand before what it can. */
function isDisks(cause: unknown): boolean {
  return cause instanceof SassError && cause.code === 'STATE_UNWRITABLE'
}

/** How much of an epoch may pass before its successor's key is made. */
const PREPARE_KEY_AT = 0.5

/**
 * Opens or continues the chain in the directory.
 * @throws STATE_UNWRITABLE where directory or file cannot be used, ADDRESS_IN_USE where another daemon writes there,
 *   INTEGRITY_RISK where chain and keys do not belong together or the end of the chain was changed
 */
export function openJournal(options: JournalOptions): Journal {
  const file = openChainFile(options.directory, options.lock, options.monotonicMs, options.makeRoom)
  try {
    return continued(file, standingOf(file, options.directory, options.keys), options)
  } catch (cause) {
    file.close()
    const errno = errnoOf(cause)
    if (errno === undefined) throw cause
    throw new SassError(
      'STATE_UNWRITABLE',
      `The next key of the audit chain cannot be written, since ${errnoText(errno)}: nothing runs unrecorded, so make room, or give the daemon a state_directory that it may write.`,
      { errno },
      cause,
    )
  }
}

function continued(file: ChainFile, standing: Standing, options: JournalOptions): Journal {
  const { keys, wallMs, monotonicMs, durability } = options
  const { tail } = standing
  let { current, spare } = standing
  let sequence = tail.sequence
  let hash = tail.last?.hash
  let segmentFirst = firstSequenceOf(file.descriptor)
  /** The hash of the last record, while its line has no end yet. */
  let unsealed: Uint8Array | undefined
  /** Records before it that the next signature is to stand for. */
  let carried = 0
  let epochRecords = 0
  let failed = 0
  /** Of this epoch by their streams; undefined for one that another run of the daemon began. */
  let byStream: Record<string, number> | undefined
  let epochSinceMs = monotonicMs()
  /** Keys that go as soon as the record of their successor is there for good. */
  const ended: EpochKey[] = [...standing.old]

  /** The end of the last record's line, where it has none yet, when another record follows it. */
  function endOfLast(): string {
    if (unsealed === undefined) return ''
    return recordSeal(carried < UNSIGNED_RECORDS ? undefined : current.sign(unsealed))
  }

  /** Writes a record; nothing has changed where that throws. `isWhole`: with its signature. */
  function put(event: AuditEvent, isWhole = durability === 'always' || standsAlone(event)): void {
    const timestamp = new Date(wallMs()).toISOString()
    const next: AuditEvent = { ...classified(event), seq: sequence + 1 }
    const previous = hash === undefined ? GENESIS : encodeHex(hash)
    const { hash: nextHash, json } = chainHash(previous, next, timestamp, hostSha256)
    const head = recordHead(json, timestamp, nextHash)
    if (head.length > AUDIT_RECORD_CHARS) {
      throw new SassError(
        'INTERNAL',
        'A record of the audit chain was too long to be read back; nothing was done.',
      )
    }
    // The line before is ended, and this one begun, in one write.
    const seal = isWhole ? recordSeal(current.sign(nextHash)) : ''
    try {
      file.write(`${endOfLast()}${head}${seal}`)
    } catch (cause) {
      failed++
      throw cause
    }
    if (isWhole || carried === UNSIGNED_RECORDS) carried = 0
    else if (unsealed !== undefined) carried++
    unsealed = isWhole ? undefined : nextHash
    segmentFirst ??= sequence + 1
    sequence++
    hash = nextHash
    epochRecords++
    if (byStream !== undefined && typeof next['stream'] === 'string')
      byStream[next['stream']] = (byStream[next['stream']] ?? 0) + 1
    options.observer?.seen?.(next, timestamp)
  }

  /** Signs the last record and ends its line; nothing to do where that has happened. */
  function seal(): void {
    if (unsealed === undefined) return
    try {
      file.write(recordSeal(current.sign(unsealed)))
      unsealed = undefined
      carried = 0
    } catch {
      // Told by the next append, which nothing can be done without.
    }
  }

  let isPreparing = false
  /** The next key is made while this one still signs, since the disk may take its time. */
  function prepareKey(): void {
    if (isPreparing || spare !== undefined) return
    isPreparing = true
    keys.createSoon(current.epoch + 1, (key) => {
      isPreparing = false
      spare = key
    })
  }

  /** From here on another key signs; the one before goes when this is there for good. */
  function changeKey(next: EpochKey): void {
    const event = { type: EPOCH, epoch: next.epoch, public_key: encodeBase64Url(next.publicKey) }
    // That records were written is no event of its own: this sums them up.
    put(byStream === undefined ? event : { ...event, records: byStream })
    ended.push(current)
    current = next
    spare = undefined
    epochRecords = 0
    byStream = {}
    epochSinceMs = monotonicMs()
  }

  function eraseEnded(): void {
    for (const { epoch } of ended.splice(0)) keys.erase(epoch)
  }

  function notKept(): SassError {
    return new SassError(
      'STATE_UNWRITABLE',
      `The disk does not keep what is written to the audit chain, since ${file.brokenBy ?? 'it is closed'}, so nothing more is done; look at the disk and restart the daemon.`,
    )
  }

  /** Who waits for what was recorded by now to be there for good. */
  let waiting: ((problem?: SassError) => void)[] = []

  /** One call of fdatasync(2) for all that was written by now; who comes meanwhile waits for the next one. */
  function sync(): void {
    if (isClosed || file.isSyncing) return
    const these = waiting
    waiting = []
    // Those whose successor is not in what is kept now must stay.
    const gone = ended.splice(0)
    file.sync((isKept) => {
      if (isKept) for (const { epoch } of gone) keys.eraseSoon(epoch)
      else ended.unshift(...gone)
      const problem = isKept ? undefined : notKept()
      for (const done of these) done(problem)
      if (waiting.length > 0) sync()
    })
  }

  /** 1: it is over. */
  function partOfEpoch(): number {
    if (epochRecords === 0) return 0
    return Math.max(epochRecords / options.epochRecords, (monotonicMs() - epochSinceMs) / options.epochMs)
  }

  /** A change of key or file that cannot be made now is made later: until then all goes on with the old one. */
  function changeWhatIsOver(): void {
    try {
      const part = partOfEpoch()
      if (part >= PREPARE_KEY_AT) prepareKey()
      if (part >= 1 && spare !== undefined) changeKey(spare)
      if (file.sizeBytes >= options.segmentBytes && segmentFirst !== undefined) {
        seal()
        if (unsealed === undefined && file.next(segmentFirst)) {
          segmentFirst = undefined
          closedFiles++
        }
      }
    } catch {
      // No room for a key: the next record says whether there is any for records.
    }
  }

  /** The record in a line that nobody has signed, if it is the next one. */
  function next(line: string): ReturnType<typeof readUnsealed> {
    const found = readUnsealed(line, hash === undefined ? GENESIS : encodeHex(hash), hostSha256)
    return found?.event['seq'] === sequence + 1 ? found : undefined
  }

  function takeOver({ hash: itsHash, event }: NonNullable<ReturnType<typeof next>>): void {
    sequence++
    hash = itsHash
    const brought = event.type === EPOCH ? keyNamed(event, spare === undefined ? [] : [spare]) : undefined
    if (brought === undefined) return
    ended.push(current)
    current = brought
    spare = undefined
  }

  /** Ends what a crash cut off: whole records are signed, a part of one was never acted upon and goes. */
  function recover(): void {
    if (file.sizeBytes === tail.endBytes) return
    const lines = tail.rest.split('\n')
    const torn = lines.pop() ?? ''
    let endBytes = tail.endBytes
    for (const line of lines) {
      const found = next(line)
      if (found === undefined)
        throw new SassError(
          'INTEGRITY_RISK',
          `Record ${sequence + 1} of the audit chain in ${options.directory} does not follow from the one before, so the chain cannot be continued: it was changed; look with sass-edge audit verify and keep it as evidence.`,
        )
      takeOver(found)
      endBytes += Buffer.byteLength(line) + 1
    }
    const found = next(torn)
    if (found === undefined) file.cutTo(endBytes)
    else {
      file.cutTo(endBytes + Buffer.byteLength(torn.slice(0, found.headLength)))
      // By the key of its own time, also where it brings in the next one.
      unsealed = found.hash
      seal()
      takeOver(found)
    }
    // The first record of all is that of the first key, and nothing happened before it.
    if (sequence === 0) return
    put(
      {
        type: 'recovered',
        what: found === undefined && torn !== '' ? 'torn_last_line' : 'unsigned_last_record',
      },
      true,
    )
  }

  function begin(): void {
    recover()
    const isNew = sequence === 0
    if (isNew) {
      const { follows } = options
      const first = { type: EPOCH, epoch: 0, public_key: encodeBase64Url(current.publicKey) }
      put(follows === undefined ? first : { ...first, follows })
      epochRecords = 0
      byStream = {}
    }
    if (current.epoch === 0 && keys.genesis() === undefined) {
      file.syncNow()
      keys.keepGenesis(current.publicKey)
    }
    if (isNew) return
    // Whoever had the device while the daemon was away may have its key: it signs no more than this. It goes when its
    // successor's record is there for good, which nobody waits for: a slow disk takes 50 ms.
    changeKey(spare ?? keys.create(current.epoch + 1))
    tickSoon()
  }

  let closedFiles = 0
  let isTickDue = false
  /** Records that come together are made to last together. */
  function tickSoon(): void {
    if (isTickDue) return
    isTickDue = true
    options.after(AUDIT_SYNC_MS, () => {
      isTickDue = false
      tick()
    })
  }

  /** What has happened while nothing could be written, and how much more that was than is kept. */
  const held: AuditEvent[] = []
  let lost = 0

  function putHeld(): void {
    for (let event = held[0]; event !== undefined; event = held[0]) {
      try {
        put(event)
      } catch (cause) {
        if (isDisks(cause)) throw cause
        lost++
      }
      held.shift()
    }
    if (lost === 0) return
    put({ type: 'recovered', what: 'records_lost', count: lost })
    lost = 0
  }

  let isSignDue = false
  function signSoon(): void {
    if (isSignDue || unsealed === undefined) return
    isSignDue = true
    options.after(SIGN_MS, () => {
      isSignDue = false
      if (!isClosed) seal()
    })
  }

  function append(event: AuditEvent): void {
    if (event.type === EPOCH)
      throw new SassError('INTERNAL', 'Only the journal itself brings in keys; nothing was recorded.')
    changeWhatIsOver()
    putHeld()
    put(event)
    signSoon()
    if (durability !== 'never') tickSoon()
  }

  let isClosed = false
  function tick(): void {
    if (isClosed) return
    seal()
    changeWhatIsOver()
    // Also where records may wait: the key of an epoch that is over must not lie there for long.
    if (durability !== 'never' || ended.length > 0) sync()
  }

  function whenKept(done: (problem?: SassError) => void): void {
    waiting.push(done)
    // What is asked for in one turn is kept by one call, and nobody is called back before this returns.
    queueMicrotask(isClosed ? refuseWaiting : sync)
  }

  function refuseWaiting(): void {
    for (const done of waiting.splice(0)) done(notKept())
  }

  const disk: DiskHealth = {
    get syncMs() {
      return file.syncMs
    },
    get isSyncing() {
      return file.isSyncing
    },
    get failure() {
      return file.brokenBy === undefined ? undefined : notKept().message
    },
    probe: file.probe,
  }

  begin()

  return {
    append,
    past(event) {
      try {
        append(event)
      } catch (cause) {
        if (isDisks(cause) && held.length < HELD_RECORDS) held.push(event)
        else lost++
        throw cause
      }
    },
    ...(durability === 'always' ? { whenKept } : {}),
    get disk() {
      return disk
    },
    get head(): AuditHead {
      return { sequence, hash: hash ?? new Uint8Array(32) }
    },
    get publicKey() {
      return current.publicKey
    },
    get keyFingerprint() {
      return `sha256:${encodeBase64Url(hostSha256(current.publicKey))}`
    },
    genesisKey: keys.genesis,
    get epoch() {
      return current.epoch
    },
    get closedFiles() {
      return closedFiles
    },
    get troubles() {
      return { unwritten: held.length, failed }
    },
    syncNow() {
      seal()
      return file.syncNow()
    },
    tick,
    close() {
      isClosed = true
      seal()
      if (file.syncNow()) eraseEnded()
      file.close()
      refuseWaiting()
    },
  }
}
