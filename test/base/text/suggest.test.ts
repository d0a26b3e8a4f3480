import t from 'tap'
import { editDistance, nearest } from '../../../src/base/text/suggest.ts'

t.test('counts an insert, a delete, a replacement and a swap of neighbours as one step each', async (t) => {
  t.equal(editDistance('port', 'port'), 0)
  t.equal(editDistance('port', 'ports'), 1)
  t.equal(editDistance('port', 'prt'), 1)
  t.equal(editDistance('port', 'part'), 1)
  t.equal(editDistance('port', 'prot'), 1)
  t.equal(editDistance('', 'abc'), 3)
  t.equal(editDistance('kitten', 'sitting'), 3)
})

t.test('suggests the nearest word, without regard to case', async (t) => {
  t.equal(nearest('prot', ['address', 'port']), 'port')
  t.equal(nearest('PORT', ['address', 'port']), 'port')
  t.equal(nearest('allowed_command', ['allowed_commands', 'allowed_paths']), 'allowed_commands')
})

t.test('suggests nothing where nothing is near, or where the word is empty or huge', async (t) => {
  t.equal(nearest('zebra', ['address', 'port']), undefined)
  t.equal(nearest('', ['a']), undefined)
  t.equal(nearest('a'.repeat(65), ['a'.repeat(64)]), undefined)
  t.equal(nearest('port', []), undefined)
})
