/**
 * Work that is handed on: whose token it is, how often and how long it is good, and what ends it.
 * @module
 */
import t from 'tap'
import {
  createDelegations,
  type Delegations,
  narrowedTools,
} from '../../../src/session/callers/delegations.ts'
import { DELEGATIONS_OPEN, DELEGATIONS_PER_SESSION } from '../../../src/wire/limits.ts'
import { stageClock } from '../stage.ts'

const WORKER = { name: 'worker', scope: 'key' }
const WHAT = {
  by: 'boss',
  session: 's1',
  orchestrator: 'boss-1',
  user: 'configuration',
  tools: ['*'],
  allowed_commands: ['*'],
  allowed_paths: ['*'],
} as const

function stage(): { delegations: Delegations; pass(ms: number): void } {
  const clock = stageClock()
  let drawn = 0
  const bytes = (length: number) => {
    const made = new Uint8Array(length)
    new DataView(made.buffer).setUint32(0, ++drawn)
    return made
  }
  return { delegations: createDelegations(clock, { bytes }), pass: clock.pass }
}

function made(delegations: Delegations, session = 's1', seconds = 60) {
  const found = delegations.make(WORKER, { ...WHAT, session }, seconds)
  if (found === undefined) throw new Error('There is no room.')
  return found
}

t.test('a token is its worker’s, good once, and for its time', async (t) => {
  const { delegations, pass } = stage()
  const { token, handed } = made(delegations)
  t.equal(token.length, 32)
  t.match(delegations.look(token, WORKER), { state: 'open', handed: { by: 'boss', orchestrator: 'boss-1' } })
  t.same(delegations.look(token, { ...WORKER, name: 'other' }), { state: 'not_its' })
  t.same(delegations.look(token, { ...WORKER, scope: 'another key' }), { state: 'not_its' })
  t.same(delegations.look(token.subarray(1), WORKER), { state: 'unknown' })
  t.same(delegations.look(new Uint8Array(32), WORKER), { state: 'unknown' })
  delegations.use(handed.id)
  t.match(delegations.look(token, WORKER), { state: 'used', handed: { id: handed.id } })
  pass(59_999)
  t.match(delegations.look(token, WORKER), { state: 'used' })
  pass(1)
  t.same(delegations.look(token, WORKER), { state: 'expired' })
  delegations.tick(61_001)
  t.same(delegations.look(token, WORKER), { state: 'unknown' })
  t.equal(delegations.size, 0)
})

t.test('with a session end its tokens, and no others', async (t) => {
  const { delegations } = stage()
  const [one, two] = [made(delegations, 's1'), made(delegations, 's2')]
  delegations.endOf('s1')
  t.same(delegations.look(one.token, WORKER), { state: 'unknown' })
  t.match(delegations.look(two.token, WORKER), { state: 'open' })
})

t.test('as many are kept as may be, of a session, of an agent and of all', async (t) => {
  const { delegations, pass } = stage()
  const takes = (by: string) => {
    let count = 0
    while (delegations.make(WORKER, { ...WHAT, by, session: `${by} ${count}` }, 60)) count++
    return count
  }
  for (let count = 0; count < DELEGATIONS_PER_SESSION; count++) made(delegations, 's1')
  t.equal(delegations.make(WORKER, WHAT, 60), undefined)
  const shares = ['boss', 'second', 'third', 'fourth'].map(takes)
  t.same(
    shares,
    [DELEGATIONS_OPEN / 2 - DELEGATIONS_PER_SESSION, 16, 8, 4],
    'whoever asks for all of them leaves some for the others',
  )
  pass(60_000)
  t.ok(delegations.make(WORKER, WHAT, 60), 'those whose time is over make room')
})

t.test('tools that are handed on only narrow', async (t) => {
  t.same(narrowedTools(['Read', 'Bash'], ['*']), ['Read', 'Bash'])
  t.same(narrowedTools(['*'], ['Read']), ['Read'])
  t.same(narrowedTools(['Read', 'Bash'], ['Bash', 'Write']), ['Bash'])
  t.same(narrowedTools(['Read'], []), [])
})

t.test('no token begins, as text, with what an option begins with', (t) => {
  for (let first = 0; first < 256; first++) {
    const bytes = (length: number) => Uint8Array.from({ length }, () => first)
    const { token } = made(createDelegations(stageClock(), { bytes }))
    t.notMatch(Buffer.from(token).toString('base64url'), /^-/)
    t.same(token.subarray(1), bytes(token.length - 1), 'the rest is as it was drawn')
  }
  t.end()
})
