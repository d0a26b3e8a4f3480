/** Envelopes in pieces: in order, one of each agent, a few at a time, and no longer than a minute between two. */
import t from 'tap'
import { STAGED_ENVELOPES, STAGED_MS } from '../../../src/intent/spool/limits.ts'
import { createStaging } from '../../../src/intent/spool/staging.ts'

const from = (agent: string, session = `${agent}-1`) => ({ agent, session })
const piece = (offset: number, text = 'abc', digest = 'd') => {
  return { total: 6, offset, digest, data: Buffer.from(text) }
}

t.test('in order and as announced, and then its place is free', (t) => {
  const staging = createStaging()
  t.match(staging.add(from('a'), piece(0), 0), { kind: 'more', received: 3 })
  for (const odd of [piece(2), piece(3, 'abc', 'e'), piece(3, 'abcd'), { ...piece(3), total: 7 }])
    t.match(staging.add(from('a'), odd, 0), { kind: 'odd' })
  const whole = staging.add(from('a'), piece(3, 'def'), 0)
  t.equal(whole.kind === 'whole' ? Buffer.from(whole.bytes).toString() : '', 'abcdef')
  t.match(staging.add(from('a'), piece(3), 0), { kind: 'odd' }, 'nothing is there any more')
  t.match(staging.add(from('a'), piece(0), 0), { kind: 'more' })
  t.match(staging.add(from('a'), piece(0), 0), { kind: 'more', received: 3 }, 'begun again')
  t.end()
})

t.test('an agent has one place, however many connections it has', (t) => {
  const staging = createStaging()
  t.match(staging.add(from('a'), piece(0), 0), { kind: 'more' })
  for (const session of ['a-2', 'a-3', 'a-4', 'a-5']) {
    t.match(staging.add(from('a', session), piece(0), 0), { kind: 'busy' })
    t.match(staging.add(from('a', session), piece(3), 0), { kind: 'odd' }, 'nor does it go on with that one')
  }
  t.match(staging.add(from('b'), piece(0), 0), { kind: 'more' })
  t.match(staging.add(from('a'), piece(3), 0), { kind: 'whole' })
  t.match(staging.add(from('a', 'a-2'), piece(0), 0), { kind: 'more' })
  t.end()
})

t.test('so many agents at a time, each until its next piece has taken too long', (t) => {
  const staging = createStaging()
  for (let count = 0; count < STAGED_ENVELOPES; count++)
    t.match(staging.add(from(`${count}`), piece(0), count), { kind: 'more' })
  t.match(staging.add(from('one more'), piece(0), STAGED_MS - 1), { kind: 'busy' })
  t.match(staging.add(from('one more'), piece(0), STAGED_MS), { kind: 'more' })
  t.match(staging.add(from('0'), piece(3), STAGED_MS), { kind: 'odd' })
  t.match(staging.add(from('1'), piece(3), STAGED_MS), { kind: 'whole' })
  t.end()
})
