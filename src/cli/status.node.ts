/**
 * `sass-edge status [TARGET]`: what a daemon is doing and what it has decided.
 * @module
 */
import { encodeHex } from '../base/hex.ts'
import type { Client } from '../client/client.node.ts'
import type { Command, CommandContext } from './command.ts'
import { connectOperator, DEVICE_OPTIONS } from './device.node.ts'
import { EXIT } from './exit-codes.ts'
import { takeWords } from './local-config.node.ts'
import { SUMMARIES } from './summaries.ts'

const RESPONSES = ['execute', 'challenge', 'throttle', 'vi swap', 'tarpit', 'drop'] as const
const WATCH_MS = 1_000

async function show(context: CommandContext, client: Client): Promise<void> {
  const status = await client.status()
  const ping = await client.ping()
  const counts = RESPONSES.map((name, index) => `${name} ${status.responses.get(index + 1) ?? 0}`)
  const hash = encodeHex(status.audit_hash)
  context.output.result(
    {
      version: ping.daemon_version,
      os: ping.os,
      uptime_seconds: ping.uptime_seconds,
      active_processes: ping.active_processes,
      active_sessions: status.active_sessions,
      active_tarpits: status.active_tarpits,
      policy_version: status.policy_version,
      responses: Object.fromEntries(
        RESPONSES.map((_, index) => [`R${index + 1}`, status.responses.get(index + 1) ?? 0]),
      ),
      audit: { sequence: status.audit_seq, hash },
    },
    [
      `daemon     sass-edge ${ping.daemon_version} on ${ping.os}, up ${ping.uptime_seconds} s`,
      `running    ${counted(ping.active_processes, 'command')} in ${counted(status.active_sessions, 'session')}, ${counted(status.active_tarpits, 'tarpit')}`,
      `responses  ${counts.join(', ')}`,
      `policy     ${status.policy_version}`,
      `audit      record ${status.audit_seq}, ${hash.slice(0, 16)}…`,
    ],
  )
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

export const command: Command = {
  name: 'status',
  summary: SUMMARIES.status,
  usage: ['status [TARGET]'],
  options: [{ name: 'watch', description: 'again every second, until ^C' }, ...DEVICE_OPTIONS],
  examples: [{ line: 'sass-edge status', does: 'the daemon of the nearest .sass-edge, as its operator' }],
  async run(context) {
    const client = await connectOperator(context, takeWords(context, 1)[0])
    await show(context, client)
    while (context.arguments.options.has('watch')) {
      await new Promise((resolve) => setTimeout(resolve, WATCH_MS))
      await show(context, client)
    }
    await client.close()
    return EXIT.OK
  },
}
