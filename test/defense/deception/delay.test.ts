import t from 'tap'
import { DELAY_DRAW_BYTES, delayMs } from '../../../src/defense/deception/delay.ts'

t.test('the draw falls evenly on 200 to 1500 ms, both included', (t) => {
  const at = (word: number): number => {
    const draw = new Uint8Array(DELAY_DRAW_BYTES)
    new DataView(draw.buffer).setUint32(0, word)
    return delayMs(draw)
  }
  t.equal(at(0), 200)
  t.equal(at(0xffff_ffff), 1_500)
  t.equal(at(0x8000_0000), 850)
  const seen = new Set(Array.from({ length: 1_301 }, (_, index) => at(Math.ceil((index * 2 ** 32) / 1_301))))
  t.equal(seen.size, 1_301, 'every millisecond can come')
  t.end()
})
