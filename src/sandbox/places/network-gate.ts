/**
 * The gate as the sandbox knows it: who serves the network of a session whose `network` is `gate`. The sandbox makes the
 * network and the sockets in it, and knows nothing of names, lists and connections.
 * Rules: docs/sandbox.md (the network).
 * @module
 */

import type { EgressItem } from '../../config/egress-fields.ts'
import type { GateDescriptors, GateListener, ListenPlace } from '../namespaces/namespace-plan.ts'

/** Whose network it is. */
export type GatedPlace = {
  /** The branch that its commands work in, by name: sessions that share it share the network too. */
  readonly branch: string
  readonly agent: string
  /** What its capability set lists; null: what the device does. */
  readonly egress: readonly EgressItem[] | null
  /** The agent whose list holds as well, where the work was handed on. */
  readonly within?: string | undefined
}

export type ServedNetwork = {
  /** Ends every connection of it and closes its sockets. */
  close(): void
}

export interface NetworkGate {
  /** Where it wants to be asked for a place; wherever else a session turns is refused at once. */
  listens(place: GatedPlace): readonly ListenPlace[]
  /**
   * Serves a network until it is closed: from now on these sockets are the gate's, also where it throws. What it lets
   * through follows the lists as they are at each moment; where it listens stays as long as the place.
   */
  serve(
    place: GatedPlace,
    descriptors: Omit<GateDescriptors, 'refusals'>,
    /** Opens more sockets there, for a list that changes. */
    listen: (places: readonly ListenPlace[]) => Promise<readonly GateListener[]>,
  ): ServedNetwork
}
