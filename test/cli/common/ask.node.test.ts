import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const ASK = join(import.meta.dirname, '../../../src/cli/common/ask.node.ts')
const CODE = `import { ask } from ${JSON.stringify(ASK)}\nprocess.exit(ask('Sure?') ? 0 : 7)`

t.test('without a terminal nobody is asked and the answer is no', async (t) => {
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', CODE], {
    input: 'yes\n',
    encoding: 'utf8',
  })
  t.match(run, { status: 7, stdout: '', stderr: '' })
})

t.test('at a terminal only a clear yes is one', async (t) => {
  if (!existsSync('/usr/bin/script'))
    return t.comment('skipped: script(1), which makes a terminal, is not here')
  for (const [typed, status] of [
    ['yes\n', 0],
    ['Y\n', 0],
    ['no\n', 7],
    ['\n', 7],
    ['yesterday\n', 7],
  ] as const) {
    const command = `${process.execPath} --input-type=module -e '${CODE.replaceAll("'", "'\\''")}'`
    const run = spawnSync('/usr/bin/script', ['-qec', command, '/dev/null'], {
      input: typed,
      encoding: 'utf8',
    })
    t.equal(run.status, status, JSON.stringify(typed))
    t.match(run.stdout, 'Sure? [yes/no] ')
  }
})
