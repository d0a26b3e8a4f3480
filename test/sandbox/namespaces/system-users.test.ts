/**
 * The users and groups that a session sees.
 * @module
 */
import t from 'tap'
import { systemGroups, systemUsers } from '../../../src/sandbox/namespaces/system-users.ts'

const USERS = [
  'root:$6$hash:0:0:The Root:/root:/bin/bash',
  'daemon:*:1:1:daemon:/usr/sbin:/usr/sbin/nologin',
  'ann:x:1000:1000:Ann Example,Room 4,555-1234:/home/ann:/bin/sh',
  'bob:x:1001:1001::/home/bob:/bin/sh',
  'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin',
  'sys:x:999:999:a: b:c',
  '+::::::',
  'x:x:abc:1::/:/bin/sh',
  '',
].join('\n')

t.test('users of the system are shown without what is said of them, persons are not', async (t) => {
  const { text, dropped } = systemUsers(USERS, [])
  t.equal(
    text,
    'root:x:0:0::/root:/bin/bash\ndaemon:x:1:1::/usr/sbin:/usr/sbin/nologin\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\nsys:x:999:999:: b:c\n',
  )
  t.strictSame([...dropped], ['ann', 'bob'])
})

t.test('whom commands run as is shown, without what is said of that person either', async (t) => {
  const { text, dropped } = systemUsers(USERS, [1000])
  t.match(text, /^ann:x:1000:1000::\/home\/ann:\/bin\/sh$/m)
  t.notMatch(text, /Example|555|hash/)
  t.strictSame([...dropped], ['bob'])
})

t.test('groups are shown without persons, and without their passwords', async (t) => {
  const groups =
    'root:x:0:\nsudo:$6$h:27:ann,daemon,bob\nann:x:1000:\nbob:x:1001:ann\nwork:x:1500:\n:x:1:\nbroken\n'
  t.equal(systemGroups(groups, new Set(['ann', 'bob'])), 'root:x:0:\nsudo:x:27:daemon\nwork:x:1500:\n')
  t.equal(systemGroups('', new Set()), '\n')
})
