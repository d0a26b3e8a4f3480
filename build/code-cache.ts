/**
 * The code cache of V8 in a single binary: what V8 knows of the program's text after reading it once, which a start
 * then need not find out again (of 1.9 MB a quarter of the time until the daemon listens).
 *
 * V8 takes a cache only where its head says that it was made by the same V8, with the same flags, over the same
 * read-only heap, of a text of the same length; what follows the head follows from the text alone. With one hash seed
 * (`CACHE_FLAGS`) two runs write the same bytes, and Node for x64 and for AArch64 write the same as well. But the seed
 * counts as a flag, and the read-only heaps differ, so these two words are put in as the target's Node has them in the
 * caches of its own modules. Were they wrong, V8 would read the text as if there were no cache.
 * Source: SerializedCodeData in src/snapshot/code-serializer.h of V8.
 * @module
 */

/** For the Node that makes the cache. */
export const CACHE_FLAGS: readonly string[] = ['--hash-seed=1']

/** The 32-bit little-endian words of a head: magic number, V8's version, source, flags, read-only heap. */
const SOURCE = 8
const FLAGS = 12
const FLAGS_AND_HEAP_BYTES = 8
/** Of the word of the source, beside the length of the text in UTF-16 units. */
const IS_MODULE = 2 ** 30

/**
 * Makes the code cache in a single binary the target's own.
 * @param binary the whole file; changed in place
 * @param node the target's Node
 * @param textLength of the program, in UTF-16 units
 * @param sample a code cache of anything, made by this Node: how all heads begin
 * @throws Error where there is not exactly one cache of the text, or the target's Node has none to read the words from
 */
export function adoptCodeCache(binary: Buffer, node: Buffer, textLength: number, sample: Uint8Array): void {
  const begin = Buffer.from(sample.subarray(0, SOURCE))
  const own = node.indexOf(begin)
  if (own === -1)
    throw new Error(
      'The Node of the target has no code caches that begin as those of this Node do: are they of one version?',
    )
  const source = Buffer.alloc(4)
  source.writeUInt32LE(textLength + IS_MODULE)
  const head = Buffer.concat([begin, source])
  const at = binary.indexOf(head)
  if (at === -1 || binary.indexOf(head, at + 1) !== -1)
    throw new Error('The single binary has not exactly one code cache of the program.')
  node.copy(binary, at + FLAGS, own + FLAGS, own + FLAGS + FLAGS_AND_HEAP_BYTES)
}
