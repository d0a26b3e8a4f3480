/**
 * The installer and the binary at their real places, /usr, /etc, /var/lib and /run, in mounts that only this test sees:
 * installed, a caller added, a command run in its branch, and everything gone again.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { SOURCES } from '../../build/bundle.node.ts'
import { release } from '../../build/sea.node.ts'

const { root } = SOURCES
const HERE = `linux-${process.arch}`

/** Own layers over /usr and /etc; /var/lib and /run begin empty. */
const MOUNTS = `set -eu
mount -t tmpfs none "$1"
for place in usr etc; do
  mkdir -p "$1/$place/upper" "$1/$place/work"
  mount -t overlay -o "lowerdir=/$place,upperdir=$1/$place/upper,workdir=$1/$place/work" none "/$place"
done
mount -t tmpfs none /var/lib
mount -t tmpfs none /run
mkdir -p /var/lib/dpkg
`

/** $1: a place for the layers; $2: the unpacked archive. Each step says its name in front of what it prints. */
const SCRIPT = `${MOUNTS}
cd /
"$2/install.sh" >/run/installed
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
"$2/install.sh" --uninstall --purge >/dev/null
step left
find /usr/bin/sass-edge /usr/share/sass-edge /etc/sass-edge /var/lib/sass-edge 2>/dev/null || true
`

t.setTimeout(280_000)

t.test('install.sh, a daemon, a caller, a command, and nothing left', async (t) => {
  for (const program of ['zstd', 'unshare', 'mount']) {
    if (spawnSync('/bin/sh', ['-c', `command -v ${program}`]).status === 0) continue
    t.pass(`${program} is not installed here`, { skip: true })
    return
  }
  const out = t.testdir({ layers: {}, unpacked: {} })
  const alone = ['-m', '--propagation', 'private', '/bin/sh', '-c']
  const tried = spawnSync('unshare', [...alone, MOUNTS, 'sh', join(out, 'layers')], { encoding: 'utf8' })
  if (tried.status !== 0) {
    t.pass(`mounts of its own are not allowed here: ${tried.stderr.trim()}`, { skip: true })
    return
  }
  await release({ root, out, targets: [HERE], environment: {}, level: 1 })
  const unpack = `zstd -dc "${out}"/sass-edge-*-${HERE}.tar.zst | tar -x --strip-components=1 -C "${out}/unpacked"`
  t.equal(spawnSync('/bin/sh', ['-c', unpack]).status, 0)
  const { status, stdout, stderr } = spawnSync(
    'unshare',
    [...alone, SCRIPT, 'sh', join(out, 'layers'), join(out, 'unpacked')],
    { encoding: 'utf8', env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root' } },
  )
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
