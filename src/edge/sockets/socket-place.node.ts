/**
 * The place of a Unix socket that the daemon is to make: its directory, and what an earlier daemon has left there. A
 * socket on which somebody answers, and whatever is no socket, is nobody's to remove.
 * @module
 */
import { lstatSync, mkdirSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { SassError } from '../../errors.ts'

/** How people call it, and the key of the configuration that says where it is. */
export type SocketName = { readonly name: string; readonly field: string }

/** A socket file that nobody listens on is left over from a daemon that died: it is removed. */
function removeLeftOver(path: string, { name, field }: SocketName): Promise<void> {
  return new Promise((resolve, reject) => {
    const status = lstatSync(path, { throwIfNoEntry: false })
    if (status === undefined) return resolve()
    if (!status.isSocket()) {
      return reject(
        new SassError(
          'ADDRESS_IN_USE',
          `${path} is not a socket, so the ${name} cannot be made there; move it away or set ${field}.`,
          { path },
        ),
      )
    }
    const probe = connect(path)
    probe.once('connect', () => {
      probe.destroy()
      reject(
        new SassError(
          'ADDRESS_IN_USE',
          `Another daemon already listens on ${path}; stop it first, or give this one its own ${field}.`,
          { path },
        ),
      )
    })
    probe.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return resolve()
      // Anything else, such as a full queue (EAGAIN), does not say that nobody listens.
      if (error.code !== 'ECONNREFUSED') return reject(error)
      rmSync(path, { force: true })
      resolve()
    })
  })
}

/**
 * Makes the directory and removes what is left over.
 * @throws SassError ADDRESS_IN_USE where somebody listens there, STATE_UNWRITABLE where nothing can be made
 */
export async function claimSocket(path: string, what: SocketName): Promise<void> {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
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
