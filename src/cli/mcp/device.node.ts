/**
 * The connection behind the tools: made when it is wanted, come back to as the client library does, and made anew where
 * that has given up. Always an agent's: what operators decide is not for a model to decide.
 * @module
 */

import type { Client, LinkEvent } from '../../client/client.node.ts'
import { misuse, type SassError } from '../../errors.ts'
import { type Connecting, connectDevice } from '../common/device.node.ts'
import { optionValue } from '../words/arguments.ts'
import type { CommandContext } from '../words/command.ts'

export type Device = {
  /** The connection, made where there is none. @throws SassError with what to do */
  client(): Promise<Client>
  /** Not given out any more; closed when nobody uses it. */
  abandon(client: Client): void
  /** Somebody uses it, until the returned function is called. */
  hold(client: Client): () => void
  /** Hears of the link until the returned function is called. */
  onLink(listener: (event: LinkEvent) => void): () => void
  close(): Promise<void>
}

export function operatorsKey(): SassError {
  return misuse(
    'This key is an operator’s, who may merge, confirm and change levels, so no model is given it: make an agent’s with sass-edge keygen and sass-edge agent add, and name it with --agent NAME --key FILE.',
  )
}

/** The same words, but in the branch of that session: another connection goes on where the last one was. */
function inBranchOf(context: CommandContext, sessionId: string): CommandContext {
  const options = new Map(context.arguments.options).set('branch', [sessionId])
  return { ...context, arguments: { ...context.arguments, options } }
}

export function createDevice(
  context: CommandContext,
  target: string | undefined,
  reconnect: Connecting['reconnect'],
): Device {
  const listeners = new Set<(event: LinkEvent) => void>()
  let words = context
  let coming: Promise<Client> | undefined
  const users = new Map<Client, number>()
  const abandoned = new Set<Client>()

  async function open(): Promise<Client> {
    const client = await connectDevice(words, target, {
      reconnect,
      onLink: (event) => {
        for (const listener of [...listeners]) listener(event)
      },
    })
    try {
      // Only operators are told the level of the daemon.
      if ((await client.status()).level !== '') throw operatorsKey()
    } catch (cause) {
      await client.close()
      throw cause
    }
    if (optionValue(words.arguments.options, 'branch') === 'new') words = inBranchOf(words, client.sessionId)
    return client
  }

  function client(): Promise<Client> {
    if (coming !== undefined) return coming
    const made = open()
    const forget = () => {
      if (coming === made) coming = undefined
    }
    coming = made
    made.then(({ closed }) => closed.then(forget), forget)
    return made
  }

  return {
    client,
    abandon(client) {
      const present = coming
      void present?.then((open) => {
        if (open === client && coming === present) coming = undefined
      })
      if (users.has(client)) abandoned.add(client)
      else void client.close()
    },
    hold(client) {
      users.set(client, (users.get(client) ?? 0) + 1)
      return () => {
        const left = (users.get(client) ?? 1) - 1
        if (left > 0) return void users.set(client, left)
        users.delete(client)
        if (abandoned.delete(client)) void client.close()
      }
    },
    onLink(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async close() {
      await coming?.then((open) => open.close()).catch(() => {})
    },
  }
}
