import t from 'tap'
import * as technique from '../../../../src/defense/firewall/injections/techniques.ts'

t.test('every bit has a name, and the names of a mask come in their order', (t) => {
  const bits = Object.values(technique).filter((value) => typeof value === 'number')
  const names = bits.map((bit) => technique.techniqueNames(bit).join())
  t.equal(new Set(names).size, bits.length)
  t.notOk(names.includes(''))
  t.strictSame(technique.techniqueNames(technique.LEET | technique.ZERO_WIDTH), ['zero-width', 'leet'])
  t.strictSame(technique.techniqueNames(0), [])
  t.end()
})
