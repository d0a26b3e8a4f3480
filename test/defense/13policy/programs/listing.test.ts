/**
 * Commands that only list: what they are, and where their output may go.
 * @module
 */
import t from 'tap'
import { onlyLists } from '../../../../src/defense/13policy/programs/listing.ts'
import { effectiveCommands } from '../../../../src/defense/13policy/unwrap.ts'

function lists(line: string): boolean {
  const { commands } = effectiveCommands(['sh', '-c', line], {
    cwd: '/srv/work',
    home: '/home/agent',
    resolved: undefined,
    terminal: false,
    stdin: false,
  })
  return commands.some(onlyLists)
}

t.test('names, sizes and kinds that go to whoever asked', async (t) => {
  for (const line of ['ls /etc/*', 'du -sh /var/* | sort -h | tail -3', 'stat a* 2>/dev/null', 'file b*'])
    t.ok(lists(line), line)
})

t.test('names that something is done with, and options that read files', async (t) => {
  for (const line of [
    'cat /etc/*',
    'ls /etc/* | xargs cat',
    'ls /etc/* > list',
    'cat $(ls /etc/*)',
    'ls /etc/* | while read f; do cat "$f"; done',
    'du --files0-from=list /etc/*',
    'file -f list /etc/*',
    'file -m /etc/x* a',
  ])
    t.notOk(lists(line), line)
})
