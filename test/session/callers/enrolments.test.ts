/**
 * The book of enrolments: how long an invitation is open whatever the clocks do, that it is used up once, and what no
 * caller gets by it; keys that follow one another.
 */
import t from 'tap'
import { publicKeyOf, signWith } from '../../../src/base/crypto/ed25519.node.ts'
import { sha256 } from '../../../src/base/crypto/hash.ts'
import { encodeBase64Url } from '../../../src/base/encoding/base64.ts'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import { KEY_OVERLAP_SECONDS } from '../../../src/limits.ts'
import type { Clock } from '../../../src/ports.ts'
import { type BookStore, createEnrolments, type Enrolments } from '../../../src/session/callers/enrolments.ts'
import { createIdentities } from '../../../src/session/callers/identities.ts'
import { keyRotationInput } from '../../../src/wire/auth-input.ts'
import { keyRotation } from '../../../src/wire/identity-messages.ts'
import { authOf, BINDING, connect, enter, memoryBook, seedOf, stageRooms } from '../stage.ts'

const RIGHTS = { name: 'laptop', role: 'agent', capability: 'default' } as const
const key = (seed: number) => encodeBase64Url(publicKeyOf(seedOf(seed)))

function begin(store: BookStore = memoryBook()) {
  const at = { monotonic: 5_000, wall: 1_800_000_000_000 }
  let drawn = 0
  const clock = { monotonicMs: () => at.monotonic, wallMs: () => at.wall, after: () => () => {} } as Clock
  const random = { bytes: (count: number) => new Uint8Array(count).fill(++drawn) }
  return { at, store, open: (): Enrolments => createEnrolments(store, clock, random) }
}

function invited(enrolments: Enrolments, seconds = 60) {
  const made = enrolments.invite(RIGHTS, seconds)
  if (made === undefined) throw new Error('not invited')
  return made
}

t.test('a token is looked up by its hash, for its own name, and nothing else is kept', (t) => {
  const { store, open } = begin()
  const enrolments = open()
  const { token } = invited(enrolments)
  t.match(enrolments.invited('laptop', token), RIGHTS)
  t.equal(enrolments.invited('other', token), undefined)
  for (const wrong of [token.slice(1), new Uint8Array(0), new Uint8Array(16), token.map((byte) => byte ^ 1)])
    t.equal(enrolments.invited('laptop', wrong), undefined)
  const kept = JSON.stringify(store.load())
  t.ok(kept.includes(encodeHex(sha256(token))))
  for (const form of [encodeHex(token), encodeBase64Url(token)]) t.notOk(kept.includes(form))
  t.end()
})

t.test('it is used up once, in the same step in which the caller is listed', (t) => {
  const { store, open } = begin()
  const enrolments = open()
  const { token } = invited(enrolments)
  const invitation = enrolments.invited('laptop', token)
  if (invitation === undefined) throw new Error('not open')
  t.equal(enrolments.enrol(invitation, key(8)), true)
  t.equal(enrolments.enrol(invitation, key(9)), false, 'though it was looked up before')
  t.equal(enrolments.invited('laptop', token), undefined)
  t.match(store.load(), { invitations: [], enrolled: [{ ...RIGHTS, public_key: key(8) }] })
  t.match(open().find('laptop'), { public_key: key(8) }, 'after a restart as well')
  t.end()
})

t.test('what cannot be written is not done', (t) => {
  const { store, open } = begin()
  const enrolments = open()
  const { token } = invited(enrolments)
  const invitation = enrolments.invited('laptop', token)
  if (invitation === undefined) throw new Error('not open')
  const { update } = store
  store.update = () => {
    throw new Error('no room')
  }
  t.throws(() => enrolments.enrol(invitation, key(8)), { message: 'no room' })
  t.equal(enrolments.find('laptop'), undefined)
  store.update = update
  t.equal(enrolments.enrol(invitation, key(8)), true, 'and the line is as good as before')
  t.end()
})

t.test('within a run its time goes by the monotonic clock alone', (t) => {
  const { at, open } = begin()
  const enrolments = open()
  const { token } = invited(enrolments, 60)
  for (const jump of [-1e12, 1e12, 0]) {
    at.wall = 1_800_000_000_000 + jump
    enrolments.reread()
    t.ok(enrolments.invited('laptop', token), `the wall clock jumps by ${jump}`)
  }
  at.monotonic += 59_999
  t.ok(enrolments.invited('laptop', token))
  at.monotonic += 1
  t.equal(enrolments.invited('laptop', token), undefined)
  t.end()
})

t.test('after a restart the wall clock says what is left, never more than there was', (t) => {
  for (const [passed, isOpen, what] of [
    [30_000, true, 'half of it is left'],
    [59_000, true, 'a little is left'],
    [60_000, false, 'it is over'],
    [1e9, false, 'it is long over'],
    [-30_000, true, 'the clock was put right by a little'],
    [-61_000, false, 'the clock was set back'],
    [-1_799_000_000_000, false, 'a board without a clock has started anew'],
  ] as const) {
    const { at, open } = begin()
    const { token } = invited(open(), 60)
    at.wall += passed
    at.monotonic = 10
    const next = open()
    t.equal(next.invited('laptop', token) !== undefined, isOpen, what)
    at.monotonic += 60_000
    t.equal(next.invited('laptop', token), undefined, 'and it ends')
  }
  t.end()
})

