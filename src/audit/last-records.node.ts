/**
 * The last lines of a chain, over its files, without reading what is before them.
 * @module
 */
import { closeSync, fstatSync, readSync } from 'node:fs'
import { openSegment, segmentsOf } from './segments.node.ts'

const PIECE_BYTES = 65_536
const NEWLINE = 0x0a

/** The last whole lines of one file, the oldest first. */
function lastLines(path: string, count: number): readonly string[] {
  const descriptor = openSegment(path)
  try {
    let at = fstatSync(descriptor).size
    let text = Buffer.alloc(0)
    let newlines = 0
    while (at > 0 && newlines <= count) {
      const piece = Buffer.alloc(Math.min(PIECE_BYTES, at))
      at -= piece.length
      readSync(descriptor, piece, 0, piece.length, at)
      for (const byte of piece) if (byte === NEWLINE) newlines++
      text = Buffer.concat([piece, text])
    }
    // What follows the last newline is not written to its end.
    const lines = text.toString('utf8').split('\n').slice(0, -1)
    return lines.slice(-count)
  } finally {
    closeSync(descriptor)
  }
}

/** @throws the system's error where a file cannot be read */
export function lastRecords(directory: string, count: number): readonly string[] {
  let lines: readonly string[] = []
  for (const { path } of segmentsOf(directory).toReversed()) {
    if (lines.length >= count) break
    lines = [...lastLines(path, count - lines.length), ...lines]
  }
  return lines
}
