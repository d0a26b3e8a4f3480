/**
 * Patterns of paths: what lies in them, also where a shell would expand the path.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import type { UsedPath } from '../../../../src/defense/13policy/effective.ts'
import { hasBit } from '../../../../src/defense/13policy/rules/bit-set.ts'
import { createPathIndex, pathPatternProblem } from '../../../../src/defense/13policy/rules/path-pattern.ts'
import { path } from '../staged-effective.ts'

const HOME = '/home/agent'
const find = (patterns: readonly string[], used: UsedPath, hidden = false): boolean =>
  hasBit(createPathIndex([patterns], HOME).fits(used, hidden), 0)
const fits = (pattern: string, text: string): boolean => find([pattern], path(text))
const exempts = (pattern: string, used: UsedPath): boolean =>
  hasBit(createPathIndex([[pattern]], HOME).alwaysFits(used), 0)

t.test('a path is that very path, ** itself and all beneath, * any characters of one part', async (t) => {
  t.ok(fits('/etc/passwd', '/etc/passwd'))
  t.notOk(fits('/etc', '/etc/passwd'))
  t.ok(fits('/etc/**', '/etc') && fits('/etc/**', '/etc/ssh/sshd_config'))
  t.notOk(fits('/etc/**', '/etcetera'))
  t.ok(fits('/home/*/.ssh/**', '/home/u/.ssh/id'))
  t.notOk(fits('/home/*/.ssh/**', '/home/u/v/.ssh/id'))
  t.ok(fits('/dev/sd*', '/dev/sda1') && !fits('/dev/sd*', '/dev/sd/a'))
  t.ok(fits('/', '/') && !fits('/', '/etc'))
  t.ok(fits('/**', '/') && fits('/**', '/any/thing'))
})

t.test('~ is the home directory, also where that is the root', async (t) => {
  t.ok(fits('~', '/home/agent') && fits('~/.ssh/**', '/home/agent/.ssh/id'))
  t.notOk(fits('~/.ssh/**', '/home/other/.ssh/id'))
  t.ok(hasBit(createPathIndex([['~/.ssh']], '/').fits(path('/.ssh'), false), 0))
})

t.test('a path that a shell expands fits what it could expand to', async (t) => {
  for (const text of ['/e*c', '/?tc', '/[e]tc', '/[a-f]tc', '/[!x]*', '/*', '/et[[:alpha:]]', '/e*'])
    t.ok(fits('/etc', text), text)
  for (const text of ['/x*', '/??', '/[xyz]tc', '/[!e]tc', '/e*d', '/etc?', '/*/*'])
    t.notOk(fits('/etc', text), text)
  t.ok(fits('/etc/passwd', '/*/pass*') && fits('/etc/**', '/e?c/shadow'))
  t.ok(fits('/dev/sd*', '/dev/*a1'))
  t.ok(fits('/dev/*1', '/dev/sd*') && !fits('/dev/nvme*', '/dev/sd*'))
  t.ok(fits('/etc/ssh/key', '/**'), '** reaches any depth where a shell knows it')
})

t.test('a wild character at the beginning stands for a dot only where the shell was told so', async (t) => {
  t.notOk(find(['~/.ssh/**'], path('/home/agent/*')))
  t.ok(find(['~/.ssh/**'], path('/home/agent/*'), true))
  t.ok(find(['~/.ssh/**'], path('/home/agent/.*')))
})

t.test('a path that was given literally is not expanded', async (t) => {
  t.notOk(find(['/etc'], path('/e*c', 'read', { isGlob: false })))
})

t.test('of a path with an unknown end only what covers all beneath fits', async (t) => {
  const used = path('/etc', 'write', { isOpaque: true })
  t.ok(find(['/etc/**'], used))
  t.notOk(find(['/etc'], used))
  t.notOk(find(['/etc/passwd'], used))
})

t.test('a path is exempt only where all that it could be is', async (t) => {
  t.ok(exempts('/tmp/**', path('/tmp/a/b')))
  t.ok(exempts('/tmp/**', path('/tmp/*')))
  t.ok(exempts('/tmp/a*', path('/tmp/ab*')))
  t.notOk(exempts('/tmp/a*', path('/tmp/*')))
  t.notOk(exempts('/tmp/**', path('/t*/x')))
  t.notOk(exempts('/tmp/*', path('/tmp/**')))
  const from = (known: string) => path(known, 'write', { isOpaque: true })
  t.ok(exempts('/tmp/**', from('/tmp')), 'what lies beyond it is for rules on paths that are not known')
  t.ok(exempts('/tmp/**', from('/tmp/a')))
  t.notOk(exempts('/tmp/a/**', from('/tmp')))
  t.notOk(exempts('/tmp/a', from('/tmp/a')))
  t.notOk(exempts('/tmp/**', from('/')))
})

t.test('what could be expanded to fits: every name that a glob makes is found', async () => {
  const letter = fc.record({ char: fc.constantFrom('a', 'b', 'c'), form: fc.nat(4) })
  fc.assert(
    fc.property(fc.array(letter, { minLength: 1, maxLength: 6 }), (letters) => {
      const name = letters.map(({ char }) => char).join('')
      const glob = letters.map(({ char, form }) => ['?', '*', `[${char}]`, '[!x]*', char][form]).join('')
      return fits(`/d/${name}`, `/d/${glob}`) && fits(`/d/${name[0]}*`, `/d/${glob}`)
    }),
    { numRuns: 500 },
  )
})

t.test('many lists are looked up at once, and a long path ends where the patterns do', async (t) => {
  const lists = [['/a/**'], ['/a/b'], ['/*/b', '/z'], ['/a/b/c']]
  const index = createPathIndex(lists, HOME)
  const found = (text: string) => lists.map((_, list) => hasBit(index.fits(path(text), false), list))
  t.strictSame(found('/a/b'), [true, true, true, false])
  t.strictSame(found(`/a/${'b/'.repeat(100_000)}x`), [true, false, false, false])
})

t.test('a long glob is taken to fit rather than compared for long', async (t) => {
  t.ok(fits(`/${'ab*'.repeat(40)}`, `/ab${'?*'.repeat(3_000)}`))
  t.notOk(fits('/etc', `/e${'?*'.repeat(3_000)}`), 'but a name is no longer than it is')
})

t.test('what is no pattern is told with what to write', async (t) => {
  for (const good of ['/', '~', '/etc', '~/.ssh/**', '/**', '/a*b/*/c'])
    t.equal(pathPatternProblem(good), undefined, good)
  for (const bad of ['etc', './x', '~user', '/etc/', '/a//b', '/a/../b', '/a/./b', '/**/x', '/a**', '*'])
    t.ok(pathPatternProblem(bad)?.hint, bad)
})
