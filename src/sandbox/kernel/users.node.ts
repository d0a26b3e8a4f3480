/**
 * Users of this device by name, from /etc/passwd: commands run as one of those, and a directory service is nothing to
 * wait for before a command.
 * Source: passwd(5).
 * @module
 */
import { readFileSync } from 'node:fs'
import { SassError } from '../../errors.ts'

export type User = {
  readonly name: string
  readonly userId: number
  readonly groupId: number
  readonly home: string
}

/** @throws SassError SANDBOX_UNAVAILABLE where there is no such user */
export function findUser(name: string): User {
  for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [user, , userId, groupId, , home] = line.split(':')
    if (user !== name || userId === undefined || groupId === undefined) continue
    return { name, userId: Number(userId), groupId: Number(groupId), home: home ?? '/' }
  }
  throw new SassError(
    'SANDBOX_UNAVAILABLE',
    `run_as names ${name}, who is no user of this device, so nothing was started; change run_as of the capability set, or add the user.`,
    { user: name },
  )
}
