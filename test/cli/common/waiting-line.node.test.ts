import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const FILE = join(import.meta.dirname, '../../../src/cli/common/waiting-line.node.ts')

function code(json: boolean): string {
  return `import { createWaitingLine } from ${JSON.stringify(FILE)}
const line = createWaitingLine({ json: ${json} })
line.clear()
line.show({ kind: 'challenge' })
line.show({ kind: 'queued', position: 3 })
line.show({ kind: 'operator' })
line.clear()
line.show({ kind: 'operator' })
line.clear()
line.clear()
`
}

t.test('in a pipe stands once that a human is asked, and with --json nothing', async (t) => {
  const run = (json: boolean) =>
    spawnSync(process.execPath, ['--input-type=module', '-e', code(json)], { encoding: 'utf8' })
  t.match(run(false), {
    status: 0,
    stdout: '',
    stderr: /^sass-edge: waiting for an operator \(sass-edge confirm list\)\n$/,
  })
  t.match(run(true), { status: 0, stdout: '', stderr: '' })
})

t.test('on a terminal it is one line, written over and then gone; with --json there is none', async (t) => {
  if (!existsSync('/usr/bin/script'))
    return t.comment('skipped: script(1), which makes a terminal, is not here')
  const run = (json: boolean) => {
    const command = `${process.execPath} --input-type=module -e '${code(json).replaceAll("'", "'\\''")}'`
    return spawnSync('/usr/bin/script', ['-qec', command, '/dev/null'], { encoding: 'utf8', input: '' })
  }
  const clear = '\r\u001b[K'
  t.equal(
    run(false).stdout,
    `${clear}sass-edge: waiting in the queue, place 3${clear}sass-edge: waiting for an operator (sass-edge confirm list)${clear}${clear}sass-edge: waiting for an operator (sass-edge confirm list)${clear}`,
  )
  t.equal(run(true).stdout, '')
})
