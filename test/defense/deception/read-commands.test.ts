/**
 * The closed list of readers: what people type to look around passes, and nothing that writes, starts, waits or peers.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { isDeceivable, isHarmlessPath } from '../../../src/defense/deception/read-commands.ts'

const words = (line: string): string[] => line.split(' ')

t.test('readers as people type them are played along with', (t) => {
  const lines = [
    'cat /etc/passwd',
    '/bin/cat -n /etc/hosts',
    'cat -- -odd-name',
    'cat /proc/cpuinfo',
    'head -n 20 /var/log/syslog',
    'head -20 /etc/passwd',
    'tail -n5 /etc/passwd',
    'tail --lines=+3 /etc/passwd',
    'head -c -10 /etc/passwd',
    'ls',
    'ls -la /',
    '/usr/bin/ls -ltr --color=never /home',
    'ls --time-style long-iso /etc',
    'find /home -name *.key -type f',
    'stat -c %s /etc/passwd',
    'df -h',
    'free -m',
    'cat /proc/meminfo',
    'du -sh /home',
    'du --max-depth=1 /var',
    'ps',
    'ps aux',
    'ps -ef',
    'ps -eo pid,comm --sort=-rss',
    'env',
    'printenv HOME PATH',
    'uname -a',
    'id',
    'id -u root',
    'whoami',
    'hostname',
    'hostname -I',
    'date',
    'date -u +%s',
    'uptime -p',
    'wc -l /etc/passwd',
    'file -b /bin/ls',
    'groups root',
    'pwd',
    'which ls cat',
    'mount',
    'lsblk -o NAME,SIZE',
    'readlink -f /bin',
    'who -b',
  ]
  for (const line of lines) t.equal(isDeceivable(words(line)), true, line)
  t.end()
})

t.test('what changes, starts, waits, reaches out or reads a device or a process is refused', (t) => {
  const lines = [
    'rm /etc/passwd',
    'sh -c ls',
    'sudo cat /etc/shadow',
    'busybox cat /etc/passwd',
    'env ls',
    'env -i sh',
    'env A=1 ls',
    'tail -f /var/log/syslog',
    'tail -F /var/log/syslog',
    'tail -5f /var/log/syslog',
    'tail -nf5 --follow /var/log/syslog',
    'tail --follow=name /var/log/syslog',
    'tail --foll /var/log/syslog',
    'tail --retry /var/log/syslog',
    'tail --pid=1 /etc/passwd',
    'head /dev/zero',
    'cat /dev/sda',
    'cat /dev/../dev/mem',
    'cat //dev//mem',
    'cat dev/mem',
    'cat ../../dev/mem',
    'cat /proc/kcore',
    'cat /proc/kmsg',
    'cat /proc/self/environ',
    'cat /proc/1/cmdline',
    'cat /proc/sysrq-trigger',
    'cat /sys/kernel/debug/tracing/trace_pipe',
    'cat /etc/passwd /proc/kcore',
    'cat /proc/meminfo /etc/passwd',
    'cat -- /dev/mem',
    'find / -delete',
    'find /proc -name environ',
    'date -s 2020-01-01',
    'date -d -s 2020-01-01',
    'date --set=now',
    'date 010100002020',
    'date -f /etc/passwd',
    'hostname evil',
    'hostname -F /etc/hosts',
    'hostname -b x',
    'mount /dev/sda1 /mnt',
    'mount -a',
    'mount -o remount,rw /',
    'mount -t -a',
    'file -C -m /etc/magic',
    'file -f /etc/passwd',
    'file -s /dev/sda',
    'wc --files0-from=/etc/passwd',
    'du --files0-from=/etc/passwd',
    'du -X /etc/passwd /',
    'df --output=size',
    'free -s 1',
    'dmesg',
    'grep root /etc/passwd',
    'less /etc/passwd',
    'more /etc/passwd',
    'top',
    'ifconfig',
    'lsblk /dev/sda',
    'stat /dev/sda',
    'ps --unknown',
    'ls --unknown',
    'ls -lD',
    'printenv a/b',
    'which /tmp/ls',
    '/tmp/ls',
    './ls',
    '../bin/ls',
    '/usr/local/bin/ls',
    '/bin/../tmp/ls',
    '/bin//ls',
    'head -n',
    'stat -c',
    '',
  ]
  for (const line of lines) t.equal(isDeceivable(words(line)), false, line)
  t.equal(isDeceivable([]), false, 'nothing')
  t.equal(isDeceivable(['cat', '/etc/a\nb']), false, 'a line break')
  t.equal(isDeceivable(['cat', '/etc/a\0b']), false, 'a NUL')
  t.equal(isDeceivable(['cat', 'x'.repeat(5_000)]), false, 'too long')
  t.equal(isDeceivable(['cat', ...Array.from({ length: 64 }, () => 'x')]), false, 'too many')
  t.end()
})

t.test('no path that leads into the devices, processes or switches passes, however it is spelled', (t) => {
  const segment = fc.constantFrom('.', '..', '', 'x', 'dev', 'proc', 'sys', '1', 'mem')
  fc.assert(
    fc.property(fc.array(segment, { maxLength: 8 }), fc.boolean(), (segments, isAbsolute) => {
      const path = `${isAbsolute ? '/' : ''}${segments.join('/')}`
      return isHarmlessPath(path) === !['dev', 'proc', 'sys'].includes(lexical(path)[0] ?? '')
    }),
  )
  t.end()
})

/** The segments that a path comes down to from `/`, found in another way than the source's. */
function lexical(path: string): string[] {
  const kept: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') kept.pop()
    else if (part !== '' && part !== '.') kept.push(part)
  }
  return kept
}

t.test('any option that is not in the list refuses the whole command', (t) => {
  fc.assert(
    fc.property(
      fc.constantFrom('cat', 'tail', 'wc', 'du', 'file'),
      fc.stringMatching(/^--[a-z-]{2,12}$/),
      (name, option) => {
        const known =
          /^--(show|number|squeeze|lines|bytes|quiet|silent|verbose|zero|chars|words|max|all|apparent|human|si$|summarize|total|one|brief|dereference|no-dereference|mime)/
        return known.test(option) || !isDeceivable([name, option, '/etc/passwd'])
      },
    ),
  )
  t.end()
})
