/**
 * The installer and the binary at their real places, /usr, /etc, /var/lib and /run, in a copy of this system: installed,
 * a caller added, a command run in its branch, and everything gone again.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeRoom } from './room.node.ts'

/** Each step says its name in front of what it prints. */
const STEPS = `set -eu
cd /
ip link set lo up
/run/archive/install.sh >/run/installed
step() { echo "== $1"; }
/usr/bin/sass-edge --config /etc/sass-edge/sass.edge.json >/run/daemon.log 2>&1 &
daemon=$!
tries=0
until /usr/bin/sass-edge ping >/dev/null 2>&1 || /usr/bin/sass-edge status >/dev/null 2>&1; do
  tries=$((tries + 1))
  if [ "$tries" -gt 60 ]; then cat /run/daemon.log; exit 1; fi
  sleep 0.25
done
/usr/bin/sass-edge agent add field >/dev/null
/usr/bin/sass-edge reload >/dev/null
step exec
/usr/bin/sass-edge exec -- sh -c 'echo kept >file; pwd; cat file' || echo "exit $?"
step host
ls /var/lib/sass-edge/workspace
step branch
/usr/bin/sass-edge branch list | tail -n 1
step verify
/usr/bin/sass-edge audit verify >/run/verified 2>&1 && echo whole
kill "$daemon"
wait "$daemon" && step ended
/run/archive/install.sh --uninstall --purge >/dev/null
step left
find /usr/bin/sass-edge /usr/share/sass-edge /etc/sass-edge /var/lib/sass-edge 2>/dev/null || true
`

t.test('install.sh, a daemon, a caller, a command, and nothing left', async (t) => {
  const room = await makeRoom(t, ['ip'])
  if (room === undefined) return
  writeFileSync(join(room.archive, 'steps.sh'), STEPS)
  const { argv, env } = room.command(['sh', '/run/archive/steps.sh'])
  const { status, stdout, stderr } = spawnSync('env', [...argv], { encoding: 'utf8', env })
  t.equal(status, 0, stderr)
  const said = Object.fromEntries(
    stdout
      .split('== ')
      .slice(1)
      .map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1)]),
  )
  t.match(said, {
    exec: '/var/lib/sass-edge/workspace\nkept\n',
    host: '',
    branch: /field +overlay .*to review/,
    verify: 'whole\n',
    ended: '',
    left: '',
  })
  t.equal(said['host'], '', 'the device itself is as it was')
  t.equal(said['left'], '', 'nothing of it stays')
})
