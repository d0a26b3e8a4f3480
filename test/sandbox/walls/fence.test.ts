/**
 * What a fence leaves open: everything but what is hidden, and nothing for writing.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { isWithin } from '../../../src/base/text/lexical-path.ts'
import {
  grantsAround,
  namesHidden,
  readingRule,
  rulesetAttributes,
} from '../../../src/sandbox/walls/fence.ts'

/** Directories end in a slash. */
const TREE: Readonly<Record<string, readonly string[]>> = {
  '/': ['etc/', 'srv/', 'usr/', 'vmlinuz'],
  '/etc': ['passwd', 'sass/'],
  '/srv': ['data/', 'edge/'],
  '/srv/edge': ['keys/', 'readme'],
}
const look = (directory: string) =>
  (TREE[directory] ?? []).map((name) => ({ name: name.replace('/', ''), isDirectory: name.endsWith('/') }))

t.test('every version of Landlock has all forbidden that it knows', (t) => {
  const words = (version: number): number[] => {
    const bytes = rulesetAttributes(version)
    const view = new DataView(bytes.buffer)
    return [0, 8, 16].map((at) => Number(view.getBigUint64(at, true)))
  }
  t.strictSame(words(1), [0x1fff, 0, 0])
  t.strictSame(words(2), [0x3fff, 0, 0])
  t.strictSame(words(3), [0x7fff, 0, 0])
  t.strictSame(words(4), [0x7fff, 3, 0])
  t.strictSame(words(5), [0xffff, 3, 0])
  t.strictSame(words(6), [0xffff, 3, 3])
  t.strictSame(words(99), [0xffff, 3, 3])
  t.strictSame([...readingRule(5, true)], [0b1101, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0], 'start, read, list')
  t.strictSame([...readingRule(5, false)].slice(0, 1), [0b101])
  t.end()
})

t.test('with nothing hidden the root is open, else its neighbours are, one by one', (t) => {
  t.strictSame(grantsAround([], look), [{ path: '/', isDirectory: true }])
  const paths = grantsAround(['/etc/sass', '/srv/edge/keys'], look).map(({ path }) => path)
  t.strictSame(paths.sort(), ['/etc/passwd', '/srv/data', '/srv/edge/readme', '/usr', '/vmlinuz'])
  t.strictSame(
    grantsAround(['/etc', '/srv/gone'], look)
      .map(({ path }) => path)
      .sort(),
    ['/srv/data', '/srv/edge', '/usr', '/vmlinuz'],
    'what is not there hides nothing but itself',
  )
  t.strictSame(grantsAround(['/'], look), [])
  t.end()
})

t.test('nothing that is opened holds what is hidden, nor lies in it', (t) => {
  const place = fc.constantFrom(
    '/etc',
    '/etc/sass',
    '/srv',
    '/srv/edge',
    '/srv/edge/keys',
    '/usr',
    '/usr/x',
    '/vmlinuz',
  )
  fc.assert(
    fc.property(fc.array(place, { minLength: 1, maxLength: 4 }), (hidden) =>
      grantsAround(hidden, look).every(({ path }) =>
        hidden.every((one) => !isWithin(path, one) && !isWithin(one, path)),
      ),
    ),
  )
  t.end()
})

t.test('a directory without end is opened in part', (t) => {
  const many = Array.from({ length: 10_000 }, (_, index) => ({ name: `d${index}`, isDirectory: true }))
  t.equal(grantsAround(['/hidden'], (directory) => (directory === '/' ? many : [])).length, 4_096)
  t.end()
})

t.test('a hidden place is seen in an argument however it is spelled', (t) => {
  const hidden = ['/srv/edge/keys']
  for (const argument of [
    ...[
      '/srv/edge/keys',
      '/srv/edge/keys/a',
      '/srv//edge/./keys',
      '/srv/edge/x/../keys/a',
      'edge/keys',
      'x/../edge/keys',
    ],
    ...['--file=/srv/edge/keys', '-f/srv/edge/keys/a', '--file=edge/keys', 'cat /srv/edge/keys/a'],
  ])
    t.equal(namesHidden(hidden, '/srv', ['cat', argument]), true, argument)
  for (const argument of ['/srv/edge', '/srv/edge/key', 'keys', '/edge/keys', '..', ''])
    t.equal(namesHidden(hidden, '/srv', ['cat', argument]), false, argument)
  t.end()
})
