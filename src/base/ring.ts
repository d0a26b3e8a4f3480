/**
 * A byte ring of fixed size with a count that never wraps: the resumption window of one output stream.
 * The oldest bytes go when it is full; `totalBytes` counts all that were ever written, so every byte has one offset
 * for ever. Rings are made at start and handed out again; nothing grows.
 * Rules: docs/protocol.md, section 6; draft 6.4.
 * @module
 */
import { SassError } from '../errors.ts'

export type Ring = {
  readonly sizeBytes: number
  /** Offset after the newest byte. */
  readonly totalBytes: number
  /** Offset of the oldest byte that is still here. */
  readonly oldestOffset: number
  write(bytes: Uint8Array): void
  /** Copies `target.length` bytes from `offset` on. Throws INTERNAL outside of what is here. */
  copyOut(offset: number, target: Uint8Array): void
  /** Empty, and counting from 0 again. */
  reset(): void
}

export function createRing(memory: Uint8Array): Ring {
  const sizeBytes = memory.length
  let total = 0
  const oldest = () => Math.max(0, total - sizeBytes)
  return {
    sizeBytes,
    get totalBytes() {
      return total
    },
    get oldestOffset() {
      return oldest()
    },
    write(bytes) {
      const kept = bytes.length > sizeBytes ? bytes.subarray(bytes.length - sizeBytes) : bytes
      const at = (total + bytes.length - kept.length) % sizeBytes
      const first = Math.min(kept.length, sizeBytes - at)
      memory.set(first === kept.length ? kept : kept.subarray(0, first), at)
      if (first < kept.length) memory.set(kept.subarray(first), 0)
      total += bytes.length
    },
    copyOut(offset, target) {
      if (offset < oldest() || offset + target.length > total)
        throw new SassError(
          'INTERNAL',
          'A ring was asked for bytes that it does not hold; report this as a defect.',
        )
      const at = offset % sizeBytes
      const first = Math.min(target.length, sizeBytes - at)
      target.set(memory.subarray(at, at + first))
      if (first < target.length) target.set(memory.subarray(0, target.length - first), first)
    },
    reset() {
      total = 0
    },
  }
}
