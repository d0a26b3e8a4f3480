/**
 * What the whole request says of one of its commands: where a push goes that the line has named itself, and whether
 * packages go to an environment or to the machine.
 * @module
 */
import t from 'tap'
import { effectiveCommands } from '../../../../src/defense/13policy/unwrap.ts'

function callsOf(line: string, program: string): readonly string[] {
  const surroundings = {
    cwd: '/srv/work',
    home: '/home/agent',
    resolved: undefined,
    terminal: false,
    stdin: false,
  }
  return effectiveCommands(['sh', '-c', line], surroundings)
    .commands.filter(({ names }) => names.includes(program))
    .flatMap(({ calls }) => calls)
}

t.test('a push goes to a new remote only behind what names it', async (t) => {
  const url = 'https://example.com/x'
  t.strictSame(callsOf(`git remote add x ${url} && git push x`, 'git'), ['push:new-remote'])
  t.strictSame(callsOf(`git remote set-url origin ${url}; git push`, 'git'), ['push:new-remote'])
  t.strictSame(callsOf(`git push; git remote add x ${url}`, 'git'), [])
})

t.test('pip installs outside of an environment unless the line has entered one', async (t) => {
  const outside = ['install:outside-environment']
  for (const line of [
    'pip install x',
    'python3 -m pip install x',
    '/usr/bin/pip3 install x',
    '~/.local/bin/pip install x',
    'pip install x; . venv/bin/activate',
  ])
    t.strictSame(callsOf(line, 'pip'), outside, line)
  for (const line of [
    'venv/bin/pip install x',
    'venv/bin/python -m pip install x',
    '. venv/bin/activate && pip install x',
    'conda activate a && pip install x',
    'export PATH=$PWD/venv/bin:$PATH; pip install x',
    'VIRTUAL_ENV=venv pip install x',
    'poetry run pip install x',
    'pip list',
  ])
    t.strictSame(callsOf(line, 'pip'), [], line)
})
