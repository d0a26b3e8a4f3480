import t from 'tap'
import { grantedTools, isTool, TIER_NAMES, TIERS, TOOLS } from '../../src/base/tool-name.ts'

t.test('tiers are sets: T1 in T2 in T3, T4 as T2, T5 everything', async (t) => {
  t.same(Object.keys(TIERS), TIER_NAMES)
  t.same([...TIERS.T5].sort(), [...TOOLS].sort(), 'T5 has everything')
  t.same(TIERS.T1, ['Read', 'Glob', 'Grep'])
  for (const tool of TIERS.T2) t.ok(TIERS.T3.includes(tool) && TIERS.T4.includes(tool), tool)
  t.ok(TIERS.T3.includes('WebFetch') && !TIERS.T4.includes('WebFetch'))
  t.same([TIERS.T4, TIERS.T5], [TIERS.T2, [...TIERS.T3, 'Task']], 'work is handed on by T5 alone')
  t.ok(Object.values(TIERS).every(Object.isFrozen))
})

t.test('a list narrows a tier and never widens it', async (t) => {
  t.same(grantedTools('T1', ['*']), TIERS.T1)
  t.same(grantedTools('T1', []), [])
  t.same(grantedTools('T1', ['Bash', 'Grep', 'Read']), ['Read', 'Grep'])
  t.same(grantedTools('T5', ['nothing']), [])
})

t.test('only tools are tools', async (t) => {
  t.ok(TOOLS.every(isTool))
  for (const text of ['*', '', 'read', 'constructor', 'Read ']) t.notOk(isTool(text), text)
})
