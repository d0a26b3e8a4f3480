/**
 * The short form of `npm run soak`: what an execution would leave behind shows after some hundred of them too.
 * @module
 */
import t from 'tap'
import { soak } from '../../bench/soak.node.ts'

const EXECS = 500
/** 12 KiB an execution would be a leak of its whole output buffer; the heap itself breathes by less. */
const BOUND_KIB = 6_144

t.test('some hundred executions leave a daemon as small as it was', { timeout: 300_000 }, async (t) => {
  const { warmKib, courseKib, idleKib } = await soak(EXECS, undefined, 1)
  const said = `${idleKib} KiB idle, ${warmKib} KiB warm, ${courseKib.join(', ')} KiB after`
  t.ok((courseKib.at(-1) ?? Number.POSITIVE_INFINITY) - warmKib <= BOUND_KIB, said)
})
