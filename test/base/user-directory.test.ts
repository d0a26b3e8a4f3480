import t from 'tap'
import { userConfigDirectory } from '../../src/base/user-directory.ts'

t.test('follows the XDG Base Directory specification', async (t) => {
  t.equal(userConfigDirectory({ XDG_CONFIG_HOME: '/x', HOME: '/h' }), '/x/sass-edge')
  t.equal(userConfigDirectory({ HOME: '/h' }), '/h/.config/sass-edge')
  t.equal(userConfigDirectory({ XDG_CONFIG_HOME: 'relative', HOME: '/h' }), '/h/.config/sass-edge')
  t.equal(userConfigDirectory({ XDG_CONFIG_HOME: '', HOME: 'h' }), undefined)
  t.equal(userConfigDirectory({}), undefined)
})
