import { join } from 'node:path'
import t from 'tap'
import { loadHosts, targetOf } from '../../../src/cli/common/hosts.node.ts'
import { runMain } from '../run-main.node.ts'

t.test('reads the names of the user and makes key paths absolute', async (t) => {
  const directory = t.testdir({
    'sass-edge': { 'hosts.json': '{"gate": {"target": "ci@10.0.0.7", "key": "gate.key", "metered": true}}' },
  })
  const environment = { XDG_CONFIG_HOME: directory }
  t.same(targetOf('gate', environment), {
    agent: 'ci',
    host: '10.0.0.7',
    port: 19284,
    key: join(directory, 'sass-edge/gate.key'),
    metered: true,
  })
  t.throws(() => targetOf('gat/', environment), { code: 'USAGE', message: /did you mean gate\?$/ })
})

t.test('a name that is mistyped is told as such, and not as a key that is missing', async (t) => {
  const directory = t.testdir({ 'sass-edge': { 'hosts.json': '{"edge7": "ci@127.0.0.1:1"}' } })
  const run = (...words: string[]) => runMain(directory, words, { XDG_CONFIG_HOME: directory })
  const missing =
    /edge77" is not in hosts\.json \(did you mean edge7\?\), and the key .*agent\.key .* does not exist/
  t.match(await run('ping', 'edge77'), { code: 125, stderr: missing })
  t.match(await run('exec', 'edge77:20444', '--', 'true'), { code: 125, stderr: missing })
  t.match(await run('rsh', '-p', '20444', 'edge77', 'true'), { code: 125, stderr: missing })
  t.match(await run('ping', 'edge7:2'), { code: 125, stderr: /private key .*ci\.key cannot be read/ })
})

t.test('an absent file has no names; a bad one stops with its path', async (t) => {
  t.same(loadHosts({ XDG_CONFIG_HOME: t.testdir({}) }), {})
  t.same(loadHosts({}), {})
  for (const [name, text] of [
    ['json', '{'],
    ['twice', '{"a": "h", "a": "h"}'],
    ['value', '{"a": 1}'],
  ] as const) {
    const directory = t.testdir({ 'sass-edge': { 'hosts.json': text } })
    const wanted = {
      code: 'CONFIG_LOAD_FAILED',
      message: /hosts\.json cannot be used, since .*: correct the file\.$/,
    }
    t.throws(() => loadHosts({ XDG_CONFIG_HOME: directory }), wanted, name)
  }
  const directory = t.testdir({ 'sass-edge': { 'hosts.json': {} } })
  t.throws(() => loadHosts({ XDG_CONFIG_HOME: directory }), { message: /it is not a regular file/ })
})
