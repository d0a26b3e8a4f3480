/**
 * The floor under every execution: how long the machine itself takes to start `/bin/true` and to see it end, with
 * nothing around it: posix_spawn(3) and waitpid(2) in a loop, called through node:ffi, descriptors inherited.
 * What a daemon adds is its time above this. `node bench/floor.node.ts [RUNS]`
 * @module
 */

import { dlopen, getRawPointer } from 'node:ffi'

/** Times of one loop in microseconds: the median and the 95th percentile of a call, and of a whole life. */
export interface Floor {
  readonly runs: number
  readonly spawnMedianUs: number
  readonly lifeMedianUs: number
  readonly life95Us: number
}

const WARM_UP_RUNS = 50

/**
 * Starts `file` without arguments `runs` times, one after the other.
 * @throws Error where the C library cannot start it, with its errno.
 */
export function measureFloor(runs: number, file = '/bin/true'): Floor {
  const { lib, functions } = dlopen(null, {
    posix_spawn: { arguments: ['buffer', 'buffer', 'pointer', 'pointer', 'buffer', 'buffer'], return: 'i32' },
    waitpid: { arguments: ['i32', 'buffer', 'i32'], return: 'i32' },
  })
  const path = Buffer.from(`${file}\0`)
  const argv = new BigUint64Array([BigInt(getRawPointer(path)), 0n])
  const environment = new BigUint64Array([0n])
  const pid = new Int32Array(1)
  const status = new Int32Array(1)
  const bytesOf = (words: BigUint64Array | Int32Array) => new Uint8Array(words.buffer)
  const once = (): { spawnUs: number; lifeUs: number } => {
    const startNs = process.hrtime.bigint()
    const errno = functions.posix_spawn(bytesOf(pid), path, 0n, 0n, bytesOf(argv), bytesOf(environment))
    const spawnedNs = process.hrtime.bigint()
    if (errno !== 0)
      throw new Error(`${file} cannot be started (errno ${errno}): give the path of a program.`)
    const ended = functions.waitpid(pid[0] ?? 0, bytesOf(status), 0)
    const endedNs = process.hrtime.bigint()
    if (ended !== pid[0])
      throw new Error(`waitpid returned ${ended} for process ${pid[0]}: something else reaps here.`)
    return { spawnUs: Number(spawnedNs - startNs) / 1e3, lifeUs: Number(endedNs - startNs) / 1e3 }
  }
  try {
    for (let run = 0; run < WARM_UP_RUNS; run += 1) once()
    const times = Array.from({ length: runs }, once)
    return {
      runs,
      spawnMedianUs: quantile(
        times.map(({ spawnUs }) => spawnUs),
        0.5,
      ),
      lifeMedianUs: quantile(
        times.map(({ lifeUs }) => lifeUs),
        0.5,
      ),
      life95Us: quantile(
        times.map(({ lifeUs }) => lifeUs),
        0.95,
      ),
    }
  } finally {
    lib.close()
  }
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
}

if (import.meta.main) console.log(JSON.stringify(measureFloor(Number(process.argv[2] ?? 1_000))))
