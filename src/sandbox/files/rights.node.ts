/**
 * The daemon's own work on a session's files with the rights that the session's commands have: as their user where they
 * have another one, and without any capability. What a command may not open, a
 * transfer may not either. Only for what is done in one go: rights belong to the thread, and the next turn has its own.
 * Sources: credentials(7), capabilities(7), setfsuid(2), capset(2).
 * @module
 */

import { SassError } from '../../errors.ts'
import type { SessionView } from '../../ports.ts'
import { CAPABILITY_VERSION_3 } from '../kernel/capabilities.node.ts'
import type { Syscalls } from '../kernel/syscalls.node.ts'

export type Rights = {
  /** Does `work`, which is synchronous, with the rights of that view. */
  within<Result>(view: SessionView, work: () => Result): Result
  /** Whom what is made there belongs to. */
  userOf(view: SessionView): number
}

/** linux/capability.h, version 3: the header is a version and a thread, the data two words for each of three sets. */
const HEADER_WORDS = 2
const DATA_WORDS = 6
/** The two words of the effective set. */
const EFFECTIVE: readonly number[] = [0, 3]
/** No user has it: asks who it is and changes nothing. */
const NOBODY = 0xffff_ffff

function refused(what: string): SassError {
  return new SassError(
    'INTERNAL',
    `The rights for work on files could not be taken (${what}); nothing was done.`,
  )
}

/** For the thread that calls it. */
export function createRights({ byNumber }: Syscalls): Rights {
  const own = process.geteuid?.() ?? 0
  const ownGroup = process.getegid?.() ?? 0
  const groups = new Uint32Array(Math.max(0, byNumber('getgroups', 0, 0)))
  if (groups.length > 0) byNumber('getgroups', groups.length, groups)

  function capabilities(): Uint32Array<ArrayBuffer> {
    const data = new Uint32Array(DATA_WORDS)
    if (byNumber('capget', header(), data) < 0) throw refused('capget')
    return data
  }

  function header(): Uint32Array<ArrayBuffer> {
    const words = new Uint32Array(HEADER_WORDS)
    words[0] = CAPABILITY_VERSION_3
    return words
  }

  function setCapabilities(data: Uint32Array): void {
    if (byNumber('capset', header(), data) < 0) throw refused('capset')
  }

  function withoutCapabilities<Result>(work: () => Result): Result {
    const before = capabilities()
    if (EFFECTIVE.every((word) => before[word] === 0)) return work()
    const fewer = before.slice()
    for (const word of EFFECTIVE) fewer[word] = 0
    setCapabilities(fewer)
    try {
      return work()
    } finally {
      setCapabilities(before)
    }
  }

  /** These two never say that they failed: what holds then is asked for. */
  function become(userId: number, groupId: number): void {
    byNumber('setfsgid', groupId)
    if (byNumber('setfsgid', NOBODY) !== groupId) throw refused('setfsgid')
    byNumber('setfsuid', userId)
    if (byNumber('setfsuid', NOBODY) !== userId) throw refused('setfsuid')
  }

  function asUser<Result>(userId: number, groupId: number, work: () => Result): Result {
    if (byNumber('setgroups', 0, 0) < 0) throw refused('setgroups')
    try {
      become(userId, groupId)
      return work()
    } finally {
      comeBack()
    }
  }

  function comeBack(): void {
    become(own, ownGroup)
    const result = byNumber('setgroups', groups.length, groups.length === 0 ? 0 : groups)
    if (result < 0) throw refused('setgroups')
  }

  return {
    within({ user }, work) {
      // For user 0 the kernel leaves the capabilities; for any other it takes them away by itself.
      const bounded = () => withoutCapabilities(work)
      return user === undefined || user.userId === own
        ? bounded()
        : asUser(user.userId, user.groupId, bounded)
    },
    userOf: ({ user }) => user?.userId ?? own,
  }
}
