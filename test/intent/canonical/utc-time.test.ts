import fc from 'fast-check'
import t from 'tap'
import { readUtcTime, writeUtcTime } from '../../../src/intent/canonical/utc-time.ts'

t.test('reads what Python writes and RFC 3339 in UTC', (t) => {
  t.equal(readUtcTime('2026-02-24T00:00:00+00:00'), Date.UTC(2026, 1, 24))
  t.equal(readUtcTime('2026-02-24T00:00:00Z'), Date.UTC(2026, 1, 24))
  t.equal(readUtcTime('2026-02-24T01:02:03.123456+00:00'), Date.UTC(2026, 1, 24, 1, 2, 3, 123))
  t.equal(readUtcTime('2024-02-29T00:00:00Z'), Date.UTC(2024, 1, 29))
  t.end()
})

t.test('refuses other offsets, days that are not, and other forms', (t) => {
  for (const text of [
    '2026-02-24T00:00:00',
    '2026-02-24T00:00:00+01:00',
    '2026-02-24T00:00:00-00:00',
    '2026-02-30T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:60Z',
    '2026-01-01 00:00:00Z',
    '2026-01-01T00:00:00.Z',
    '',
  ])
    t.equal(readUtcTime(text), undefined, text)
  t.end()
})

t.test('every millisecond from 1970 to 9999 is read as it was written, and as the calendar has it', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 253_402_300_799_999 }), (ms) => {
      const text = writeUtcTime(ms)
      return readUtcTime(text) === ms && Date.parse(text) === ms
    }),
    { numRuns: 2_000 },
  )
  t.end()
})
