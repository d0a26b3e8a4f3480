/**
 * Where each session's commands run: made at its first command, kept while it lives, given up with it. A place is the
 * session's namespaces with its branch in them, a way to look up programs and files as it sees them, and the level of
 * isolation that this device could give. Without the level that is configured there is no place, and nothing runs.
 * Rules: docs/sandbox.md.
 * @module
 */

import { close, closeSync, openSync } from 'node:fs'
import { attempt } from '../../base/attempt.ts'
import { asSassError, SassError } from '../../errors.ts'
import type { Log } from '../../ports.ts'
import type { Branch, BranchLevel } from '../branch/files/branch.ts'
import { rememberUnseen } from '../branch/survey/unseen.node.ts'
import type { BranchBounds } from '../branch/threads/branch-bounds.node.ts'
import type { BranchStore } from '../branch/threads/branch-store.node.ts'
import { createAt, O_DIRECTORY, O_PATH } from '../kernel/at.node.ts'
import { O_CLOEXEC, type Syscalls } from '../kernel/syscalls.node.ts'
import { findUser } from '../kernel/users.node.ts'
import type { ControlGroups, GroupLimits, SessionGroup } from '../launcher/control-groups.node.ts'
import { inhabitantsSeen, isInhabited, openChildren } from '../launcher/crowd.node.ts'
import { PLACE_LINGER_MS } from '../limits.ts'
import type { Keeper, OpenedNamespaces } from '../namespaces/keeper.node.ts'
import type {
  NamespaceDescriptors,
  NamespacePlan,
  SessionNetwork,
  ViewGaps,
} from '../namespaces/namespace-plan.ts'
import { confinementOf, unconfined } from './confinement.node.ts'
import type { ProgramFinder } from './found-program.ts'
import type { GatedPlace, NetworkGate, ServedNetwork } from './network-gate.ts'
import {
  isOnTerms,
  networkOf,
  type Place,
  type Places,
  type PlaceUser,
  type Tenant,
  type Terms,
  termsChanged,
} from './place.ts'
import { createRefusals } from './refusals.node.ts'
import { type PlanOptions, sessionPlan } from './session-plan.node.ts'
import { createViewFinder } from './view-finder.node.ts'

export type PlacesOptions = PlanOptions & {
  readonly require: BranchLevel
  readonly network: SessionNetwork
  readonly roots: readonly string[]
  readonly limits: GroupLimits
  readonly nowMs: () => number
}

type Ground = {
  readonly syscalls: Syscalls
  readonly keeper: Keeper
  readonly groups: ControlGroups
  readonly store: BranchStore
  /** Watches what is in use, and lets nobody into what has too much. */
  readonly bounds: Pick<BranchBounds, 'admit' | 'opened' | 'closed'>
  /** Makes sure that there is room for what a new branch takes. */
  readonly makeRoom: () => void
  readonly log: Log
  /** Makes the launcher come home, so that it holds no namespace that is to go. */
  readonly leave: (networkRest: number) => Promise<void>
  /** Serves the networks of sessions; undefined: whatever a session asks there is refused. */
  readonly gate: NetworkGate | undefined
  /** Resolves when programs can be started: no place is made before. */
  readonly awake: () => Promise<void>
  /** Copies the real directories into a branch of level copy. */
  readonly fill: (branch: string) => Promise<void>
  /** Finds programs on the device itself. */
  readonly hostFinder: ProgramFinder
}

/** How long killed processes may take to be gone. */
const SETTLE_MS = 100

/** Places on the real files, by terms: no branch has such a name. */
const BARE = 'real files '

/** The kernel takes no overlay of these file systems; everything else that it refuses a copy would not mend. */
function isOverlayRefused(cause: unknown): boolean {
  return /^overlay /.test(String(asSassError(cause)?.details['step'] ?? ''))
}

type Held = {
  readonly place: Place
  readonly descriptors: NamespaceDescriptors | undefined
  readonly group: SessionGroup | undefined
  readonly served: ServedNetwork | undefined
  /** Sessions that work there. */
  readonly tenants: Set<string>
  /** Somebody may come back to it: it stays for a while when nobody is there. */
  lingers: boolean
  lingering: NodeJS.Timeout | undefined
}

export type HeldPlaces = Places & {
  /** The processes of these namespaces have been ended: the branch is taken out of use, and mounted anew when it is wanted. */
  lost(namespaces: number): void
  /** No session has a place, and none is being made or given up. */
  readonly isEmpty: boolean
}

