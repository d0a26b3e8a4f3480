/**
 * The tools `job_status` and `job_kill`: commands of this agent that go on without a call, or that ran lately, and what
 * they wrote. Output that another client reads is left to it.
 * @module
 */

import { constants } from 'node:os'
import { encodeHex } from '../../base/encoding/hex.ts'
import type { Client } from '../../client/client.node.ts'
import { asSassError, SassError } from '../../errors.ts'
import { signalName } from '../words/signal-name.node.ts'
import { answered } from './answered.node.ts'
import { MCP_CATCH_UP_MS } from './bounds.ts'
import type { Call, Tool } from './call.node.ts'
import { createCollector, follow } from './follow.node.ts'
import { createKeeper } from './kept-output.ts'
import type { ToolResult } from './thread-messages.ts'
import { count, shownText } from './tool-text.ts'
import type { ToolArguments } from './tools.ts'

const STATES = ['starting', 'running', 'finished', 'not_started', 'unknown'] as const
type Summary = Awaited<ReturnType<Client['executions']>>[number]
type StatusArguments = ToolArguments<'job_status'>

function timeText(seconds: number): string {
  const date = new Date(seconds * 1_000)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().replace('.000', '')
}

function jobData(job: Summary): Readonly<Record<string, unknown>> {
  const { state, started_at, ended_at, exit_code, signal, stdout_bytes, stderr_bytes } = job
  return {
    id: encodeHex(job.execution_id),
    state: STATES[state] ?? 'unknown',
    command: job.command,
    started_at: timeText(started_at),
    ...(ended_at === undefined ? {} : { ended_at: timeText(ended_at) }),
    ...(exit_code === undefined ? {} : { exit_code }),
    ...(signal === undefined ? {} : { signal: signalName(signal) }),
    ...{ stdout_bytes, stderr_bytes },
  }
}

function jobLine(job: Summary): string {
  const { exit_code, signal, stdout_bytes, stderr_bytes } = job
  const state = STATES[job.state] ?? 'unknown'
  const end = exit_code !== undefined ? ` ${exit_code}` : signal === undefined ? '' : ` ${signalName(signal)}`
  return `${encodeHex(job.execution_id)}  ${state}${end}  ${timeText(job.started_at)}  ${stdout_bytes}+${stderr_bytes} bytes  ${shownText(job.command)}`
}

function jobsResult(jobs: readonly Summary[]): ToolResult {
  return {
    text: [`${count(jobs.length, 'command')} of this agent.`, ...jobs.map(jobLine)].join('\n'),
    data: { jobs: jobs.map(jobData) },
    isError: false,
  }
}

function isAwaited(call: Call, id: string): boolean {
  return call.followed.has(id)
}

/** With the entry of the list in front, as it was before the output was read. */
function withJob(result: ToolResult, job: Summary | undefined): ToolResult {
  return {
    ...result,
    text: [...(job === undefined ? [] : [jobLine(job)]), result.text].join('\n'),
    data:
      result.isError && result.data['state'] === undefined
        ? result.data
        : { ...result.data, jobs: job === undefined ? [] : [jobData(job)] },
  }
}

/** The output and the end of one, as far as they are there now or come in the time that is given. */
async function readJob(
  call: Call,
  id: string,
  job: Summary | undefined,
  args: StatusArguments,
): Promise<ToolResult> {
  const { wait_seconds, stdout_offset, stderr_offset, max_output_bytes } = args
  const there = [job?.stdout_bytes ?? 0, job?.stderr_bytes ?? 0] as const
  const isForward = stdout_offset !== undefined || stderr_offset !== undefined
  // The one that is not asked for is passed over.
  const from = isForward ? ([stdout_offset ?? there[0], stderr_offset ?? there[1]] as const) : undefined
  const stdout = createKeeper(stdout_offset === undefined && isForward ? 0 : max_output_bytes, from?.[0])
  const stderr = createKeeper(stderr_offset === undefined && isForward ? 0 : max_output_bytes, from?.[1])
  const collector = createCollector(stdout, stderr)
  const execution = call.client.attach(id, {
    ...(from === undefined ? { tail: max_output_bytes } : { stdoutOffset: from[0], stderrOffset: from[1] }),
    output: collector.output,
    onGap: collector.onGap,
    onWaiting: collector.onWaiting,
  })
  const beganMs = performance.now()
  const isThere = () => stdout.end >= there[0] && stderr.end >= there[1]
  const isFull = () =>
    isForward &&
    (stdout_offset === undefined || stdout.isFull) &&
    (stderr_offset === undefined || stderr.isFull)
  const isLate = () => performance.now() - beganMs > MCP_CATCH_UP_MS
  const isFinished = job === undefined || STATES[job.state] === 'finished'
  const result = await follow(call, {
    ...{ execution, stdout, stderr, collector },
    // What has ended says so at once, and what it wrote comes before that.
    waitSeconds: Math.max(wait_seconds, MCP_CATCH_UP_MS / 1_000),
    ready: execution.started,
    isEnough: () => isFull() || (wait_seconds === 0 && !isFinished && (isThere() || isLate())),
    givenUp: () => Promise.resolve(),
  })
  return withJob(result, job)
}

export const jobStatus: Tool<StatusArguments> = async (call, args) => {
  const jobs = await answered(call, () => call.client.executions())
  const { id } = args
  if (id === undefined) return jobsResult(jobs)
  const job = jobs.find(({ execution_id }) => encodeHex(execution_id) === id)
  const isOthers = isAwaited(call, id) || (job?.is_attached === true && STATES[job.state] === 'running')
  if (!isOthers || job === undefined) return readJob(call, id, job, args)
  const words = isAwaited(call, id)
    ? 'Another call waits for it, and gives its output.'
    : 'Another client reads its output, and it is left to that one.'
  return { text: `${jobLine(job)}\n${words}`, data: { jobs: [jobData(job)] }, isError: false }
}

const SIGNALS: Readonly<Record<string, number>> = constants.signals

export const jobKill: Tool<ToolArguments<'job_kill'>> = async (call, { id, signal }) => {
  const { client } = call
  const number = SIGNALS[`SIG${signal}`] ?? constants.signals.SIGTERM
  try {
    await answered(call, () => (signal === 'KILL' ? client.cancel(id) : client.signal(id, number)))
  } catch (cause) {
    if (asSassError(cause)?.code !== 'PROCESS_NOT_FOUND') throw cause
    throw new SassError(
      'PROCESS_NOT_FOUND',
      'It does not run any more, or never did, so there is nothing to end.',
      {},
      cause,
    )
  }
  const words =
    signal === 'KILL'
      ? 'It is ended, with every process of it.'
      : `It was sent ${signal}; job_status says whether it has ended.`
  return { text: words, data: { id, signal }, isError: false }
}
