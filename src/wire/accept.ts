/**
 * The bits of `accept` of an ExecuteRequest: the forms of output that a client reads. `continued`: output without its
 * offset goes on where the output before it on that stream ended. `zstdWhereMetered`: as `zstd`, where the device is one
 * that pays by the byte, by a client that does not know yet whether it is.
 * Rules: docs/protocol.md, section 3.
 * @module
 */

export const ACCEPT = Object.freeze({ zstd: 1, continued: 2, zstdWhereMetered: 4 } as const)

/** Whether the output may come compressed. */
export function acceptsZstd(accept: number, isMetered: boolean): boolean {
  return (accept & ACCEPT.zstd) !== 0 || (isMetered && (accept & ACCEPT.zstdWhereMetered) !== 0)
}
