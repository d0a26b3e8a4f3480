/**
 * `sass-edge delegate [TARGET] --to WORKER`: hands work on to another agent. It prints the token and stays, since what is
 * handed on ends with the session that has handed it on.
 * @module
 */
import { encodeBase64Url } from '../../base/encoding/base64.ts'
import { misuse } from '../../errors.ts'
import { DELEGATION_MAX_SECONDS, DELEGATION_SECONDS } from '../../wire/limits.ts'
import { connectDevice, DEVICE_OPTIONS } from '../common/device.node.ts'
import { takeWords } from '../common/local-config.node.ts'
import { utcTime } from '../common/operator.node.ts'
import { duration, optionValue, optionValues } from '../words/arguments.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { EXIT } from '../words/exit-codes.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

function secondsOf({ arguments: { options } }: CommandContext): number {
  const text = optionValue(options, 'ttl')
  const seconds = text === undefined ? DELEGATION_SECONDS : duration(text)
  if (seconds !== undefined && seconds >= 1 && seconds <= DELEGATION_MAX_SECONDS) return seconds
  throw misuse('--ttl is a time like 90s, 15m or 24h, which is the longest: write one of them.')
}

/** As given, or undefined for all that there is. */
function listOf({ arguments: { options } }: CommandContext, name: string): readonly string[] | undefined {
  const values = optionValues(options, name)
  return values.length === 0 ? undefined : values
}

/** Resolves when somebody ends it, the time is over or the connection is. */
function over(seconds: number, closed: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, seconds * 1_000)
    function done(): void {
      clearTimeout(timer)
      for (const signal of SIGNALS) process.off(signal, done)
      resolve()
    }
    for (const signal of SIGNALS) process.on(signal, done)
    closed.then(done, done)
  })
}

export const command: Command = {
  usage: ['delegate [TARGET] --to WORKER [OPTIONS]'],
  options: {
    '--to WORKER': 'the agent that may begin one session with the token',
    '--tools TOOLS': 'of your own, separated by commas; else all',
    '--command PATTERN...': 'a command as capability sets have them; else all that both may',
    '--path PATH...': 'a path and what lies beneath; else all',
    '--ttl TIME': 'when it is over, like 15m; else after an hour',
    ...DEVICE_OPTIONS,
  },
  examples: {
    "sass-edge delegate --to tester --tools Read,Bash --command 'npm test'":
      'prints a token and stays; ^C takes it back',
    'sass-edge exec --agent tester --delegation TOKEN -- npm test': 'the worker uses it, once',
  },
  async run(context) {
    const worker = optionValue(context.arguments.options, 'to')
    if (worker === undefined) throw misuse('Nobody is named: write sass-edge delegate --to WORKER.')
    const seconds = secondsOf(context)
    const tools = optionValue(context.arguments.options, 'tools')?.split(',')
    const [target] = takeWords(context, 1)
    const client = await connectDevice(context, target, { reconnect: { giveUpMs: seconds * 1_000 } })
    const { token, expiresAt } = await client.delegate(worker, {
      tools,
      commands: listOf(context, 'command'),
      paths: listOf(context, 'path'),
      seconds,
    })
    const text = encodeBase64Url(token)
    context.output.note(`For one session of ${worker}, until ${utcTime(expiresAt)} or until this ends.`)
    context.output.result({ token: text, worker, expires_at: expiresAt }, [text])
    await over(seconds, client.closed)
    await client.close()
    return EXIT.OK
  },
}
