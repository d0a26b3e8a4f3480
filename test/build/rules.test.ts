/**
 * The sources of the rules that ship, put together: what fits, and what is told with the name of its file.
 * @module
 */
import t from 'tap'
import { joinRuleSources, SOURCE_LINES_MAX } from '../../build/rules.ts'

t.test('sources are put together in the order of their names', async (t) => {
  const text = joinRuleSources([
    { name: 'b.json', text: '{"rules": [{"id": "b.x"}]}' },
    { name: 'a.json', text: '{"sets": {"s": ["x"]}, "rules": [{"id": "a.x"}]}' },
    { name: 'c.json', text: '{"sets": {"t": ["y"]}}' },
  ])
  t.strictSame(JSON.parse(text), { sets: { s: ['x'], t: ['y'] }, rules: [{ id: 'a.x' }, { id: 'b.x' }] })
})

t.test('what does not fit is told with its file', async (t) => {
  const set = '{"sets": {"s": ["x"]}}'
  t.throws(
    () =>
      joinRuleSources([
        { name: 'a.json', text: set },
        { name: 'b.json', text: set },
      ]),
    { message: 'b.json names the set s, which another file has' },
  )
  t.throws(() => joinRuleSources([{ name: 'a.json', text: '{' }]), { message: 'a.json is no JSON' })
  const long = `{"rules": [${'\n'.repeat(SOURCE_LINES_MAX)}]}\n`
  t.throws(() => joinRuleSources([{ name: 'a.json', text: long }]), { message: /^a\.json has 401 lines/ })
})
