import t from 'tap'
import { remembering } from '../../../src/edge/intent/remembered.node.ts'
import { VERIFIED_BYTES, VERIFIED_REMEMBERED } from '../../../src/intent/spool/limits.ts'

const KEY = new Uint8Array(32).fill(1)
const SIGNATURE = new Uint8Array(64).fill(2)

t.test('what was good is not looked at again, what was not is, and what is long always', async (t) => {
  let asked = 0
  const verify = remembering((_key, _signature, bytes) => {
    asked++
    return bytes[0] === 1
  })
  const good = new Uint8Array([1, 2])
  t.strictSame([verify(KEY, SIGNATURE, good), verify(KEY, SIGNATURE, good), asked], [true, true, 1])
  const bad = new Uint8Array([0, 2])
  t.strictSame([verify(KEY, SIGNATURE, bad), verify(KEY, SIGNATURE, bad), asked], [false, false, 3])
  t.equal(verify(KEY, new Uint8Array(64), good), true)
  t.equal(verify(new Uint8Array(32), SIGNATURE, good), true)
  t.equal(asked, 5, 'another signature or key is another question')
  const long = new Uint8Array(VERIFIED_BYTES + 1).fill(1)
  t.strictSame([verify(KEY, SIGNATURE, long), verify(KEY, SIGNATURE, long), asked], [true, true, 7])
  for (let each = 0; each <= VERIFIED_REMEMBERED; each++)
    verify(KEY, SIGNATURE, new Uint8Array([1, each & 255, each >> 8]))
  const before = asked
  verify(KEY, SIGNATURE, good)
  t.equal(asked, before + 1, 'no more of them than so many')
})
