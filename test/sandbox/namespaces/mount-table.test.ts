/**
 * The table of mounts: where a path really lies, and by which names a protected place is seen.
 * @module
 */
import t from 'tap'
import { exposedIn, locationsOf, mountOf, parseMounts } from '../../../src/sandbox/namespaces/mount-table.ts'

const line = (device: string, root: string, point: string, type = 'ext4', options = 'rw'): string =>
  `36 35 ${device} ${root} ${point} rw,relatime shared:1 master:2 - ${type} /dev/x ${options}`
const mountsOf = (...lines: string[]) => parseMounts(`${lines.join('\n')}\n`)

t.test('lines of mountinfo are read with blanks, and without what is not one', async (t) => {
  t.strictSame(
    mountsOf(line('8:1', '/', '/'), '', 'not a line', line('8:2', '/a\\040b', '/mnt/c\\040d\\134e')),
    [
      { device: '8:1', root: '/', point: '/', type: 'ext4', layers: [] },
      { device: '8:2', root: '/a b', point: '/mnt/c d\\e', type: 'ext4', layers: [] },
    ],
  )
  t.strictSame(parseMounts(''), [])
  t.strictSame(
    mountsOf('36 35 8:1 / / rw - ext4 /dev/x rw').map(({ point }) => point),
    ['/'],
    'without optional fields',
  )
})

t.test('of several mounts at a place the last one is seen', async (t) => {
  const mounts = mountsOf(line('8:1', '/', '/'), line('8:2', '/', '/m'), line('8:3', '/', '/m'))
  t.equal(mountOf(mounts, '/m/x')?.device, '8:3')
  t.equal(mountOf(mounts, '/mx')?.device, '8:1', 'a name that begins alike')
  t.equal(mountOf([], '/x'), undefined)
})

t.test('layers of an overlay are read by every way to name them', async (t) => {
  const [mount] = mountsOf(
    line(
      '0:9',
      '/',
      '/',
      'overlay',
      'rw,lowerdir=/a:/b\\040c,lowerdir+=/d,upperdir=/u,workdir=/w,datadir+=/e',
    ),
  )
  t.strictSame(mount?.layers, ['/a', '/b c', '/d', '/u', '/e'])
  const [other] = mountsOf(line('8:1', '/', '/', 'ext4', 'rw,lowerdir=/a'))
  t.strictSame(other?.layers, [], 'of an overlay only')
})

t.test('a place that is bound elsewhere is seen there', async (t) => {
  const mounts = mountsOf(line('8:1', '/', '/'), line('8:1', '/var/lib/state', '/media'))
  const own = locationsOf(mounts, '/var/lib/state')
  t.strictSame(own, [{ device: '8:1', path: '/var/lib/state' }])
  t.strictSame(exposedIn(mounts, '/media', own), 'all')
  t.strictSame(exposedIn(mounts, '/usr', own), [])
  t.strictSame(exposedIn(mounts, '/var', own), ['/var/lib/state'])
  t.strictSame(exposedIn(mounts, '/', own), ['/var/lib/state'])
  t.strictSame(exposedIn(mounts, '/var/lib/state/branches', own), 'all', 'within it')
  t.strictSame(exposedIn(mounts, '/var/lib/state-2', own), [], 'a name that begins alike')
})

t.test('a directory above it that is bound shows it beneath', async (t) => {
  const mounts = mountsOf(line('8:1', '/', '/'), line('8:1', '/var', '/mnt/a b'.replace(' ', '\\040')))
  const own = locationsOf(mounts, '/var/lib/state')
  t.strictSame(exposedIn(mounts, '/mnt/a b', own), ['/mnt/a b/lib/state'])
  t.strictSame(exposedIn(mounts, '/mnt/a b/lib/state/x', own), 'all')
})

t.test('the lower layer of an overlay shows it, also where overlays lie over overlays', async (t) => {
  const mounts = mountsOf(
    line('8:1', '/', '/media/root-ro'),
    line(
      '0:9',
      '/',
      '/',
      'overlay',
      'ro,lowerdir=/media/root-ro,upperdir=/media/root-rw/o,workdir=/media/root-rw/w',
    ),
    line('0:8', '/', '/media/root-rw', 'tmpfs'),
  )
  const own = locationsOf(mounts, '/var/lib/state')
  t.strictSame(own, [
    { device: '0:9', path: '/var/lib/state' },
    { device: '8:1', path: '/var/lib/state' },
    { device: '0:8', path: '/o/var/lib/state' },
  ])
  t.strictSame(exposedIn(mounts, '/media/root-ro', own), ['/media/root-ro/var/lib/state'])
  t.strictSame(exposedIn(mounts, '/media/root-rw', own), ['/media/root-rw/o/var/lib/state'])
  const twice = [...mounts, ...mountsOf(line('0:7', '/', '/mnt', 'overlay', 'ro,lowerdir=/var:/empty'))]
  t.strictSame(exposedIn(twice, '/mnt', own), ['/mnt/lib/state'])
  t.strictSame(exposedIn(twice, '/mnt/lib/state/x', own), 'all')
})

t.test('an overlay that names itself as its layer comes to an end', async (t) => {
  const mounts = mountsOf(line('0:9', '/', '/', 'overlay', 'ro,lowerdir=/:/'))
  t.ok(locationsOf(mounts, '/a').length < 100)
})

t.test('the top of a btrfs shows its subvolumes', async (t) => {
  const mounts = mountsOf(
    line('0:30', '/@', '/', 'btrfs'),
    line('0:30', '/@home', '/home', 'btrfs'),
    line('0:30', '/', '/mnt/top', 'btrfs'),
  )
  const own = locationsOf(mounts, '/home/u/.local/state')
  t.strictSame(own, [{ device: '0:30', path: '/@home/u/.local/state' }])
  t.strictSame(exposedIn(mounts, '/mnt/top', own), ['/mnt/top/@home/u/.local/state'])
  t.strictSame(exposedIn(mounts, '/', own), [], 'another subvolume')
  t.strictSame(exposedIn(mounts, '/home', own), ['/home/u/.local/state'])
})
