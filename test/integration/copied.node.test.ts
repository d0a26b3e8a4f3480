/**
 * A state directory that takes no overlay, as the root of a container: nothing runs where overlay is required; where a
 * copy is allowed, commands run in one, which is reviewed and merged like any branch.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { changeConfig, type Daemon, install, type Json, startDaemon, temporary } from './daemon.node.ts'

/** A directory on an overlay, which can hold no upper layer of another one; undefined where none can be mounted. */
function overlay(t: Test): string | undefined {
  const directory = temporary(t)
  for (const name of ['lower', 'upper', 'work', 'merged']) mkdirSync(join(directory, name))
  const merged = join(directory, 'merged')
  const layers = ['lower', 'upper', 'work'].map((name) => `${name}dir=${join(directory, name)}`).join(',')
  try {
    execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', layers, merged], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  t.teardown(() => execFileSync('umount', ['-l', merged]))
  return merged
}

async function start(t: Test, sandbox: Json): Promise<Daemon | undefined> {
  const place = overlay(t)
  if (place === undefined) {
    t.comment('skipped: no overlay can be mounted here')
    return undefined
  }
  const directory = await install(t)
  changeConfig(directory, { state_directory: join(place, 'state'), sandbox })
  return startDaemon(t, directory)
}

t.test('where overlay is required nothing runs, and doctor says why', async (t) => {
  const daemon = await start(t, { require: 'overlay' })
  if (daemon === undefined) return
  const ran = await daemon.cli(['exec', '--', 'true'])
  t.match(ran, { code: 255, stderr: /overlay/ })
  const said = await daemon.cli(['doctor'])
  t.equal(said.code, 125)
  t.match(said.stdout.toString(), /FAILED\s+branch.*volume of its own/)
})

t.test('a copy keeps the real files apart, is recorded as one, and is merged (SS-48)', async (t) => {
  const daemon = await start(t, { require: 'copy' })
  if (daemon === undefined) return
  const { workspace } = daemon
  mkdirSync(join(workspace, 'sub'))
  writeFileSync(join(workspace, 'a'), 'real')
  writeFileSync(join(workspace, 'sub/b'), 'goes')
  const ran = await daemon.cli([
    'exec',
    '--',
    'sh',
    '-c',
    'pwd; cat a; printf changed > a; rm sub/b; touch c',
  ])
  t.match(ran, { code: 0, stdout: Buffer.from(`${workspace}\nreal`) })
  t.same(readdirSync(workspace).sort(), ['a', 'sub'])
  t.equal(readFileSync(join(workspace, 'a'), 'utf8'), 'real')
  const tail = await daemon.cli(['audit', 'tail', '--json'])
  t.match(tail.stdout.toString(), /"isolation":\s*"copy"/)
  t.match(await daemon.cli(['exec', '--', 'cat', 'a']), { code: 0, stdout: Buffer.from('changed') })
  const merged = await daemon.cli(['branch', 'merge', '--yes'])
  t.equal(merged.code, 0, merged.stderr)
  // What the merge can be taken back by lies on their file system, since the state is on another one.
  const visible = readdirSync(workspace).filter((name) => !name.startsWith('.sass-edge-merge-'))
  t.same(visible.sort(), ['a', 'c', 'sub'])
  t.equal(readFileSync(join(workspace, 'a'), 'utf8'), 'changed')
  t.same(readdirSync(join(workspace, 'sub')), [])
})

t.test('what is larger than may be copied is not, and nothing is left of it', async (t) => {
  const daemon = await start(t, { require: 'copy', copy_bytes: 1_000 })
  if (daemon === undefined) return
  writeFileSync(join(daemon.workspace, 'large'), Buffer.alloc(2_000))
  for (let count = 0; count < 2; count++) {
    const ran = await daemon.cli(['exec', '--branch', 'new', '--', 'true'])
    t.match(ran, { code: 255, stderr: /more than the 1000 bytes of sandbox\.copy_bytes/ })
  }
  t.match((await daemon.cli(['branch', 'list', '--json'])).stdout.toString(), /"branches":\s*\[\]/)
})
