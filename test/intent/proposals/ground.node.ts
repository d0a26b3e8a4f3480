/** The law that ships, and the cycle of the format's vectors: what the tests of proposals begin with. */

import type { Json } from '../../../src/base/encoding/strict-json.ts'
import { loadLaw } from '../../../src/edge/intent/constitution.node.ts'
import { type CycleInput, type Decided, decide } from '../../../src/intent/proposals/decide.ts'
import { budget, timestamp, userInput } from '../../../src/intent/proposals/observations.ts'

export const LAW = loadLaw()
export const AT = '2026-02-10T00:00:00Z'
export const INV = 'constitution:v0.1.1#INV-NO-SIDE-EFFECTS-WITHOUT-WARRANT'
export const SAID = userInput('Hello, RSA-0')
export const OBSERVED = [SAID, timestamp(AT), budget(100, 1, 0)] as unknown as readonly Json[]

type Members = Readonly<Record<string, unknown>>
type Changed = {
  readonly type?: unknown
  readonly fields?: Members
  readonly claim?: Members | null
  readonly why?: Members | null
  readonly cite?: unknown
  readonly more?: Members
}

/** The candidate of the vectors, or another that differs from it in something. */
export function candidate({ type = 'Notify', fields, claim, why, cite, more }: Changed = {}): Members {
  return {
    action_request: {
      action_type: type,
      fields: fields ?? { target: 'stdout', message: 'echo: Hello, RSA-0' },
      ...more,
    },
    scope_claim:
      claim === null
        ? null
        : {
            observation_ids: [SAID.id],
            claim: 'User sent a greeting; echo it back.',
            clause_ref: INV,
            ...claim,
          },
    justification:
      why === null ? null : { text: 'User greeting should be echoed to confirm receipt.', ...why },
    authority_citations: cite ?? [INV],
  }
}

export function notify(message: string, more: Changed = {}): Members {
  return candidate({ fields: { target: 'stdout', message }, ...more })
}

export function input(candidates: readonly unknown[], more: Partial<CycleInput> = {}): CycleInput {
  return {
    cycle: 0,
    session: 'one',
    observations: OBSERVED,
    proposed: JSON.stringify({ candidates }),
    realPaths: {},
    ...more,
  }
}

export function decided(candidates: readonly unknown[], more: Partial<CycleInput> = {}): Decided {
  return decide(LAW, input(candidates, more))
}

/** What was decided in a few words: `ACTION Notify`, `REFUSE CODE gate`, `EXIT CODE`. */
export function words({ decision }: Decided): string {
  switch (decision.type) {
    case 'ACTION':
      return `ACTION ${decision.warrant.action_type}`
    case 'REFUSE':
      return `REFUSE ${decision.refusal.reason_code} ${decision.refusal.failed_gate}`
    case 'EXIT':
      return `EXIT ${decision.exit.reason_code}`
  }
}

/** The codes with which candidates were rejected, in the order of the trace. */
export function codes({ admission }: Decided): readonly string[] {
  return admission.flatMap(({ reason_code: code }) => (code === '' ? [] : [code]))
}
