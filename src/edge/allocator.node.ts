/**
 * Keeps a daemon small that is idle most of its life: two settings of glibc's allocator before the large buffers are
 * made, and memory given back when nothing runs. Other C libraries are left as they are.
 * @module
 */
import { IDLE_GARBAGE_BYTES, TRIM_INTERVAL_MS } from '../limits.ts'
import { optionalFunction } from '../sandbox/syscalls.node.ts'

/** malloc.h */
const M_MMAP_THRESHOLD = -3
/**
 * Above what one write to a socket takes (four frames), below a ring. Left alone it grows with the largest block that
 * was ever freed, and then the rings come zeroed from the heap instead of untouched from the kernel: 10 MiB in use
 * before the first byte of output.
 */
const MMAP_THRESHOLD_BYTES = 524_288

/** To be called before the large buffers are made. */
export function keepSmall(): void {
  const setOption = optionalFunction('mallopt', ['i32', 'i32'])
  setOption?.(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)
}

export type Trimmer = {
  /** To be called every now and then; does something only while nothing runs and there is garbage to speak of. */
  tick(isQuiet: boolean, nowMs: number): void
}

/** V8 collects when it needs room, which an idle daemon never does: without this it keeps what its busiest hour left. */
export function createTrimmer(): Trimmer {
  const collect = globalThis.gc
  const trim = optionalFunction('malloc_trim', ['u64'])
  let smallestBytes = process.memoryUsage().heapUsed
  let lastMs = 0
  return {
    tick(isQuiet, nowMs) {
      if (!isQuiet || collect === undefined || nowMs - lastMs < TRIM_INTERVAL_MS) return
      lastMs = nowMs
      if (process.memoryUsage().heapUsed < smallestBytes + IDLE_GARBAGE_BYTES) return
      collect()
      trim?.(0n)
      smallestBytes = process.memoryUsage().heapUsed
    },
  }
}
