/**
 * Where a session's commands run, as the pure rooms know it: made by places.node.ts.
 * Rules: docs/sandbox.md.
 * @module
 */

import type { EgressItem } from '../../config/egress-fields.ts'
import type { Confinement } from '../../defense/facts.ts'
import { SassError } from '../../errors.ts'
import type { SessionView, SpawnGroup, SpawnNamespaces } from '../../ports.ts'
import type { BranchLevel } from '../branch/files/branch.ts'
import type { SessionNetwork } from '../namespaces/namespace-plan.ts'
import type { RefusedPacket } from '../namespaces/refused-packets.ts'
import type { ProgramFinder } from './found-program.ts'

/** Where a session's commands run. */
export type Place = SessionView & {
  /** The branch, by the id of the session that it was made for; empty at level none. */
  readonly branch: string
  readonly level: BranchLevel
  readonly confinement: Confinement
  /** Undefined at level none. */
  readonly namespaces: SpawnNamespaces | undefined
  /** What bounds its processes; undefined where this device lets nobody bound them. */
  readonly group: SpawnGroup | undefined
  readonly finder: ProgramFinder
  /** Who runs its commands; undefined: the daemon's user. */
  readonly user: PlaceUser | undefined
  /** What its network has refused since this was asked last; undefined where nobody hears of it. */
  readonly refused?: (() => readonly RefusedPacket[]) | undefined
  /** The terms that it was made on. */
  readonly terms: Terms
}

export type PlaceUser = {
  readonly name: string
  readonly userId: number
  readonly groupId: number
  readonly home: string
}

/** Which branch a session works in: one of its own, its agent's latest that waits for a decision, or that of a name. */
export type BranchWish =
  | { readonly kind: 'new' }
  | { readonly kind: 'latest' }
  | { readonly kind: 'named'; readonly branch: string }

/** Who asks for a place. */
export type Tenant = Terms & {
  readonly session: string
  readonly agent: string
  /** What is kept for whoever clears up is for them too. */
  readonly isOperator?: boolean
  readonly wish: BranchWish
}

/** What a capability set says of where commands run. */
export type Terms = {
  /** The user that its commands run as; null: the daemon's. */
  readonly runAs: string | null
  readonly network: 'default' | SessionNetwork
  /** What it lists for the gate; null: what the device does. The gate follows a list that changes. */
  readonly egress: readonly EgressItem[] | null
  /** Of whoever acts for another: the terms of that one, which hold as well; undefined: it acts for itself. */
  readonly within?: Within | undefined
}

/** Another network and another list that hold, too. `of`: the session that handed the work on, by its instance; undefined: none. */
export type Within = {
  readonly of?: string | undefined
  readonly agent: string
  readonly network: 'default' | SessionNetwork
}

/** The narrower one comes first: nothing is reached from `none`, and no list holds on `host`. */
const NARROWEST: readonly SessionNetwork[] = ['none', 'gate', 'host']

/** The network that both terms give. @param device what `default` stands for */
export function networkOf(
  { network, within }: Pick<Terms, 'network' | 'within'>,
  device: SessionNetwork,
): SessionNetwork {
  const kinds = [network, ...(within === undefined ? [] : [within.network])].map((kind) =>
    kind === 'default' ? device : kind,
  )
  return NARROWEST.find((kind) => kinds.includes(kind)) ?? 'none'
}

/** False where the terms have changed since the place was made: nothing more may run there on the old ones. */
export function isOnTerms({ terms }: Place, { runAs, network, within }: Omit<Terms, 'egress'>): boolean {
  return (
    terms.runAs === runAs &&
    terms.network === network &&
    terms.within?.of === within?.of &&
    terms.within?.network === within?.network
  )
}

export interface Places {
  /** Somebody has come who may want a place soon. */
  prepare(): void
  /** The session's place, made where there is none. @throws SassError SANDBOX_UNAVAILABLE */
  open(tenant: Tenant): Promise<Place>
  /** The place of a session that has one already. */
  find(session: string): Place | undefined
  /** The session has ended: with the last one of a branch its processes end, and an empty branch goes with them. */
  close(session: string): Promise<void>
  /**
   * Ends every process in a branch and takes it out of use while `work` is done on it; sessions that want it meanwhile
   * wait, and find it mounted anew.
   */
  without<Result>(branch: string, work: () => Promise<Result>): Promise<Result>
  /** Whether an agent has a branch of that name. */
  has(branch: string, agent: string): boolean
  /** Processes in the session's place of that number, its init not among them; 0 where it has no such place any more. */
  processesIn(session: string, number: number): number
  /** Sessions that work in a branch. */
  sessionsIn(branch: string): readonly string[]
  /** Whether it is mounted, and whether processes run in it, also such as were asked to stay. */
  useOf(branch: string): 'none' | 'idle' | 'lived_in'
  closeAll(): Promise<void>
}

/** What a session is told when it has no place. */
export function noPlace(cause: unknown): SassError {
  return cause instanceof SassError
    ? cause
    : new SassError(
        'SANDBOX_UNAVAILABLE',
        'The session has no branch to run in, so nothing was started; run sass-edge doctor on this device.',
        {},
        cause,
      )
}

/** What a session is told whose place was made on other terms, and has commands that run. */
export function termsChanged(): SassError {
  return new SassError(
    'SANDBOX_UNAVAILABLE',
    'The user or the network of this agent has changed while its commands run, so nothing more was started beside them; end them first, see sass-edge jobs.',
  )
}
