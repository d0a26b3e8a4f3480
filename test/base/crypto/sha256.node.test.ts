import fc from 'fast-check'
import t from 'tap'
import { sha256 } from '../../../src/base/crypto/hash.ts'
import { hostSha256 } from '../../../src/base/crypto/sha256.node.ts'

t.test('the host and the portable code agree on every digest', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) =>
      Buffer.from(hostSha256(bytes)).equals(Buffer.from(sha256(bytes))),
    ),
    { numRuns: 300 },
  )
  t.pass('for all of them')
  t.end()
})
