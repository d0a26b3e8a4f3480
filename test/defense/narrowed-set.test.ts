/**
 * One set within another: numbers, variables and lists that both have.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { type CapabilitySet, permitsCommand, permitsPath } from '../../src/defense/capability.ts'
import { narrowedSet, withinSubset } from '../../src/defense/narrowed-set.ts'
import { OPEN_SET, SET } from './staged-facts.ts'

t.test('the smaller of every number, the variables of both, and what either denies', async (t) => {
  const own: CapabilitySet = {
    ...SET,
    max_concurrent: 4,
    timeout_seconds: null,
    max_file_size_bytes: 10,
    allowed_env: ['A*', 'PATH', 'X_1'],
    output_bytes: 5,
  }
  const above: CapabilitySet = {
    ...OPEN_SET,
    denied_commands: ['ls -a'],
    max_concurrent: 2,
    timeout_seconds: 30,
    max_file_size_bytes: 20,
    allowed_env: ['AB*', 'X_*', 'Q'],
    output_bytes: null,
  }
  const both = narrowedSet(own, above)
  t.match(both, { max_concurrent: 2, timeout_seconds: 30, max_file_size_bytes: 10, output_bytes: 5 })
  t.same(both.allowed_env, ['AB*', 'X_1'])
  t.same(both.denied_commands, ['git push', 'ls -a'])
  t.same(both.allowed_commands, SET.allowed_commands, 'all of them are below `*`')
  t.same(both.denied_paths, ['/srv/work/secret'])
})

t.test('commands and paths of a subset are those that a pattern of each covers', async (t) => {
  const table: readonly [own: string[], subset: string[], both: string[]][] = [
    [['*'], ['git status'], ['git status']],
    [['git *'], ['git status', 'ls'], ['git status']],
    [['git status'], ['git'], ['git status']],
    [['ls'], ['cat'], []],
    [['ls'], [], []],
  ]
  for (const [allowed_commands, subset, both] of table) {
    const set = withinSubset(
      { ...OPEN_SET, allowed_commands },
      { allowed_commands: subset, allowed_paths: ['*'] },
    )
    t.same(set.allowed_commands, both, `${allowed_commands} and ${subset}`)
  }
  const paths = withinSubset(
    { ...OPEN_SET, allowed_paths: ['/srv', '/opt/a/b'] },
    { allowed_commands: ['*'], allowed_paths: ['/srv/work', '/opt/a', '/etc'] },
  )
  t.same(paths.allowed_paths, ['/srv/work', '/opt/a/b'])
})

t.test('what is told of both is never more than each allows', async () => {
  const word = fc.constantFrom('git', 'ls', 'status', '*', 'push', 'g*')
  const pattern = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join(' '))
  const patterns = fc.array(pattern, { maxLength: 3 })
  const argv = fc.array(fc.constantFrom('git', 'ls', 'status', 'push', 'gx'), { minLength: 1, maxLength: 4 })
  const path = fc.constantFrom('*', '/a', '/a/b', '/b', '/a/bc')
  const paths = fc.array(path, { maxLength: 3 })
  fc.assert(
    fc.property(patterns, patterns, paths, paths, argv, path, (one, other, mine, its, words, place) => {
      const own = { ...OPEN_SET, allowed_commands: one, allowed_paths: mine }
      const above = { ...OPEN_SET, allowed_commands: other, allowed_paths: its }
      const both = narrowedSet(own, above)
      const allows = (set: CapabilitySet) => permitsCommand(set, words, undefined) === 'allowed'
      const holds = (set: CapabilitySet) => place !== '*' && permitsPath(set, place) === 'allowed'
      return (
        (!allows(both) || (allows(own) && allows(above))) && (!holds(both) || (holds(own) && holds(above)))
      )
    }),
  )
})
