import t from 'tap'
import { createProgress, progressLine } from '../../../src/cli/run/copy-progress.node.ts'

t.test('a line says the share, the sizes, the rate and the time left', async (t) => {
  t.equal(progressLine('f', 0, 0, undefined), 'f  100%  0 B of 0 B')
  t.equal(progressLine('f', 250_000, 1_000_000, undefined), 'f  25%  250 kB of 1.00 MB')
  t.equal(progressLine('f', 250_000, 1_000_000, 10_000), 'f  25%  250 kB of 1.00 MB  10.0 kB/s  1:15 left')
  t.equal(progressLine('f', 999_999, 1_000_000, 0), 'f  99%  1000 kB of 1.00 MB')
})

t.test('a name steers no terminal, and a long one shows its end', async (t) => {
  t.equal(progressLine('\u001b[2Jx', 1, 1, undefined), '\\x1b[2Jx  100%  1 B of 1 B')
  const line = progressLine(`${'a/'.repeat(50)}name`, 1, 1, undefined)
  t.match(line, /^….*a\/name {2}100%/)
  t.ok(line.length < 64)
})

t.test('where nobody sits at a terminal there is no line', async (t) => {
  const progress = createProgress({ json: true })
  progress.show('f', 1, 2)
  progress.clear()
  t.pass('and nothing was written')
})
