/**
 * `sass-edge intent run`, `intent status` and `intent tools`: a signed plan on a device, how far one is, and what plans may
 * call. What the calls print goes where a command's output goes; the exit code is that of the call that ended it.
 * Rules: docs/plans.md; docs/protocol.md, section 9 (exit codes).
 * @module
 */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { visible } from '../../base/text/visible.ts'
import type { PlanCallState, PlanResult } from '../../client/client.node.ts'
import { asSassError } from '../../errors.ts'
import { isSafeName } from '../../intent/canonical/shape.ts'
import { type OutputSource, STDERR } from '../../ports.ts'
import { PLAN_FRAME_BYTES } from '../../wire/limits.ts'
import { asAgent } from '../common/operator.node.ts'
import { createWaitingLine } from '../common/waiting-line.node.ts'
import type { CommandContext } from '../words/command.ts'
import { EXIT, exitOfRemote } from '../words/exit-codes.ts'
import { alignColumns } from '../words/listing.ts'
import { readGiven } from './given.node.ts'

const ENOENT = 2

function toObject({ planId, sessionId, issuer, state, calls, begunAt }: PlanResult): object {
  return {
    ...{ plan_id: planId, session_id: sessionId, issuer, state, begun_at: begunAt },
    calls: calls.map((call) => ({
      ...{ tool_call_id: call.id, tool_name: call.tool, state: call.state, number: call.number },
      ...{ why: call.why, execution: call.execution },
      ...{ stdout_bytes: call.stdoutBytes, stderr_bytes: call.stderrBytes },
    })),
  }
}

const ENDS: Readonly<Record<string, string>> = Object.freeze({
  exited: 'exit',
  signalled: 'signal',
  not_started: 'errno',
})

function howOf({ state, number, why }: PlanCallState): string {
  const end = Object.hasOwn(ENDS, state) ? ` ${ENDS[state]} ${number}` : ''
  return `${visible(state)}${end}${why === '' ? '' : `: ${visible(why)}`}`
}

function linesOf(result: PlanResult): string[] {
  const rows = result.calls.map((call) => [visible(call.id), visible(call.tool), howOf(call)])
  return [
    `Plan ${visible(result.planId)} by ${visible(result.issuer)}: ${visible(result.state)}.`,
    ...alignColumns(rows),
  ]
}

/** What a script may conclude: all of it is done, how the last call ended, or that nobody knows. */
function exitOf({ state, calls }: PlanResult): number {
  if (state === 'done') return EXIT.OK
  const last = calls.findLast((call) => call.state !== 'waiting')
  switch (last?.state) {
    case 'exited':
      return last.number === 0 ? EXIT.OUTCOME_UNKNOWN : exitOfRemote({ kind: 'exited', code: last.number })
    case 'signalled':
      return exitOfRemote({ kind: 'signalled', signal: last.number })
    case 'not_started':
      return last.number === ENOENT ? EXIT.NOT_FOUND : EXIT.NOT_EXECUTABLE
    case 'refused':
      return EXIT.NOT_STARTED
    default:
      return EXIT.OUTCOME_UNKNOWN
  }
}

/** @param word a file, `-` for stdin, or the session of a plan that is kept for whoever runs it */
export async function runPlan(context: CommandContext, word: string): Promise<number> {
  const isSession = word !== '-' && isSafeName(word) && !existsSync(resolve(context.cwd, word))
  const plan = isSession ? { sessionId: word } : readGiven(context, word, PLAN_FRAME_BYTES)
  const { json } = context.output
  const waiting = createWaitingLine(context.output)
  const output = (source: OutputSource, bytes: Uint8Array): void => {
    waiting.clear()
    // With --json stdout is the result alone.
    if (source === STDERR || json) process.stderr.write(bytes)
    else process.stdout.write(bytes)
  }
  const result = await asAgent(context, ({ plans }) =>
    plans.run(plan, output, waiting.show).finally(waiting.clear),
  )
  if (json) context.output.result(toObject(result), [])
  else for (const line of linesOf(result)) context.output.note(line)
  return exitOf(result)
}

/** @param word the id of a plan, or the session of the newest one */
export async function planStatus(context: CommandContext, word: string): Promise<number> {
  const result = await asAgent(context, ({ plans }) =>
    plans.state({ planId: word }).catch((cause: unknown) => {
      if (asSassError(cause)?.code !== 'INTENT_REJECTED') throw cause
      return plans.state({ sessionId: word })
    }),
  )
  return context.output.result(toObject(result), linesOf(result))
}

export async function listTools(context: CommandContext): Promise<number> {
  const tools = await asAgent(context, ({ plans }) => plans.tools())
  const rows = tools.map(({ name, version, tier, permissions, args, isLoaded, why }) =>
    isLoaded
      ? [name, version, tier, permissions.join(' '), args.join(' ')].map(visible)
      : [visible(name), '-', '-', 'refused', visible(why)],
  )
  return context.output.result(
    { tools: tools.map(({ isLoaded, ...tool }) => ({ ...tool, is_loaded: isLoaded })) },
    rows.length === 0
      ? ['No tool is loaded here.']
      : alignColumns([['TOOL', 'VERSION', 'TIER', 'PERMISSIONS', 'ARGUMENTS'], ...rows]),
  )
}
