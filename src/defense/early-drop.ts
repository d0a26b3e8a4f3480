/**
 * Random early drop of connections that have not authenticated: the more of them wait, the likelier a new one is
 * refused. A flood then costs an honest client some tries and not the service, and no single connection is the one
 * that fills the room.
 *
 * It follows MaxStartups `start:rate:full` of OpenSSH (sshd_config(5); should_drop_connection in sshd.c), down to the
 * truncated division: none below `start`, `rate` percent there, linear up to all at `full`. Unlike there, `full` holds
 * even where it is set below `start`.
 *
 * Pure: the draw is given.
 * @module
 */

export type EarlyDrop = {
  /** Waiting connections from which on some are dropped. */
  readonly start: number
  /** The chance at `start`, 0 to 100. */
  readonly ratePercent: number
  /** Waiting connections at which every new one is dropped. */
  readonly full: number
}

/** The chance that a new connection is dropped while `waiting` others wait: whole percent, 0 to 100. */
export function dropChance(waiting: number, { start, ratePercent, full }: EarlyDrop): number {
  if (waiting >= full) return 100
  if (waiting < start) return 0
  return ratePercent + Math.floor(((100 - ratePercent) * (waiting - start)) / (full - start))
}

/** `draw`: a whole number from 0 to 99, each as likely as the others. What is no number drops. */
export function dropsEarly(waiting: number, draw: number, settings: EarlyDrop): boolean {
  return !(draw >= dropChance(waiting, settings))
}
