/**
 * The content of files: whether two have the same, and the digest of it. A file with holes is read where it has data
 * alone, so that one that claims to be large costs no more than what is in it; its digest is of that data and of where it
 * lies, the same for the same content however the file system keeps it.
 * Nothing is followed; what is not a regular file is never opened.
 * Sources: lseek(2).
 * @module
 */

import { createHash, type Hash, hash } from 'node:crypto'
import { readSync } from 'node:fs'
import { closing } from '../../../base/closing.node.ts'
import { O_RDONLY } from '../../kernel/at.node.ts'
import { O_NONBLOCK } from '../../kernel/syscalls.node.ts'
import { SPARSE_BLOCK_BYTES, SPARSE_FROM_BYTES, SURVEY_READ_BYTES } from '../../limits.ts'
import type { SurveyBudget } from './budget.ts'
import type { ContentDigest } from './changes.ts'
import { type Files, fileError, must, nameBytes } from './files.node.ts'
import type { Node } from './finding.ts'
import type { BytePath } from './paths.ts'

/** unistd.h */
const SEEK_DATA = 3
const SEEK_HOLE = 4
/** errno of lseek where there is no more data. */
const ENXIO = 6
const OFFSET_BYTES = 8
const ZEROS = Buffer.alloc(SPARSE_BLOCK_BYTES)

/** A name in an open directory, and what was seen there. */
export type FileAt = {
  readonly directory: number
  readonly name: BytePath
  readonly node: Node
}

export type Reader = {
  digest(file: FileAt, path: BytePath): ContentDigest
  /** Of an open file of that size, in the form of another digest. */
  digestLike(descriptor: number, sizeBytes: number, other: ContentDigest, path: BytePath): ContentDigest
  /** Compares two files of the same size. */
  compare(
    first: FileAt,
    second: FileAt,
    path: BytePath,
  ): { readonly isSame: boolean; readonly digests: readonly [ContentDigest, ContentDigest] }
}

/** Opens a regular file to read; the caller has seen that it is one, and it is not waited for where it no longer is. */
export function openFile(files: Files, directory: number, name: BytePath, path: BytePath): number {
  return must(files.at.open(directory, nameBytes(name), O_RDONLY | O_NONBLOCK), 'read', path)
}

export function isSameDigest(one: ContentDigest, other: ContentDigest): boolean {
  return one.sha256 === other.sha256 && one.dataSha256 === other.dataSha256
}

function hasHoles({ sizeBytes, isSparse }: FileAt['node']): boolean {
  return isSparse && sizeBytes > SPARSE_FROM_BYTES
}

/** Fills as much of the buffer as there is. */
function readFully(descriptor: number, buffer: Buffer, position: number, path: BytePath): number {
  let length = 0
  try {
    while (length < buffer.length) {
      const count = readSync(descriptor, buffer, length, buffer.length - length, position + length)
      if (count === 0) break
      length += count
    }
  } catch (error) {
    throw fileError('read', path, error)
  }
  return length
}

/**
 * SHA-256 of: the SHA-256 of all blocks that are not zero, one after the other; the SHA-256 of where each run of them
 * begins and how long it is; the size. Numbers are of eight bytes, the largest first.
 */
function createDataHash(): { add(offset: number, bytes: Buffer): void; digest(sizeBytes: number): string } {
  const [content, places] = [createHash('sha256'), createHash('sha256')]
  let [start, end] = [0, 0]
  const number = (value: number): Buffer => {
    const bytes = Buffer.alloc(OFFSET_BYTES)
    bytes.writeBigUInt64BE(BigInt(value))
    return bytes
  }
  function endRun(): void {
    if (end > start) places.update(number(start)).update(number(end - start))
  }
  /** Of blocks that are not zero. */
  function addRun(offset: number, bytes: Buffer): void {
    if (bytes.length === 0) return
    content.update(bytes)
    if (offset !== end || start === end) {
      endRun()
      start = offset
    }
    end = offset + bytes.length
  }
  return {
    add(offset, bytes) {
      let from = 0
      for (let at = 0; at < bytes.length; at += SPARSE_BLOCK_BYTES) {
        const block = bytes.subarray(at, at + SPARSE_BLOCK_BYTES)
        if (!block.equals(ZEROS.subarray(0, block.length))) continue
        addRun(offset + from, bytes.subarray(from, at))
        from = at + block.length
      }
      addRun(offset + from, bytes.subarray(from))
    },
    digest(sizeBytes) {
      endRun()
      const sum = createHash('sha256').update(content.digest()).update(places.digest())
      return sum.update(number(sizeBytes)).digest('hex')
    },
  }
}

