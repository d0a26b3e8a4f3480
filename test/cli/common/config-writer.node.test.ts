/** A place that an operator has agreed to, written into the file that they keep: nothing else of it changes. */
import { chmodSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { egressEdits, writeEdited } from '../../../src/cli/common/config-writer.node.ts'
import { loadConfig } from '../../../src/edge/setup/config-file.node.ts'

const SET = { allowed_commands: ['*'], allowed_paths: ['$WORKSPACE'], allowed_env: ['*'] }

function loaded(t: Test, value: object) {
  const path = join(t.testdir({}), 'sass.edge.json')
  writeFileSync(path, JSON.stringify(value, null, 4))
  return loadConfig(path)
}

const parsed = (text: string) =>
  JSON.parse(text) as {
    sandbox: { egress: unknown[]; require?: string }
    capabilities: Record<string, { egress: unknown[]; network?: string }>
  }

t.test('a list that stands for the shipped one is written out, with the place at its end', async (t) => {
  const one = loaded(t, {})
  const { text, lists } = egressEdits(one, 'new.example:8443', undefined)
  t.strictSame(lists, ['sandbox.egress'])
  const { egress } = parsed(text).sandbox
  t.equal(egress.length, one.config.sandbox.egress.length + 1)
  t.equal(egress.at(-1), 'new.example:8443')
})

t.test('a list that is written keeps its entries and whatever is beside it', async (t) => {
  const egress = ['a.example', { host: 'b.example', methods: ['GET'] }]
  const one = loaded(t, { sandbox: { network: 'gate', egress } })
  const { text } = egressEdits(one, '[2001:db8::7]:443', undefined)
  t.match(parsed(text).sandbox, { network: 'gate', egress: [...egress, '[2001:db8::7]:443'] })
  t.strictSame(parsed(egressEdits(one, 'a.example', undefined).text).sandbox.egress, egress, 'once')
})

t.test('a set with a list of its own has the place in both, and another set is as it was', async (t) => {
  const one = loaded(t, {
    sandbox: { network: 'gate', egress: [] },
    capabilities: { default: { ...SET, egress: ['a.example'] }, other: { ...SET, egress: ['o.example'] } },
  })
  const { text, lists } = egressEdits(one, 'new.example:443', 'default')
  t.strictSame(lists, ['sandbox.egress', 'capabilities.default.egress'])
  t.strictSame(parsed(text).sandbox.egress, ['new.example:443'])
  t.strictSame(parsed(text).capabilities['default']?.egress, ['a.example', 'new.example:443'])
  t.strictSame(parsed(text).capabilities['other']?.egress, ['o.example'])
})

t.test('what would be no configuration any more is not written', async (t) => {
  const one = loaded(t, { sandbox: { egress: [] } })
  t.throws(() => egressEdits(one, 'no host', undefined), {
    code: 'CONFIG_INVALID',
    message: /nothing was changed/,
  })
})

t.test('the file behind a link is replaced, with its mode', async (t) => {
  const one = loaded(t, { sandbox: { egress: [] } })
  chmodSync(one.path, 0o640)
  const link = join(t.testdir({ 'a link': {} }), 'linked.json')
  symlinkSync(one.path, link)
  const { text } = egressEdits(one, 'new.example:443', undefined)
  writeFileSync(one.path, one.text)
  chmodSync(one.path, 0o640)
  writeEdited({ ...one, path: link }, text)
  t.equal(readFileSync(one.path, 'utf8'), text)
  t.equal(statSync(one.path).mode & 0o777, 0o640)
  t.throws(() => writeEdited({ ...one, path: '/proc/1/sass.edge.json' }, text), {
    code: 'STATE_UNWRITABLE',
    message: /nothing was changed/,
  })
})
