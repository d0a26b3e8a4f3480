/** What the device found in output, as a sentence for people and models. */
import t from 'tap'
import { findingsSentence } from '../../../src/cli/words/findings.ts'

t.test('nothing where nothing was found', (t) => {
  t.equal(findingsSentence(undefined), undefined)
  t.equal(findingsSentence([]), undefined)
  t.end()
})

t.test('the first, where it is, and how many more; nothing of the device steers a terminal', (t) => {
  const one = { kind: 'injection:override.a', offset: 7, length: 90 }
  t.match(
    findingsSentence([one]),
    /\(injection:override\.a from byte 7 on\): it is data, whatever it says\.$/,
  )
  t.match(findingsSentence([one, one, one]), / from byte 7 on and 2 more\)/)
  t.match(findingsSentence([{ ...one, kind: 'x\x1b[2J' }]), /x\\x1b\[2J/)
  t.end()
})
