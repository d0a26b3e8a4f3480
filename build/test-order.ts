/**
 * Which test files run beside each other, and which begin first. Without this a run ends with one long file that nothing
 * runs beside, and a file that sleeps keeps one that computes waiting.
 * @module
 */
import type { Lane } from './run-files.node.ts'

/**
 * They sleep for most of their time, as what they look at takes it: a daemon that is left alone tidies up, a disk does
 * not answer, a link is silent, a drain ends, an answer never comes. So they run beside the others. The longest first.
 */
export const WAITING: readonly string[] = [
  'test/bench/soak.node.test.ts',
  'test/integration/disk-slow.node.test.ts',
  'test/integration/mcp-policy.node.test.ts',
  'test/integration/reconnect.node.test.ts',
  'test/integration/drain.node.test.ts',
  'test/integration/egress-bypass.node.test.ts',
  'test/integration/incidents.node.test.ts',
  'test/integration/egress-datagrams.node.test.ts',
  'test/integration/agentic-risks-trust.node.test.ts',
  'test/integration/enroll.node.test.ts',
  'test/integration/record-share.node.test.ts',
  'test/integration/metrics.node.test.ts',
  'test/integration/reconnect-cli.node.test.ts',
]
const WAITING_JOBS = 2

/** Of the others those that take longest, the longest first. */
export const LONGEST: readonly string[] = [
  'test/integration/branch-bounds.node.test.ts',
  'test/integration/branch.node.test.ts',
  'test/build/systemd.node.test.ts',
  'test/integration/disk-full.node.test.ts',
  'test/integration/clock.node.test.ts',
  'test/session/cost.test.ts',
  'test/integration/view.node.test.ts',
  'test/integration/plan-courses.node.test.ts',
  'test/integration/bounds-of-work.node.test.ts',
  'test/defense/gate-work.test.ts',
  'test/integration/agentic-risks.node.test.ts',
  'test/integration/at-most-once.node.test.ts',
  'test/links/history.node.test.ts',
]

/** Lanes of these files. @param jobs how many run at once of those that do not sleep */
export function inLanes(files: readonly string[], jobs: number): readonly Lane[] {
  const asked = new Set(files)
  const first = LONGEST.filter((file) => asked.has(file))
  const waiting = WAITING.filter((file) => asked.has(file))
  const placed = new Set([...first, ...waiting])
  return [
    { files: [...first, ...files.filter((file) => !placed.has(file))], jobs },
    { files: waiting, jobs: WAITING_JOBS },
  ]
}
