/**
 * The sample for OpenRC under its own openrc-run and supervise-daemon, in a copy of this system: started, reloaded,
 * killed, restarted, misconfigured and stopped.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeRoom } from './room.node.ts'

/** OpenRC as it is after a boot, with no other service. Each step says its name in front of what it prints. */
const STEPS = `set -u
step() { echo "== $1"; }
service() { rc-service sass-edge "$@" >/run/said 2>&1; echo "exit $?"; grep -E 'FAILED|listen.port is' /run/said; }
up() {
  tries=0
  until sass-edge exec -- echo "$1" 2>/dev/null; do
    tries=$((tries + 1))
    if [ "$tries" -gt 40 ]; then echo down; return; fi
    sleep 0.25
  done
}
ip link set lo up
rm -f /etc/init.d/*
touch /etc/insserv.conf
mkdir -p /run/openrc /etc/runlevels/default
for state in exclusive started starting stopping inactive wasinactive failed hotplugged daemons options scheduled tmp; do
  mkdir "/run/openrc/$state"
done
echo default >/run/openrc/softlevel
/run/archive/install.sh >/dev/null 2>&1
cp /usr/share/doc/sass-edge/examples/openrc/sass-edge /etc/init.d/sass-edge
# Nothing here mounts anything.
sed -i 's/need localmount/use localmount/' /etc/init.d/sass-edge
sass-edge agent add field >/dev/null
step start
service start
up alive
step reload
service reload
up reloaded
step killed
kill -KILL "$(pgrep -f '^/usr/bin/sass-edge --config')"
sleep 1
up back
step restart
service restart
up anew
step broken
cp /etc/sass-edge/sass.edge.json /run/good.json
echo '{ "listen": { "port": 22 } }' >/etc/sass-edge/sass.edge.json
service reload
service restart
cp /run/good.json /etc/sass-edge/sass.edge.json
up still
step stop
service stop
pgrep -f '^/usr/bin/sass-edge --config' || echo gone
`

t.test('rc-service starts, reloads, restarts and stops it', async (t) => {
  const room = await makeRoom(t, ['/sbin/openrc-run', 'pgrep', 'ip'])
  if (room === undefined) return
  writeFileSync(join(room.archive, 'steps.sh'), STEPS)
  const { argv, env } = room.command(['sh', '/run/archive/steps.sh'])
  const { stdout, stderr } = spawnSync('env', [...argv], { encoding: 'utf8', env, timeout: 150_000 })
  t.same(
    Object.fromEntries(
      stdout
        .split('== ')
        .slice(1)
        .map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1).split('\n')]),
    ),
    {
      start: ['exit 0', 'alive', ''],
      reload: ['exit 0', 'reloaded', ''],
      killed: ['back', ''],
      restart: ['exit 0', 'anew', ''],
      broken: [
        'exit 1',
        'sass.edge.json:1:15: listen.port is 22, where every scanner looks for ssh and this protocol must never listen (use 19284)',
        'exit 1',
        'sass.edge.json:1:15: listen.port is 22, where every scanner looks for ssh and this protocol must never listen (use 19284)',
        'still',
        '',
      ],
      stop: ['exit 0', 'gone', ''],
    },
    stderr,
  )
})
