/**
 * Which directories of a PATH are listed, in real directories that are built for it.
 * @module
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { callerPlaces } from '../../../src/edge/setup/caller-places.node.ts'
import { CALLER_PLACES_MAX } from '../../../src/limits.ts'

/** Not beneath /tmp, which is never listed. */
function base(t: Test, ...directories: string[]): string {
  const place = process.geteuid?.() === 0 ? '/var/lib' : homedir()
  const directory = mkdtempSync(join(place, 'sass-edge-it-places-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  for (const inner of directories) mkdirSync(join(directory, inner), { recursive: true })
  return directory
}

t.test('of .../bin the directory around it, of others themselves', async (t) => {
  const top = base(t, 'node-v22/bin', 'go/sbin', 'tools')
  const path = ['node-v22/bin', 'go/sbin', 'tools', 'missing/bin'].map((name) => join(top, name)).join(':')
  t.strictSame(
    callerPlaces(path, []),
    ['node-v22', 'go', 'tools'].map((name) => join(top, name)),
  )
})

t.test('nothing of what is listed, and nothing twice', async (t) => {
  const top = base(t, 'a/bin', 'a/sbin', 'a/deep/bin', 'listed/bin')
  const path = ['a/deep/bin', 'a/bin', 'a/sbin', 'listed/bin'].map((name) => join(top, name)).join(':')
  t.strictSame(callerPlaces(path, [join(top, 'listed')]), [join(top, 'a')])
  t.strictSame(callerPlaces('/usr/bin:/bin:/usr/local/bin:/sbin', ['/usr', '/bin', '/sbin']), [])
  t.strictSame(callerPlaces('', []), [])
  t.strictSame(callerPlaces('relative/bin::.', []), [])
})

t.test('never a home, nor what lies around one', async (t) => {
  const home = base(t, 'bin', '.local/bin', '.local/lib', '.local/share', '.cargo/bin', '.rustup')
  const places = (...names: string[]) =>
    callerPlaces(names.map((name) => join(home, name)).join(':'), [], home)
  t.strictSame(places('bin'), [join(home, 'bin')])
  t.strictSame(places('.local/bin'), [join(home, '.local/bin'), join(home, '.local/lib')])
  t.strictSame(places('.cargo/bin'), [join(home, '.cargo'), join(home, '.rustup')])
  t.strictSame(places(''), [])
  t.strictSame(callerPlaces(`${home}/..:/:/home:/root:${homedir()}`, [], home), [])
})

t.test('nothing in memory, and nothing that anybody can write', async (t) => {
  const top = base(t, 'open/inner/bin', 'closed/bin', 'closed/node_modules/.bin')
  chmodSync(join(top, 'open'), 0o1777)
  const path = ['open/inner/bin', 'open', 'closed/node_modules/.bin'].map((name) => join(top, name))
  t.strictSame(callerPlaces([...path, '/tmp', '/dev/shm', '/run'].join(':'), []), [])
  chmodSync(join(top, 'closed'), 0o777)
  t.strictSame(callerPlaces(join(top, 'closed/bin'), []), [])
})

t.test('links are taken for what they lead to', async (t) => {
  const top = base(t, 'real/bin', 'open/bin')
  chmodSync(join(top, 'open/bin'), 0o777)
  symlinkSync(join(top, 'real/bin'), join(top, 'current'))
  symlinkSync(join(top, 'open/bin'), join(top, 'bad'))
  t.strictSame(callerPlaces(`${top}/current:${top}/bad`, []), [join(top, 'real')])
})

t.test('not more than are looked through', async (t) => {
  const names = Array.from({ length: CALLER_PLACES_MAX + 5 }, (_, at) => `p${at}/bin`)
  const top = base(t, ...names)
  t.equal(callerPlaces(names.map((name) => join(top, name)).join(':'), []).length, CALLER_PLACES_MAX)
})
