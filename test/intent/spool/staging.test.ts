import t from 'tap'
import { STAGED_ENVELOPES, STAGED_MS } from '../../../src/intent/spool/limits.ts'
import { createStaging, type Piece } from '../../../src/intent/spool/staging.ts'

const piece = (offset: number, text: string, more: Partial<Piece> = {}): Piece => ({
  ...{ total: 6, offset, digest: 'd', data: new TextEncoder().encode(text) },
  ...more,
})

t.test('pieces that follow one another become the whole, each session’s by itself', (t) => {
  const staging = createStaging()
  t.strictSame(staging.add('s1', piece(0, 'abc'), 0), { kind: 'more', received: 3 })
  t.strictSame(staging.add('s2', piece(0, 'ABCD'), 0), { kind: 'more', received: 4 })
  t.strictSame(staging.add('s1', piece(3, 'def'), 0), {
    kind: 'whole',
    bytes: new TextEncoder().encode('abcdef'),
  })
  t.match(staging.add('s1', piece(3, 'def'), 0), { kind: 'odd' }, 'it is given once')
  t.match(staging.add('s2', piece(4, 'EF'), 0), { kind: 'whole' })
  t.end()
})

t.test('a piece that does not follow the one before changes nothing', (t) => {
  const staging = createStaging()
  t.match(staging.add('s1', piece(3, 'def'), 0), { kind: 'odd' }, 'there is none before it')
  staging.add('s1', piece(0, 'abc'), 0)
  for (const odd of [
    piece(2, 'cd'),
    piece(4, 'ef'),
    piece(3, 'def', { digest: 'e' }),
    piece(3, 'def', { total: 7 }),
    piece(3, 'defg'),
  ])
    t.match(staging.add('s1', odd, 0), { kind: 'odd' })
  t.match(staging.add('s2', piece(3, 'def'), 0), { kind: 'odd' }, 'another session’s')
  t.match(staging.add('s1', piece(3, 'def'), 0), { kind: 'whole' })
  t.end()
})

t.test('so many at a time, and each for so long as its next piece may take', (t) => {
  const staging = createStaging()
  for (let at = 0; at < STAGED_ENVELOPES; at++)
    t.match(staging.add(`s${at}`, piece(0, 'abc'), at), { kind: 'more' })
  t.strictSame(staging.add('new', piece(0, 'abc'), STAGED_MS - 1), { kind: 'busy' })
  t.match(staging.add('s0', piece(0, 'ab'), STAGED_MS - 1), { kind: 'more' }, 'its own place')
  t.strictSame(staging.add('new', piece(0, 'abc'), STAGED_MS), { kind: 'busy' }, 's1 is not over yet')
  t.match(staging.add('new', piece(0, 'abc'), STAGED_MS + 1), { kind: 'more' })
  t.match(staging.add('s1', piece(3, 'def'), STAGED_MS + 1), { kind: 'odd' }, 'it was given up')
  t.match(staging.add('s0', piece(2, 'cdef'), 2 * STAGED_MS - 2), { kind: 'whole' }, 'its time began anew')
  t.end()
})
