import fc from 'fast-check'
import t from 'tap'
import { RECEIVE_SLICE_BYTES, SOCKET_HIGH_WATER_BYTES } from '../../src/limits.ts'
import { createIntake } from '../../src/session/intake.ts'

/** A transport whose answers wait until the test takes them; each received byte asks for `answerBytes`. */
function stage(answerBytes: number) {
  const taken: number[] = []
  let isPaused = false
  const transport = {
    waitingBytes: 0,
    pauseReading() {
      isPaused = true
    },
    resumeReading() {
      isPaused = false
    },
  }
  let largest = 0
  const intake = createIntake(transport, (bytes) => {
    taken.push(...bytes)
    transport.waitingBytes += bytes.length * answerBytes
    largest = Math.max(largest, transport.waitingBytes)
  })
  const drain = () => {
    transport.waitingBytes = 0
    intake.drained()
  }
  return { intake, taken, drain, isPaused: () => isPaused, largest: () => largest }
}

t.test('questions whose answers nobody takes are not taken either, and none is lost', (t) => {
  const { intake, taken, drain, isPaused, largest } = stage(2_000)
  const bytes = Uint8Array.from({ length: 16_384 }, (_, index) => index % 251)
  intake.push(bytes)
  t.ok(isPaused())
  t.ok(largest() <= SOCKET_HIGH_WATER_BYTES + RECEIVE_SLICE_BYTES * 2_000, 'one slice over the mark at most')
  intake.push(Uint8Array.of(1, 2, 3))
  t.ok(taken.length < bytes.length, 'what was read before the pause held waits too')
  for (let turns = 0; isPaused() && turns < 100; turns++) drain()
  t.notOk(isPaused())
  t.same(taken, [...bytes, 1, 2, 3])
  t.end()
})

t.test('bytes arrive whole and in order, however they are cut and whenever answers are taken', (t) => {
  const steps = fc.array(fc.oneof(fc.uint8Array({ maxLength: 9_000 }), fc.constant('drain' as const)), {
    maxLength: 20,
  })
  fc.assert(
    fc.property(steps, fc.constantFrom(0, 10, 500), (list, answerBytes) => {
      const { intake, taken, drain, isPaused } = stage(answerBytes)
      const sent: number[] = []
      for (const step of list) {
        if (step === 'drain') drain()
        else {
          sent.push(...step)
          intake.push(step)
        }
      }
      while (isPaused()) drain()
      return taken.length === sent.length && taken.every((byte, index) => byte === sent[index])
    }),
    { numRuns: 60 },
  )
  t.pass('for every list of steps')
  t.end()
})

t.test('nothing is taken after the end', (t) => {
  const { intake, taken, drain } = stage(2_000)
  intake.push(new Uint8Array(8_192))
  const before = taken.length
  intake.stop()
  intake.push(Uint8Array.of(1))
  drain()
  t.equal(taken.length, before)
  t.end()
})
