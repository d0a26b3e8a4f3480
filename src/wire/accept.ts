/**
 * The bits of `accept` of an ExecuteRequest: the forms of output that a client reads.
 * Rules: docs/protocol.md, section 3.
 * @module
 */

export const ACCEPT = Object.freeze({ zstd: 1 } as const)
