import t from 'tap'
import { createRandom } from '../fuzz/engine.ts'
import { createLine, type Line } from './line.ts'

/** Everything that comes out, each with its time, by waking exactly when the line says so. */
function drain(line: Line<string>): [string, number][] {
  const out: [string, number][] = []
  for (let nowMs = line.nextMs(); nowMs !== undefined; nowMs = line.nextMs())
    for (let what = line.take(nowMs); what !== undefined; what = line.take(nowMs)) out.push([what, nowMs])
  return out
}

t.test('a perfect line passes everything on at once', (t) => {
  const line = createLine<string>(createRandom(1))
  line.push('a', 100_000, 5)
  t.equal(line.isFull, false)
  t.equal(line.take(5), 'a')
  t.equal(line.take(5), undefined)
  t.equal(line.nextMs(), undefined)
  t.end()
})

t.test('a rate is kept to the byte, however late it is looked at', (t) => {
  const line = createLine<string>(createRandom(1))
  line.setRate(1_000)
  for (const what of ['a', 'b', 'c']) line.push(what, 500, 0)
  t.strictSame(drain(line), [
    ['a', 500],
    ['b', 1_000],
    ['c', 1_500],
  ])
  for (const what of ['d', 'e']) line.push(what, 500, 2_000)
  t.equal(line.take(10_000), 'd', 'who comes late finds what has come meanwhile')
  t.equal(line.take(10_000), 'e')
  t.end()
})

t.test('a delay adds to each and changes no order, whatever the jitter', (t) => {
  const line = createLine<string>(createRandom(7))
  line.setDelay(300)
  line.push('a', 1, 0)
  line.push('b', 1, 10)
  t.equal(line.take(299), undefined)
  t.strictSame(drain(line), [
    ['a', 300],
    ['b', 310],
  ])
  line.setDelay(300, 200)
  const names = Array.from({ length: 50 }, (_, index) => `${index}`)
  for (const name of names) line.push(name, 1, 1_000)
  const out = drain(line)
  t.strictSame(
    out.map(([name]) => name),
    names,
  )
  t.ok(out.every(([, ms]) => ms >= 1_300 && ms <= 1_500))
  line.setDelay(0)
  line.push('x', 1, 2_000)
  line.setDelay(500)
  line.push('y', 1, 2_000)
  line.setDelay(0)
  line.push('z', 1, 2_000)
  t.strictSame(drain(line), [
    ['x', 2_000],
    ['y', 2_500],
    ['z', 2_500],
  ])
  t.end()
})

t.test('the queue is bounded by what the link holds both ways, and says so', (t) => {
  const line = createLine<string>(createRandom(1))
  line.setRate(10_000)
  line.setDelay(300)
  let bytes = 0
  while (!line.isFull) {
    line.push('x', 100, 0)
    bytes += 100
  }
  // The first piece is being sent: it waits no more.
  t.equal(bytes, 100 + (10_000 * 600) / 1_000)
  const short = createLine<string>(createRandom(1), 3_000)
  short.setRate(1)
  short.push('x', 1, 0)
  short.push('x', 2_999, 0)
  t.equal(short.isFull, false)
  short.push('x', 1, 0)
  t.equal(short.isFull, true)
  const endless = createLine<string>(createRandom(1))
  endless.setDelay(1)
  endless.push('x', 4 * 1_048_576, 0)
  t.equal(endless.isFull, true, 'what is under way is bounded too')
  t.end()
})

t.test('a stalled line holds everything, and goes on where it was', (t) => {
  const line = createLine<string>(createRandom(1))
  line.setRate(1_000)
  line.push('a', 100, 0)
  line.push('b', 100, 0)
  line.stall()
  line.push('c', 100, 50)
  t.equal(line.take(9_999), undefined)
  t.equal(line.nextMs(), undefined)
  line.go(10_000)
  t.strictSame(drain(line), [
    ['a', 100],
    ['b', 10_100],
    ['c', 10_200],
  ])
  t.end()
})
