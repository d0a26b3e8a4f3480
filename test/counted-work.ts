/**
 * How much the program does, counted: how often each function and each block of its sources is run through, as the
 * engine counts it for coverage. The same for the same input on any machine, under any load, unlike a time.
 * From its import on nothing is compiled to machine code, whose runs are counted no longer.
 * @module
 */
import { type Profiler, Session } from 'node:inspector'
import { setFlagsFromString } from 'node:v8'

for (const flag of ['--no-opt', '--no-maglev', '--no-sparkplug', '--no-lazy-feedback-allocation'])
  setFlagsFromString(flag)

/** Blocks of `src` that `work` runs through, how often each, added up. What it calls of Node counts nothing. */
export function countedWork(work: () => void): number {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  let blocks = 0
  try {
    // Counting begins anew with each look.
    session.post('Profiler.takePreciseCoverage')
    work()
    session.post('Profiler.takePreciseCoverage', (_error, taken: Profiler.TakePreciseCoverageReturnType) => {
      for (const { url, functions } of taken.result)
        if (url.includes('/src/'))
          for (const { ranges } of functions) for (const { count } of ranges) blocks += count
    })
  } finally {
    session.post('Profiler.stopPreciseCoverage')
    session.disconnect()
  }
  return blocks
}
