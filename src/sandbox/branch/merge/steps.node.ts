/**
 * Does the steps of a merge's journal, forwards or backwards, in one real root. Each step finds out by itself whether it
 * has been done: by what lies in its place of the stage. Nothing is moved that is not what the journal says it is.
 * A real path is looked up beneath its root without following a link, just before it is used.
 * @module
 */

import { RENAME_EXCHANGE, RENAME_NOREPLACE } from '../../kernel/at.node.ts'
import { ERRNO } from '../../kernel/syscalls.node.ts'
import {
  attributesOf,
  type Files,
  fileError,
  nameBytes,
  openDirectory,
  statName,
} from '../files/files.node.ts'
import { type BytePath, namePath, parentPath } from '../files/paths.ts'
import type { JournalAttributes, JournalStep, RootJournal } from '../store/journal.node.ts'
import type { Attributes } from '../store/merge-plan.ts'
import { applyAttributes } from '../store/stage.node.ts'

/** A step that cannot be done: `path` is not what it was, or the system refuses. */
export class StepFailure extends Error {
  readonly path: BytePath
  readonly errno: number | undefined
  constructor(path: BytePath, reason: string, errno?: number) {
    super(reason)
    this.path = path
    this.errno = errno
  }
}

export type Place = { readonly real: number; readonly stage: number }

export type Steps = {
  forward(step: JournalStep): void
  /** False: there was nothing to take back. */
  backward(step: JournalStep): boolean
  setForward(step: JournalAttributes): void
  setBackward(step: JournalAttributes): void
  close(): void
}

function failed(path: BytePath, errno: number): StepFailure {
  return new StepFailure(path, fileError('changed', path, errno).message, errno)
}

function other(path: BytePath): StepFailure {
  return new StepFailure(
    path,
    fileError('merged', path, undefined).message.replace(/since .*$/, 'since somebody changed it meanwhile.'),
  )
}

