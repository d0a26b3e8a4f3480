/**
 * Who was let in beside the configuration, and under which keys: invitations that are open, callers that have enrolled by
 * one, and keys that callers have changed. One book, kept whole by whoever made the store: an invitation is used up and
 * its caller listed in the same step, so no crash comes in between.
 *
 * Of a token only its SHA-256 is kept. How long an invitation is open is counted on the monotonic clock from when it was
 * made or the book was opened; at a start the clock of the wall says what is left, and where that has gone back since,
 * nothing is. What the book says of a caller never gives it another role or set than the operator has named.
 * Rules: docs/protocol.md, section 4.
 * @module
 */
import { equalConstantTime, sha256 } from '../../base/crypto/hash.ts'
import { decodeHex, encodeHex } from '../../base/encoding/hex.ts'
import {
  CONFIG_AGENTS,
  ENROLMENT_TOKEN_BYTES,
  INVITATION_CLOCK_SLACK_SECONDS,
  INVITATION_MAX_SECONDS,
  INVITATIONS_OPEN,
  KEY_OVERLAP_SECONDS,
} from '../../limits.ts'
import type { Clock, Random } from '../../ports.ts'

type Rights = {
  readonly name: string
  readonly role: 'agent' | 'operator'
  readonly capability: string
  /** The operator that has invited; absent: from before this was kept. */
  readonly by?: string
}
/** Times are Unix seconds; keys are base64url, digests hex. */
export type Invitation = Rights & {
  readonly digest: string
  readonly made_at: number
  readonly ttl_seconds: number
}
export type Enrolled = Rights & { readonly public_key: string; readonly enrolled_at: number }
/** `listed`: the key that the list has; it goes on naming whose executions are whose. */
export type KeyChange = {
  readonly name: string
  readonly listed: string
  readonly current: string
  /** Still taken beside the current one; null: no longer. */
  readonly previous: string | null
  readonly changed_at: number
}
export type IdentityBook = {
  readonly invitations: readonly Invitation[]
  readonly enrolled: readonly Enrolled[]
  readonly keys: readonly KeyChange[]
}

export const EMPTY_BOOK: IdentityBook = Object.freeze({ invitations: [], enrolled: [], keys: [] })

/** Reads and replaces the book; `update` keeps everybody else out meanwhile. Both throw what the disk says. */
export type BookStore = {
  load(): IdentityBook
  /** Undefined from `change`: nothing is written. */
  update(change: (book: IdentityBook) => IdentityBook | undefined): IdentityBook
}

export type KeysInForce = { readonly current: string; readonly previous: string | undefined }

export type Enrolments = {
  /** Changes with every change of what `find` and `keysOf` say. */
  readonly version: number
  readonly size: number
  find(name: string): Enrolled | undefined
  /** What a caller that the list has under that key may prove itself with. */
  keysOf(name: string, listed: string): KeysInForce
  /** Whether somebody's key in this book is that one. */
  hasKey(key: string): boolean
  /** The open invitation of that name and token; compared in constant time, whatever is open. */
  invited(name: string, token: Uint8Array): Invitation | undefined
  /** Undefined: as many are open as may be. One of the same name is replaced. */
  invite(
    rights: Rights,
    ttlSeconds: number,
  ): { readonly token: Uint8Array; readonly expiresAt: number } | undefined
  /** Uses the invitation up and lists the caller; false where it is used up, withdrawn or expired by now. */
  enrol(invitation: Invitation, publicKey: string): boolean
  /** `isListed`: names that the rest of the list still has; what the book has of others goes. */
  changeKey(name: string, listed: string, next: string, isListed: (name: string) => boolean): void
  /** That key was just proven: where it is the new one, the old one is in force no more, and is returned. */
  used(name: string, key: string): string | undefined
  /** Names and old keys whose time is over. */
  tick(nowMs: number): readonly { readonly name: string; readonly previous: string }[]
  /** The book as it is on the disk now. */
  reread(): void
}

/** What is left of `seconds` that began at `beganAt`; nothing where the clock was set back since. */
function secondsLeft(beganAt: number, seconds: number, nowSeconds: number): number {
  const gone = nowSeconds - beganAt
  return gone < -INVITATION_CLOCK_SLACK_SECONDS ? 0 : Math.max(0, seconds - Math.max(0, gone))
}

const byOf = (by: string | undefined): { by?: string } => (by === undefined ? {} : { by })

const byName =
  (name: string) =>
  (entry: { readonly name: string }): boolean =>
    entry.name === name

