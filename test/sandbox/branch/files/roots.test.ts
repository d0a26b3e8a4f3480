/**
 * Which directories are branched one by one: of whole devices, and of what is mounted beneath a directory.
 * @module
 */
import t from 'tap'
import { branchedDirectories, type MountPoint } from '../../../../src/sandbox/branch/files/roots.ts'

const TOP = ['bin', 'boot', 'dev', 'etc', 'home', 'proc', 'run', 'srv', 'sys', 'tmp', 'usr', 'var']
const mount = (path: string, type: string, isDirectory = true): MountPoint => ({ path, type, isDirectory })

t.test('a directory that is named is branched, and nothing else', (t) => {
  t.same(branchedDirectories(['/srv/work'], [mount('/', 'ext4'), mount('/srv', 'ext4')], TOP), {
    roots: ['/srv/work'],
    shown: [],
  })
  t.same(branchedDirectories([], [mount('/', 'ext4')], TOP), { roots: [], shown: [] })
  t.end()
})

t.test('what is mounted beneath is branched for itself, the outer ones first', (t) => {
  const mounts = [
    mount('/', 'ext4'),
    mount('/srv/work/data/deep', 'xfs'),
    mount('/srv/work/data', 'btrfs'),
    mount('/srv/workshop', 'ext4'),
  ]
  t.same(branchedDirectories(['/srv/work'], mounts, TOP).roots, [
    '/srv/work',
    '/srv/work/data',
    '/srv/work/data/deep',
  ])
  t.end()
})

t.test('what no overlay can lie over is shown, a file that is mounted too', (t) => {
  const mounts = [
    mount('/srv/work/stick', 'vfat'),
    mount('/srv/work/proc', 'proc'),
    mount('/srv/work/hosts', 'ext4', false),
  ]
  t.same(branchedDirectories(['/srv/work'], mounts, TOP), {
    roots: ['/srv/work'],
    shown: ['/srv/work/hosts', '/srv/work/proc', '/srv/work/stick'],
  })
  t.end()
})

t.test('the whole device is its directories, without what a session has of its own', (t) => {
  const mounts = [
    mount('/', 'ext4'),
    mount('/proc', 'proc'),
    mount('/sys', 'sysfs'),
    mount('/dev', 'devtmpfs'),
    mount('/run', 'tmpfs'),
    mount('/tmp', 'tmpfs'),
    mount('/boot', 'vfat'),
    mount('/var/tmp', 'ext4'),
    mount('/var/log', 'ext4'),
  ]
  const { roots, shown } = branchedDirectories(['/'], mounts, TOP)
  t.same(roots, ['/bin', '/boot', '/etc', '/home', '/srv', '/usr', '/var', '/var/log'])
  t.same(shown, [])
  t.end()
})

t.test('a workspace in a place of memory is branched when it is named', (t) => {
  const { roots } = branchedDirectories(['/', '/tmp/work'], [mount('/tmp/work/more', 'ext4')], TOP)
  t.ok(roots.includes('/tmp/work'))
  t.ok(roots.includes('/tmp/work/more'))
  t.end()
})
