/**
 * What a session sees of the device, as data that crosses to the keeper thread: what it may read, which directories are
 * branched, what lies in memory, what is not there, which devices there are. And what comes back: descriptors of the
 * namespaces made, and how well the view could be made.
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

/**
 * `host`: that of the device. `none`: one of its own, with nothing in it. `gate`: one of its own, in which the daemon
 * answers for every address.
 */
export type SessionNetwork = 'host' | 'none' | 'gate'

/** A port at one address as parseIpAddress reads it; one of TCP may be at every address. */
export type ListenPlace =
  | { readonly protocol: 'tcp'; readonly address: string | undefined; readonly port: number }
  | { readonly protocol: 'udp'; readonly address: string; readonly port: number }

/** A socket in a session's network that listens, or is bound: of an address, or of all of a family (`0.0.0.0`, `::`). */
export type GateListener = {
  readonly descriptor: number
  readonly protocol: ListenPlace['protocol']
  readonly address: string
  readonly port: number
}

/** What the daemon serves a session's network by. None of them blocks; whoever has them closes them. */
export type GateDescriptors = {
  readonly listeners: readonly GateListener[]
  /** UDP port 53 of 127.0.0.1, which the session asks for names. */
  readonly names: number
  /** Packets that tell what was refused (refused-packets.ts); -1: this kernel has no such socket. */
  readonly refusals: number
}

export type NamespacePlan = {
  /** A directory of the daemon's own, where the view is put together; nothing in it is seen or changed. */
  readonly stage: string
  readonly roots: readonly RootMount[]
  /** Absolute paths that can be read, with everything beneath; what does not exist is left out. */
  readonly read: readonly string[]
  /** Absolute paths that are not there, `*` for any characters of a name. */
  readonly hidden: readonly string[]
  /** Neither are all known places of secrets. */
  readonly hidesSecrets: boolean
  /** The daemon's own: not there by any name. */
  readonly own: readonly string[]
  /** Unix sockets of the device that the session may connect to. */
  readonly sockets: readonly string[]
  /** Mount points beneath roots that cannot be branched. */
  readonly shown: readonly string[]
  /** Directories that are empty at first and lie in memory. */
  readonly scratch: readonly string[]
  /** Most bytes of them and the volatile ones together. */
  readonly scratchBytes: number
  /** Files beneath those that are there with what they hold now. */
  readonly kept: readonly string[]
  /** Directories beneath roots, in memory as well. */
  readonly volatile: readonly string[]
  /** Devices by absolute path, beside the usual ones. */
  readonly devices: readonly string[]
  readonly network: SessionNetwork
  /** Where the gate takes connections and datagrams of the session; with any other network of no meaning. */
  readonly listens: readonly ListenPlace[]
  /** Who owns the terminals and the memory directories. */
  readonly userId: number
  readonly groupId: number
  /** Homes of those users: there, and empty where they are not listed. */
  readonly homes: readonly string[]
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
  /** Where a thread goes that has been in it and cannot go back to the device's network; -1: it can. */
  readonly networkRest: number
  /** Of network `gate`. */
  readonly gate: GateDescriptors | undefined
  /** O_PATH on `/` as the session sees it. */
  readonly root: number
  /** Write end: its end ends the init, and with it every process of the session. */
  readonly lifeline: number
  /** The init, a child of this process. */
  readonly initPid: number
}

/** What of the view is weaker than it should be, by place: the kernel takes no overlay there. */
export type ViewGaps = {
  /** Bound, with covers over what is hidden in them: sockets in them can be reached. */
  readonly covered: readonly string[]
  /** Not shown, since nothing could hide what is hidden in them. */
  readonly refused: readonly string[]
  /** Of the branches: hidden in them, so that no change of theirs can be meant for what lies there. */
  readonly absent: readonly string[]
}

export type KeeperRequest =
  | { readonly kind: 'open'; readonly id: number; readonly plan: NamespacePlan }
  | { readonly kind: 'end'; readonly id: number; readonly initPid: number }
  /** More of the gate's sockets, in a network that is there: `network` stays the asker's. */
  | {
      readonly kind: 'listen'
      readonly id: number
      readonly network: number
      readonly places: readonly ListenPlace[]
    }
  | { readonly kind: 'close' }

export type KeeperAnswer =
  | {
      readonly kind: 'opened'
      readonly id: number
      readonly descriptors: NamespaceDescriptors
      readonly gaps: ViewGaps
    }
  | { readonly kind: 'refused'; readonly id: number; readonly step: string; readonly errno: number }
  /** How many processes were still there when it was given up; 0: all are gone. */
  | { readonly kind: 'ended'; readonly id: number; readonly isGone: boolean }
  | { readonly kind: 'listening'; readonly id: number; readonly listeners: readonly GateListener[] }
  | { readonly kind: 'ready' }
  | { readonly kind: 'unsuitable'; readonly message: string }
