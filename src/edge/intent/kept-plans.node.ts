/**
 * Plans that wait for the agent who will run them: `plans/AGENT/SESSION.plan.json` is the plan, and `SESSION.kept.json`
 * beside it says what its envelope let it do. Agent and session are names of a closed set of letters before they become
 * part of a path.
 * Rules: SAOE 3 (plans by session), RT-2.3; docs/plans.md.
 * @module
 */
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import { errnoOf, errnoText, makePrivateDirectory, replaceFile } from '../../base/files.node.ts'
import { bytesAt } from '../../base/small-file.node.ts'
import { SassError } from '../../errors.ts'
import { isJsonObject, readIntentJson } from '../../intent/canonical/python-json.ts'
import { isSafeName, objectOf, textOf } from '../../intent/canonical/shape.ts'
import { PLAN_BYTES, PLANS_KEPT } from '../../intent/plans/limits.ts'
import { CAPABILITY_SET_SHAPE, capabilitySetOf } from '../../intent/vault/capability-set.ts'
import type { KeptPlans } from '../../session/intent/plan-room.ts'

const PLAN = '.plan.json'
const KEPT = '.kept.json'
const MODE = 0o600

function unwritable(path: string, cause: unknown): SassError {
  return new SassError(
    'STATE_UNWRITABLE',
    `The plan cannot be kept in ${path}, since ${errnoText(errnoOf(cause))}: look at the disk and its rights.`,
    { path },
    cause,
  )
}

const read = (path: string): Uint8Array | undefined => bytesAt(path, PLAN_BYTES, true)

function sessionsIn(directory: string): readonly string[] {
  const names = existsSync(directory) ? readdirSync(directory) : []
  return names.filter((name) => name.endsWith(PLAN)).map((name) => name.slice(0, -PLAN.length))
}

function isFull(directory: string, sessionId: string): boolean {
  const others = sessionsIn(directory)
  return others.length >= PLANS_KEPT && !others.includes(sessionId)
}

/** The plan first: what is left of one without it is nothing. */
function remove(path: string): void {
  for (const suffix of [PLAN, KEPT]) rmSync(`${path}${suffix}`, { force: true })
}

/** @param root `STATE/intent/plans`, made where it is not there */
export function createKeptPlans(root: string): KeptPlans {
  return {
    put(sessionId, receiver, { bytes, envelope }, isOver) {
      if (!isSafeName(sessionId) || !isSafeName(receiver)) return false
      const directory = join(root, receiver)
      const path = join(directory, sessionId)
      try {
        makePrivateDirectory(directory)
        if (isFull(directory, sessionId)) {
          for (const other of sessionsIn(directory)) {
            const plan = read(join(directory, `${other}${PLAN}`))
            if (plan !== undefined && isOver(plan)) remove(join(directory, other))
          }
          if (isFull(directory, sessionId)) return false
        }
        const { sender, capabilitySet } = envelope
        const kept = {
          sender,
          capability_set: {
            ...{ capability_set_id: capabilitySet.id, version: capabilitySet.version },
            allowed_actions: capabilitySet.allowedActions.map(
              ({ actionType, allowedTemplates, compilerId }) => ({
                ...{ action_type: actionType, allowed_templates: allowedTemplates },
                compiler_id: compilerId,
              }),
            ),
            tool_permissions: capabilitySet.toolPermissions.map(({ tool, allowedArgs }) => ({
              tool,
              allowed_args: allowedArgs,
            })),
          },
        }
        // What bounds a plan is there before the plan is.
        replaceFile(`${path}${KEPT}`, encodeUtf8(JSON.stringify(kept)), MODE)
        replaceFile(`${path}${PLAN}`, bytes, MODE)
        return true
      } catch (cause) {
        if (errnoOf(cause) === undefined) throw cause
        throw unwritable(path, cause)
      }
    },
    get(sessionId, receiver) {
      if (!isSafeName(sessionId) || !isSafeName(receiver)) return undefined
      const about = read(join(root, receiver, `${sessionId}${KEPT}`))
      const bytes = read(join(root, receiver, `${sessionId}${PLAN}`))
      if (about === undefined || bytes === undefined) return undefined
      const json = readIntentJson(about, PLAN_BYTES)
      if (!json.ok || !isJsonObject(json.value)) return undefined
      const set = objectOf(json.value, 'capability_set')
      if (CAPABILITY_SET_SHAPE(set) !== undefined) return undefined
      const envelope = {
        sessionId,
        sender: textOf(json.value, 'sender'),
        capabilitySet: capabilitySetOf(set),
      }
      return { bytes, envelope }
    },
    drop(sessionId, receiver) {
      if (isSafeName(sessionId) && isSafeName(receiver)) remove(join(root, receiver, sessionId))
    },
    get count() {
      const receivers = existsSync(root) ? readdirSync(root) : []
      return receivers.reduce((sum, receiver) => sum + sessionsIn(join(root, receiver)).length, 0)
    },
  }
}
