/**
 * What a survey knows of each change, beyond what it shows: where the new content is, where the old file lies now, and by
 * what both are known again.
 * @module
 */

import type { Change, FileFacts } from './changes.ts'
import type { BytePath } from './paths.ts'

/** A file as it was found, extended attributes that are the kernel's own for this machine left out. */
export type Node = FileFacts & {
  readonly inode: bigint
  /** Number of the file system. */
  readonly fileSystem: bigint
  /** Change time, which nobody can set. */
  readonly changedNs: bigint
  readonly links: number
  /** True where the file has holes. */
  readonly isSparse: boolean
  readonly attributes: ReadonlyMap<string, Uint8Array>
}

export type Finding = {
  readonly path: BytePath
  readonly change: Change
  /** Where the old file lies now, beneath the real root; its own path unless it is in a directory that was moved. */
  readonly base: BytePath
  readonly before?: Node | undefined
  readonly after?: Node | undefined
  /** Path of the new content beneath the root's store; absent: nothing new. */
  readonly source?: BytePath | undefined
  /** renamed: path of the moved directory, before anything is done. */
  readonly movedFrom?: BytePath | undefined
  /** renamed: what lies at the new path and has to go. */
  readonly over?: Node | undefined
  /** Real path of a file that stays, and that this is another name of. */
  readonly linkTo?: BytePath | undefined
  /** metadata: the file has other names, which keep what they have; it becomes a file of its own. */
  readonly isSeparated?: boolean | undefined
  /** The overlay's mark on what came from beneath; empty in a user namespace. */
  readonly origin?: Uint8Array | undefined
}

/** One of the names that a file above has, with its old file where there is one. */
export type LinkedName = {
  readonly path: BytePath
  readonly base: BytePath
  readonly before?: Node | undefined
  readonly after: Node
}

/** A directory that is in both, whose content the branch may have changed. */
export type SharedDirectory = {
  readonly path: BytePath
  readonly base: BytePath
  readonly before: Node
  readonly after: Node
}

/** What is above one root, beyond its changes: for what has to leave the upper directory after a merge. */
export type UpperEntry = {
  readonly path: BytePath
  readonly kind:
    | 'file'
    | 'whiteout'
    /** Shows what is beneath too. */
    | 'merged'
    /** Hides what is beneath. */
    | 'opaque'
    | 'redirected'
    /** Was moved once, and lies at its new place beneath too since a merge: shows that, whatever it lies in. */
    | 'settled'
  /** file */
  readonly inode?: bigint | undefined
  /** redirected: the mark; whiteout: where a moved directory was taken from. */
  readonly redirect?: BytePath | undefined
}

export type IndexEntry = {
  readonly name: BytePath
  /** How many names show it that are not above. */
  readonly aliases: number
  /** All real names of the old file. With one left, the overlay takes the entry for an orphan. */
  readonly bases: readonly BytePath[]
}

export type RootSurvey = {
  readonly isCopy: boolean
  /** The real root itself. */
  readonly top: Node
  readonly findings: readonly Finding[]
  readonly directories: ReadonlyMap<BytePath, SharedDirectory>
  readonly upper: readonly UpperEntry[]
  /** By inode above: all names there of files that have several. */
  readonly names: ReadonlyMap<bigint, readonly LinkedName[]>
  /** The overlay's index by inode above. */
  readonly index: ReadonlyMap<bigint, IndexEntry>
  /** Real directories that the branch has at another path. */
  readonly moved: ReadonlyMap<BytePath, BytePath>
}
