import t from 'tap'
import { isDeceivable } from '../../../src/defense/deception/read-commands.ts'

t.test('tests, operators and printing make a look', (t) => {
  const lines = [
    'find',
    'find /',
    'find -P /etc /home',
    'find . -maxdepth 2',
    'find /home ( -name *.pem -o -iname id_* ) -not -empty -print0',
    'find / -xdev -size +10M -ls',
    'find / -newer /etc/passwd -prune',
    'find / -perm -4000 -user root -printf %p',
    'find / ! -type d -quit',
  ]
  for (const line of lines) t.equal(isDeceivable(line.split(' ')), true, line)
  t.end()
})

t.test('every action that starts, deletes or writes is refused, wherever it stands', (t) => {
  for (const action of [
    ...[
      '-exec rm {} ;',
      '-exec ls {} +',
      '-execdir ls ;',
      '-ok ls ;',
      '-okdir ls ;',
      '-delete',
      '-fls /tmp/x',
    ],
    ...['-fprint /tmp/x', '-fprint0 /tmp/x', '-fprintf /tmp/x %p', '-files0-from /etc/passwd', '-regex .*'],
    ...['-newerXY /dev/mem', '-newer /dev/mem', '-samefile /etc/passwd', '-context x', '-unknown'],
  ]) {
    for (const line of [`find / ${action}`, `find / -name x ${action}`, `find / ( ${action} )`])
      t.equal(isDeceivable(line.split(' ')), false, line)
  }
  for (const line of [
    'find / -name',
    'find -L /',
    'find -D all /',
    'find -O3 /',
    'find /proc/1',
    'find / /dev',
  ])
    t.equal(isDeceivable(line.split(' ')), false, line)
  t.equal(isDeceivable(['find', '/', '-name', '-delete']), true, 'as the value of a test it is only a name')
  t.end()
})
