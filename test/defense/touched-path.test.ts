/**
 * Which uses of a path touch a place: the path itself, what a shell may make of it, and what is removed around it.
 * @module
 */
import t from 'tap'
import { adjudicate } from '../../src/defense/adjudicator.ts'
import { mayTouch } from '../../src/defense/touched-path.ts'
import { executing, FACTS, LEDGER, policyWith } from './staged-facts.ts'

t.test('a path touches a place by what it is, may become, or is done to', (t) => {
  const touches = (
    path: string,
    use: 'read' | 'write' | 'mention',
    isOpaque = false,
    place = '/srv/work/secret',
  ) => mayTouch(place, { path, use, isGlob: /[*?[]/.test(path), isOpaque })
  for (const [path, use, expected, isOpaque = false] of [
    ['/srv/work/secret', 'read', true],
    ['/srv/work/secret/deep/x', 'mention', true],
    ['/srv/work/secrets', 'write', false],
    ['/srv/work', 'read', false],
    ['/srv/work', 'mention', false],
    ['/srv/work', 'write', true],
    ['/', 'write', true],
    ['/srv/other', 'write', false],
    ['/srv/work/*', 'read', true],
    ['/srv/work/s*', 'read', true],
    ['/srv/work/[s]ecre?', 'read', true],
    ['/srv/*/secret/x', 'read', true],
    ['/*/*/*', 'read', true],
    ['/srv/**', 'read', true],
    ['/srv/work/*.txt', 'read', false],
    ['/srv/work/a*', 'read', false],
    ['/srv/*', 'read', false],
    ['/srv/w*', 'write', true],
    ['/srv/o*', 'write', false],
    ['/srv/work', 'read', true, true],
    ['/srv', 'mention', true, true],
    ['/tmp', 'mention', false, true],
  ] as const)
    t.equal(touches(path, use, isOpaque), expected, `${use} ${path}${isOpaque ? '...' : ''}`)
  t.ok(touches('/anything', 'mention', false, '*'))
  t.ok(touches('/srv/work/.hidden', 'mention', false, '/srv/work/.hidden'))
  t.ok(touches('/srv/work/*', 'mention', false, '/srv/work/.hidden'), 'dotglob may be set')
  t.end()
})

t.test('a denied path is denied however a command comes to it (OS-05)', (t) => {
  const outcome = (argv: readonly string[], realPaths: { path: string; real: string }[] = []) => {
    const policy = policyWith({ denied_paths: ['/srv/work/secret'] })
    const verdict = adjudicate({ ...FACTS, action: executing(argv), realPaths }, policy, LEDGER)
    return `${verdict.kind === 'response' ? verdict.response : ''} ${verdict.rule}`
  }
  const denied = 'VI_SWAP default.denied_paths'
  const passed = 'EXECUTE all_passed'
  for (const line of [
    'cat secret/x',
    'cat ./a/../secret/x',
    'cat /srv/work//secret',
    'cat < secret/x',
    'cat sec*/x',
    'cat s?cret/x',
    'echo x > secret/x',
    'rm -r .',
    'rm -r /srv/work',
    'rm -r /srv/w*',
    'mv /srv/work /tmp/x',
    'cd secret && cat x',
    'cp secret/x /tmp',
    'cat $DIR/x',
  ])
    t.equal(outcome(['sh', '-c', line]), denied, line)
  for (const line of [
    'cat x',
    'ls',
    'ls .',
    'ls *.txt',
    'rm -r build',
    'cat secrets',
    'echo secret',
    'grep secret x',
  ])
    t.equal(outcome(['sh', '-c', line]), passed, line)
  t.equal(
    outcome(['ls', 'link'], [{ path: '/srv/work/link', real: '/srv/work/secret/x' }]),
    denied,
    'a symbolic link',
  )
  t.equal(
    outcome(['rm', '-r', 'link'], [{ path: '/srv/work/link', real: '/srv' }]),
    denied,
    'one to what lies around',
  )
  t.equal(outcome(['ls', 'link'], [{ path: '/srv/work/link', real: '/srv' }]), passed)
  t.end()
})
