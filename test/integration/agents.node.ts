/**
 * Who works with a daemon: its agents with what they run, and its operator with questions and levels of alarm.
 * @module
 */
import { type Client, connect } from '../../src/client/client.node.ts'
import { type Daemon, isAlive, type Json, until } from './daemon.node.ts'

/** What is refused ends the connection, and is not to be asked again: it comes back only where the test says so. */
export function client(daemon: Daemon, agent = 'agent'): Promise<Client> {
  const { port, fingerprint: pin, seed } = daemon
  return connect({ host: '127.0.0.1', port, agent, privateKey: seed(agent), pin, reconnect: false })
}

/** A command of the agent that runs until it is ended; its process. */
export async function running(agent: Client): Promise<number> {
  let text = ''
  const command = agent.stream('sh', ['-c', 'echo $$; exec sleep 300'], {
    output: (_source, bytes) => {
      text += Buffer.from(bytes).toString()
    },
  })
  command.exit.catch(() => {})
  await until('its number', () => text.endsWith('\n'))
  const pid = Number(text)
  if (!isAlive(pid)) throw new Error(`${pid} does not run`)
  return pid
}

export type Question = Json & { readonly id: string }

/** What waits for a human. */
export async function questions(daemon: Pick<Daemon, 'cli'>): Promise<readonly Question[]> {
  return JSON.parse((await daemon.cli(['confirm', 'list', '--json'])).stdout.toString()).confirmations
}

/** The next question, as soon as there is one. */
export async function question(daemon: Pick<Daemon, 'cli'>): Promise<Question> {
  let found: Question | undefined
  await until('a question', async () => {
    ;[found] = await questions(daemon)
    return found !== undefined
  })
  if (found === undefined) throw new Error('There is no question.')
  return found
}

/** Scopes that are not NORMAL. */
export async function levels(daemon: Daemon): Promise<readonly Json[]> {
  return JSON.parse((await daemon.cli(['level', 'show', '--json'])).stdout.toString()).levels
}
