import fc from 'fast-check'
import t from 'tap'
import { createIntake } from '../../../src/session/connection/intake.ts'

/** Frames of one byte, each with an answer; no more than `most` of them may wait until the test takes them. */
function stage(most: number) {
  const taken: number[] = []
  let isPaused = false
  let waiting = 0
  let largest = 0
  const transport = {
    pauseReading() {
      isPaused = true
    },
    resumeReading() {
      isPaused = false
    },
  }
  const answers = {
    get areMany() {
      return waiting >= most
    },
  }
  let now = 0
  let timer: { atMs: number; callback: () => void } | undefined
  const clock = {
    monotonicMs: () => now,
    after(ms: number, callback: () => void) {
      timer = { atMs: now + ms, callback }
      return () => {
        timer = undefined
      }
    },
  }
  const pass = (ms: number) => {
    now += ms
    const due = timer
    if (due === undefined || due.atMs > now) return
    timer = undefined
    due.callback()
  }
  const receive = (bytes: Uint8Array): number => {
    for (const [index, byte] of bytes.entries()) {
      taken.push(byte)
      waiting++
      largest = Math.max(largest, waiting)
      if (answers.areMany) return index + 1
    }
    return bytes.length
  }
  const intake = createIntake(transport, answers, clock, receive)
  const drain = () => {
    waiting = 0
    intake.goOn()
  }
  return {
    ...{ intake, taken, drain, pass, isPaused: () => isPaused, largest: () => largest },
    hasTimer: () => timer !== undefined,
  }
}

t.test('questions whose answers nobody takes are not taken either, and none is lost', (t) => {
  const { intake, taken, drain, isPaused, largest } = stage(300)
  const bytes = Uint8Array.from({ length: 16_384 }, (_, index) => index % 251)
  intake.push(bytes)
  t.ok(isPaused())
  t.equal(taken.length, 300)
  intake.push(Uint8Array.of(1, 2, 3))
  t.equal(taken.length, 300, 'what was read before the pause held waits too')
  for (let turns = 0; isPaused() && turns < 100; turns++) drain()
  t.notOk(isPaused())
  t.same(taken, [...bytes, 1, 2, 3])
  t.equal(largest(), 300, 'never one more')
  t.end()
})

t.test('bytes arrive whole and in order, however they are cut and whenever answers are taken', (t) => {
  const steps = fc.array(fc.oneof(fc.uint8Array({ maxLength: 900 }), fc.constant('drain' as const)), {
    maxLength: 20,
  })
  fc.assert(
    fc.property(steps, fc.constantFrom(1, 10, 500), (list, most) => {
      const { intake, taken, drain, isPaused } = stage(most)
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
  const { intake, taken, drain } = stage(100)
  intake.push(new Uint8Array(8_192))
  const before = taken.length
  intake.stop()
  intake.push(Uint8Array.of(1))
  drain()
  t.equal(taken.length, before)
  t.end()
})

t.test('who has to wait is read again when its time has come, and not because answers were taken', (t) => {
  const { intake, taken, drain, pass, isPaused, hasTimer } = stage(100)
  intake.waitUntil(0)
  intake.push(Uint8Array.of(1))
  t.strictSame([taken, isPaused(), hasTimer()], [[1], false, false], 'a time that is past is none')
  intake.waitUntil(50)
  intake.push(Uint8Array.of(2))
  intake.push(Uint8Array.of(3))
  intake.waitUntil(500)
  drain()
  pass(49)
  t.strictSame([taken, isPaused()], [[1], true])
  pass(1)
  t.strictSame([taken, isPaused(), hasTimer()], [[1, 2, 3], false, false])
  intake.waitUntil(100)
  pass(50)
  intake.push(Uint8Array.of(4))
  t.strictSame(taken, [1, 2, 3, 4], 'what comes later has waited already')
  intake.waitUntil(200)
  intake.stop()
  t.notOk(hasTimer(), 'nothing is left of it at the end')
  t.end()
})
