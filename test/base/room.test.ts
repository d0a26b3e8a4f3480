/**
 * A write that is tried again as long as somebody gives room.
 * @module
 */
import t from 'tap'
import { NO_ROOM, withRoom } from '../../src/base/room.ts'

function failing(codes: readonly string[]): { work: () => string; readonly tried: number } {
  let tried = 0
  return {
    work() {
      const code = codes[tried++]
      if (code !== undefined) throw Object.assign(new Error(code), { code })
      return 'written'
    },
    get tried() {
      return tried
    },
  }
}

t.test('it is tried again while room is given, and no longer', (t) => {
  let pieces = 2
  const give = () => pieces-- > 0
  const taken = failing(['ENOSPC', 'EDQUOT'])
  t.equal(withRoom(give, taken.work), 'written')
  t.equal(taken.tried, 3)
  pieces = 1
  const full = failing(['ENOSPC', 'ENOSPC', 'ENOSPC'])
  t.throws(() => withRoom(give, full.work), { code: 'ENOSPC' })
  t.equal(full.tried, 2)
  t.end()
})

t.test('nothing is given for what room does not mend', (t) => {
  const give = () => t.fail('asked')
  t.throws(() => withRoom(give, failing(['EROFS']).work), { code: 'EROFS' })
  t.throws(() => withRoom(NO_ROOM, failing(['ENOSPC']).work), { code: 'ENOSPC' })
  t.end()
})