export function createEnrolments(store: BookStore, clock: Clock, random: Random): Enrolments {
  let book = EMPTY_BOOK
  let version = 0
  /** Monotonic ends, by digest of the token and by `name/key`: counted once, whatever the clock of the wall does. */
  const ends = new Map<string, number>()

  const wallSeconds = (): number => Math.floor(clock.wallMs() / 1_000)
  const overlapKey = ({ name, current }: KeyChange): string => `${name}/${current}`
  const isOpen = ({ digest }: Invitation): boolean => (ends.get(digest) ?? 0) > clock.monotonicMs()
  const overlaps = (change: KeyChange): boolean =>
    change.previous !== null && (ends.get(overlapKey(change)) ?? 0) > clock.monotonicMs()

  /** Ends that are known stay; those of what is new are counted from what the wall says is left. */
  function take(next: IdentityBook): void {
    const [nowMs, nowSeconds] = [clock.monotonicMs(), wallSeconds()]
    const due = new Map<string, number>()
    const keep = (id: string, beganAt: number, seconds: number) =>
      due.set(id, ends.get(id) ?? nowMs + 1_000 * secondsLeft(beganAt, seconds, nowSeconds))
    for (const { digest, made_at, ttl_seconds } of next.invitations)
      keep(digest, made_at, Math.min(ttl_seconds, INVITATION_MAX_SECONDS))
    for (const change of next.keys)
      if (change.previous !== null) keep(overlapKey(change), change.changed_at, KEY_OVERLAP_SECONDS)
    ends.clear()
    for (const [id, end] of due) ends.set(id, end)
    book = next
    version++
  }

  function update(change: (book: IdentityBook) => IdentityBook | undefined): void {
    take(store.update(change))
  }

  take(store.load())

  return {
    get version() {
      return version
    },
    get size() {
      return book.enrolled.length
    },
    find: (name) => book.enrolled.find(byName(name)),
    keysOf(name, listed) {
      const change = book.keys.find((entry) => entry.name === name && entry.listed === listed)
      if (change === undefined) return { current: listed, previous: undefined }
      return {
        current: change.current,
        previous: overlaps(change) ? (change.previous ?? undefined) : undefined,
      }
    },
    hasKey: (key) =>
      book.enrolled.some(({ public_key }) => public_key === key) ||
      book.keys.some(({ current, previous, listed }) => [current, previous, listed].includes(key)),
    invited(name, token) {
      if (token.length !== ENROLMENT_TOKEN_BYTES) return undefined
      const digest = sha256(token)
      let found: Invitation | undefined
      for (const invitation of book.invitations) {
        const isIts = equalConstantTime(decodeHex(invitation.digest) ?? new Uint8Array(32), digest)
        if (isIts && invitation.name === name && isOpen(invitation)) found = invitation
      }
      return found
    },
    invite({ name, role, capability, by }, ttlSeconds) {
      const token = random.bytes(ENROLMENT_TOKEN_BYTES)
      const madeAt = wallSeconds()
      const digest = encodeHex(sha256(token))
      let isFull = false
      update((now) => {
        const others = now.invitations.filter((one) => one.name !== name && isOpen(one))
        isFull = others.length >= INVITATIONS_OPEN
        if (isFull) return undefined
        ends.set(digest, clock.monotonicMs() + ttlSeconds * 1_000)
        const made = { name, role, capability, digest, made_at: madeAt, ttl_seconds: ttlSeconds, ...byOf(by) }
        return { ...now, invitations: [...others, made] }
      })
      return isFull ? undefined : { token, expiresAt: madeAt + ttlSeconds }
    },
    enrol({ name, role, capability, digest, by }, publicKey) {
      let isDone = false
      update((now) => {
        const open = now.invitations.find((one) => one.digest === digest && isOpen(one))
        isDone = open !== undefined && now.enrolled.length < CONFIG_AGENTS
        if (!isDone) return undefined
        const at = { enrolled_at: wallSeconds(), ...byOf(by) }
        const enrolled = { name, public_key: publicKey, role, capability, ...at }
        return {
          invitations: now.invitations.filter((one) => one !== open && isOpen(one)),
          enrolled: [...now.enrolled.filter((one) => one.name !== name), enrolled],
          keys: now.keys.filter((one) => one.name !== name),
        }
      })
      return isDone
    },
    changeKey(name, listed, next, isListed) {
      const { current } = this.keysOf(name, listed)
      const change = { name, listed, current: next, previous: current, changed_at: wallSeconds() }
      update((now) => ({
        ...now,
        keys: [...now.keys.filter((one) => one.name !== name && isListed(one.name)), change],
      }))
    },
    used(name, key) {
      const change = book.keys.find(byName(name))
      if (change === undefined || change.previous === null || change.current !== key) return undefined
      const { previous } = change
      update((now) => ({
        ...now,
        keys: now.keys.map((one) =>
          one.name === name && one.current === key ? { ...one, previous: null } : one,
        ),
      }))
      return previous
    },
    tick(nowMs) {
      const over = book.keys.flatMap((change) => {
        const end = change.previous === null ? undefined : ends.get(overlapKey(change))
        return end === undefined || end > nowMs || change.previous === null
          ? []
          : [{ name: change.name, previous: change.previous }]
      })
      if (over.length === 0) return over
      // They are over, whatever can be written: the book that a start reads says when they began.
      for (const change of book.keys) if (!overlaps(change)) ends.delete(overlapKey(change))
      version++
      update((now) => ({
        ...now,
        keys: now.keys.map((one) =>
          over.some(({ name, previous }) => name === one.name && previous === one.previous)
            ? { ...one, previous: null }
            : one,
        ),
      }))
      return over
    },
    reread: () => take(store.load()),
  }
}
