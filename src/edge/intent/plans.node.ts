/**
 * Plans of a device, joined to the machine: the gate with the pins of the configuration, the tools, the journal and the
 * plans that are kept.
 * Rules: docs/plans.md.
 * @module
 */
import { join } from 'node:path'
import { verifyWith } from '../../base/crypto/ed25519.node.ts'
import { hostSha256 } from '../../base/crypto/sha256.node.ts'
import { decodeBase64Url } from '../../base/encoding/base64.ts'
import { makePrivateDirectory } from '../../base/files.node.ts'
import type { Config } from '../../config/config.ts'
import { SassError } from '../../errors.ts'
import { createPlanGate } from '../../intent/plans/gate.ts'
import { RESULTS_ROOM } from '../../intent/plans/limits.ts'
import type { Log } from '../../ports.ts'
import type { PlanSettings } from '../../session/common/plan-room.ts'
import type { Rooms } from '../../session/common/rooms.ts'
import { createPlanRoom } from '../../session/intent/plan-room.ts'
import type { Intent } from './intent.node.ts'
import { createKeptPlans } from './kept-plans.node.ts'
import { openPlanJournal } from './plan-journal.node.ts'
import { planHandler, sendResult } from './signed-plans.node.ts'
import { loadTools } from './tools.node.ts'

/** Whether a device runs plans: it has tools for them, or takes in what is signed. */
export function runsPlans({ intent }: Pick<Config, 'intent'>): boolean {
  return intent.tools !== null || intent.vault !== null
}

/**
 * What of plans follows from the configuration alone.
 * `root`: see loadTools; `identities`: who is known when a plan is looked at, absent: none will be.
 * @throws SassError CONFIG_INVALID where a pin is of another key than the agent's, CONFIG_LOAD_FAILED for the tools
 */
export function planSettings(
  { intent, agents }: Pick<Config, 'intent' | 'agents'>,
  {
    root,
    identities,
  }: { readonly root?: string | undefined; readonly identities?: () => Rooms['identities'] },
): PlanSettings {
  const made = createPlanGate({
    pins: Object.fromEntries(Object.entries(intent.issuer_pins).map(([name, { sha256 }]) => [name, sha256])),
    keyOf(issuer) {
      const found = agents.find(({ name }) => name === issuer)
      return found === undefined ? undefined : decodeBase64Url(found.public_key, 32)
    },
    keysNow(issuer) {
      const { publicKey, previousKey } = identities?.().find(issuer) ?? {}
      return [publicKey, previousKey].filter((key) => key !== undefined)
    },
    sha256: hostSha256,
    verify: verifyWith,
    plansWithoutExpiry: intent.plans_without_expiry,
  })
  if (!made.ok)
    throw new SassError(
      'CONFIG_INVALID',
      `No plan can be let in, because ${made.problem}: find out which of the two is right, and correct the other.`,
    )
  return { gate: made.gate, tools: loadTools(intent.tools, intent.grants, root) }
}

/** Tells the log what was loaded, and what was not and why. */
function tellTools({ tools }: PlanSettings, log: Log): void {
  log.write('info', 'tools', { loaded: tools.loaded.size, refused: tools.refused.length })
  for (const { file, why } of tools.refused) log.write('warn', 'tool_refused', { file, reason: why })
}

/** What is on the record of the tools that were not loaded: by name, and why. */
function noteRefused({ tools }: PlanSettings, audit: Rooms['audit']): void {
  for (const { file, why } of tools.refused)
    audit.append({ type: 'plan', what: 'tool_refused', tool: file, why })
}

export type JoinedPlans = {
  /** Begins to do what envelopes ask for, and tells what an earlier daemon may not have told. */
  start(): void
  close(): void
}

/**
 * Joins plans to the rooms where this device runs any, and ends those that an earlier daemon did not see the end of.
 * @throws SassError of `planSettings`, or STATE_UNWRITABLE
 */
export function joinPlans(config: Config, rooms: Rooms, intent: Intent | undefined): JoinedPlans {
  if (!runsPlans(config)) return { start() {}, close() {} }
  const settings = planSettings(config, { identities: () => rooms.identities })
  tellTools(settings, rooms.log)
  noteRefused(settings, rooms.audit)
  const directory = join(config.state_directory, 'intent')
  makePrivateDirectory(directory)
  const journal = openPlanJournal(join(directory, 'plans.sqlite'))
  const kept = createKeptPlans(join(directory, 'plans'))
  const room = createPlanRoom({
    ...{ rooms: () => rooms, settings, journal, kept },
    hasRoom: () => intent === undefined || intent.outbox.free >= RESULTS_ROOM,
    deliver(delivery) {
      if (intent !== undefined) sendResult(intent, delivery, rooms.clock.wallMs())
    },
  })
  rooms.plans = room
  return {
    start() {
      intent?.start(planHandler(intent, rooms))
      room.tellLeft()
    },
    close: journal.close,
  }
}

/** Takes over the pins, grants and tools of a configuration that was read again. */
export function renewPlans(settings: PlanSettings | undefined, rooms: Rooms): void {
  if (settings === undefined || rooms.plans === undefined) return
  rooms.plans.settings = settings
  tellTools(settings, rooms.log)
  noteRefused(settings, rooms.audit)
}
