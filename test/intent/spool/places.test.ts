import t from 'tap'
import { REFUSED_KEPT_MS } from '../../../src/intent/spool/limits.ts'
import { agentOrigin, shareOf, whoGoes } from '../../../src/intent/spool/places.ts'
import type { Quarantined } from '../../../src/intent/spool/room.ts'

const NOW = 1_800_000_000_000
const REFUSAL = { step: 2, code: 'ENVELOPE_MALFORMED', ticket: undefined, field: '', problem: 'no.' }
const entry = (name: string, ageMs: number, more: Partial<Quarantined> = {}): Quarantined => ({
  ...{
    name,
    receiver: 'helper',
    from: 'inbox',
    sinceMs: NOW - ageMs,
    size: 2,
    digest: name,
    refusal: REFUSAL,
  },
  ...more,
})
const goes = (entries: readonly Quarantined[], share = 'inbox helper', copies: readonly string[] = []) =>
  whoGoes(entries, share, ({ name }) => copies.includes(name), NOW)?.name

t.test('copies go first, then what has lain there long enough, the oldest of each', (t) => {
  const fresh = [entry('b', 2), entry('a', 5), entry('c', 1)]
  t.equal(goes(fresh), undefined, 'what is fresh stays: the quarantine is full')
  t.equal(goes(fresh, undefined, ['b', 'c']), 'b')
  t.equal(goes([...fresh, entry('d', REFUSED_KEPT_MS - 1)]), undefined)
  const old = [...fresh, entry('e', REFUSED_KEPT_MS), entry('f', REFUSED_KEPT_MS + 1)]
  t.equal(goes(old), 'f')
  t.equal(goes(old, undefined, ['c']), 'c')
  t.equal(goes([...fresh, entry('ahead', -1)]), 'ahead', 'the clock was set back')
  t.equal(goes([entry('u', REFUSED_KEPT_MS, { refusal: undefined })]), undefined, 'it was not judged')
  t.end()
})

t.test('another share gives one where it has more than this one would have', (t) => {
  const other = (name: string, ageMs: number) => entry(name, ageMs, { receiver: 'other' })
  const entries = [entry('a', 9), other('b', 2), other('c', 3), other('d', 1)]
  t.equal(goes(entries), 'c')
  t.equal(goes([entry('a2', 8), ...entries]), undefined, 'it would have as many')
  t.equal(goes(entries, 'inbox other'), undefined)
  const undecided = entry('u', 9, { refusal: undefined })
  t.equal(goes([undecided, ...entries]), undefined, 'what is not judged yet counts as its own')
  t.end()
})

t.test('the connections of an agent have one share, whoever the receivers are', (t) => {
  const from = agentOrigin('ci')
  t.equal(shareOf({ from, receiver: 'helper' }), shareOf({ from, receiver: 'other' }))
  t.not(shareOf({ from: 'inbox', receiver: 'helper' }), shareOf({ from: 'inbox', receiver: 'other' }))
  t.end()
})