export function createPlaces(ground: Ground, options: PlacesOptions): HeldPlaces {
  const { syscalls, keeper, store, log } = ground
  const at = createAt(syscalls)
  /** By branch. */
  const held = new Map<string, Held>()
  const opening = new Map<string, Promise<Held>>()
  const busy = new Map<string, Promise<unknown>>()
  const branchOf = new Map<string, string>()
  const told = new Set<string>()
  let nextNumber = 1

  /** @throws SassError SANDBOX_UNAVAILABLE for a user or a network that this daemon cannot give */
  function terms(tenant: Tenant): { user: PlaceUser | undefined; network: SessionNetwork } {
    const [runAs, wanted] = [tenant.runAs, networkOf(tenant, options.network)]
    const isRoot = process.geteuid?.() === 0
    // Whoever cannot come back to the device's network cannot serve sessions that have it beside others.
    const what = runAs !== null ? 'run_as' : 'network'
    if (!isRoot && (runAs !== null || (wanted === 'host') !== (options.network === 'host'))) {
      throw new SassError(
        'SANDBOX_UNAVAILABLE',
        `The daemon is not root and cannot give a session a ${what} of its own, so nothing was started; leave ${what} of the capability set away, or run the daemon as root.`,
      )
    }
    return { user: runAs === null ? undefined : findUser(runAs), network: wanted }
  }

  /** Where the view is weaker than it should be, once for each place. */
  function tellGaps({ covered, refused }: ViewGaps): void {
    for (const [event, paths] of [
      ['view_covered', covered],
      ['view_refused', refused],
    ] as const) {
      for (const path of paths) {
        if (told.has(path)) continue
        told.add(path)
        log.write('warn', event, { path })
      }
    }
  }

  /** The device itself: what the configuration asks for by `none`. */
  function bare(user: PlaceUser | undefined, terms: Terms): Held {
    const rootDescriptor = openSync('/', O_PATH | O_DIRECTORY | O_CLOEXEC)
    const place: Place = {
      branch: '',
      level: 'none',
      confinement: unconfined(terms.runAs),
      namespaces: undefined,
      group: undefined,
      rootDescriptor,
      writable: options.roots,
      finder: ground.hostFinder,
      user,
      terms,
    }
    return {
      place,
      descriptors: undefined,
      group: undefined,
      served: undefined,
      tenants: new Set(),
      lingers: false,
      lingering: undefined,
    }
  }

  /** The same branch as a whole copy: the file system of the state directory takes no overlay. */
  async function copied(name: string, agent: string): Promise<Branch> {
    store.drop(name)
    store.open(name, agent, 'copy', options.nowMs())
    try {
      await ground.fill(name)
    } catch (cause) {
      store.drop(name)
      throw cause
    }
    log.write('warn', 'branch_copied', { branch: name, level: 'copy' })
    return store.open(name, agent, 'copy', options.nowMs())
  }

  /** False: a process of it waits for a device. */
  async function giveBack(descriptors: NamespaceDescriptors, children = -1): Promise<boolean> {
    const { mount, pid, ipc, network, networkRest, gate, root, lifeline, initPid } = descriptors
    for (const descriptor of [lifeline, mount, pid, ipc, network, networkRest, root, children])
      if (descriptor >= 0) closeSync(descriptor)
    // The kernel takes its time with a socket for packets, some 10 ms: another thread waits for it.
    const refusals = gate?.refusals ?? -1
    const closed = new Promise<void>((done) => (refusals < 0 ? done() : close(refusals, () => done())))
    const isGone = await keeper.end(initPid)
    await closed
    return isGone
  }

  /** Hands the sockets of a session's network to the gate; without one whoever asks there is refused at once. */
  function serve(place: GatedPlace, { gate, network }: NamespaceDescriptors): ServedNetwork | undefined {
    if (gate === undefined) return undefined
    const { listeners, names } = gate
    if (ground.gate !== undefined)
      return ground.gate.serve(place, { listeners, names }, (places) => keeper.listen(network, places))
    for (const descriptor of [names, ...listeners.map((one) => one.descriptor)]) closeSync(descriptor)
    return undefined
  }

  /** The control group of a place that is being opened; where it cannot be had that is given up. */
  async function boundBy(gated: GatedPlace, opening: Promise<OpenedNamespaces>): Promise<SessionGroup> {
    try {
      return ground.groups.open(gated.branch, options.limits)
    } catch (cause) {
      const opened = await opening.catch(() => undefined)
      if (opened === undefined) throw cause
      serve(gated, opened.descriptors)?.close()
      await giveBack(opened.descriptors)
      throw cause
    }
  }

  async function make(name: string, tenant: Tenant): Promise<Held> {
    await ground.awake()
    const { user, network: kind } = terms(tenant)
    const { runAs, network, egress, within } = tenant
    if (options.require === 'none') return bare(user, { runAs, network, egress, within })
    ground.makeRoom()
    let branch = store.open(name, tenant.agent, 'overlay', options.nowMs(), tenant.isOperator)
    await ground.bounds.admit(branch)
    const gated: GatedPlace = { branch: name, agent: tenant.agent, egress, within: within?.agent }
    const plan = (): NamespacePlan =>
      sessionPlan(options, branch, user, kind, kind === 'gate' ? (ground.gate?.listens(gated) ?? []) : [])
    const opening = keeper.open(plan()).catch(async (cause: unknown) => {
      const isCopied = options.require === 'copy' && branch.level === 'overlay' && isOverlayRefused(cause)
      if (!isCopied) throw cause
      branch = await copied(name, tenant.agent)
      return keeper.open(plan())
    })
    // Made while the keeper's thread works: the kernel makes a group wait while it moves processes of another one.
    const group = await boundBy(gated, opening)
    const { descriptors, gaps } = await opening.catch((cause: unknown) => {
      group.close()
      throw cause
    })
    tellGaps(gaps)
    let served: ServedNetwork | undefined
    try {
      served = serve(gated, descriptors)
      // Before anything can be changed there.
      rememberUnseen(store.directoryOf(name), gaps.absent)
    } catch (cause) {
      served?.close()
      await giveBack(descriptors)
      group.close()
      throw cause
    }
    const { mount, pid, ipc, root } = descriptors
    const refusals = descriptors.gate?.refusals ?? -1
    ground.bounds.opened(branch, root)
    const place: Place = {
      branch: name,
      level: branch.level,
      confinement: confinementOf({
        ...{ level: branch.level, plan: plan(), gaps, limits: options.limits, groups: ground.groups, egress },
      }),
      namespaces: {
        ...{ number: nextNumber++, mount, pid, ipc },
        ...{ network: descriptors.network, initPid: descriptors.initPid, children: openChildren(root) },
      },
      group,
      rootDescriptor: root,
      writable: branch.roots.map(({ path }) => path),
      finder: createViewFinder(syscalls, at, root),
      user,
      refused: refusals < 0 ? undefined : createRefusals(syscalls, refusals),
      terms: { runAs, network, egress, within },
    }
    return { place, descriptors, group, served, tenants: new Set(), lingers: false, lingering: undefined }
  }

  /** @throws SassError SANDBOX_UNAVAILABLE for a branch that is not there, or another agent's */
  function choose({ session, agent, wish, runAs, network, within }: Tenant): string {
    // On the real files there is nothing to share but who one is.
    if (options.require === 'none') return `${BARE}${[network, runAs, within?.of, within?.network].join(' ')}`
    if (wish.kind === 'new') return session
    const own = store.list().filter((branch) => branch.agent === agent)
    if (wish.kind === 'latest') {
      // Where work that was handed on is done nobody comes in whose network is another.
      const open = own.filter((one) => held.get(one.session)?.place.terms.within?.of === within?.of)
      return open.toSorted((a, b) => a.openedAtMs - b.openedAtMs).at(-1)?.session ?? session
    }
    if (own.some((branch) => branch.session === wish.branch)) return wish.branch
    throw new SassError(
      'SANDBOX_UNAVAILABLE',
      'The branch that this session asked for is not there any more, so nothing was started; begin another session.',
    )
  }

  /** Only one at a time makes a place in a branch. */
  function occupy(name: string, tenant: Tenant): Promise<Held> {
    const there = held.get(name)
    if (there !== undefined) return Promise.resolve(there)
    const known = opening.get(name)
    if (known !== undefined) return known
    const promise = make(name, tenant)
      .then((made) => {
        held.set(name, made)
        return made
      })
      .finally(() => opening.delete(name))
    opening.set(name, promise)
    return promise
  }

  async function vacate(name: string): Promise<void> {
    // Whoever is about to come is waited for: else it would come after the end.
    await opening.get(name)?.catch(() => undefined)
    const one = held.get(name)
    if (one === undefined) return
    held.delete(name)
    ground.bounds.closed(name)
    clearTimeout(one.lingering)
    for (const session of one.tenants) branchOf.delete(session)
    const { descriptors, place } = one
    if (descriptors === undefined) return closeSync(place.rootDescriptor)
    one.served?.close()
    await ground.leave(descriptors.networkRest)
    const isGone = await giveBack(descriptors, place.namespaces?.children)
    one.group?.close()
    if (!isGone)
      log.write('warn', 'session_lingers', { branch: name, reason: 'a process waits for a device' })
  }

  function removeEmpty(name: string): void {
    try {
      store.removeEmpty(name)
    } catch (cause) {
      log.write('warn', 'branch_kept', {
        branch: name,
        reason: cause instanceof Error ? cause.message : 'unknown',
      })
    }
  }

  const giveUp = (name: string): Promise<void> =>
    places.without(name, () => Promise.resolve(removeEmpty(name)))

  /** True where processes run that were asked to stay. */
  function isLivedIn({ descriptors }: Held): boolean {
    return attempt(() => descriptors !== undefined && isInhabited(descriptors.root), false)
  }

  function linger(name: string, one: Held, ms = PLACE_LINGER_MS): void {
    clearTimeout(one.lingering)
    one.lingering = setTimeout(() => {
      if (held.get(name) !== one || one.tenants.size > 0) return
      if (isLivedIn(one)) linger(name, one)
      else void giveUp(name)
    }, ms)
    one.lingering.unref()
  }

  const places: HeldPlaces = {
    prepare() {
      // Whoever opens a place waits for it, and hears what is wrong.
      ground.awake().catch(() => undefined)
      if (options.require !== 'none') keeper.prepare()
    },
    get isEmpty() {
      return held.size + opening.size + busy.size === 0
    },
    async open(tenant) {
      for (;;) {
        const name = choose(tenant)
        const work = busy.get(name)
        if (work === undefined) {
          const one = await occupy(name, tenant)
          // It may have been taken out of use while it was made.
          if (held.get(name) !== one) continue
          if (!isOnTerms(one.place, tenant)) {
            if (isLivedIn(one)) throw termsChanged()
            await giveUp(name)
            continue
          }
          one.tenants.add(tenant.session)
          one.lingers ||= tenant.wish.kind !== 'new'
          clearTimeout(one.lingering)
          branchOf.set(tenant.session, name)
          return one.place
        }
        await work.catch(() => undefined)
      }
    },
    find(session) {
      const name = branchOf.get(session)
      return name === undefined ? undefined : held.get(name)?.place
    },
    async close(session) {
      const name = branchOf.get(session)
      if (name === undefined) return
      branchOf.delete(session)
      const one = held.get(name)
      one?.tenants.delete(session)
      if (one === undefined || one.tenants.size > 0 || busy.has(name)) return
      // The device itself is there for the next one too.
      if (one.descriptors === undefined) return
      if (one.lingers) linger(name, one)
      // What the last command left behind is on its way out: it is looked at again before it counts.
      else if (isLivedIn(one)) linger(name, one, SETTLE_MS)
      else await giveUp(name)
    },
    async without(name, work) {
      for (let other = busy.get(name); other !== undefined; other = busy.get(name))
        await other.catch(() => undefined)
      const promise = vacate(name).then(work)
      busy.set(name, promise)
      try {
        return await promise
      } finally {
        busy.delete(name)
      }
    },
    has: (name, agent) => store.list().some((branch) => branch.session === name && branch.agent === agent),
    processesIn(session, number) {
      const { place, descriptors } = held.get(branchOf.get(session) ?? '') ?? {}
      if (descriptors === undefined || place?.namespaces?.number !== number) return 0
      return attempt(() => inhabitantsSeen(descriptors.root), 0)
    },
    sessionsIn: (name) => [...(held.get(name)?.tenants ?? [])],
    useOf(name) {
      const one = held.get(name)
      if (one === undefined) return 'none'
      return isLivedIn(one) ? 'lived_in' : 'idle'
    },
    lost(namespaces) {
      for (const [name, one] of held) {
        if (one.place.namespaces?.number !== namespaces) continue
        log.write('warn', 'session_ended', { branch: name, reason: 'a start in it was stopped' })
        void places.without(name, () => Promise.resolve())
      }
    },
    async closeAll() {
      await Promise.all([...held.keys()].map(giveUp))
      await keeper.close()
    },
  }
  return places
}
