/**
 * Who this process is, also where the device does not know it.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { currentUser } from '../../../src/edge/host/current-user.node.ts'

t.test('a user that the device knows has its name and home', (t) => {
  const { username, homedir } = userInfo()
  t.same(currentUser({ HOME: '/elsewhere' }), { name: username, home: homedir })
  t.end()
})

t.test('a number that the device does not know is its own name', (t) => {
  if (process.getuid?.() === 0) asStranger(t)
  else t.comment('skipped: only root can be somebody else')
  t.end()
})

function asStranger(t: Test): void {
  const file = join(import.meta.dirname, '../../../src/edge/host/current-user.node.ts')
  const code = `import { currentUser } from ${JSON.stringify(file)}; console.log(JSON.stringify([currentUser({ HOME: '/srv' }), currentUser({})]))`
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', code], {
    uid: 54_321,
    gid: 54_321,
    encoding: 'utf8',
    // Nothing of the test runner: it would write where that user may not.
    env: {},
  })
  t.same(JSON.parse(said), [
    { name: '54321', home: '/srv' },
    { name: '54321', home: '/' },
  ])
}
