/**
 * The texts of the threads that are seldom started, as the bundler has packed them: unpacked when one is. Undefined where
 * the sources run as they are, and each thread has its file.
 * @module
 */

import { brotliDecompressSync } from 'node:zlib'

declare const KEEPER_SOURCE: string | undefined
declare const BRANCH_SOURCE: string | undefined
declare const RELAY_SOURCE: string | undefined

export type ThreadText = () => string

const unpacked =
  (packed: string): ThreadText =>
  () =>
    brotliDecompressSync(Buffer.from(packed, 'base64')).toString()

export function keeperText(): ThreadText | undefined {
  return typeof KEEPER_SOURCE === 'string' ? unpacked(KEEPER_SOURCE) : undefined
}

export function branchText(): ThreadText | undefined {
  return typeof BRANCH_SOURCE === 'string' ? unpacked(BRANCH_SOURCE) : undefined
}

export function relayText(): ThreadText | undefined {
  return typeof RELAY_SOURCE === 'string' ? unpacked(RELAY_SOURCE) : undefined
}
