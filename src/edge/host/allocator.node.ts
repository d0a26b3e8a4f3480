/**
 * Keeps a daemon small that is idle most of its life: settings of glibc's allocator before the large buffers are
 * made, and memory given back when nothing runs. Other C libraries are left as they are.
 * @module
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { FIRST_TRIM_MS, IDLE_GARBAGE_BYTES, TRIM_INTERVAL_MS } from '../../limits.ts'
import { optionalFunction } from '../../sandbox/kernel/syscalls.node.ts'

/** malloc.h */
const M_MMAP_THRESHOLD = -3
const M_ARENA_MAX = -8
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
  // For threads to come; where the environment says so (MALLOC_ARENA_MAX), those of Node have none of their own either.
  setOption?.(M_ARENA_MAX, 1)
}

const REGULAR = { type: 'major', execution: 'sync' } as const
/** V8's thorough collection: pages with a few objects left are emptied and given back. */
const SMALLEST = { type: 'major', execution: 'sync', flavor: 'last-resort' } as const
/** V8 forgets the bytecode of a function that was not called during six collections: --bytecode-old-age. */
const SMALLEST_ROUNDS = 7

/**
 * V8's collector. The flag that shows it is set for this moment alone: at the start of the process it would make V8
 * refuse the compiled code that Node brings of its own modules, which costs a start 11 ms.
 */
function findCollector(): NonNullable<typeof globalThis.gc> {
  setFlagsFromString('--expose-gc')
  try {
    return runInNewContext('gc') as NonNullable<typeof globalThis.gc>
  } finally {
    setFlagsFromString('--no-expose-gc')
  }
}

export type Trimmer = {
  /**
   * To be called every now and then; does something only while nothing runs and there is garbage to speak of.
   * @param isAlone nobody is connected: then the heap is made as small as it gets, which takes some 15 ms at each of
   *   the next ticks and throws out compiled code that the next caller has compiled again
   */
  tick(isQuiet: boolean, isAlone: boolean, nowMs: number): void
  /** Something large has been given up: the next time is soon, and thorough. */
  renew(nowMs: number): void
}

/**
 * V8 collects when it needs room, which an idle daemon never does: without this it keeps what its busiest hour left.
 * What a start leaves behind goes the same way.
 */
export function createTrimmer(): Trimmer {
  let collect: ReturnType<typeof findCollector> | undefined
  const trim = optionalFunction('malloc_trim', ['u64'])
  let smallestBytes = 0
  let roundsLeft = SMALLEST_ROUNDS
  // What a start leaves behind goes as soon as it is over, not an interval later.
  let dueMs = FIRST_TRIM_MS
  return {
    tick(isQuiet, isAlone, nowMs) {
      if (!isQuiet || nowMs < dueMs) return
      const isDue = process.memoryUsage().heapUsed >= smallestBytes + IDLE_GARBAGE_BYTES
      if (!isAlone || isDue) roundsLeft = SMALLEST_ROUNDS
      else if (roundsLeft === 0) return
      dueMs = nowMs + (isAlone ? 0 : TRIM_INTERVAL_MS)
      if (!isDue && !isAlone) return
      collect ??= findCollector()
      collect(isAlone ? SMALLEST : REGULAR)
      trim?.(0n)
      if (isAlone) roundsLeft--
      smallestBytes = process.memoryUsage().heapUsed
    },
    renew(nowMs) {
      dueMs = nowMs + FIRST_TRIM_MS
      roundsLeft = SMALLEST_ROUNDS
    },
  }
}
