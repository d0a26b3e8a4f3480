/**
 * The texts of the threads that are seldom started, as the bundler has packed them together: unpacked when one is.
 * Undefined where the sources run as they are, and each thread has its file.
 * @module
 */

import { brotliDecompressSync } from 'node:zlib'

declare const PACKED_THREADS: string | undefined

export type ThreadText = () => string

/** What starts each of them. */
export function threadTexts(): Readonly<Record<'keeper' | 'branch' | 'relay', ThreadText>> | undefined {
  if (typeof PACKED_THREADS !== 'string') return undefined
  const packed = PACKED_THREADS
  const unpacked = () => JSON.parse(brotliDecompressSync(Buffer.from(packed, 'base64')).toString())
  return {
    keeper: () => unpacked().keeper,
    branch: () => unpacked().branch,
    relay: () => unpacked().relay,
  }
}