t.test('the configuration counts first: its names and its keys are nobody else’s', (t) => {
  const { open } = begin()
  const enrolments = open()
  const invitation = enrolments.invited('laptop', invited(enrolments).token)
  if (invitation !== undefined) enrolments.enrol(invitation, key(8))
  const listed = {
    role: 'operator',
    capability: 'large',
    tier: 'T5',
    tools: ['*'],
    delegated_by: null,
  } as const
  const find = (name: string, public_key: string) =>
    createIdentities([{ name, public_key, ...listed }], enrolments).find('laptop')
  t.match(find('other', key(1)), { role: 'agent', capability: 'default', tier: 'T3' })
  t.match(find('laptop', key(1)), { role: 'operator', publicKey: publicKeyOf(seedOf(1)) })
  t.equal(find('other', key(8)), undefined, 'its key is the other’s now')
  t.end()
})

t.test('an old key is taken beside the new one until that is used, or its time is over', (t) => {
  for (const isUsed of [true, false]) {
    const { at, open } = begin()
    const enrolments = open()
    enrolments.changeKey('bot', key(1), key(2), () => true)
    t.same(enrolments.keysOf('bot', key(1)), { current: key(2), previous: key(1) })
    t.equal(enrolments.used('bot', key(1)), undefined, 'the old one says nothing')
    if (isUsed) t.equal(enrolments.used('bot', key(2)), key(1))
    else {
      at.monotonic += KEY_OVERLAP_SECONDS * 1_000
      t.same(enrolments.tick(at.monotonic), [{ name: 'bot', previous: key(1) }])
      t.same(enrolments.tick(at.monotonic), [], 'once')
    }
    t.same(enrolments.keysOf('bot', key(1)), { current: key(2), previous: undefined })
    t.same(open().keysOf('bot', key(1)), { current: key(2), previous: undefined }, 'after a restart as well')
    t.same(
      enrolments.keysOf('bot', key(3)),
      { current: key(3), previous: undefined },
      'listed anew it begins anew',
    )
    t.ok(enrolments.hasKey(key(1)), 'and nobody else can have the old one')
  }
  t.end()
})

function hold(stage: ReturnType<typeof stageRooms>) {
  const made = stage.rooms.enrolments.invite({ ...RIGHTS, capability: 'small' }, 60)
  if (made === undefined) throw new Error('not invited')
  const come = () => {
    const client = connect(stage)
    client.open('Authenticate', authOf({ name: 'laptop', seed: 40, enrolment: made.token }))
    return client
  }
  return { come, isListed: () => stage.rooms.identities.find('laptop') !== undefined }
}

t.test('nobody enrols while the daemon is on alarm, and the line is good afterwards', (t) => {
  for (const level of ['RESTRICT', 'CONTAIN'] as const) {
    const stage = stageRooms()
    const { come, isListed } = hold(stage)
    stage.rooms.levels.set('daemon', '', level, 'a test', 'boss')
    come()
    t.notOk(isListed(), level)
    stage.rooms.levels.set('daemon', '', 'NORMAL', 'a test', 'boss')
    come()
    t.ok(isListed(), `after ${level}`)
  }
  t.end()
})

t.test('what cannot be recorded is not done', (t) => {
  const stage = stageRooms()
  const { come, isListed } = hold(stage)
  const { append } = stage.rooms.audit
  stage.rooms.audit.append = () => {
    throw new Error('no room')
  }
  come()
  t.notOk(isListed())
  stage.rooms.audit.append = append
  stage.rooms.levels.storage('NORMAL', 'there is room')
  come()
  t.ok(isListed())
  t.ok(stage.audit.events.findIndex(({ action }) => action === 'enroll') !== -1)
  t.ok(
    stage.audit.events.findIndex(({ action }) => action === 'enroll') <
      stage.audit.events.findIndex(({ what }) => what === 'enrolled'),
    'decided first, done then',
  )
  t.end()
})

t.test('a key follows only where it has signed for this caller and this connection', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  const next = seedOf(50)
  const ask = (signed: Uint8Array, seed = next) =>
    client
      .on(
        client.open(
          'RotateKey',
          keyRotation.encode({ public_key: publicKeyOf(seed), signature: signWith(seed, signed) }),
        ),
      )
      .at(-1)
  for (const signed of [
    keyRotationInput('boss', BINDING),
    keyRotationInput('bot', new Uint8Array(32)),
    new Uint8Array(3),
  ])
    t.match(ask(signed), { kind: 'status' })
  t.match(ask(keyRotationInput('bot', BINDING), seedOf(3))?.value, { success: false }, 'the key of another')
  t.equal(stage.rooms.identities.find('bot')?.previousKey, undefined)
  t.match(ask(keyRotationInput('bot', BINDING))?.value, { success: true })
  t.same(stage.rooms.identities.find('bot')?.publicKey, publicKeyOf(next))
  t.match(stage.rooms.identities.find('bot'), { role: 'agent' })
  t.end()
})
