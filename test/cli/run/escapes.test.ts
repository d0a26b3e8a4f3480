import fc from 'fast-check'
import t from 'tap'
import { createEscapes } from '../../../src/cli/run/escapes.ts'

/** What becomes of pieces of typed text: what passes, `[leave]` and `[help]`. */
function typed(...pieces: readonly string[]): string {
  const take = createEscapes()
  return pieces
    .flatMap((piece) => take(Buffer.from(piece)))
    .map((event) => (event.kind === 'pass' ? Buffer.from(event.bytes).toString() : `[${event.kind}]`))
    .join('')
}

t.test('a tilde at the beginning of a line asks, anywhere else it is one', (t) => {
  for (const [pieces, result] of [
    [['~.'], '[leave]'],
    [['~', '.'], '[leave]'],
    [['ls\r', '~?', '~.'], 'ls\r[help][leave]'],
    [['ls\n~.'], 'ls\n[leave]'],
    [['a~.'], 'a~.'],
    [['~~'], '~'],
    [['~~.'], '~.'],
    [['~~\r~~~'], '~\r~~'],
    [['~x~.'], '~x~.'],
    [['~\r~.'], '~\r[leave]'],
    [['cd ~/x\r'], 'cd ~/x\r'],
  ] as const)
    t.equal(typed(...pieces), result, JSON.stringify(pieces))
  t.end()
})

t.test('everything else passes as it is, however it is cut', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat(60), (bytes, at) => {
      const take = createEscapes()
      const plain = bytes.filter((byte) => byte !== 0x7e)
      const events = [...take(plain.subarray(0, at)), ...take(plain.subarray(at))]
      const passed = events.flatMap((event) => (event.kind === 'pass' ? [...event.bytes] : [-1]))
      return passed.join() === plain.join()
    }),
  )
  t.end()
})
