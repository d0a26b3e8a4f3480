/**
 * The admin socket from inside a session's process namespace, and from any other that is not the daemon's: with the user
 * of the daemon, and as root, and with the file in sight. The covers of a session are left out on purpose.
 * @module
 */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Branched, everyone, startBranched } from './branched.node.ts'
import { collect, environment, PROGRAM, type Result, until } from './daemon.node.ts'

const SECONDS = '314159'

/** The number that a command of a session has here. */
async function sleeperIn(daemon: Branched, t: Test): Promise<number> {
  const client = await daemon.open()
  t.teardown(() => client.close())
  void client.execute('sleep', [SECONDS]).catch(() => undefined)
  let found = 0
  await until('the command of the session', () => {
    for (const name of readdirSync('/proc').filter((one) => /^[0-9]+$/.test(one)))
      try {
        const argv = readFileSync(`/proc/${name}/cmdline`, 'latin1')
        if (argv.startsWith('sleep') && argv.includes(SECONDS)) found = Number(name)
      } catch {
        // It has ended meanwhile.
      }
    return found > 0
  })
  return found
}

function status(daemon: Branched, before: readonly string[], uid: number): Promise<Result> {
  const config = join(daemon.directory, '.sass-edge/sass.edge.json')
  const argv = [...before, PROGRAM, 'status', '--config', config]
  return collect(
    spawn(argv[0] ?? '', argv.slice(1), {
      cwd: daemon.directory,
      env: environment(daemon.directory),
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(process.geteuid?.() === 0 ? { uid, gid: uid } : {}),
    }),
  )
}

for (const who of everyone(t))
  t.test(`as ${who.name}`, async (t) => {
    const daemon = await startBranched(t, who)
    t.equal((await status(daemon, [], who.uid)).code, 0, 'from beside the daemon it is its operator')

    const own = who.uid === 0 ? [] : ['--user', '--map-current-user']
    const fresh = await status(daemon, ['unshare', ...own, '--pid', '--fork', '--'], who.uid)
    t.equal(fresh.code, 255, 'from a fresh process namespace it is nobody')
    t.match(fresh.stderr, 'did not let')

    if (process.geteuid?.() !== 0)
      return void t.comment('skipped: only root enters the namespace of a session')
    const sleeper = await sleeperIn(daemon, t)
    const inside = await status(daemon, ['nsenter', `--pid=/proc/${sleeper}/ns/pid`, '--'], 0)
    t.equal(inside.code, 255, 'among the processes of a session root is nobody')
    t.match(inside.stderr, 'did not let')
    t.match(daemon.log(), /another process namespace/, 'the log says why')
    t.equal((await status(daemon, [], who.uid)).code, 0, 'the operator still is')
  })
