import t from 'tap'
import { ENVELOPE_FILE_BYTES } from '../../../src/config/intent-limits.ts'
import {
  INTENT_BATCH_FILES,
  REFUSED_KEPT_MS,
  WAITING_BYTES,
  WAITING_ENVELOPES,
  WAITING_RESERVED_BYTES,
} from '../../../src/intent/spool/limits.ts'
import { agentOrigin, mayWait, shareOf, whoGoes } from '../../../src/intent/spool/places.ts'
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

t.test('who takes nothing leaves room for others, and nobody fills what is the device’s', (t) => {
  const loads = new Map<string, number>()
  const all = () => [...loads.values()].reduce((sum, bytes) => sum + bytes, 0)
  const may = (receiver: string, isReserved = false, count = 0) =>
    mayWait({ count, bytes: loads.get(receiver) ?? 0 }, { count: 0, bytes: all() }, isReserved)
  const fill = (receiver: string) => {
    while (may(receiver)) loads.set(receiver, (loads.get(receiver) ?? 0) + ENVELOPE_FILE_BYTES)
  }
  fill('one')
  t.ok(all() > WAITING_BYTES / 3, 'one that is alone has its good part')
  for (const receiver of ['two', 'three']) {
    t.ok(may(receiver))
    fill(receiver)
  }
  for (let at = 0; at < 64; at++) fill(`more${at}`)
  t.ok(all() <= WAITING_BYTES - WAITING_RESERVED_BYTES)
  t.notOk(may('one more'))
  t.ok(may('device', true))
  t.ok(may('device', true, WAITING_ENVELOPES - INTENT_BATCH_FILES))
  t.notOk(may('device', true, WAITING_ENVELOPES - INTENT_BATCH_FILES + 1))
  loads.set('device', WAITING_RESERVED_BYTES)
  t.notOk(may('device', true))
  t.end()
})
