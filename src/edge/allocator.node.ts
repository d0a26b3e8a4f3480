/**
 * Two settings of glibc's allocator for a daemon that must stay small; other C libraries are left as they are.
 * @module
 */
import { setAllocator } from '../sandbox/syscalls.node.ts'

/** malloc.h */
const M_MMAP_THRESHOLD = -3
const M_ARENA_MAX = -8
/**
 * Above what one write to a socket takes (four frames), below a ring. Left alone it grows with the largest block that was ever freed, and then the rings come
 * zeroed from the heap instead of untouched from the kernel: 10 MiB in use before the first byte of output.
 */
const MMAP_THRESHOLD_BYTES = 524_288

/** To be called before the large buffers are made. */
export function keepSmall(): void {
  setAllocator(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)
  setAllocator(M_ARENA_MAX, 1)
}
