/**
 * A copy of this system in namespaces of its own, for what belongs to a whole device: its root is the lower layer, and
 * the places of state are empty and in memory. Nothing of this system is written.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { SOURCES } from '../../build/bundle.node.ts'
import { release } from '../../build/sea.node.ts'

const HERE = `linux-${process.arch}`

/** $1: an empty directory for the layers; $2: what is shown at /run/archive; the rest: what runs then. */
const SCRIPT = `set -eu
mount --make-rprivate /
mount -t tmpfs none "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" none "$1/root"
archive=$2
cd "$1/root"
shift 2
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t tmpfs none dev
for node in null zero full random urandom tty; do touch "dev/$node"; mount --bind "/dev/$node" "dev/$node"; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for place in dev/shm run tmp var/lib var/log var/tmp; do mount -t tmpfs none "$place"; done
mkdir -p var/lib/dpkg run/archive var/tmp/host
[ -z "\${groups:-}" ] || mount -t cgroup2 cgroup2 sys/fs/cgroup
mount --bind "$archive" run/archive
pivot_root . var/tmp/host
cd /
umount -l /var/tmp/host
exec "$@"
`
const UNSHARED = ['--fork', '--kill-child', '--pid', '--mount', '--uts', '--ipc', '--net']
export const ENVIRONMENT = Object.freeze({ PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root' })

export type Room = {
  /** Holds the installer, the package `sass-edge.deb` and what else is shown at /run/archive. */
  readonly archive: string
  /** What starts `argv` in it; with `groups`, the control groups beneath the one that the caller is in are its own. */
  command(
    argv: readonly string[],
    groups?: boolean,
  ): { readonly argv: readonly string[]; readonly env: NodeJS.ProcessEnv }
}

/** Makes a release for this machine, and a room to install it in; says why where there can be none. */
export async function makeRoom(t: Test, programs: readonly string[]): Promise<Room | undefined> {
  const skipped = (why: string) => void t.comment(`skipped: ${why}`)
  for (const program of ['zstd', 'unshare', 'pivot_root', ...programs])
    if (spawnSync('/bin/sh', ['-c', `command -v ${program}`], { env: ENVIRONMENT }).status !== 0)
      return skipped(`${program} is not installed here`)
  if (process.geteuid?.() !== 0) return skipped('only root can have a system of its own')
  const layers = mkdtempSync('/var/tmp/sass-edge-room-')
  t.teardown(() => rmSync(layers, { recursive: true, force: true }))
  const out = t.testdir({ archive: {} })
  const archive = join(out, 'archive')
  const command: Room['command'] = (argv, groups = false) => ({
    argv: [
      'unshare',
      ...UNSHARED,
      ...(groups ? ['--cgroup'] : []),
      'sh',
      '-c',
      SCRIPT,
      'sh',
      layers,
      archive,
      ...argv,
    ],
    env: { ...ENVIRONMENT, ...(groups ? { groups: 'own' } : {}) },
  })
  const { argv, env } = command(['true'])
  const tried = spawnSync('env', [...argv], { encoding: 'utf8', env })
  if (tried.status !== 0) return skipped(`a root of its own cannot be made here: ${tried.stderr.trim()}`)
  await release({ root: SOURCES.root, out, targets: [HERE], environment: {}, level: 1 })
  const unpack = `zstd -dc "${out}"/sass-edge-*-${HERE}.tar.zst | tar -x --strip-components=1 -C "${archive}" && cp "${out}"/*.deb "${archive}/sass-edge.deb"`
  const { status, stderr } = spawnSync('/bin/sh', ['-c', unpack], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return { archive, command }
}
