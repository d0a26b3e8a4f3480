import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { MUTATIONS } from '../../build/mutations.ts'

const ROOT = join(import.meta.dirname, '../..')

t.test(
  'every mutation can be made: what it changes is in its file, once, and becomes something else',
  (t) => {
    for (const { row, file, find, replace } of MUTATIONS) {
      t.equal(readFileSync(join(ROOT, file), 'utf8').split(find).length, 2, `${row} in ${file}: ${find}`)
      t.not(replace, find)
    }
    t.end()
  },
)
