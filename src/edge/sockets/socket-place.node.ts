/**
 * The place of a Unix socket that the daemon is to make: its directory, and what an earlier daemon has left there. A
 * socket on which somebody answers, and whatever is no socket, is nobody's to remove.
 * @module
 */
import { lstatSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeDirectories } from '../../base/files.node.ts'
import { SassError } from '../../errors.ts'
import { LEFT_OVER_PAUSES_MS } from '../../limits.ts'

/** How people call it, and the key of the configuration that says where it is. */
export type SocketName = { readonly name: string; readonly field: string }

/** Whether somebody answers on the socket there; undefined: it is gone. */
function isAnswered(path: string): Promise<boolean | undefined> {
  return new Promise((resolve, reject) => {
    const probe = connect(path)
    probe.once('connect', () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') resolve(undefined)
      else if (error.code === 'ECONNREFUSED') resolve(false)
      // Anything else, such as a full queue (EAGAIN), does not say that nobody listens.
      else reject(error)
    })
  })
}

/**
 * A socket file that nobody listens on is left over from a daemon that died: it is removed. What that one was about to
 * start when it was killed holds all that it had until it is a program of its own: so it is asked more than once.
 */
async function removeLeftOver(path: string, { name, field }: SocketName): Promise<void> {
  const status = lstatSync(path, { throwIfNoEntry: false })
  if (status === undefined) return
  if (!status.isSocket())
    throw new SassError(
      'ADDRESS_IN_USE',
      `${path} is not a socket, so the ${name} cannot be made there; move it away or set ${field}.`,
      { path },
    )
  for (const pauseMs of [0, ...LEFT_OVER_PAUSES_MS]) {
    if (pauseMs > 0) await sleep(pauseMs)
    const answered = await isAnswered(path)
    if (answered === true) continue
    if (answered === false) rmSync(path, { force: true })
    return
  }
  throw new SassError(
    'ADDRESS_IN_USE',
    `Another daemon already listens on ${path}; stop it first, or give this one its own ${field}.`,
    { path },
  )
}

/**
 * Makes the directory and removes what is left over.
 * @throws SassError ADDRESS_IN_USE where somebody listens there, STATE_UNWRITABLE where nothing can be made
 */
export async function claimSocket(path: string, what: SocketName): Promise<void> {
  try {
    makeDirectories(dirname(path), 0o700)
    await removeLeftOver(path, what)
  } catch (cause) {
    if (cause instanceof SassError) throw cause
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown'
    throw new SassError(
      'STATE_UNWRITABLE',
      `The ${what.name} ${path} cannot be made (${code}); give the daemon a directory that it may write as ${what.field}.`,
      { path },
      cause,
    )
  }
}
