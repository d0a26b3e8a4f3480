/**
 * The admin socket of a daemon that is no root and so sees everybody else under one id: root is let in, as long as the
 * file keeps out everybody else.
 * @module
 */
import { spawn } from 'node:child_process'
import { chmodSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { type Branched, everyone, startBranched } from './branched.node.ts'
import { collect, environment, PROGRAM } from './daemon.node.ts'

const STRANGER = 1_234

const users = everyone(t)
const user = users.find(({ name }) => name === 'user')

function statusAs(daemon: Branched, uid: number) {
  return collect(
    spawn(PROGRAM, ['status', '--config', join(daemon.directory, '.sass-edge/sass.edge.json')], {
      cwd: daemon.directory,
      env: environment(daemon.directory),
      stdio: ['ignore', 'pipe', 'pipe'],
      uid,
      gid: uid,
    }),
  )
}

/** Whether the kernel lets that user connect at all. */
async function connects(t: Test, daemon: Branched, uid: number): Promise<boolean> {
  const script = `require('node:net').connect(${JSON.stringify(daemon.adminSocket)}).on('connect', () => process.exit(0)).on('error', () => process.exit(1))`
  const tried = await collect(spawn(process.execPath, ['-e', script], { stdio: 'pipe', uid, gid: uid }))
  t.ok(tried.code === 0 || tried.code === 1, tried.stderr)
  return tried.code === 0
}

t.test('root is its operator, a stranger is not', async (t) => {
  if (user === undefined || users.every(({ name }) => name !== 'root'))
    return void t.comment('skipped: this needs root, and a machine that lets users make namespaces')
  const daemon = await startBranched(t, user)
  for (let place = dirname(daemon.adminSocket); place !== '/var/lib'; place = dirname(place))
    chmodSync(place, statSync(place).mode | 0o055)

  chmodSync(join(daemon.directory, '.sass-edge/sass.edge.json'), 0o644)

  const asOwner = await daemon.cli(['status'])
  t.equal(asOwner.code, 0, asOwner.stderr)
  const asRoot = await statusAs(daemon, 0)
  t.equal(asRoot.code, 0, asRoot.stderr)
  t.notOk(await connects(t, daemon, STRANGER), 'to a file of mode 0600 nobody else connects')

  chmodSync(daemon.adminSocket, 0o666)
  t.ok(await connects(t, daemon, STRANGER), 'to one that is open to all, everybody does')
  const stranger = await statusAs(daemon, STRANGER)
  t.equal(stranger.code, 255)
  t.match(stranger.stderr, 'did not let')
  t.match((await statusAs(daemon, 0)).stderr, 'did not let', 'then root cannot be told from others')

  chmodSync(daemon.adminSocket, 0o600)
  t.equal((await statusAs(daemon, 0)).code, 0)
})
