/**
 * `sass-edge status [TARGET]`: what a daemon is doing and what it has decided.
 * @module
 */
import { encodeHex } from '../base/hex.ts'
import type { Client } from '../client/client.node.ts'
import type { SecurityStatus } from '../wire/status-messages.ts'
import type { Command, CommandContext } from './command.ts'
import { sizeText } from './copy-place.ts'
import { connectOperator, DEVICE_OPTIONS } from './device.node.ts'
import { EXIT } from './exit-codes.ts'
import { takeWords } from './local-config.node.ts'
import { SUMMARIES } from './summaries.ts'

const RESPONSES = ['execute', 'challenge', 'throttle', 'vi swap', 'tarpit', 'drop'] as const
const WATCH_MS = 1_000
/** Where every byte is paid. */
const METERED_WATCH_MS = 60_000

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
      link: linkObject(status),
    },
    [
      `daemon     sass-edge ${ping.daemon_version} on ${ping.os}, up ${ping.uptime_seconds} s`,
      `running    ${counted(ping.active_processes, 'command')} in ${counted(status.active_sessions, 'session')}, ${counted(status.active_tarpits, 'tarpit')}`,
      `responses  ${counts.join(', ')}`,
      `policy     ${status.policy_version}`,
      `audit      record ${status.audit_seq}, ${hash.slice(0, 16)}…`,
      ...linkLines(status),
    ],
  )
}

type Carried = { readonly received: number; readonly sent: number; readonly since?: number | undefined }

function timeOf({ since }: Carried): string {
  return new Date((since ?? 0) * 1_000).toISOString()
}

function day(carried: Carried | undefined): Readonly<Record<string, unknown>> | null {
  if (carried === undefined) return null
  return { received_bytes: carried.received, sent_bytes: carried.sent, since: timeOf(carried) }
}

/** Bytes of TCP payload as the device counts them; null: not told, or nothing is known of it. */
function linkObject({
  session,
  today,
  yesterday,
  sessions,
}: SecurityStatus): Readonly<Record<string, unknown>> {
  return {
    session: session === undefined ? null : { received_bytes: session.received, sent_bytes: session.sent },
    today: day(today),
    yesterday: day(yesterday),
    sessions: sessions.map(({ session_id, agent_name, received, sent }) => ({
      session: encodeHex(session_id),
      agent: agent_name,
      received_bytes: received,
      sent_bytes: sent,
    })),
  }
}

function carried({ received, sent }: Carried): string {
  return `received ${sizeText(received)}, sent ${sizeText(sent)}`
}

function linkLines({ session, today, yesterday, sessions }: SecurityStatus): string[] {
  const lines =
    session === undefined || today !== undefined ? [] : [`link       ${carried(session)} in this session`]
  if (today !== undefined) lines.push(`link       ${carried(today)} since ${timeOf(today).slice(0, 16)}Z`)
  if (yesterday !== undefined) lines.push(`           ${carried(yesterday)} the day before`)
  for (const one of sessions)
    lines.push(
      `           ${carried(one)} in session ${encodeHex(one.session_id).slice(0, 8)} of ${one.agent_name}`,
    )
  return lines
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

export const command: Command = {
  name: 'status',
  summary: SUMMARIES.status,
  usage: ['status [TARGET]'],
  options: [
    { name: 'watch', description: 'again every second, with --metered every minute, until ^C' },
    ...DEVICE_OPTIONS,
  ],
  examples: [{ line: 'sass-edge status', does: 'the daemon of the nearest .sass-edge, as its operator' }],
  async run(context) {
    const client = await connectOperator(context, takeWords(context, 1)[0])
    await show(context, client)
    const { options } = context.arguments
    const pauseMs = options.has('metered') ? METERED_WATCH_MS : WATCH_MS
    while (options.has('watch')) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
      await show(context, client)
    }
    await client.close()
    return EXIT.OK
  },
}
