/**
 * The look at the device's files that planning needs, and what it finds: a program, and the digest of one.
 * @module
 */

export type FoundProgram = {
  readonly path: string
  readonly realPath: string
  readonly device: string
  readonly inode: string
}

/** The digest of a pinned program, and what it is the digest of. */
export type FoundPin = {
  readonly device: string
  readonly inode: string
  readonly size: string
  readonly changedNs: string
  readonly sha256: string
}

/** The look at the device's files that planning needs; it opens and changes nothing. */
export interface ProgramFinder {
  /** The program as execvp would find it: `searchPath` for a bare name, `cwd` for a relative path. */
  find(program: string, cwd: string, searchPath: string): FoundProgram | undefined
  /** The directory with its symbolic links resolved; as given where it does not exist. */
  realDirectory(path: string): string
  /** Where an absolute path really lies: of what does not exist yet, its nearest directory that does is resolved. */
  realPath(path: string): string
  /** Digest and identity of a file as it is now; undefined where it cannot be read. */
  pin(path: string): FoundPin | undefined
}
