/**
 * Work that is handed on to another agent, as the client library asks for it.
 * Rules: docs/protocol.md, section 4 (delegation).
 * @module
 */
import { misuse } from '../errors.ts'
import { type DelegationAnswer, delegateRequest } from '../wire/identity-messages.ts'
import type { Caller } from './calls/caller.ts'

export type DelegateOptions = {
  /** Tools of one's own; default: all of them. */
  readonly tools?: readonly string[] | undefined
  /** Patterns as capability sets have them; default: whatever both sets allow. */
  readonly commands?: readonly string[] | undefined
  readonly paths?: readonly string[] | undefined
  /** Default: an hour. Then what runs there ends, too. */
  readonly seconds?: number | undefined
}

export type DelegatedWork = {
  /** For the worker alone. */
  readonly token: Uint8Array
  /** Unix seconds, by the clock of the device. */
  readonly expiresAt: number
}

/** @throws SassError USAGE with what the device says where it does not hand on */
export async function delegateWork(
  ask: <T>(...args: Parameters<Caller['call']>) => Promise<T>,
  worker: string,
  { tools, commands, paths, seconds }: DelegateOptions = {},
): Promise<DelegatedWork> {
  const request = delegateRequest.encode({
    worker,
    tools,
    allowed_commands: commands,
    allowed_paths: paths,
    ttl_seconds: seconds,
  })
  const { success, message, token, expires_at } = await ask<DelegationAnswer>('Delegate', request)
  if (success && token !== undefined && expires_at !== undefined) return { token, expiresAt: expires_at }
  const why = message === '' ? 'The device handed nothing on, and does not say why.' : message
  throw misuse(why)
}
