/**
 * What a cell of the table of the decision is: a change to facts, policy or ledger that are in order, and what it gives.
 * @module
 */
import type { Facts, Identity, Ledger, RequestFacts } from '../../../src/defense/facts.ts'
import type { Policy } from '../../../src/defense/layer.ts'
import { AGENT, executing, NOBODY, POLICY, policyWith, REQUEST } from '../staged-facts.ts'

export type Cell = {
  readonly name: string
  readonly facts?: Partial<Facts>
  readonly policy?: Policy
  readonly ledger?: Partial<Ledger>
  /** response or `status`, code, layer, rule, severity, incident, what is awaited */
  readonly gives: readonly (string | undefined)[]
}

export const PASSED = ['EXECUTE', undefined, 'all', 'all_passed', 'info'] as const
export const SHELLS = 'sh ash bash csh dash fish ksh mksh rbash tcsh yash zsh'.split(' ')
export const before: Partial<Facts> = { identity: NOBODY, session: undefined }
export const arrives: Partial<Facts> = {
  ...before,
  request: undefined,
  action: { kind: 'connect', address: '192.0.2.1' },
}
export const authenticates: Partial<Facts> = {
  session: undefined,
  request: { ...REQUEST, method: 'Authenticate' },
  action: { kind: 'authenticate', name: 'bot', isNew: true },
}
export const reads = (method: string): Partial<Facts> => ({
  request: { ...REQUEST, method },
  action: { kind: 'read', method },
})
export const attaches = (stdin: boolean): Partial<Facts> => ({
  action: { kind: 'attach', executionId: 'x', stdin },
})
export const runs = (argv: readonly string[], change: Partial<Facts> = {}): Partial<Facts> => ({
  action: executing(argv),
  ...change,
})
export const asked = (change: Partial<RequestFacts>): Partial<Facts> => ({
  request: { ...REQUEST, ...change },
})
export const agent = (change: Partial<typeof AGENT>): Partial<Facts> => ({
  identity: { ...AGENT, ...change } as Identity,
})
export const OPEN = policyWith({})
export const violated = (code: string, layer: string, rule: string) =>
  ['VI_SWAP', code, layer, rule, 'critical', 'violation'] as const
export const refused = (code: string, layer: string, rule: string) =>
  ['status', code, layer, rule, 'warning'] as const
export const asking = (code: string, layer: string, rule: string) =>
  ['THROTTLE', code, layer, rule, 'warning', undefined, 'operator'] as const
export const noted = (layer: string, rule: string) => ['EXECUTE', undefined, layer, rule, 'warning'] as const

/** The four ends of a question: asked, no place for it, yes, no, silence. */
export function questions(
  name: string,
  code: string,
  layer: string,
  rule: string,
  { facts = {}, policy = POLICY, ledger = {} }: Pick<Cell, 'facts' | 'policy' | 'ledger'>,
  approved: readonly (string | undefined)[] = PASSED,
): readonly Cell[] {
  const answer = (outcome: 'approved' | 'denied' | 'timed_out'): Partial<Facts> => ({
    ...facts,
    request: { ...(facts.request ?? REQUEST), approvals: [{ rule, outcome }] },
  })
  return [
    { name: `${name}: a human is asked`, facts, policy, ledger, gives: asking(code, layer, rule) },
    {
      name: `${name}: nobody can be asked`,
      facts,
      policy,
      ledger: { ...ledger, confirmationsFree: false },
      gives: ['THROTTLE', code, layer, rule, 'warning'],
    },
    { name: `${name}: yes`, facts: answer('approved'), policy, ledger, gives: approved },
    {
      name: `${name}: no`,
      facts: answer('denied'),
      policy,
      ledger,
      gives: refused('CONFIRMATION_DENIED', layer, rule),
    },
    {
      name: `${name}: silence`,
      facts: answer('timed_out'),
      policy,
      ledger,
      gives: refused('CONFIRMATION_TIMEOUT', layer, rule),
    },
    {
      name: `${name}: yes to another question`,
      facts: {
        ...facts,
        request: { ...(facts.request ?? REQUEST), approvals: [{ rule: 'other', outcome: 'approved' }] },
      },
      policy,
      ledger,
      gives: asking(code, layer, rule),
    },
  ]
}
