/**
 * The spool: envelopes out of inboxes, through quarantine and the checks, to whoever they are for. Each step leaves the
 * old state or the new one: a file is moved before it is read; that it was accepted is on the record, then in the index,
 * which has its bytes from then on; whatever a crash leaves is found by where it lies and gone on with.
 *
 *     inbox/NAME -> quarantine -> (checks, record, index) -> taken once
 *                              -> stays, with its reason
 * Rules: docs/intent.md (the spool); FT-002, FT-003 and FT-009 of the source.
 * @module
 */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { hostBytesDigest } from '../../base/crypto/sha256.node.ts'
import { errnoOf, errnoText, makePrivateDirectory } from '../../base/files.node.ts'
import { refusalOf, refusalText } from '../../intent/envelopes/refusal.ts'
import {
  INBOX_ENTRIES,
  INBOX_ENTRIES_IN_ALL,
  INTENT_BATCH_FILES,
  SUBMITTED_REFUSED,
  TAKEN_KEPT_MS,
} from '../../intent/spool/limits.ts'
import { agentOrigin, mayWait, shareOf, whoGoes } from '../../intent/spool/places.ts'
import type {
  Accepted,
  Claimed,
  Given,
  Intake,
  IntentRoom,
  Judged,
  Quarantined,
  Refusal,
} from '../../intent/spool/room.ts'
import type { AuditEvent, Clock, Log, Random } from '../../ports.ts'
import { eachEnvelope, type Inbox, inboxesOf, stampOf } from './inboxes.node.ts'
import { openQuarantine } from './quarantine.node.ts'
import type { ReplayIndex } from './replay-index.node.ts'

/** What is done now and then. */
const UPKEEP_MS = 60_000

export type SpoolGround = {
  /** `STATE/intent`. */
  readonly directory: string
  readonly index: ReplayIndex
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly settings: () => { readonly quarantineMax: number; readonly dropDirectories: readonly string[] }
  readonly isReceiver: (name: string) => boolean
  /** Whom a flood of others' envelopes must not keep from being reached. */
  readonly isReserved: (receiver: string) => boolean
  /** The checks. Pure but for what it asks the index. */
  readonly judge: (bytes: Uint8Array, receiver: string) => Judged
  /** Whether the device itself has something to do with it. */
  readonly isOurs: (of: Accepted) => boolean
  /** @throws where it cannot be written: then it is not done */
  readonly record: (event: AuditEvent) => void
  /** Of what has happened. */
  readonly note: (event: AuditEvent) => void
  /** There is something new for that receiver. */
  readonly arrived: (of: Accepted) => void
}

export type Spool = Pick<IntentRoom, 'submit' | 'list' | 'take' | 'quarantine' | 'release' | 'discard'> & {
  /** Looks at every inbox once. True: there is more, and it is worth looking at once. */
  poll(): boolean
  /** What one says that still waits for its receiver, and goes on waiting. */
  read(id: string): Uint8Array | undefined
  /** Since the start. */
  readonly counts: { accepted: number; refused: number; taken: number }
}

type Settled = { readonly name: string; readonly of: Accepted }