/** For one root; `close` when all is done. */
export function createSteps(files: Files, place: Place, journal: RootJournal): Steps {
  const { at } = files
  const moves = new Map<string, JournalStep>()
  for (const step of journal.steps)
    if (step.op === 'put' && step.place.startsWith('m')) moves.set(step.place, step)
  /** The directory that was used last. */
  let open: { readonly path: BytePath; readonly descriptor: number } | undefined

  function close(): void {
    if (open !== undefined) at.close(open.descriptor)
    open = undefined
  }

  /** The directory that a path lies in; the descriptor is good until the next call. */
  function parent(path: BytePath): number {
    const directory = parentPath(path)
    if (open?.path === directory) return open.descriptor
    close()
    const descriptor = openDirectory(files, place.real, directory)
    if (descriptor < 0) throw failed(directory, descriptor)
    open = { path: directory, descriptor }
    return descriptor
  }

  function staged(name: string): bigint | undefined {
    return statName(place.stage, name)?.ino
  }

  function moveOut(path: BytePath, slot: string): void {
    const result = at.rename(
      parent(path),
      nameBytes(namePath(path)),
      place.stage,
      nameBytes(slot),
      RENAME_NOREPLACE,
    )
    if (result < 0) throw failed(path, result)
    // A moved directory is no longer where the open one was.
    if (open !== undefined && (open.path === path || open.path.startsWith(`${path}/`))) close()
  }

  function moveIn(slot: string, path: BytePath): void {
    const result = at.rename(
      place.stage,
      nameBytes(slot),
      parent(path),
      nameBytes(namePath(path)),
      RENAME_NOREPLACE,
    )
    if (result < 0) throw failed(path, result)
  }

  function exchange(path: BytePath, slot: string): void {
    const directory = parent(path)
    const name = nameBytes(namePath(path))
    const result = at.rename(place.stage, nameBytes(slot), directory, name, RENAME_EXCHANGE)
    if (result === -ERRNO.EINVAL) {
      // A file system that cannot exchange: out of the way first, by a name that says whose it is.
      const spare = nameBytes(`${slot}-`)
      for (const call of [
        () => at.rename(directory, name, place.stage, spare, RENAME_NOREPLACE),
        () => at.rename(place.stage, nameBytes(slot), directory, name),
        () => at.rename(place.stage, spare, place.stage, nameBytes(slot)),
      ]) {
        const done = call()
        if (done < 0) throw failed(path, done)
      }
    } else if (result < 0) throw failed(path, result)
    if (open !== undefined && (open.path === path || open.path.startsWith(`${path}/`))) close()
  }

  /** Ends an exchange that was broken off between its parts, where the file system cannot do it at once. */
  function repair(path: BytePath, slot: string): void {
    const spare = `${slot}-`
    if (staged(spare) === undefined) return
    const [from, to] = [nameBytes(spare), nameBytes(slot)]
    const result =
      staged(slot) === undefined
        ? at.rename(place.stage, from, place.stage, to, RENAME_NOREPLACE)
        : at.rename(place.stage, from, parent(path), nameBytes(namePath(path)), RENAME_NOREPLACE)
    if (result < 0) throw failed(path, result)
  }

  function expect(path: BytePath, inode: bigint, changedNs: bigint | undefined): void {
    const stats = statName(parent(path), namePath(path))
    if (stats === undefined || stats.ino !== inode) throw other(path)
    if (changedNs !== undefined && stats.ctimeNs !== changedNs) throw other(path)
  }

  function isAt(path: BytePath, inode: bigint): boolean {
    try {
      return statName(parent(path), namePath(path))?.ino === inode
    } catch (error) {
      if (error instanceof StepFailure) return false
      throw error
    }
  }

  /** True where a taken directory has come to its new place already. */
  function isMoved(slot: string): boolean {
    const put = moves.get(slot)
    return put?.op === 'put' && isAt(put.path, put.inode)
  }

  function isDone(step: JournalStep): boolean {
    switch (step.op) {
      case 'take':
        return staged(step.place) !== undefined || isMoved(step.place)
      case 'put':
        return staged(step.place) === undefined && isAt(step.path, step.inode)
      case 'exchange':
        repair(step.path, step.place)
        return staged(step.place) === step.inode
    }
  }

  function set({ path }: JournalAttributes, where: BytePath, wanted: Attributes): void {
    const directory = where === '' ? place.real : parent(where)
    const name = namePath(where)
    const stats = statName(directory, name === '' ? '.' : name)
    if (stats === undefined) throw failed(path, -ERRNO.ENOENT)
    applyAttributes(files, directory, name, wanted, stats.isSymbolicLink(), where)
  }

  return {
    close,
    forward(step) {
      if (isDone(step)) return
      switch (step.op) {
        case 'take':
          expect(step.path, step.inode, step.changedNs)
          moveOut(step.path, step.place)
          // What came between the look and the move goes back.
          if (staged(step.place) !== step.inode) {
            moveIn(step.place, step.path)
            throw other(step.path)
          }
          return
        case 'put':
          if (staged(step.place) !== step.inode) throw other(step.path)
          moveIn(step.place, step.path)
          return
        case 'exchange':
          expect(step.path, step.inode, step.changedNs)
          exchange(step.path, step.place)
          if (staged(step.place) !== step.inode) {
            exchange(step.path, step.place)
            throw other(step.path)
          }
      }
    },
    backward(step) {
      if (!isDone(step)) return false
      switch (step.op) {
        case 'take':
          moveIn(step.place, step.path)
          return true
        case 'put':
          expect(step.path, step.inode, undefined)
          moveOut(step.path, step.place)
          return true
        case 'exchange':
          expect(step.path, step.newInode, undefined)
          exchange(step.path, step.place)
          return true
      }
    },
    setForward(step) {
      if (!step.isGone) set(step, step.path, step.after)
    },
    setBackward(step) {
      if (step.base === undefined || step.before === undefined) return
      set(step, step.base, step.before)
    },
  }
}

/** What a file has now of all that a step sets, to be put back. */
export function attributesNow(
  files: Files,
  real: number,
  path: BytePath,
  wanted: Attributes,
): Attributes | undefined {
  const directory = path === '' ? real : openDirectory(files, real, parentPath(path))
  if (directory < 0) throw failed(path, directory)
  try {
    const name = path === '' ? '.' : namePath(path)
    const stats = statName(directory, name)
    if (stats === undefined) throw failed(path, -ERRNO.ENOENT)
    return {
      ...(wanted.mode === undefined ? {} : { mode: Number(stats.mode & 0o7777n) }),
      ...(wanted.uid === undefined ? {} : { uid: Number(stats.uid), gid: Number(stats.gid) }),
      ...(wanted.attributes === undefined ? {} : { attributes: attributesOf(files, directory, name, path) }),
      modifiedNs: stats.mtimeNs,
    }
  } finally {
    if (path !== '') files.at.close(directory)
  }
}
