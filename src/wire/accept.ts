/**
 * The bits of `accept` of an ExecuteRequest: the forms of output that a client reads. `continued`: output without its
 * offset goes on where the output before it on that stream ended.
 * Rules: docs/protocol.md, section 3.
 * @module
 */

export const ACCEPT = Object.freeze({ zstd: 1, continued: 2 } as const)
