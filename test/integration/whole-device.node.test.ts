/**
 * A branch of the whole device: what a command writes in system directories is in the branch, listed, and nowhere else.
 * @module
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { startNew } from './daemon.node.ts'

t.test('system directories can be written in a branch of everything, and stay as they are', async (t) => {
  if (process.geteuid?.() !== 0) return void t.comment('skipped: only root may write in system directories')
  const daemon = await startNew(t, { sandbox: { branch_roots: ['/'] } })
  const name = `sass-edge-test-${process.pid}`
  const before = readdirSync('/usr/share').length
  // The rules know what is dangerous about writing there: a program of its own does it.
  const script = `for d in /etc /usr/share /opt .; do mkdir -p $d/${name} && echo $d > $d/${name}/file; done; ls /usr/share | wc -l`
  writeFileSync(`${daemon.workspace}/write.sh`, script)
  const ran = await daemon.cli(['exec', '--', 'sh', './write.sh'])
  t.equal(ran.code, 0, ran.stderr)
  t.equal(Number(ran.stdout.toString()), before + 1)
  for (const directory of ['/etc', '/usr/share', '/opt', daemon.workspace])
    t.notOk(existsSync(`${directory}/${name}`), directory)
  t.equal(readdirSync('/usr/share').length, before)
  const diff = await daemon.cli(['branch', 'diff', '--json'])
  for (const directory of ['/etc', '/usr/share', '/opt'])
    t.match(diff.stdout.toString(), `${directory}/${name}/file`)
  const dropped = await daemon.cli(['branch', 'drop', '--yes'])
  t.equal(dropped.code, 0, dropped.stderr)
  for (const directory of ['/etc', '/usr/share', '/opt'])
    t.notOk(existsSync(`${directory}/${name}`), directory)
})
