/**
 * What a step of a level of alarm does: it is recorded, running commands end where the new level lets none run, the
 * branch is saved where a human must look, and what must outlive a restart is kept. HALT also ends every connection and leaves an incident behind: the hash of
 * the record that says why, which has to be named before the daemon goes on.
 * Rules: docs/responses.md, section 8.
 * @module
 */

import { encodeHex } from '../../base/encoding/hex.ts'
import { reasonOf } from '../../errors.ts'
import type { AuditEvent } from '../../ports.ts'
import type { Rooms } from '../common/rooms.ts'
import { NO_LONGER_PERMITTED } from '../executions/execution.ts'
import { type KeptLevels, type LevelStep, STORAGE } from '../standing/levels.ts'

/** An operator's own request to halt is still answered: its connection ends after this. */
const LAST_ANSWER_MS = 100

export type LevelSteps = {
  /** Carries out a step that has been taken. */
  took(step: LevelStep): void
  readonly incident: string | undefined
  /** True where that is the incident: from then on HALT may be lowered. */
  acknowledge(incident: string): boolean
}

export type LevelStepsGround = {
  readonly incident: string | undefined
  readonly record: (event: AuditEvent) => void
  readonly save: (state: KeptLevels & { readonly incident: string | undefined }) => void
  readonly rooms: () => Pick<
    Rooms,
    | 'executions'
    | 'sessions'
    | 'levels'
    | 'clock'
    | 'log'
    | 'audit'
    | 'identities'
    | 'branches'
    | 'confirmations'
    | 'queue'
  >
}

export function createLevelSteps(ground: LevelStepsGround): LevelSteps {
  const { record, save } = ground
  let { incident } = ground

  /** The admin socket stays: it is the way back. */
  function endConnections(): void {
    const { sessions } = ground.rooms()
    for (const session of [...sessions.all()]) if (session.address !== 'local') session.dismissHolder?.()
  }

  /** Whoever acts for an agent is meant with it, and work with the session that has handed it on. */
  function isOf(owner: string, sessionId: string, { scope, name }: LevelStep): boolean {
    const { sessions, identities } = ground.rooms()
    const handed = [...sessions.all()].find(({ id }) => id === sessionId)?.handed
    if (scope === 'session') return sessionId === name || handed?.session === name
    return scope === 'daemon' || [owner, identities.find(owner)?.delegatedBy, handed?.by].includes(name)
  }

  /** What waits is not to wait for an answer or a turn that can only be no. */
  function endWaiting(step: LevelStep): void {
    const { confirmations, queue, clock, sessions } = ground.rooms()
    // Not now: what leads here is a decision itself.
    clock.after(0, () => {
      confirmations.refuseWhere(
        ({ agent, sessionId }) => isOf(agent, sessionId, step),
        step.by === '' ? step.to : step.by,
      )
      queue.recall((name) =>
        [...sessions.all()].some(({ id, caller }) => caller.name === name && isOf(name, id, step)),
      )
    })
  }

  function endCommands(step: LevelStep): void {
    const { executions } = ground.rooms()
    if (step.scope === 'daemon') return executions.endAll('kill', NO_LONGER_PERMITTED)
    executions.endWhere(({ owner, sessionId }) => isOf(owner, sessionId, step), NO_LONGER_PERMITTED)
  }

  /** Whoever looks into it finds the files as they were left. */
  function preserve(step: LevelStep): void {
    const { sessions, branches } = ground.rooms()
    const { scope, to: level, why, instance } = step
    if (scope === 'daemon') return
    for (const { id, caller } of sessions.all())
      if (isOf(caller.name, id, step)) branches.preserve(id, { level, why, instance })
  }

  function halt({ why, by, instance }: LevelStep): void {
    const { audit, log, clock } = ground.rooms()
    record({ type: 'exit', reason: 'INTEGRITY_RISK', why, by, instance })
    incident = encodeHex(audit.head.hash)
    log.write('error', 'halted', { incident, why })
    clock.after(LAST_ANSWER_MS, endConnections)
  }

  return {
    took(step) {
      const { levels, log, clock } = ground.rooms()
      record({ type: 'level', ...step })
      const { instance: _instance, ...told } = step
      log.write(step.to === 'NORMAL' ? 'info' : 'warn', 'level', told)
      if (step.to === 'CONTAIN' || step.to === 'HALT') {
        endCommands(step)
        endWaiting(step)
      }
      if (step.to === 'CHECKPOINT' || step.to === 'CONTAIN') preserve(step)
      if (step.name === STORAGE) {
        if (step.to === 'HALT') clock.after(LAST_ANSWER_MS, endConnections)
        return
      }
      if (step.scope === 'daemon') {
        if (step.to === 'HALT') halt(step)
        else incident = undefined
      }
      if (step.scope === 'session') return
      try {
        save({ ...levels.kept(), incident })
      } catch (cause) {
        log.write('error', 'levels_not_kept', { reason: reasonOf(cause) })
      }
    },
    get incident() {
      return incident
    },
    acknowledge(named) {
      if (incident === undefined || named !== incident) return false
      incident = undefined
      return true
    },
  }
}
