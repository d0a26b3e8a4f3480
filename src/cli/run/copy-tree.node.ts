/**
 * Whole directories to a device and from it: files with their modes, directories, and links that stay inside. What
 * cannot be copied is said and left out: names that are no text, special files, links that lead out. Links are made
 * last and no name is taken twice, so that nothing that the other side says can lead out of where it is put.
 * @module
 */

import type { Dirent } from 'node:fs'
import { chmod, lstat, mkdir, readdir, readlink, symlink, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeUtf8 } from '../../base/encoding/utf8.ts'
import { errnoOf, errnoText } from '../../base/files.node.ts'
import type { Client, Transferred } from '../../client/client.node.ts'
import { misuse, SassError } from '../../errors.ts'
import { joinRemote, staysInside } from '../words/copy-place.ts'

/** As many at once as leave one of a caller's transfers to somebody else. */
const AT_ONCE = 3
const PERMISSIONS = 0o777
const OWNER = 0o700

/** Runs jobs, a few at once; the first error ends it, once those under way have ended. */
async function inParallel<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  let next = 0
  let failure: { readonly error: unknown } | undefined
  const worker = async () => {
    for (let item = items[next++]; item !== undefined && failure === undefined; item = items[next++]) {
      try {
        await work(item)
      } catch (error) {
        failure ??= { error }
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  if (failure !== undefined) throw failure.error
}

type Found = {
  readonly directories: { readonly path: string; readonly mode: number }[]
  readonly files: { readonly path: string; readonly mode: number }[]
  readonly links: { readonly path: string; readonly target: string }[]
}

const nothingFound = (): Found => ({ directories: [], files: [], links: [] })
const within = (directory: string, name: string) => (directory === '' ? name : `${directory}/${name}`)

async function walkLocal(copier: Copier, root: string): Promise<Found> {
  const found = nothingFound()

  async function enter(path: string): Promise<void> {
    const here = join(root, path)
    found.directories.push({ path, mode: (await lstat(here)).mode & PERMISSIONS })
    const entries: Dirent<Buffer>[] = await readdir(here, { withFileTypes: true, encoding: 'buffer' })
    entries.sort((a, b) => Buffer.compare(a.name, b.name))
    for (const entry of entries) {
      const name = decodeUtf8(entry.name)
      if (name === undefined) {
        copier.skip(
          within(path, entry.name.toString()),
          'its name is not UTF-8, and no other can be sent; rename it',
        )
        continue
      }
      const below = within(path, name)
      if (entry.isDirectory()) await enter(below)
      else if (entry.isFile())
        found.files.push({ path: below, mode: (await lstat(join(root, below))).mode & PERMISSIONS })
      else if (entry.isSymbolicLink()) await takeLink(below)
      else copier.skip(below, 'it is neither a file, a directory nor a link')
    }
  }

  async function takeLink(path: string): Promise<void> {
    const target = decodeUtf8(await readlink(join(root, path), 'buffer'))
    if (target !== undefined && staysInside(path, target)) found.links.push({ path, target })
    else copier.skip(path, 'it is a link that leads out of what is copied')
  }

  try {
    await enter('')
  } catch (cause) {
    if (errnoOf(cause) === undefined) throw cause
    throw misuse(`${root} cannot be read whole, since ${errnoText(errnoOf(cause))}.`, { path: root }, cause)
  }
  return found
}

/** Sends what is in the local directory into the remote one. */
export async function sendTree(copier: Copier, local: string, remote: string): Promise<void> {
  const { directories, files, links } = await walkLocal(copier, local)
  for (const { path, mode } of directories) {
    // Until everything is in it, it must be possible to put something there.
    await copier.client.makeDirectory(joinRemote(remote, path), mode | OWNER)
    copier.count.directories++
  }
  await inParallel(files, ({ path, mode }) =>
    copier.send(join(local, path), joinRemote(remote, path), path, mode),
  )
  for (const { path, target } of links) {
    await copier.client.makeLink(joinRemote(remote, path), target)
    copier.count.links++
  }
  for (const { path, mode } of directories.toReversed())
    if ((mode & OWNER) !== OWNER) await copier.client.makeDirectory(joinRemote(remote, path), mode)
}

/** A device may say anything: a name is one name. */
function isOneName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !name.includes('/') && !name.includes('\0')
}

async function walkRemote(copier: Copier, root: string): Promise<Found> {
  const found = nothingFound()

  async function enter(path: string): Promise<void> {
    const listing = await copier.client.list(joinRemote(root, path))
    if (listing === undefined) return copier.skip(path, 'it is no directory any more')
    found.directories.push({ path, mode: listing.mode & PERMISSIONS })
    const names = new Set<string>()
    for (const { name, kind, mode, target } of listing.entries) {
      if (typeof name !== 'string') {
        copier.skip(
          within(path, Buffer.from(name).toString()),
          'its name is not UTF-8 or begins with U+FEFF, so it cannot be asked for',
        )
        continue
      }
      if (!isOneName(name) || names.has(name))
        throw new SassError(
          'FRAME_MALFORMED',
          'The device sent a list of a directory with a name that cannot be one.',
        )
      names.add(name)
      const below = within(path, name)
      if (kind === 'directory') await enter(below)
      else if (kind === 'file') found.files.push({ path: below, mode: mode & PERMISSIONS })
      else if (kind === 'other') copier.skip(below, 'it is neither a file, a directory nor a link')
      else if (typeof target === 'string' && staysInside(below, target))
        found.links.push({ path: below, target })
      else copier.skip(below, 'it is a link that leads out of what is copied')
    }
  }

  await enter('')
  return found
}

/** Never into what is a link already: that would be somewhere else. */
async function makeLocalDirectory(path: string, isRoot: boolean): Promise<void> {
  try {
    await mkdir(path, { mode: OWNER })
  } catch (cause) {
    const stats = errnoOf(cause) === 'EEXIST' ? await lstat(path) : undefined
    if (stats?.isDirectory() === true || (isRoot && stats?.isSymbolicLink() === true)) return
    throw misuse(`The directory ${path} cannot be made, since ${errnoText(errnoOf(cause))}.`, { path }, cause)
  }
}

/** Receives what is in the remote directory into the local one. */
export async function receiveTree(copier: Copier, remote: string, local: string): Promise<void> {
  const { directories, files, links } = await walkRemote(copier, remote)
  for (const { path } of directories) {
    await makeLocalDirectory(join(local, path), path === '')
    copier.count.directories++
  }
  await inParallel(files, ({ path, mode }) =>
    copier.receive(joinRemote(remote, path), join(local, path), path, mode),
  )
  for (const { path, target } of links) {
    await unlink(join(local, path)).catch(() => {})
    await symlink(target, join(local, path))
    copier.count.links++
  }
  for (const { path, mode } of directories.toReversed()) await chmod(join(local, path), mode)
}

/** What a copy of one file or of a tree works with. */
export type Copier = {
  readonly client: Client
  readonly count: Counts
  send(local: string, remote: string, name: string, mode?: number): Promise<Transferred>
  receive(remote: string, local: string, name: string, mode?: number): Promise<Transferred>
  /** Says that something is left out, and why. */
  skip(path: string, why: string): void
}

export type Counts = { files: number; directories: number; links: number; bytes: number; resumed: number }
