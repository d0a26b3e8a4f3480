/**
 * What a session sees of the device, as data that crosses to the keeper thread: which directories are branched, what
 * lies in memory, what is hidden, which devices there are. And what comes back: descriptors of the namespaces made.
 * Rules: docs/sandbox.md; mount_namespaces(7), pid_namespaces(7), pts(4).
 * @module
 */

/** One directory that the session may write in, seen at its own path. */
export type RootMount =
  | {
      readonly kind: 'overlay'
      readonly path: string
      readonly upper: string
      readonly work: string
      /** Further options of the overlay, such as `userxattr`. */
      readonly options: string
    }
  | { readonly kind: 'bind'; readonly path: string; readonly source: string }

export type NamespacePlan = {
  readonly roots: readonly RootMount[]
  /** Mount points beneath roots that are seen as they are, to be read. */
  readonly shown: readonly string[]
  /** Directories that are empty at first and lie in memory; what does not exist is left out. */
  readonly scratch: readonly string[]
  /** Most bytes of them and the volatile ones together. */
  readonly scratchBytes: number
  /** Files and directories beneath those that stay as they are, to be read. */
  readonly kept: readonly string[]
  /** Directories beneath roots, in memory as well. */
  readonly volatile: readonly string[]
  /** Covered up: nothing of them can be read or connected to. */
  readonly covers: readonly string[]
  /** Devices by absolute path, beside the usual ones. */
  readonly devices: readonly string[]
  /** `none`: a network of its own, with nothing in it. */
  readonly network: 'host' | 'none'
  /** Who owns the terminals and the memory directories. */
  readonly userId: number
  readonly groupId: number
  /** Directories to make below /tmp, relative, for caches of tools. */
  readonly caches: readonly string[]
}

/** Descriptors of this process, on its behalf: whoever has them closes them. */
export type NamespaceDescriptors = {
  readonly mount: number
  readonly pid: number
  readonly ipc: number
  /** -1: the host's. */
  readonly network: number
  /** O_PATH on `/` as the session sees it. */
  readonly root: number
  /** Write end: its end ends the init, and with it every process of the session. */
  readonly lifeline: number
  /** The init, a child of this process. */
  readonly initPid: number
}

export type KeeperRequest =
  | { readonly kind: 'open'; readonly id: number; readonly plan: NamespacePlan }
  | { readonly kind: 'end'; readonly id: number; readonly initPid: number }
  | { readonly kind: 'close' }

export type KeeperAnswer =
  | { readonly kind: 'opened'; readonly id: number; readonly descriptors: NamespaceDescriptors }
  | { readonly kind: 'refused'; readonly id: number; readonly step: string; readonly errno: number }
  /** How many processes were still there when it was given up; 0: all are gone. */
  | { readonly kind: 'ended'; readonly id: number; readonly isGone: boolean }
  | { readonly kind: 'ready' }
  | { readonly kind: 'unsuitable'; readonly message: string }
