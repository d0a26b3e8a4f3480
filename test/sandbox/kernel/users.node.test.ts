/**
 * Users of the device, as its own file has them.
 * @module
 */
import t from 'tap'
import { findUser } from '../../../src/sandbox/kernel/users.node.ts'

t.test('a user is found by its name, with group and home', (t) => {
  t.same(findUser('root'), { name: 'root', userId: 0, groupId: 0, home: '/root' })
  t.end()
})

t.test('who is not there is named, with what to do', (t) => {
  t.throws(() => findUser('nobody-of-that-name'), {
    code: 'SANDBOX_UNAVAILABLE',
    message: /nobody-of-that-name.*no user of this device/,
  })
  t.throws(() => findUser(''), { code: 'SANDBOX_UNAVAILABLE' })
  t.end()
})
