import t from 'tap'
import { checkArguments, isToolName, listTools, TOOLS } from '../../../src/cli/mcp/tools.ts'

t.test('what is listed is JSON Schema of objects, for arguments and for results', async (t) => {
  for (const { name, title, description, inputSchema, outputSchema, annotations } of listTools()) {
    t.ok(title.length > 5 && description.length > 40, name)
    t.match(inputSchema, { type: 'object', additionalProperties: false }, name)
    t.match(outputSchema, { type: 'object', properties: { error: {}, outcome: {} } }, name)
    t.equal(outputSchema['required'], undefined, 'a failure has none of them')
    t.strictSame(Object.keys(annotations).sort(), [
      ...['destructiveHint', 'idempotentHint', 'openWorldHint', 'readOnlyHint', 'title'],
    ])
    t.notOk(annotations.readOnlyHint && annotations.destructiveHint, name)
  }
})

t.test('defaults are filled in, and what is not known is refused by its place', async (t) => {
  t.match(checkArguments('execute', { command: ['ls'] }), {
    ok: true,
    args: { command: ['ls'], wait_seconds: 50, max_output_bytes: 16_384, stdin_encoding: 'utf8' },
  })
  t.match(checkArguments('list', undefined), { ok: true, args: { path: '.', limit: 500 } })
  t.match(checkArguments('read', { path: 'a', ofset: 1 }), { ok: false, problem: /ofset/ })
  t.match(checkArguments('execute', JSON.parse('{"command":["a"],"__proto__":{"x":1}}')), { ok: false })
  t.match(checkArguments('job_kill', { id: 'A'.repeat(32) }), { ok: false, problem: /id/ })
})

t.test('names of tools are theirs alone', async (t) => {
  for (const name of Object.keys(TOOLS)) t.ok(isToolName(name) && /^[a-z_]{1,64}$/.test(name))
  for (const name of ['constructor', '__proto__', 'merge', '']) t.notOk(isToolName(name))
})
