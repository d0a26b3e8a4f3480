/**
 * The calls that are under way: each has the connection, its end where nobody waits for it any more, and its words on how
 * far it is. Whatever goes wrong is an answer, and never the end of the server.
 * @module
 */
import { setTimeout } from 'node:timers/promises'
import { asSassError } from '../../errors.ts'
import { MCP_CALLS, MCP_PROGRESS_MS, MCP_RULES_EVERY, MCP_RULES_MS } from './bounds.ts'
import type { Call, Tool } from './call.node.ts'
import type { Device } from './device.node.ts'
import { execute } from './execute-tool.node.ts'
import { branchDiff, list, read, write } from './file-tools.node.ts'
import { handoffList, handoffSend, handoffTake } from './handoff-tools.node.ts'
import { jobKill, jobStatus } from './job-tools.node.ts'
import type { Progress, ToolName, ToolResult } from './thread-messages.ts'
import { failed } from './tool-errors.ts'

/** The thread has checked the arguments of each against its schema. */
const RUNNERS: Readonly<Record<ToolName, Tool<never>>> = Object.freeze({
  execute,
  read,
  write,
  list,
  branch_diff: branchDiff,
  job_status: jobStatus,
  job_kill: jobKill,
  handoff_send: handoffSend,
  handoff_list: handoffList,
  handoff_take: handoffTake,
})

/** What the device refuses in words, by the error of the result: whoever is deceived is told no rules. */
const REFUSALS: ReadonlySet<unknown> = new Set([
  ...['CAPABILITY_DENIED', 'CAPABILITY_PATH_DENIED', 'CAPABILITY_CMD_DENIED', 'FILE_PATH_DENIED'],
  ...['CONFIRMATION_DENIED', 'CONFIRMATION_TIMEOUT'],
])

export type CallsGround = {
  readonly device: Device
  readonly progress: (call: number, progress: Progress) => void
  readonly result: (call: number, result: ToolResult) => void
  /** Something that should not happen, for the log. */
  readonly warn: (sentence: string) => void
}

export type Calls = {
  begin(call: number, name: ToolName, args: unknown): void
  cancel(call: number): void
  /** Ends all of them, and resolves when the last is over. */
  endAll(): Promise<void>
}

function tooMany(): ToolResult {
  const error = 'RESPONSE_THROTTLED'
  const message = `${MCP_CALLS} calls are under way, so this one was not begun: wait for one of them.`
  return {
    text: `Error ${error}: ${message}`,
    data: { error, message, outcome: 'not_started' },
    isError: true,
  }
}

export function createCalls({ device, progress, result, warn }: CallsGround): Calls {
  const underway = new Map<number, { readonly controller: AbortController; readonly over: Promise<void> }>()
  const followed = new Set<string>()
  /** Calls since the rules were told last. */
  let untold = 0

  /** A model forgets what it was told long ago, and what was refused is best told why it could be. */
  async function withRules(what: ToolResult): Promise<ToolResult> {
    const isDue = ++untold >= MCP_RULES_EVERY && !what.isError
    if (!isDue && !REFUSALS.has(what.data['error'])) return what
    untold = 0
    const rules = device
      .client()
      .then((client) => client.rules())
      .catch(() => undefined)
    const told = await Promise.race([rules, setTimeout(MCP_RULES_MS, undefined, { ref: false })])
    return told === undefined
      ? what
      : { ...what, text: `${what.text}\nThe rules of the device for you:\n${told}` }
  }

  async function run(
    number: number,
    name: ToolName,
    args: unknown,
    signal: AbortSignal,
  ): Promise<ToolResult> {
    const leaves: (() => void)[] = []
    let toldMs = Number.NEGATIVE_INFINITY
    let told = -1
    const call: Omit<Call, 'client' | 'abandon'> = {
      signal,
      followed,
      progress(what) {
        const now = performance.now()
        // Each is further than the last one, and the last one of all is the result.
        if (signal.aborted || now - toldMs < MCP_PROGRESS_MS || what.progress <= told) return
        toldMs = now
        told = what.progress
        progress(number, what)
      },
      onLink: (listener) => void leaves.push(device.onLink(listener)),
    }
    try {
      const client = await device.client()
      leaves.push(device.hold(client))
      const abandon = () => device.abandon(client)
      return await withRules(await (RUNNERS[name] as Tool<unknown>)({ ...call, client, abandon }, args))
    } catch (cause) {
      if (asSassError(cause) === undefined)
        warn(`${name}: ${cause instanceof Error ? cause.message : String(cause)}`)
      return withRules(failed(cause))
    } finally {
      for (const leave of leaves) leave()
    }
  }

  return {
    begin(number, name, args) {
      if (underway.size >= MCP_CALLS) return result(number, tooMany())
      const controller = new AbortController()
      const over = run(number, name, args, controller.signal).then((what) => {
        underway.delete(number)
        result(number, what)
      })
      underway.set(number, { controller, over })
    },
    cancel: (number) => underway.get(number)?.controller.abort(),
    async endAll() {
      const all = [...underway.values()]
      for (const { controller } of all) controller.abort()
      await Promise.allSettled(all.map(({ over }) => over))
    },
  }
}
