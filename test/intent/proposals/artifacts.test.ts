import t from 'tap'
import { canonicalize } from '../../../src/base/encoding/canonical-json.ts'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import {
  actionRequest,
  bundleHash,
  digestOf,
  executionWarrant,
  justification,
  observation,
  scopeClaim,
} from '../../../src/intent/proposals/artifacts.ts'
import { budget, timestamp, userInput } from '../../../src/intent/proposals/observations.ts'
import { AT, candidate, decided, INV, notify, words } from './ground.node.ts'

t.test('every artifact has the name that the format gives it (RX-08, RX-09)', (t) => {
  const said = userInput('Hello, RSA-0')
  t.equal(said.id, '4e5e82698c6ed2bc14beab7689bbe597f10dee6795f615c0b0690300382166a3')
  t.equal(timestamp(AT).id, '7b60b8e39e1763e8197fae61c1f57341a62ec1c14a9ff46c5205fe203369c13e')
  t.match(budget(100, 1, 0).id, /^204aa95c[0-9a-f]{50}13d5e9$/)
  const request = actionRequest('Notify', { target: 'stdout', message: 'echo: Hello, RSA-0' }, 'reflection')
  t.equal(request.id, 'fa9238a47c8b4b5d095be88ece7885df243a68c96bd026d9e84dc8949d634bcc')
  const claim = scopeClaim(
    { observationIds: [said.id], claim: 'User sent a greeting; echo it back.', clause: INV },
    'reflection',
  )
  t.match(claim.id, /^67b2fc0d[0-9a-f]{52}5ff9$/)
  const why = justification('User greeting should be echoed to confirm receipt.', 'reflection')
  t.match(why.id, /^7cdb8b25[0-9a-f]{52}62b1$/)
  const bundle = {
    action_request: request,
    scope_claim: claim,
    justification: why,
    authority_citations: [INV],
  }
  t.equal(encodeHex(bundleHash(bundle)), '074d2fd81c9fe95da63f9297f41c28d5834e00915a799aae3859c29a831c0962')
  t.equal(
    executionWarrant(bundle, { target: 'stdout' }, 0, AT).warrant_id,
    '0417a3169f0283b98f115662ca721c39d6f25313672be0104d5b3352915b6792',
  )
  t.end()
})

t.test(
  'the whole decision gives the warrant of the format, and of alpha and bravo it takes bravo (RX-17)',
  (t) => {
    const { decision } = decided([candidate()])
    t.match(decision, {
      type: 'ACTION',
      warrant: { warrant_id: '0417a3169f0283b98f115662ca721c39d6f25313672be0104d5b3352915b6792' },
    })
    const both = ['alpha', 'bravo'].map((text) =>
      notify(text, { claim: { claim: `Echo message: ${text}` }, why: { text: `Justified: ${text}` } }),
    )
    const { selection } = decided(both)
    t.match(selection?.admitted_bundle_hashes[0], /^587a92d4/)
    t.match(selection?.selected_bundle_hash, /^0daccad6/)
    t.end()
  },
)

t.test('there are seven kinds of artifact, and the decision makes no other (RX-07)', (t) => {
  const made = [
    decided([candidate()]),
    decided([]),
    decided([candidate({ type: 'Exit', fields: { reason_code: 'USER_REQUESTED' } })]),
  ]
  t.strictSame(made.map(words), ['ACTION Notify', 'REFUSE NO_ADMISSIBLE_ACTION none', 'EXIT USER_REQUESTED'])
  const types = made.flatMap((one) => [
    ...one.observations.map(({ type }) => type),
    ...one.candidates.flatMap((read) =>
      read.ok
        ? [read.bundle.action_request.type, read.bundle.scope_claim?.type, read.bundle.justification?.type]
        : [],
    ),
    one.decision.type === 'ACTION' ? one.decision.warrant.type : '',
    one.decision.type === 'REFUSE' ? one.decision.refusal.type : '',
    one.decision.type === 'EXIT' ? one.decision.exit.type : '',
  ])
  t.strictSame([...new Set(types)].filter((type) => type !== '').sort(), [
    ...['ActionRequest', 'ExecutionWarrant', 'ExitRecord', 'Justification', 'Observation'],
    ...['RefusalRecord', 'ScopeClaim'],
  ])
  t.end()
})

t.test(
  'canonical text has sorted keys and no white space, nested as well, and is the same each time (RX-49)',
  (t) => {
    t.equal(canonicalize({ z: 1, a: 2, m: 3 }), '{"a":2,"m":3,"z":1}')
    t.notMatch(canonicalize({ hello: 'world', list: [1, 2, 3] }), /\s/)
    t.equal(canonicalize({ b: { y: 1, x: 2 }, a: 0 }), '{"a":0,"b":{"x":2,"y":1}}')
    const value = { key: 'value', num: 42, arr: [1, 'two'] }
    t.equal(canonicalize(value), canonicalize(value))
    t.end()
  },
)

t.test('a name is of everything but itself: author and time are in it', (t) => {
  const one = observation('timestamp', { iso8601_utc: AT }, 'host')
  t.not(observation('timestamp', { iso8601_utc: AT }, 'user').id, one.id)
  t.not(observation('timestamp', { iso8601_utc: AT }, 'host', AT).id, one.id)
  const { id, ...rest } = one
  t.equal(digestOf(rest as never), id)
  t.end()
})
