import t from 'tap'
import { readFigureRequest } from '../../../src/defense/deception/figure-commands.ts'

const read = (line: string) => {
  const [name = '', ...args] = line.split(' ')
  return readFigureRequest(name, args)
}

t.test('what is asked to be shown is read from the options', (t) => {
  const disks = { kind: 'disks', unit: 'kibi', hasType: false, isPortable: false, isRootOnly: false }
  t.strictSame(read('df'), disks)
  t.strictSame(read('df -hT'), { ...disks, unit: 'human', hasType: true })
  t.strictSame(read('df --si -P /'), { ...disks, unit: 'si', isPortable: true, isRootOnly: true })
  const memory = { kind: 'memory', unit: 'kibi', isWide: false, hasTotal: false }
  t.strictSame(read('free'), memory)
  t.strictSame(read('free -mtw'), { ...memory, unit: 'mebi', isWide: true, hasTotal: true })
  t.strictSame(read('free --human'), { ...memory, unit: 'human' })
  t.strictSame(read('cat /proc/meminfo'), { kind: 'meminfo', from: 0, to: undefined })
  for (const count of ['-n 3', '-n3', '-3', '--lines=3', '--lines 3'])
    t.strictSame(read(`head ${count} /proc/meminfo`), { kind: 'meminfo', from: 0, to: 3 }, count)
  t.strictSame(read('tail /proc/meminfo'), { kind: 'meminfo', from: -10, to: undefined })
  t.strictSame(read('tail -n 0 /proc/meminfo'), { kind: 'meminfo', from: 0, to: 0 })
  t.end()
})

t.test('what is not understood wholly is not made', (t) => {
  for (const line of [
    ...['df -i', 'df /home', 'df --output', 'df --constructor', 'free -s 1', 'free x', 'free --toString'],
    ...['cat -n /proc/meminfo', 'cat /proc/meminfo /proc/meminfo', 'head -n x /proc/meminfo'],
    ...[
      'head -c 5 /proc/meminfo',
      'head -n -3 /proc/meminfo',
      'head 3 4 /proc/meminfo',
      'tail -f /proc/meminfo',
    ],
    ...['head -n 3 4 /proc/meminfo', 'head n3 /proc/meminfo', 'ls /proc/meminfo', 'cat /etc/passwd'],
  ])
    t.equal(read(line), undefined, line)
  t.end()
})