export function createSpool(ground: SpoolGround): Spool {
  const { directory, index, clock, random, log, settings } = ground
  const places = {
    inbox: join(directory, 'inbox'),
    quarantine: join(directory, 'quarantine'),
  }
  for (const path of Object.values(places)) makePrivateDirectory(path)
  const quarantine = openQuarantine(places.quarantine, random, clock.wallMs)
  /** What an earlier daemon had not done with: the index may have it. */
  const leftOver = new Set(quarantine.undecided())
  const counts = { accepted: 0, refused: 0, taken: 0 }
  const looked = new Map<string, string>()
  /** Inboxes that are looked at in several polls: where the next one goes on, and what the first one has seen. */
  const cutAt = new Map<string, { readonly next: number; readonly stamp: string }>()
  /** Files that could not be taken, as they were then: what stands behind them has its turn. */
  const notTaken = new Set<string>()
  const told = new Set<string>()
  let looks = 0
  let upkeepAtMs = Number.NEGATIVE_INFINITY

  /** Once, until it is over. */
  function tell(what: string, isSo: boolean, say: () => void): void {
    if (!isSo) told.delete(what)
    else if (!told.has(what)) {
      told.add(what)
      say()
    }
  }

  /** Whether one more may wait for that receiver. */
  function hasRoomFor(receiver: string): boolean {
    const own = index.load(receiver)
    const all = index.load(undefined)
    const isFree = index.hasRoom && mayWait(own, all, ground.isReserved(receiver))
    tell(`room ${receiver}`, !isFree, () =>
      log.write('warn', 'intent_inbox_waits', {
        ...{ receiver, waiting: own.count, bytes: own.bytes, of_all: all.bytes, index: index.hasRoom },
      }),
    )
    return isFree
  }

  /** Whether there is a place in quarantine for one more of that origin; where it is full, one is made if it can be. */
  function hasPlace(origin: Pick<Quarantined, 'from' | 'receiver'>): boolean {
    const { quarantineMax } = settings()
    const share = shareOf(origin)
    if (quarantine.size >= quarantineMax) makePlace(quarantine.list(), share)
    const isFull = quarantine.size >= quarantineMax
    tell(`quarantine ${share}`, isFull, () => {
      log.write('warn', 'intent_quarantine_full', { files: quarantine.size })
      ground.note({ type: 'intent', what: 'quarantine_full', files: quarantine.size, most: quarantineMax })
    })
    return !isFull
  }

  function makePlace(among: readonly Quarantined[], share: string): void {
    const gone = whoGoes(among, share, isCopy, clock.wallMs())
    if (gone === undefined) return
    const { name, receiver, digest, from } = gone
    quarantine.remove(name)
    ground.note({ type: 'intent', what: 'aged_out', file: name, receiver, digest, from })
  }

  /** Of what was accepted with the very same bytes: nothing is lost with it. */
  function isCopy({ refusal, digest, receiver }: Pick<Quarantined, 'refusal' | 'digest' | 'receiver'>) {
    return refusal?.code === REPLAYED.code && index.wasAccepted(digest, receiver)
  }

  function eventOf(
    what: string,
    name: string,
    digest: string,
    of: Claimed & { receiver: string },
  ): AuditEvent {
    const { id, session, sender, receiver, template } = of
    return {
      ...{ type: 'intent', what, envelope: id ?? null, session: session ?? null, sender: sender ?? null },
      ...{ receiver, template: template ?? null, digest, from: quarantine.find(name)?.from ?? null },
    }
  }

  /** Out of quarantine: the index has them. */
  function place(settled: readonly Settled[]): void {
    for (const { name, of } of settled) {
      quarantine.remove(name)
      leftOver.delete(name)
      ground.arrived(of)
    }
  }

  type Outcome =
    | { readonly kind: 'accepted'; readonly settled: Settled }
    | {
        readonly kind: 'refused'
        readonly name: string
        readonly refusal: Refusal
        readonly digest: string
        readonly size: number
      }

  function refusedAs(
    name: string,
    refusal: Refusal,
    of: { readonly claimed: Claimed; readonly digest: string; readonly size: number },
  ): Outcome {
    const receiver = quarantine.find(name)?.receiver ?? ''
    const { step, code, ticket } = refusal
    ground.record({
      ...eventOf('rejected', name, of.digest, { ...of.claimed, receiver }),
      ...{ step, code, ticket: ticket ?? null },
    })
    return { kind: 'refused', name, refusal, digest: of.digest, size: of.size }
  }

  function decide(name: string): Outcome {
    const read = quarantine.read(name)
    const { receiver = '' } = quarantine.find(name) ?? {}
    if (!read.ok) return refusedAs(name, read.refusal, { claimed: {}, digest: '', size: read.size })
    const { bytes } = read
    const digest = hostBytesDigest(bytes)
    const size = bytes.length
    const before = leftOver.has(name) ? index.waitingByDigest(digest, receiver) : undefined
    if (before !== undefined) return { kind: 'accepted', settled: { name, of: before } }
    const judged = ground.judge(bytes, receiver)
    if (judged.kind === 'refused')
      return refusedAs(name, judged.refusal, { claimed: judged.claimed, digest, size })
    const of: Accepted = { ...judged.of, digest, size, acceptedAtMs: clock.wallMs() }
    if (!index.accept(of, bytes, ground.isOurs(of)))
      return refusedAs(name, REPLAYED, { claimed: judged.of, digest, size })
    ground.record(eventOf('validated', name, digest, of))
    return { kind: 'accepted', settled: { name, of } }
  }

  /** All of them, or none where something cannot be written: then they are judged again later. */
  function settle(names: readonly string[]): readonly Outcome[] {
    const outcomes = index.whole(() => names.map(decide))
    place(outcomes.flatMap((outcome) => (outcome.kind === 'accepted' ? [outcome.settled] : [])))
    for (const outcome of outcomes) {
      if (outcome.kind === 'accepted') counts.accepted++
      else {
        counts.refused++
        quarantine.refuse(outcome.name, outcome.refusal, outcome.digest, outcome.size)
      }
    }
    return outcomes
  }

  function fromInbox(inbox: Inbox, limit: number, into: string[]): boolean {
    const { path, receiver, from } = inbox
    const stamp = stampOf(path)
    if (stamp === undefined || looked.get(path) === stamp || !hasRoomFor(receiver)) return true
    const isLeft = (file: Buffer) => notTaken.size > 0 && notTaken.has(stampOf(file) ?? '')
    let isFull = false
    const before = into.length
    const begun = cutAt.get(path) ?? { next: 0, stamp }
    const end = eachEnvelope(inbox, { limit, start: begun.next, isLeft }, (file) => {
      isFull ||= !hasPlace(inbox)
      if (isFull) return
      try {
        const name = quarantine.moveIn(file, receiver, from)
        if (name !== undefined) into.push(name)
      } catch (cause) {
        const known = stampOf(file)
        if (known !== undefined && notTaken.size < INBOX_ENTRIES) notTaken.add(known)
        tell(`move ${path}`, true, () => cannot('intent_not_taken', path, cause))
      }
    })
    if (isFull || end === 'more') return false
    if (end !== 'all' && end.next < INBOX_ENTRIES_IN_ALL) {
      cutAt.set(path, { next: end.next, stamp: begun.stamp })
      return false
    }
    cutAt.delete(path)
    tell(`crowd ${path}`, end !== 'all', () =>
      log.write('warn', 'intent_inbox_crowded', { path, entries: INBOX_ENTRIES_IN_ALL }),
    )
    // What came while it was read has changed it: then it is looked at again.
    if (into.length === before) looked.set(path, begun.stamp)
    return true
  }

  function cannot(event: string, path: string, cause: unknown): void {
    const reason = errnoOf(cause) === undefined ? (cause as Error).message : errnoText(errnoOf(cause))
    log.write('error', event, { path, reason })
  }

  /** Another one first at each look: one that is never empty keeps no other waiting. */
  function inTurn(): readonly Inbox[] {
    const inboxes = inboxesOf(places.inbox, settings().dropDirectories, ground.isReceiver)
    const first = looks++ % Math.max(1, inboxes.length)
    return [...inboxes.slice(first), ...inboxes.slice(0, first)]
  }

  function takeIn(): { readonly names: readonly string[]; readonly isAll: boolean } {
    const names: string[] = []
    let isAll = true
    for (const inbox of inTurn()) {
      const most = INTENT_BATCH_FILES - names.length
      if (most <= 0) return { names, isAll: false }
      try {
        isAll = fromInbox(inbox, most, names) && isAll
      } catch (cause) {
        tell(`read ${inbox.path}`, true, () => cannot('intent_inbox_unreadable', inbox.path, cause))
      }
    }
    return { names, isAll }
  }

  function upkeep(): void {
    const now = clock.monotonicMs()
    if (now - upkeepAtMs < UPKEEP_MS) return
    upkeepAtMs = now
    // Whatever was in the way may be gone: a stick that can be written to again says so nowhere.
    if (notTaken.size > 0) {
      notTaken.clear()
      looked.clear()
    }
    const wall = clock.wallMs()
    index.forgetTaken(wall - TAKEN_KEPT_MS)
    for (const of of index.expire(wall)) {
      ground.record({ type: 'intent', what: 'expired', ...idsOf(of) })
      index.take(of.id, wall)
      index.done(of.id)
    }
  }

  const idsOf = ({ id, session, sender, receiver, template, digest }: Accepted) => ({
    ...{ envelope: id, session, sender, receiver, template, digest },
  })

  /** What could not be judged comes first; it has its place already. Each by itself: none keeps another back. */
  function settleLeft(): void {
    for (const name of quarantine.undecided().slice(0, INTENT_BATCH_FILES))
      try {
        settle([name])
        tell(`judge ${name}`, false, () => {})
      } catch (cause) {
        quarantine.postpone(name)
        tell(`judge ${name}`, true, () => cannot('intent_not_judged', join(places.quarantine, name), cause))
      }
  }

  function poll(): boolean {
    upkeep()
    settleLeft()
    const { names, isAll } = takeIn()
    if (names.length > 0) settle(names)
    // Where nothing could be taken there is nothing to do at once, however much there is.
    return !isAll && names.length > 0
  }

  function intakeOf(outcome: Outcome | undefined): Intake | undefined {
    if (outcome === undefined) return undefined
    if (outcome.kind === 'accepted') return { kind: 'accepted', of: outcome.settled.of }
    return { kind: 'refused', name: outcome.name, refusal: outcome.refusal }
  }

  function submit(bytes: Uint8Array, receiver: string, agent: string): Intake {
    const from = agentOrigin(agent)
    const own = () => quarantine.list().filter((one) => one.from === from)
    if (own().length >= SUBMITTED_REFUSED) makePlace(own(), from)
    const refused = own().length
    if (refused >= SUBMITTED_REFUSED)
      return busy(`${refused} refused envelopes of yours lie in quarantine: ask the operator to look at them`)
    if (!hasPlace({ from, receiver })) return busy('The quarantine is full: ask the operator to look at it')
    if (!hasRoomFor(receiver)) return busy('Too much waits for that receiver: ask again when it has taken it')
    try {
      const [outcome] = settle([quarantine.put(bytes, receiver, from)])
      // Whoever has lost a link hands in again what was accepted, and is told so: no operator has to look at that.
      if (outcome?.kind === 'refused' && isCopy({ ...outcome, receiver })) quarantine.remove(outcome.name)
      return intakeOf(outcome) ?? busy('The device cannot judge it just now: ask again later')
    } catch (cause) {
      cannot('intent_not_kept', places.quarantine, cause)
      return busy('The device cannot keep it just now: list what waits, and ask again later')
    }
  }

  const busy = (problem: string): Intake => ({ kind: 'busy', problem: `${problem}.` })

  function take(id: string, receiver: string): Given {
    const of = index.find(id)
    const bytes = of === undefined ? undefined : index.contentOf(id)
    if (of === undefined || of.receiver !== receiver || bytes === undefined) return { kind: 'unknown' }
    if (index.take(id, clock.wallMs())) {
      counts.taken++
      ground.note({ type: 'intent', what: 'taken', ...idsOf(of) })
    }
    if (hostBytesDigest(bytes) === of.digest) return { kind: 'given', of, bytes }
    ground.note({ type: 'intent', what: 'changed', ...idsOf(of) })
    return { kind: 'changed' }
  }

  function read(id: string): Uint8Array | undefined {
    const bytes = index.contentOf(id)
    return bytes !== undefined && hostBytesDigest(bytes) === index.find(id)?.digest ? bytes : undefined
  }

  function operated(what: string, { name, receiver, digest }: Quarantined, by: string): void {
    ground.record({ type: 'intent', what, file: name, receiver, digest, by })
  }

  // What a crash has left of writing.
  for (const name of readdirSync(places.quarantine))
    if (/^\.[0-9a-f]{16}\.tmp$/.test(name)) rmSync(join(places.quarantine, name))

  return {
    poll,
    submit,
    list: index.waiting,
    take,
    read,
    quarantine: quarantine.list,
    release(name, by) {
      const found = quarantine.find(name)
      if (found === undefined) return undefined
      operated('released', found, by)
      quarantine.reopen(name)
      return intakeOf(settle([name])[0])
    },
    discard(name, by) {
      const found = quarantine.find(name)
      if (found === undefined) return false
      operated('discarded', found, by)
      quarantine.remove(name)
      return true
    },
    counts,
  }
}

const REPLAYED: Refusal = Object.freeze({
  ...{ step: 12, code: 'REPLAY', ticket: 'FT-002', field: 'envelope_id' },
  problem: refusalText(refusalOf('REPLAY', 'envelope_id', 'was accepted before')),
})
