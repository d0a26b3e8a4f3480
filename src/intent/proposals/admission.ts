/**
 * All candidates through all gates, one gate after another: what is left after each is what the next one sees. The gate
 * that fails a cycle is the one after which nothing is left, not the first that rejects somebody.
 * Rules: docs/proposals.md, section on the gates.
 * @module
 */
import { encodeHex } from '../../base/encoding/hex.ts'
import { type Bundle, bundleHash } from './artifacts.ts'
import type { Candidate } from './candidates.ts'
import { GATES, type GateGround, type GateName, missingArtifacts, type RejectionCode } from './gates.ts'

export type AdmissionEvent = {
  readonly type: 'admission_event'
  readonly candidate_id: string
  readonly gate: GateName
  readonly result: 'pass' | 'fail'
  readonly reason_code: RejectionCode | ''
}

export type Hashed = { readonly bundle: Bundle; readonly hash: Uint8Array; readonly id: string }

export type Admission = {
  readonly admitted: readonly Hashed[]
  readonly events: readonly AdmissionEvent[]
  /** After this one nothing was left; `none`: something is, or there was nothing. */
  readonly failedGate: GateName | 'none'
  readonly rejectedByGate: Readonly<Record<string, number>>
  readonly missing: readonly string[]
}

const FIRST: GateName = 'completeness'

/** One that could not be read has no bytes to be named by: its place among the others names it. */
function eventOfUnread(code: RejectionCode, at: number): AdmissionEvent {
  return {
    type: 'admission_event',
    candidate_id: `candidate ${at}`,
    gate: FIRST,
    result: 'fail',
    reason_code: code,
  }
}

/** What is admitted of the candidates, in their order, and what each gate has said of each. */
export function admit(candidates: readonly Candidate[], ground: GateGround): Admission {
  const events: AdmissionEvent[] = []
  const rejectedByGate: Record<string, number> = {}
  const missing = new Set<string>()
  let remaining: readonly Hashed[] = candidates.flatMap((candidate, at) => {
    if (!candidate.ok) {
      events.push(eventOfUnread(candidate.code, at))
      rejectedByGate[FIRST] = (rejectedByGate[FIRST] ?? 0) + 1
      return []
    }
    const hash = bundleHash(candidate.bundle)
    for (const name of missingArtifacts(candidate.bundle, ground.constitution)) missing.add(name)
    return [{ bundle: candidate.bundle, hash, id: encodeHex(hash) }]
  })
  let failedGate: GateName | 'none' = candidates.length > 0 && remaining.length === 0 ? FIRST : 'none'
  for (const { name, check } of GATES) {
    const before = remaining
    remaining = before.filter(({ bundle, id }) => {
      const code = check(bundle, ground)
      const result = code === undefined ? 'pass' : 'fail'
      events.push({ type: 'admission_event', candidate_id: id, gate: name, result, reason_code: code ?? '' })
      if (code !== undefined) rejectedByGate[name] = (rejectedByGate[name] ?? 0) + 1
      return code === undefined
    })
    if (before.length > 0 && remaining.length === 0) failedGate = name
  }
  return { admitted: remaining, events, failedGate, rejectedByGate, missing: [...missing] }
}
