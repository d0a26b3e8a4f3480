/**
 * Work that is handed on: an agent that has a session makes a token for one other agent, which may begin one session with
 * it, and that session may do what both may and what was handed on. Of a token only its SHA-256 is kept. It is bound to
 * the worker's key and to the session of whoever made it, and is good once, for a time.
 *
 * A token that was used is remembered until its time is over, so that a second use is known for what it is.
 * Pure: time comes in with the clock.
 * Rules: docs/protocol.md, section 4 (delegation).
 * @module
 */
import { sha256 } from '../../base/crypto/hash.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { ALL_TOOLS, type ToolList } from '../../base/tool-name.ts'
import type { TokenState } from '../../defense/facts.ts'
import type { Clock, Random } from '../../ports.ts'
import { DELEGATION_TOKEN_BYTES, DELEGATIONS_OPEN, DELEGATIONS_PER_SESSION } from '../../wire/limits.ts'

/** What a session that was begun with a token goes by. */
export type Handed = {
  /** Hex of the SHA-256 of the token: the name of the delegation. */
  readonly id: string
  /** Name of whoever handed it on. */
  readonly by: string
  /** That agent's session, and its instance in it. */
  readonly session: string
  readonly orchestrator: string
  /** Who made that agent a caller. */
  readonly user: string
  readonly tools: ToolList
  readonly allowed_commands: readonly string[]
  readonly allowed_paths: readonly string[]
  /** On the monotonic clock: then the session ends, too. */
  readonly endsAtMs: number
}

export type Worker = {
  readonly name: string
  /** Of its key: see scopeOf. */
  readonly scope: string
}

type Kept = { readonly handed: Handed; readonly worker: Worker; isUsed: boolean }

export type Delegations = {
  /** How many are kept, used ones among them. */
  readonly size: number
  /** Undefined: as many as may be are open, of that session, that agent or all. */
  make(
    worker: Worker,
    what: Omit<Handed, 'id' | 'endsAtMs'>,
    seconds: number,
  ): { readonly token: Uint8Array; readonly handed: Handed } | undefined
  /** What a token is to whoever shows it. */
  look(
    token: Uint8Array,
    worker: Worker,
  ):
    | { readonly state: Extract<TokenState, 'open' | 'used'>; readonly handed: Handed }
    | { readonly state: TokenState; readonly handed?: undefined }
  /** A session has begun with it. */
  use(id: string): void
  /** Those that a session has handed on are good for nothing any more. */
  endOf(session: string): void
  tick(nowMs: number): void
}

/** No more than what is narrowed: `*` is every tool of whoever hands on. */
export function narrowedTools(tools: ToolList, handed: ToolList): ToolList {
  if (handed.includes(ALL_TOOLS)) return tools
  if (tools.includes(ALL_TOOLS)) return handed
  return tools.filter((tool) => handed.includes(tool))
}

/** RFC 4648, section 5. */
const HYPHEN_VALUE = 62

/** It is written behind an option as base64url, where a `-` in front would be the next option. */
function drawToken(random: Random): Uint8Array {
  const [first = 0, ...rest] = random.bytes(DELEGATION_TOKEN_BYTES)
  return Uint8Array.of(first >> 2 === HYPHEN_VALUE ? first ^ 0x80 : first, ...rest)
}

export function createDelegations(clock: Clock, random: Random): Delegations {
  /** By id. */
  const kept = new Map<string, Kept>()

  function tick(nowMs: number): void {
    for (const [id, { handed }] of kept) if (nowMs >= handed.endsAtMs) kept.delete(id)
  }

  /** One agent has at most as many as are left, so that there are some for every other. */
  function isFree({ by, session }: Pick<Handed, 'by' | 'session'>): boolean {
    const own = [...kept.values()].filter(({ handed }) => handed.by === by)
    return (
      kept.size + own.length < DELEGATIONS_OPEN &&
      own.filter(({ handed }) => handed.session === session).length < DELEGATIONS_PER_SESSION
    )
  }

  return {
    get size() {
      return kept.size
    },
    make(worker, what, seconds) {
      const now = clock.monotonicMs()
      tick(now)
      if (!isFree(what)) return undefined
      const token = drawToken(random)
      const id = encodeHex(sha256(token))
      const handed = { ...what, id, endsAtMs: now + seconds * 1_000 }
      kept.set(id, { handed, worker, isUsed: false })
      return { token, handed }
    },
    look(token, { name, scope }) {
      if (token.length !== DELEGATION_TOKEN_BYTES) return { state: 'unknown' }
      // By its hash: how long it takes to find one says nothing of any token.
      const found = kept.get(encodeHex(sha256(token)))
      if (found === undefined) return { state: 'unknown' }
      const { handed, worker, isUsed } = found
      if (worker.name !== name || worker.scope !== scope) return { state: 'not_its' }
      if (clock.monotonicMs() >= handed.endsAtMs) return { state: 'expired' }
      return { state: isUsed ? 'used' : 'open', handed }
    },
    use(id) {
      const found = kept.get(id)
      if (found !== undefined) found.isUsed = true
    },
    endOf(session) {
      for (const [id, { handed }] of kept) if (handed.session === session) kept.delete(id)
    },
    tick,
  }
}
