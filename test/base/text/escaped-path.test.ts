/**
 * Names of files as text and back, whatever their bytes.
 * @module
 */
import t from 'tap'
import { bytesOfEscaped, escapedText } from '../../../src/base/text/escaped-path.ts'

const bytes = (text: string): Uint8Array => Uint8Array.from(text, (char) => char.charCodeAt(0))

t.test('what is UTF-8 stands for itself, and every other byte for half a surrogate pair', async (t) => {
  t.equal(escapedText(bytes('/etc/x.key')), '/etc/x.key')
  t.equal(escapedText(bytes('/\xc3\xa4\xf0\x9f\x98\x80')), '/ä😀')
  t.equal(escapedText(bytes('/x\xff.key')), '/x\udcff.key')
  t.equal(escapedText(bytes('\xc3\xa4\xc3/\xf0\x9f\x98')), 'ä\udcc3/\udcf0\udc9f\udc98', 'a cut sequence')
  t.equal(escapedText(bytes('\xed\xb3\xbf')), '\udced\udcb3\udcbf', 'half a pair as bytes is none')
  t.equal(escapedText(bytes('')), '')
})

t.test('every bytes come back as they were', async (t) => {
  const all = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte))
  for (const first of all)
    for (const second of ['', 'a', '\x80', '\xbf', '\xc3', '\xed', '\xf0', '\xff'])
      for (const text of [`/a${first}${second}.key`, `${second}${first}`]) {
        const back = bytesOfEscaped(escapedText(bytes(text)))
        if (Buffer.compare(back, bytes(text)) !== 0) t.fail(`${Buffer.from(bytes(text)).toString('hex')}`)
      }
  t.strictSame(bytesOfEscaped('ä'), bytes('\xc3\xa4'))
})

t.test('half a pair that stands for no byte is refused', async (t) => {
  for (const text of ['\ud800', '\udc00', '\udc7f', '\udd00'])
    t.throws(() => bytesOfEscaped(`/a${text}`), { code: 'FRAME_MALFORMED' })
})
