import t from 'tap'
import { encodeUtf8 } from '../../../src/base/encoding/utf8.ts'
import type { RefusedPlace } from '../../../src/egress/lately.ts'
import {
  type Refused,
  type RefusedReach,
  refusedSentence,
} from '../../../src/session/commands/refused-reach.ts'
import { sentence } from '../../../src/session/standing/sentence.ts'

const NOTHING: Refused = { reaches: [], places: [], nameOf: () => undefined, command: 'curl' }
const told = (change: Partial<Refused>) => refusedSentence({ ...NOTHING, ...change })

function place(host: string, port: number | undefined, reason: RefusedPlace['reason']): RefusedPlace {
  return { host, port, protocol: 'tcp', reason, times: 1, atMs: 0 }
}

t.test('the first places are named, and the rest is counted', async (t) => {
  t.equal(told({}), undefined)
  const one: RefusedReach = { protocol: 'tcp', address: '127.0.0.1', port: 8_080 }
  t.match(told({ reaches: [one] }), /^127\.0\.0\.1:8080 refused: nothing listens there/)
  const many: RefusedReach[] = [one, ...[1, 2, 3, 4, 5].map((port) => ({ ...one, port }))]
  t.match(
    told({ reaches: many }),
    /^127\.0\.0\.1:8080, 127\.0\.0\.1:1, 127\.0\.0\.1:2, 127\.0\.0\.1:3 and 2 more refused: /,
  )
})

t.test('an address that stands for a name is named by it', async (t) => {
  const text = told({
    reaches: [
      { protocol: 'tcp', address: '127.64.0.1', port: 8_080 },
      { protocol: 'udp', address: '127.64.0.1', port: 443 },
    ],
    nameOf: (address) => (address === '127.64.0.1' ? 'a.example' : undefined),
  })
  t.equal(
    text,
    'a.example:8080 refused: nothing listens there in the network of the session, and beyond it only what sandbox.egress lists is reached; a.example:443 (UDP) refused: sandbox.egress has no entry with protocol udp for it.',
  )
})

t.test('what the gate refused is told with why, of those with one reason together', async (t) => {
  t.equal(
    told({
      places: [
        place('b.example', undefined, 'unlisted'),
        place('c.example', 443, 'unlisted'),
        place('2001:db8::7', 80, 'internal_address'),
        place('d.example', 443, 'hello_other_name'),
        place('d.example', 443, 'hello_malformed'),
        { ...place('192.0.2.1', 123, 'budget'), protocol: 'udp' },
      ],
    }),
    'b.example, c.example:443 refused: sandbox.egress does not list it; [2001:db8::7]:80 refused: it lies inside and no range of sandbox.egress has it; d.example:443 refused: what its client says in TLS does not name it; 192.0.2.1:123 (UDP) refused: it had its bytes of this hour.',
  )
  const longest = Array.from({ length: 32 }, (_, index) =>
    place(`${'a'.repeat(250)}${index}`, 443, index % 2 === 0 ? 'denied' : 'budget'),
  )
  t.ok(encodeUtf8(sentence(told({ places: longest }) ?? '')).length <= 1_024)
})

t.test('ping has no socket that could be refused, and is told all the same', async (t) => {
  const why =
    'of a session nothing leaves but connections of TCP and datagrams of UDP to what sandbox.egress lists.'
  t.equal(told({ command: 'ping' }), `ping was refused: ${why}`)
  t.equal(
    told({ command: 'traceroute', reaches: [{ protocol: 'udp', address: '192.0.2.1', port: 33_434 }] }),
    '192.0.2.1:33434 (UDP) refused: sandbox.egress has no entry with protocol udp for it.',
  )
})
