/**
 * What a purge takes away, by the package and by the installer, where the state lies on a volume of its own: the place
 * of such a volume cannot be removed while it is mounted.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'

const INSTALL = join(import.meta.dirname, '../../targets/install')
const PURGES: Readonly<Record<string, string>> = {
  'the package': 'D=$1 sh "$2/package/postrm" purge',
  'the installer': 'DESTDIR=$1 sh "$2/install.sh" --uninstall --purge',
}
const ROOM = `set -eu
mkdir -p "$1/etc/sass-edge" "$1/var/lib/sass-edge"
mount -t tmpfs none "$1/var/lib/sass-edge"
mkdir "$1/var/lib/sass-edge/audit"
touch "$1/var/lib/sass-edge/audit/audit.jsonl" "$1/var/lib/sass-edge/.hidden" "$1/etc/sass-edge/sass.edge.json"
`

for (const [name, purge] of Object.entries(PURGES))
  t.test(`${name} purges a state that is a volume of its own, and is done`, (t) => {
    if (process.geteuid?.() !== 0) t.comment('skipped: only root can mount')
    else {
      const script = `${ROOM}${purge} >/dev/null\nfind "$1/etc" "$1/var/lib" -mindepth 1`
      const { status, stdout, stderr } = spawnSync(
        'unshare',
        ['--mount', 'sh', '-c', script, 'sh', t.testdir(), INSTALL],
        { encoding: 'utf8' },
      )
      t.equal(status, 0, stderr)
      t.match(stdout, /^[^\n]*\/var\/lib\/sass-edge\n$/, 'only the place of the volume is left')
    }
    t.end()
  })
