import t from 'tap'
import { parseConfig } from '../../src/config.ts'
import type { ExecuteAction } from '../../src/defense/facts.ts'
import { makeJudge } from '../../src/edge/judge.node.ts'

function judge(policy: object = {}): ReturnType<typeof makeJudge> {
  const result = parseConfig({ policy }, { configDirectory: t.testdirName })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return makeJudge(result.config)
}

const action = (...argv: string[]): ExecuteAction => ({
  kind: 'execute',
  executionId: '0'.repeat(32),
  argv,
  executable: null,
  cwd: '/',
  environment: [],
  terminal: false,
  stdin: false,
  timeoutSeconds: null,
  outputBytes: null,
})

t.test('the rules that ship judge what would really run, unless they are not wanted', async (t) => {
  const { rules, effective } = judge()
  const attack = action('sh', '-c', 'rm -rf /')
  const id = rules.strictest(effective(attack))?.rule.id
  t.ok(id)
  t.equal(rules.strictest(effective(action('ls'))), undefined)
  const without = judge({ disabled_rules: [id] })
  t.equal(without.rules.count, rules.count - 1)
  t.not(without.rules.strictest(without.effective(attack))?.rule.id, id)
  t.equal(judge({ default_rules: false }).rules.count, 0)
})

t.test('an action is taken apart once, however many layers ask', async (t) => {
  const { effective } = judge({ default_rules: false })
  const one = action('env', 'ls')
  t.equal(effective(one), effective(one))
  t.not(effective(action('env', 'ls')), effective(one), 'another request is another action')
})
