/**
 * Command patterns that look narrow: what is told of them, and what is left alone.
 * @module
 */
import t from 'tap'
import { lintCapability } from '../../src/defense/capability-lint.ts'

const isWide = (pattern: string): boolean => lintCapability([pattern]).length === 1

t.test('a program that runs others is wide, however its pattern is written', async (t) => {
  for (const pattern of [
    ...[
      'find',
      'find *',
      'find /srv',
      '/usr/bin/find *',
      'git',
      'git *',
      'git -c',
      'env *',
      'tar *',
      'tar czf',
    ],
    ...[
      'xargs',
      'awk *',
      'gawk',
      'sed -n',
      'make',
      'make test',
      'npm *',
      'npm run',
      'npx',
      'pip *',
      'pip3 install',
    ],
    ...[
      'vim',
      'vim.tiny',
      'less /var/log/syslog',
      'ssh *',
      'docker *',
      'docker run',
      'systemctl',
      'systemctl restart',
    ],
    ...[
      'python3.11',
      'perl -e',
      'node',
      'sh',
      'bash -c',
      'busybox *',
      'busybox ls',
      'sudo *',
      'sudo ls',
      'py*',
      '* --version',
    ],
  ])
    t.ok(isWide(pattern), pattern)
})

t.test('everything, and what is closed by its first argument, is left alone', async (t) => {
  for (const pattern of [
    ...['*', '', 'ls', 'ls *', 'uname -a', 'df', 'git status', 'git rev-parse HEAD', 'npm ls', 'pip list'],
    ...['docker ps', 'systemctl status', 'systemctl is-active nginx', 'my-tool *', '/opt/app/bin/report'],
  ])
    t.notOk(isWide(pattern), pattern)
  t.ok(isWide('git stat*'), 'a first argument with a star can be another one')
})

t.test('what a pattern opens is one sentence with the program in it', async (t) => {
  t.strictSame(lintCapability(['find *', 'ls', 'py*', 'dash']), [
    { pattern: 'find *', opens: '`find` runs any program through -exec and removes files through -delete.' },
    {
      pattern: 'py*',
      opens: '`python`, which it also means, is an interpreter: its code can start any program.',
    },
    { pattern: 'dash', opens: '`dash` is a shell: it runs any program.' },
  ])
})
