/**
 * A branch of a daemon that was root, under one that no longer is: the kernel hides what the branch says about moved and
 * replaced directories, so nothing is read into what is left, and the branch can only be given up.
 * @module
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { everyone, run, startBranched } from './branched.node.ts'

const users = everyone(t)
const root = users.find(({ name }) => name === 'root')
const user = users.find(({ name }) => name === 'user')

t.test('root moves and replaces directories in a branch, and the daemon becomes a user', async (t) => {
  if (root === undefined || user === undefined)
    return void t.comment('skipped: this needs root, and a machine that lets users make namespaces')
  const daemon = await startBranched(t, root)
  for (const name of ['moved', 'replaced']) {
    mkdirSync(join(daemon.workspace, name))
    writeFileSync(join(daemon.workspace, name, 'real'), 'kept\n')
  }
  daemon.put('work.sh', 'mv moved away && rm -r replaced && mkdir replaced && echo new >replaced/new')
  const client = await daemon.open()
  await run(client, 'sh', ['./work.sh'])
  await client.close()
  const asRoot = await daemon.cli(['branch', 'diff'])
  t.match(String(asRoot.stdout), 'moved', asRoot.stderr)
  await daemon.stop()
  daemon.giveTo(user)
  await daemon.start()

  const refused = /The branch [0-9a-f]{32} is of a daemon that was root.*sass-edge branch drop/
  const again = await daemon.open('latest')
  await t.rejects(run(again, 'ls', ['.']), refused, 'nothing is started in it')
  await again.close()
  for (const args of [
    ['branch', 'diff'],
    ['branch', 'merge'],
    ['branch', 'checkpoint'],
  ]) {
    const { code, stderr } = await daemon.cli(args)
    t.not(code, 0, args.join(' '))
    t.match(stderr, refused, args.join(' '))
  }
  for (const name of ['moved', 'replaced'])
    t.equal(readFileSync(join(daemon.workspace, name, 'real'), 'utf8'), 'kept\n', `${name} is as it was`)
  t.notOk(existsSync(join(daemon.workspace, 'away')))

  const dropped = await daemon.cli(['branch', 'drop', '--yes'])
  t.equal(dropped.code, 0, dropped.stderr)
  const fresh = await daemon.open()
  t.equal(await run(fresh, 'ls', ['replaced']), 'real\n', 'a new branch is that of the user')
  await fresh.close()
})
