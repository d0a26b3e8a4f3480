/**
 * `sass-edge jobs [TARGET]`: what runs on a device and what ran there lately, also before its daemon was started.
 * @module
 */

import { encodeHex } from '../../base/encoding/hex.ts'
import { visible } from '../../base/text/visible.ts'
import type { ExecutionSummary } from '../../wire/messages.ts'
import { connectOperator, DEVICE_OPTIONS } from '../common/device.node.ts'
import { takeWords } from '../common/local-config.node.ts'
import type { Command } from '../words/command.ts'
import { alignColumns, shortDuration } from '../words/listing.ts'

const STATES = ['starting', 'running', 'finished', 'not started', 'outcome unknown'] as const

function endOf(job: ExecutionSummary): string {
  if (job.signal !== undefined) return `signal ${job.signal}`
  return job.exit_code === undefined ? '-' : String(job.exit_code)
}

function toObject(job: ExecutionSummary): object {
  return {
    id: encodeHex(job.execution_id),
    agent: job.agent_name,
    state: STATES[job.state],
    has_left: job.has_left,
    command: job.command,
    started_at: job.started_at,
    ended_at: job.ended_at ?? null,
    exit_code: job.exit_code ?? null,
    signal: job.signal ?? null,
    stdout_bytes: job.stdout_bytes,
    stderr_bytes: job.stderr_bytes,
    attached: job.is_attached,
  }
}

function table(jobs: readonly ExecutionSummary[], nowSeconds: number): string[] {
  if (jobs.length === 0) return ['Nothing runs on this device, and nothing has in the last day.']
  const rows = jobs.map((job) => [
    encodeHex(job.execution_id),
    visible(job.agent_name),
    job.has_left ? 'left running' : (STATES[job.state] ?? ''),
    endOf(job),
    shortDuration(Math.max(0, nowSeconds - job.started_at)),
    visible(job.command),
  ])
  return alignColumns([['ID', 'AGENT', 'STATE', 'EXIT', 'AGE', 'COMMAND'], ...rows])
}

export const command: Command = {
  usage: ['jobs [TARGET]'],
  options: {
    '--all': 'also those that have ended, for a day',
    ...DEVICE_OPTIONS,
  },
  examples: {
    'sass-edge jobs': 'what runs now',
    'sass-edge jobs --all edge7': 'and what has ended, newest first',
  },
  async run(context) {
    const client = await connectOperator(context, takeWords(context, 1)[0])
    const everything = await client.executions()
    await client.close()
    const jobs = context.arguments.options.has('all')
      ? everything
      : everything.filter(({ state, has_left }) => state < 2 || has_left)
    const lines =
      jobs.length === 0 && everything.length > 0
        ? [`Nothing runs now; ${everything.length} have ended (--all).`]
        : table(jobs, Math.floor(Date.now() / 1_000))
    return context.output.result({ jobs: jobs.map(toObject) }, lines)
  },
}
