/**
 * The main thread's side of the keeper thread, which is there only while it is wanted: started with the first session
 * that runs something, ended when nothing has been asked of it for a while.
 * @module
 */

import { SassError } from '../../errors.ts'
import { createIdleThread } from '../kernel/idle-thread.node.ts'
import { KEEPER_HEAP_MIB, KEEPER_IDLE_MS } from '../limits.ts'
import type {
  GateListener,
  KeeperAnswer,
  KeeperRequest,
  ListenPlace,
  NamespaceDescriptors,
  NamespacePlan,
  ViewGaps,
} from './namespace-plan.ts'

export type OpenedNamespaces = { readonly descriptors: NamespaceDescriptors; readonly gaps: ViewGaps }

export interface Keeper {
  /** Starts the thread, so that the first session does not wait for it. */
  prepare(): void
  /** @throws SassError SANDBOX_UNAVAILABLE with the step that the kernel refused */
  open(plan: NamespacePlan): Promise<OpenedNamespaces>
  /**
   * Opens more sockets for the gate in a session's network; a port that the session has taken is left out.
   * @throws SassError SANDBOX_UNAVAILABLE with the step that the kernel refused
   */
  listen(network: number, places: readonly ListenPlace[]): Promise<readonly GateListener[]>
  /** Kills what is left of a session. False: something of it waits for a device and ends when it wakes. */
  end(initPid: number): Promise<boolean>
  close(): Promise<void>
}

function refusal(step: string, errno: number): SassError {
  return new SassError(
    'SANDBOX_UNAVAILABLE',
    `The kernel refused ${step} with errno ${errno}, so this session has no branch and nothing was started; run sass-edge doctor on this device.`,
    { step, errno },
  )
}

/** `source`: CommonJS text of the bundled thread; undefined starts it from its file. */
export function createKeeper(source: (() => string) | undefined): Keeper {
  const thread = createIdleThread<KeeperRequest, KeeperAnswer>(
    {
      name: 'keeper',
      file: () => new URL('./keeper-thread.node.ts', import.meta.url),
      text: source,
      limits: { young: 1, old: KEEPER_HEAP_MIB, stack: 1 },
      idleMs: KEEPER_IDLE_MS,
      lost: (cause) => cause ?? refusal('the keeper thread', 0),
    },
    (said) => {
      const { kind, message = '' } = said as { readonly kind: string; readonly message?: string }
      if (kind === 'unsuitable') thread.fail(new SassError('RUNTIME_UNSUITABLE', message))
      return kind === 'ready' || kind === 'unsuitable'
    },
  )
  return {
    prepare: thread.prepare,
    async open(plan) {
      const answer = await thread.ask((id) => ({ kind: 'open', id, plan }))
      if (answer.kind === 'opened') return answer
      throw answer.kind === 'refused' ? refusal(answer.step, answer.errno) : refusal('namespaces', 0)
    },
    async listen(network, places) {
      const answer = await thread.ask((id) => ({ kind: 'listen', id, network, places }))
      if (answer.kind === 'listening') return answer.listeners
      throw answer.kind === 'refused' ? refusal(answer.step, answer.errno) : refusal('sockets', 0)
    },
    async end(initPid) {
      const answer = await thread.ask((id) => ({ kind: 'end', id, initPid }))
      return answer.kind === 'ended' && answer.isGone
    },
    close: thread.retire,
  }
}
