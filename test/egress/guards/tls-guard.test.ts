import t from 'tap'
import { createTlsGuard } from '../../../src/egress/guards/tls-guard.ts'
import { helloMessage, records } from '../hello.ts'

type Outcome = { readonly passed: number; readonly reset?: string; readonly isDone: boolean }

function passed(bytes: readonly number[], { pieceBytes = 1e9, isOptional = false } = {}): Outcome {
  const guard = createTlsGuard('a.example', isOptional)
  let held: number[] = []
  let count = 0
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    held.push(...bytes.slice(at, at + pieceBytes))
    const step = guard.take(Uint8Array.from(held))
    if (step.kind === 'reset') return { passed: count, reset: step.reason, isDone: false }
    count += step.bytes
    held = held.slice(step.bytes)
    if (step.isDone) return { passed: bytes.length, isDone: true }
  }
  return { passed: count, isDone: false }
}

const HELLO = records(helloMessage())
const EARLY_HELLO = records(helloMessage({ extensions: [[42, []]] }))
const OTHER = records(helloMessage({ names: ['b.example'] }))
const CHANGE = records([1], 1, 0x14)
const DATA = records(new Array(40).fill(1), 40, 0x17)
/** ClientKeyExchange of TLS 1.2. */
const KEYS = records([16, 0, 0, 3, 1, 2, 3])

t.test('a client that names the server passes, and is done with when it says something else', (t) => {
  for (const pieceBytes of [1, 3, 50, 1e9]) {
    t.strictSame(passed(HELLO, { pieceBytes }), { passed: HELLO.length, isDone: false })
    for (const next of [DATA, KEYS, [...CHANGE, ...DATA], [...CHANGE, ...records([0x55, 1, 2, 3, 4, 5])]])
      t.strictSame(passed([...HELLO, ...next], { pieceBytes }), {
        passed: HELLO.length + next.length,
        isDone: true,
      })
  }
  t.end()
})

t.test('another name is reset, also in a second ClientHello', (t) => {
  for (const pieceBytes of [1, 3, 50, 1e9]) {
    t.match(passed(OTHER, { pieceBytes }), { passed: 0, reset: 'hello_other_name' })
    for (const second of [OTHER, records(helloMessage({ names: ['b.example'] }), 8), [...CHANGE, ...OTHER]]) {
      const reason = 'hello_other_name'
      t.equal(passed([...HELLO, ...second], { pieceBytes }).reset, reason)
      t.equal(passed([...EARLY_HELLO, ...CHANGE, ...DATA, ...DATA, ...second], { pieceBytes }).reset, reason)
    }
    const again = [...HELLO, ...CHANGE, ...HELLO, ...CHANGE, ...DATA]
    t.strictSame(passed(again, { pieceBytes }), { passed: again.length, isDone: true })
  }
  const hidden = records(helloMessage({ extensions: [[0xfe0d, [0]]] }))
  t.equal(passed([...HELLO, ...hidden]).reset, 'hello_encrypted')
  t.end()
})

t.test('what was said to be sent early is followed to the end', (t) => {
  const all = [...EARLY_HELLO, ...DATA, ...CHANGE, ...DATA]
  for (const pieceBytes of [1, 7, 1e9])
    t.strictSame(passed(all, { pieceBytes }), { passed: all.length, isDone: false })
  t.end()
})

t.test('empty records are not waited through for ever', (t) => {
  const empty = [0x16, 3, 1, 0, 0]
  t.equal(passed([...HELLO, ...new Array(4_000).fill(empty).flat()]).reset, 'hello_malformed')
  t.end()
})

t.test('where TLS is not a must, what does not begin with it passes', (t) => {
  t.strictSame(passed([0x53, 0x53, 0x48], { isOptional: true }), { passed: 3, isDone: true })
  t.equal(passed([0x53, 0x53, 0x48]).reset, 'not_tls')
  t.equal(passed(OTHER, { isOptional: true }).reset, 'hello_other_name')
  t.strictSame(passed(HELLO, { isOptional: true }), { passed: HELLO.length, isDone: false })
  t.end()
})
