/**
 * When a client asks for compressed output by itself.
 * @module
 */
import t from 'tap'
import { acceptedForms } from '../../../src/client/link/compression.node.ts'
import { SLOW_LINK_BYTES } from '../../../src/limits.ts'

t.test('on a slow link, on one that is paid by the byte, and as its user says', (t) => {
  const unknown = { linkRate: undefined, isMetered: false }
  const slow = { linkRate: SLOW_LINK_BYTES - 1, isMetered: false }
  const fast = { linkRate: SLOW_LINK_BYTES, isMetered: false }
  const paid = { linkRate: SLOW_LINK_BYTES, isMetered: true }
  t.strictSame(
    [unknown, slow, fast, paid].map((link) => acceptedForms(undefined, link)),
    [0, 1, 0, 1],
  )
  t.strictSame(
    [unknown, slow, fast, paid].map((link) => acceptedForms('always', link)),
    [1, 1, 1, 1],
  )
  t.strictSame(
    [unknown, slow, fast, paid].map((link) => acceptedForms('never', link)),
    [0, 0, 0, 0],
  )
  t.end()
})
