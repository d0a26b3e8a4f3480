import t from 'tap'
import { type RefusedReach, refusedSentence } from '../../src/session/refused-reach.ts'

t.test('the first places are named, and the rest is counted', async (t) => {
  t.equal(refusedSentence([]), undefined)
  const one: RefusedReach = { protocol: 'tcp', address: '127.0.0.1', port: 8_080 }
  t.match(refusedSentence([one]), /^127\.0\.0\.1:8080 refused: nothing listens there/)
  const many: RefusedReach[] = [
    one,
    { protocol: 'udp', address: '2001:db8::7', port: 123 },
    ...[1, 2, 3, 4].map((port) => ({ ...one, port })),
  ]
  t.match(
    refusedSentence(many),
    /^127\.0\.0\.1:8080, \[2001:db8::7\]:123 \(UDP\), 127\.0\.0\.1:1, 127\.0\.0\.1:2 and 2 more refused: /,
  )
})
