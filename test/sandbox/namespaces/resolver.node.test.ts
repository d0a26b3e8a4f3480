/**
 * Where a session that the gate answers for asks for names, and which it knows, whatever the device has for that: tried with an /etc of its
 * own in mounts that nobody else sees.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'

const OWN_NAMES = `0 127.0.0.1 localhost\n127.0.1.1 ${hostname()}\n::1 localhost ip6-localhost ip6-loopback\n`
const ASKS = '0 nameserver 127.0.0.1\n'

type Found = {
  readonly resolver: string
  readonly written: string
  readonly removed: string
  readonly hosts: string
  readonly hostsWritten: string
  readonly upper: readonly string[]
}

/** `prepare`: shell, run with a copy of /etc in its place and an empty /run. */
function found(t: Test, prepare: string, what = 'resolver', fill = ''): Found {
  const directory = mkdtempSync('/var/lib/sass-edge-it-')
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const script = join(directory, 'script')
  mkdirSync(join(directory, 'upper'))
  writeFileSync(
    script,
    `set -e
mount --make-rprivate /
cp -a /etc ${directory}/etc
mount --bind ${directory}/etc /etc
mount -t tmpfs tmpfs /run
rm -f /etc/resolv.conf
${prepare}
cd ${directory}/upper; ${fill === '' ? 'true' : fill}
exec ${process.execPath} --no-warnings ${join(import.meta.dirname, 'network-work.node.ts')} ${directory} '${what}'`,
  )
  const child = spawnSync('unshare', ['--mount', 'sh', script], { encoding: 'utf8' })
  if (child.status !== 0) throw new Error(`${child.status} ${child.stderr}`)
  return JSON.parse(child.stdout)
}

if (process.geteuid?.() !== 0) t.comment('skipped: only root makes these mounts')
else {
  t.test('a file of the device is not seen, and cannot be changed', async (t) => {
    const { resolver, written, removed } = found(t, 'echo nameserver 192.0.2.1 > /etc/resolv.conf')
    t.equal(resolver, ASKS)
    t.not(written, '0')
    t.not(removed, '0')
  })

  t.test('the names that it knows are its own, whatever the device lists', async (t) => {
    for (const what of ['resolver', 'resolver etc']) {
      const { hosts, hostsWritten, upper } = found(t, 'echo 192.0.2.9 plc.example > /etc/hosts', what)
      t.equal(hosts, OWN_NAMES)
      t.not(hostsWritten, '0')
      t.strictSame(upper, [])
    }
    const linked = 'echo 192.0.2.9 plc.example > /run/hosts; ln -sf /run/hosts /etc/hosts'
    t.equal(found(t, linked).hosts, OWN_NAMES)
    t.match(found(t, 'rm -f /etc/hosts').hosts, /^1 .*No such file/)
  })

  t.test('a link into a directory that each session has for itself leads to it', async (t) => {
    const target = '/run/systemd/resolve/stub-resolv.conf'
    const make = `mkdir -p ${target.slice(0, target.lastIndexOf('/'))}; echo nameserver 127.0.0.53 > ${target}`
    for (const prepare of [`${make}; ln -s ${target} /etc/resolv.conf`, `ln -s ..${target} /etc/resolv.conf`])
      t.equal(found(t, prepare).resolver, ASKS, prepare)
  })

  t.test('a link to what is not listed leads to it, and without any the C library asks there', async (t) => {
    t.equal(found(t, 'ln -s /mnt/w/resolv.conf /etc/resolv.conf').resolver, ASKS)
    t.match(found(t, 'true').resolver, /^1 .*No such file/)
  })

  t.test('where /etc is a branch, it lies over the file and is no change of it', async (t) => {
    const { resolver, written, upper } = found(
      t,
      'echo nameserver 192.0.2.1 > /etc/resolv.conf',
      'resolver etc',
    )
    t.equal(resolver, ASKS)
    t.not(written, '0')
    t.strictSame(upper, [])
    const linked = found(t, 'ln -s /run/resolv.conf /etc/resolv.conf', 'resolver etc')
    t.equal(linked.resolver, ASKS)
  })

  t.test(
    'a link that a session has put in the place of the file leads nothing onto the device',
    async (t) => {
      const target = `/var/tmp/sass-edge-resolver-${process.pid}`
      const { resolver } = found(
        t,
        'echo nameserver 192.0.2.1 > /etc/resolv.conf',
        'resolver etc',
        `ln -s ${target} resolv.conf`,
      )
      t.match(resolver, /^1 .*No such file/, 'and its own programs find what it has put there')
      t.notOk(existsSync(target))
    },
  )
}
