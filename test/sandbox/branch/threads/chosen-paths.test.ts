import t from 'tap'
import { encodeUtf8 } from '../../../../src/base/encoding/utf8.ts'
import { choosePaths, shownPath } from '../../../../src/sandbox/branch/threads/chosen-paths.ts'

const rootsOf = (...paths: string[]) => paths.map((path) => ({ path, store: '/state', baseNs: '1' }))
const choose = (roots: string[], ...named: string[]) => {
  const found = choosePaths('/srv', rootsOf(...roots), named.map(encodeUtf8))
  return found.ok
    ? found.paths.map(({ root, path }) => `${root}:${Buffer.from(path).toString('latin1')}`)
    : found.problem
}

t.test('a path lies in the innermost root that holds it', async (t) => {
  t.strictSame(choose(['/srv', '/srv/deep'], '/srv/a', '/srv/deep/b', '/srv/deep', '/srv/deeper'), [
    '0:a',
    '1:b',
    '1:',
    '0:deeper',
  ])
  t.strictSame(choose(['/'], '/etc/motd', '/'), ['0:etc/motd', '0:'])
})

t.test('a path that does not begin with a slash is from the workspace', async (t) => {
  t.strictSame(choose(['/srv', '/opt'], 'a/b', './a//b/', '.'), ['0:a/b', '0:a/b', '0:'])
  t.strictSame(choose(['/'], 'etc'), ['0:srv/etc'])
  t.strictSame(choose(['/opt', '/srv/deep'], 'deep/x'), ['1:x'])
  t.match(choose(['/opt'], 'x'), /is not in the branch/)
})

t.test('above roots it means all that is beneath', async (t) => {
  t.strictSame(choose(['/etc', '/srv/one', '/srv/two'], '/srv', '/'), ['1:', '2:', '0:', '1:', '2:'])
})

t.test('outside of all roots, or upwards, it means nothing', async (t) => {
  for (const path of ['/etc', '/srvx', '../a', '/srv/../etc', 'a/../../b'])
    t.match(choose(['/srv'], path), /is not in the branch, which has \/srv/, path)
  t.match(choosePaths('/', [], [encodeUtf8('a')]), { ok: false })
})

t.test('names that are no text stay what they are, and are shown by their numbers', async (t) => {
  const name = Uint8Array.of(0x61, 0xff, 0x2f, 0x0a)
  t.match(choosePaths('/srv', rootsOf('/srv'), [name]), { ok: true, paths: [{ root: 0, path: name }] })
  t.equal(shownPath(name), 'a\\xff/\\x0a')
  t.equal(shownPath(encodeUtf8('é\u001b[31m')), 'é\\x1b[31m')
})