/** Of content in memory, in the form of another digest. */
export function digestOfBytes(bytes: Buffer, { dataSha256 }: ContentDigest): ContentDigest {
  if (dataSha256 === undefined) return { sha256: hash('sha256', bytes, 'hex') }
  const sum = createDataHash()
  sum.add(0, bytes)
  return { dataSha256: sum.digest(bytes.length) }
}

/** Has two buffers of its own for all files that it reads. */
export function createReader(files: Files, budget: SurveyBudget): Reader {
  const [buffer, other] = [Buffer.alloc(SURVEY_READ_BYTES), Buffer.alloc(SURVEY_READ_BYTES)]

  function spend(bytes: number, path: BytePath): void {
    files.goOn()
    budget.read(bytes, path)
  }

  function wholeDigest(descriptor: number, path: BytePath): ContentDigest {
    let sum: Hash | undefined
    for (let at = 0; ; ) {
      const length = readFully(descriptor, buffer, at, path)
      at += length
      spend(length, path)
      const bytes = buffer.subarray(0, length)
      if (length < buffer.length && sum === undefined) return { sha256: hash('sha256', bytes, 'hex') }
      if (length === 0 && sum !== undefined) return { sha256: sum.digest('hex') }
      sum ??= createHash('sha256')
      sum.update(bytes)
    }
  }

  function dataDigest(descriptor: number, sizeBytes: number, path: BytePath): ContentDigest {
    const { byNumber } = files.syscalls
    const sum = createDataHash()
    for (let at = 0; at < sizeBytes; ) {
      const data = byNumber('lseek', descriptor, at, SEEK_DATA)
      if (data === -ENXIO) break
      const hole = must(byNumber('lseek', descriptor, must(data, 'read', path), SEEK_HOLE), 'read', path)
      at = Math.max(at, data - (data % SPARSE_BLOCK_BYTES))
      const end = Math.min(sizeBytes, Math.ceil(hole / SPARSE_BLOCK_BYTES) * SPARSE_BLOCK_BYTES)
      while (at < end) {
        const piece = buffer.subarray(0, Math.min(buffer.length, end - at))
        const length = readFully(descriptor, piece, at, path)
        spend(length, path)
        sum.add(at, piece.subarray(0, length))
        at = length < piece.length ? sizeBytes : at + length
      }
    }
    return { dataSha256: sum.digest(sizeBytes) }
  }

  function withFile<Result>(
    { directory, name }: FileAt,
    path: BytePath,
    use: (descriptor: number) => Result,
  ) {
    const descriptor = openFile(files, directory, name, path)
    using _descriptor = closing(descriptor)
    return use(descriptor)
  }

  function digest(file: FileAt, path: BytePath): ContentDigest {
    return withFile(file, path, (descriptor) =>
      hasHoles(file.node) ? dataDigest(descriptor, file.node.sizeBytes, path) : wholeDigest(descriptor, path),
    )
  }

  function compareWhole(one: number, two: number, path: BytePath): ReturnType<Reader['compare']> {
    let sums: [Hash, Hash] | undefined
    let at = 0
    for (let isSame = true; ; at += buffer.length) {
      const length = readFully(one, buffer, at, path)
      const otherLength = readFully(two, other, at, path)
      spend(length + otherLength, path)
      const [a, b] = [buffer.subarray(0, length), other.subarray(0, otherLength)]
      isSame = isSame && length === otherLength && a.equals(b)
      if (length < buffer.length && otherLength < other.length && sums === undefined) {
        const sha256 = hash('sha256', a, 'hex')
        return { isSame, digests: [{ sha256 }, isSame ? { sha256 } : { sha256: hash('sha256', b, 'hex') }] }
      }
      sums ??= [createHash('sha256'), createHash('sha256')]
      sums[0].update(a)
      sums[1].update(b)
      if (length === 0 && otherLength === 0) {
        const [sha256, otherSha256] = [sums[0].digest('hex'), sums[1].digest('hex')]
        return { isSame, digests: [{ sha256 }, { sha256: otherSha256 }] }
      }
    }
  }

  return {
    digest,
    digestLike: (descriptor, sizeBytes, { dataSha256 }, path) =>
      dataSha256 === undefined ? wholeDigest(descriptor, path) : dataDigest(descriptor, sizeBytes, path),
    compare: (first, second, path) =>
      withFile(first, path, (one) =>
        withFile(second, path, (two) => {
          if (!hasHoles(first.node) && !hasHoles(second.node)) return compareWhole(one, two, path)
          const digests = [
            dataDigest(one, first.node.sizeBytes, path),
            dataDigest(two, second.node.sizeBytes, path),
          ] as const
          return { isSame: isSameDigest(...digests), digests }
        }),
      ),
  }
}
