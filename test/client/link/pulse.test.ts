import t from 'tap'
import {
  PROBE_AFTER_MS,
  PROBE_ANSWER_BEHIND_MS,
  PROBE_ANSWER_MS,
  PROBE_BEHIND_BYTES,
  PULSE_SILENCE_METERED_MS,
  PULSE_SILENCE_MS,
} from '../../../src/client/limits.ts'
import { createPulse } from '../../../src/client/link/pulse.ts'
import { KEEPALIVE_MAX_MS, KEEPALIVE_MS } from '../../../src/limits.ts'

t.test('a silence is looked into while somebody waits, and only then', (t) => {
  const pulse = createPulse(PULSE_SILENCE_MS, 0)
  t.equal(pulse.tick(PULSE_SILENCE_MS - 1, true, 0), 'nothing')
  t.equal(pulse.tick(10 * PULSE_SILENCE_MS, false, 0), 'nothing')
  t.equal(pulse.tick(PULSE_SILENCE_MS, true, 0), 'ping')
  t.equal(pulse.tick(PULSE_SILENCE_MS + PROBE_ANSWER_MS - 1, true, 0), 'nothing')
  t.equal(pulse.tick(PULSE_SILENCE_MS + PROBE_ANSWER_MS, true, 0), 'dead')
  pulse.received(PULSE_SILENCE_MS + PROBE_ANSWER_MS)
  t.equal(pulse.tick(PULSE_SILENCE_MS + 2 * PROBE_ANSWER_MS, true, 0), 'nothing', 'any byte is life')
  t.end()
})

t.test('who has typed finds out sooner, unless what they sent stands before the question', (t) => {
  const pulse = createPulse(PULSE_SILENCE_MS, 0)
  pulse.poke(1_000)
  pulse.poke(2_000)
  t.equal(pulse.tick(1_000 + PROBE_AFTER_MS - 1, true, 0), 'nothing')
  t.equal(pulse.tick(1_000 + PROBE_AFTER_MS, true, 0), 'ping')
  const askedMs = 1_000 + PROBE_AFTER_MS
  t.equal(pulse.tick(askedMs + PROBE_ANSWER_MS, true, PROBE_BEHIND_BYTES + 1), 'nothing')
  t.equal(pulse.tick(askedMs + PROBE_ANSWER_BEHIND_MS, true, PROBE_BEHIND_BYTES + 1), 'dead')
  const answered = createPulse(PULSE_SILENCE_MS, 0)
  answered.poke(1_000)
  answered.received(1_500)
  t.equal(answered.tick(1_000 + PROBE_AFTER_MS, true, 0), 'nothing')
  t.end()
})

t.test('on a link that works one side asks: the daemon comes first', (t) => {
  t.ok(PULSE_SILENCE_MS > KEEPALIVE_MS)
  t.ok(PULSE_SILENCE_METERED_MS > KEEPALIVE_MAX_MS)
  t.end()
})
