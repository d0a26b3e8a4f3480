/**
 * What a branch is: for each directory that a session may write in, the real one beneath and a directory of the
 * daemon's above it, where the kernel puts what the session changes. It outlives session and daemon until somebody
 * merges or drops it; what is written here is found again in its `branch.json`.
 * Rules: docs/sandbox.md; the kernel's Documentation/filesystems/overlayfs.rst.
 * @module
 */

/** How the real files are kept apart: by overlayfs, by a whole copy, or not at all, which only a configuration asks for. */
export type BranchLevel = 'overlay' | 'copy' | 'none'

/** Where overlayfs keeps its marks: `trusted.overlay.*` as root, `user.overlay.*` in a user namespace. */
export type OverlayAttributes = 'trusted' | 'user'

export type BranchRoot = {
  /** The real directory, absolute and without links: lower directory, and where the session sees the branch. */
  readonly path: string
  /** Absolute, below the state directory: holds `upper` and `work` of an overlay, or `copy`. */
  readonly store: string
  /**
   * Change time in ns (decimal) of a probe file that was made on the file system of `path` before the session could
   * write: what has a later one has been changed by somebody else since.
   */
  readonly baseNs: string
  /**
   * Of a copy: change time in ns (decimal) of a probe file that was made in `store` when the copy was complete. What has
   * no later one in the copy has not been touched in it.
   */
  readonly copiedNs?: string
}

export type Branch = {
  /** 32 hex digits: a session has one branch, named like it. */
  readonly session: string
  readonly agent: string
  readonly level: BranchLevel
  readonly attributes: OverlayAttributes
  readonly roots: readonly BranchRoot[]
  /** Mount points beneath roots that are shown as they are, to be read. */
  readonly shown?: readonly string[]
  /** Absolute paths beneath roots that lie in memory and are no part of it. */
  readonly volatile: readonly string[]
  /** Unix time. */
  readonly openedAtMs: number
}

/** `upper` of an overlay's root. */
export function upperOf(root: BranchRoot): string {
  return `${root.store}/upper`
}

/** `work` of an overlay's root, for the kernel alone. */
export function workOf(root: BranchRoot): string {
  return `${root.store}/work`
}

/** The whole copy of a copied root. */
export function copyOf(root: BranchRoot): string {
  return `${root.store}/copy`
}
