import t from 'tap'
import type { JsonObject } from '../../../src/intent/canonical/python-json.ts'
import { readManifest, ungranted } from '../../../src/intent/tools/manifest.ts'
import { MANIFEST, toolOf } from '../plans/ground.ts'

const problem = (more: JsonObject): string => {
  const result = readManifest({ ...MANIFEST, ...more })
  return result.ok ? 'ok' : result.problem
}
const schema = (more: JsonObject): JsonObject => ({ ...(MANIFEST['args_schema'] as JsonObject), ...more })

t.test('a manifest declares what the tool wants (OS-15)', async (t) => {
  t.equal(problem({}), 'ok')
  const { permissions: _, ...without } = MANIFEST
  t.match(readManifest(without), { ok: false, problem: /permissions is missing/ })
  t.strictSame(toolOf({ permissions: [] }).permissions, [])
  t.strictSame(toolOf().permissions, ['fs:read'])
})

t.test('permissions are of a closed set, and an unknown one refuses the tool (OS-16)', async (t) => {
  for (const name of ['fs:read', 'fs:write', 'network:http', 'shell:exec', 'core:state:write'])
    t.equal(problem({ permissions: [name] }), 'ok', name)
  for (const name of ['fs:delete', 'FS:READ', '*', '', 'fs:read ', 'toString', 7])
    t.match(problem({ permissions: ['fs:read', name] }), /is no permission/, String(name))
})

t.test('what is not granted is named, and keeps the tool from being loaded (OS-17)', async (t) => {
  const tool = toolOf({ permissions: ['fs:read', 'network:http'] })
  t.equal(ungranted(tool, ['network:http', 'fs:read']), undefined)
  t.match(ungranted(tool, ['fs:read']), /wants network:http, and intent.grants.markdown_to_html/)
  t.match(ungranted(tool, []), /fs:read and network:http/)
  t.equal(ungranted(toolOf({ permissions: [] }), []), undefined)
})

t.test('every other field has its form', async (t) => {
  for (const [more, says] of [
    [{ name: '../x' }, /name/],
    [{ executable: 'md' }, /executable/],
    [{ executable: '/usr/../bin/md' }, /executable/],
    [{ executable: '/usr//md' }, /executable/],
    [{ executable: '/usr/bin/' }, /executable/],
    [{ sha256: 'AB'.repeat(32) }, /sha256/],
    [{ tier: 'T9' }, /tier/],
    [{ limits: { timeout_seconds: 0 } }, /limits.timeout_seconds/],
    [{ limits: { seconds: 1 } }, /limits.seconds/],
    [{ extra: 1 }, /extra/],
    [{ args_schema: schema({ additionalProperties: true }) }, /additionalProperties false/],
    [{ args_schema: schema({ pattern: 'x' }) }, /args_schema.pattern/],
    [{ args_schema: schema({ properties: { markdown: { format: 'x' } } }) }, /format/],
    [{ argv: 'md' }, /argv/],
    [{ argv: [{ arg: 'other' }] }, /other/],
    [{ argv: ['--', { arg: 'markdown' }] }, /wide/],
    [{ argv: [{ arg: 'markdown', shell: true }, { arg: 'wide' }] }, /argv\[0\]/],
  ] as const)
    t.match(problem(more as JsonObject), says, JSON.stringify(more))
})

t.test('limits are those of the source where a manifest says nothing', async (t) => {
  t.match(toolOf(), { timeoutSeconds: 30, outputBytes: 1_048_576 })
  t.match(toolOf({ limits: { timeout_seconds: 5, output_bytes: 9 } }), { timeoutSeconds: 5, outputBytes: 9 })
})
