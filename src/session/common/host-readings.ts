/**
 * The process and what is around it, as figures for whoever watches the daemon.
 * @module
 */

/** The process and what is around it; undefined where this system does not say. Unix times in milliseconds. */
export type HostReadings = {
  readonly runtime: string
  readonly startedAtMs: number
  readonly rssBytes: number | undefined
  readonly anonymousBytes: number | undefined
  readonly virtualBytes: number | undefined
  readonly cpuSeconds: number
  readonly openFiles: number | undefined
  readonly maxFiles: number | undefined
  readonly connections: Readonly<Record<string, number>>
  /** Records that have yet to be written, that could not be, and how long the disk took the last time to keep one. */
  readonly audit: { readonly unwritten: number; readonly failed: number; readonly syncMs: number }
  readonly freeBytes: number | undefined
  readonly certificate: { readonly fromMs: number; readonly untilMs: number }
  /** How far the wall clock was set since the start. */
  readonly clockStepMs: number
  readonly log: {
    readonly written: Readonly<Record<string, number>>
    readonly suppressed: number
    readonly missed: number
  }
}
