/**
 * The rules that commands are judged by are loaded for the first caller, and given up when nobody has been there for
 * long: they are 10 MiB, which a device that waits for days has better uses for. A policy that was loaded again is kept,
 * and so are an operator's own rules: they are read once, whatever becomes of their file.
 * @module
 */
import type { Config } from '../../config/config.ts'
import type { Policy } from '../../defense/layer.ts'
import { POLICY_IDLE_MS } from '../../limits.ts'
import { loadPolicy } from './policy.node.ts'

/** Where it is used. */
export type PolicyPlace = { policy: Policy; isReady: boolean }

export type PolicyInUse = {
  /** Resolves when commands can be judged. @throws SassError where the rules cannot be used */
  prepare(): Promise<void>
  /**
   * To be called every now and then. True where it has given the rules up.
   * @param isAlone nobody is connected, nothing runs and nothing waits
   */
  tick(isAlone: boolean, nowMs: number): boolean
}

/** `light`: the policy as it is before rules are loaded. */
export function createPolicyInUse(config: Config, light: Policy, place: () => PolicyPlace): PolicyInUse {
  let preparing: Promise<void> | undefined
  let loaded: Policy | undefined
  let aloneSinceMs: number | undefined

  async function load(): Promise<void> {
    const policy = await loadPolicy(light, config)
    // A reload in the meantime has put a newer one in place, whole.
    if (!place().isReady) {
      loaded = policy
      place().policy = policy
    }
    place().isReady = true
  }

  return {
    prepare() {
      aloneSinceMs = undefined
      preparing ??= load().finally(() => {
        preparing = undefined
      })
      return preparing
    },
    tick(isAlone, nowMs) {
      const isOurs = loaded !== undefined && place().policy === loaded && config.policy.rules_file === null
      if (!isAlone || !isOurs || preparing !== undefined) {
        aloneSinceMs = undefined
        return false
      }
      aloneSinceMs ??= nowMs
      if (nowMs - aloneSinceMs < POLICY_IDLE_MS) return false
      loaded = undefined
      place().policy = light
      place().isReady = false
      return true
    },
  }
}
