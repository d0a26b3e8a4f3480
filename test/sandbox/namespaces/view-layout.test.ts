/**
 * What is mounted where in a view, from what is listed, branched and mounted on the device.
 * @module
 */
import t from 'tap'
import type { Mount } from '../../../src/sandbox/namespaces/mount-table.ts'
import type { RootMount } from '../../../src/sandbox/namespaces/namespace-plan.ts'
import { layOut, withoutHidden } from '../../../src/sandbox/namespaces/view-layout.ts'

const mount = (point: string, type = 'ext4'): Mount => ({ device: '8:1', root: '/', point, type, layers: [] })
const root = (path: string): RootMount => ({ kind: 'bind', path, source: '/copy' })
const ROOT = mount('/')
const laid = (
  listed: readonly string[],
  roots: readonly string[] = [],
  mounts: readonly Mount[] = [ROOT],
  shown: readonly string[] = [],
): string[] => layOut(listed, shown, roots.map(root), mounts).map(({ kind, path }) => `${kind} ${path}`)

t.test('what is listed is there once, the outer ones first', async (t) => {
  t.strictSame(laid(['/usr/lib', '/usr', '/usr', '/etc']), ['read /etc', 'read /usr'])
  t.strictSame(laid(['/var/lib/dpkg', '/opt']), ['read /opt', 'read /var/lib/dpkg'])
  t.strictSame(laid([]), [])
})

t.test('what a session has of its own is never a place, nor anything in it', async (t) => {
  t.strictSame(laid(['/tmp', '/run/x', '/proc', '/dev/shm', '/sys', '/var/tmp/a', '/usr']), ['read /usr'])
  t.strictSame(laid(['/usr'], [], [ROOT, mount('/run/user/1', 'tmpfs')]), ['read /usr'])
})

t.test('a branch is a branch, whatever is listed at it or in it', async (t) => {
  t.strictSame(laid(['/srv', '/srv/work', '/srv/work/a'], ['/srv/work']), ['read /srv', 'branch /srv/work'])
  t.strictSame(laid(['/etc'], ['/']), ['branch /'])
})

t.test('what is mounted beneath a place is a place of its own', async (t) => {
  const mounts = [ROOT, mount('/opt/data', 'vfat'), mount('/optical'), mount('/home')]
  t.strictSame(
    layOut(['/opt'], [], [], mounts).map(({ path, kind }) => [kind, path]),
    [
      ['read', '/opt'],
      ['read', '/opt/data'],
    ],
  )
  t.match(layOut(['/opt'], [], [], mounts)[1], { type: 'vfat' })
  t.strictSame(laid(['/opt'], ['/opt/data/w'], mounts), ['read /opt', 'read /opt/data', 'branch /opt/data/w'])
  t.strictSame(laid(['/'], ['/home'], mounts), ['read /', 'branch /home', 'read /optical', 'read /opt/data'])
})

t.test('what is no file of the device is left away, and what a branch shows is not', async (t) => {
  const mounts = [ROOT, mount('/opt/p', 'proc'), mount('/opt/c', 'cgroup2'), mount('/srv/w/boot', 'vfat')]
  t.strictSame(laid(['/opt', '/opt/p'], [], mounts), ['read /opt'])
  t.strictSame(laid([], ['/srv/w'], mounts, ['/srv/w/boot', '/srv/w']), ['branch /srv/w', 'read /srv/w/boot'])
})

t.test('a place at or in what is hidden is none, also one that is mounted there', async (t) => {
  const mounts = [ROOT, mount('/opt/vault'), mount('/opt/way/deep'), mount('/srv/w/disk')]
  const left = (hidden: readonly string[]): string[] =>
    withoutHidden(
      layOut(['/opt', '/etc'], [], ['/srv/w', '/srv/w/disk'].map(root), mounts),
      hidden,
      mounts,
    ).map(({ path }) => path)
  t.strictSame(
    left([]),
    ['/etc', '/opt', '/srv/w', '/opt/vault', '/opt/way/deep', '/srv/w/disk'].sort(
      (a, b) => a.split('/').length - b.split('/').length || (a < b ? -1 : 1),
    ),
  )
  t.notOk(left(['/etc']).includes('/etc'))
  t.notOk(left(['/opt/vault']).includes('/opt/vault'))
  t.notOk(left(['/opt/way']).includes('/opt/way/deep'))
  t.notOk(left(['/srv/w/disk']).includes('/srv/w/disk'), 'mounted within a branch')
  t.ok(left(['/srv']).includes('/srv/w'), 'a branch that was named')
})
