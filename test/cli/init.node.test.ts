import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../src/edge/config-file.node.ts'
import { runMain } from './run-main.node.ts'

t.test('writes DIR/sass.edge.json and says what to do next', async (t) => {
  const directory = t.testdir({})
  const run = await runMain(directory, ['init', 'edge', '--agent', 'ci', '--port', '0'])
  t.equal(run.code, 0)
  const path = join(directory, 'edge/sass.edge.json')
  t.match(run.stdout, `sass-edge run --config ${path}`)
  const { config } = loadConfig(path)
  t.equal(config.agents[0]?.name, 'ci')
  t.equal(config.listen.port, 0)
})

t.test('without DIR it is ./.sass-edge, which later commands find by themselves', async (t) => {
  const directory = t.testdir({})
  const run = await runMain(directory, ['init', '--json'])
  t.match(JSON.parse(run.stdout), {
    config: join(directory, '.sass-edge/sass.edge.json'),
    agent: { name: 'agent' },
  })
  t.match(await runMain(directory, ['agent', 'list']), {
    code: 0,
    stdout: /^agent +agent .*\noperator +operator /m,
  })
  const again = await runMain(directory, ['init'])
  t.match(again, { code: 125, stdout: '', stderr: /^sass-edge: .*already holds an installation/ })
})

t.test('refuses ports that are none, and a place that is a file', async (t) => {
  const directory = t.testdir({ file: '' })
  t.match(await runMain(directory, ['init', 'x', '--port', '65536']), {
    code: 125,
    stderr: /--port is not a number from 0 to 65535/,
  })
  t.notOk(existsSync(join(directory, 'x')))
  t.match(await runMain(directory, ['init', 'file']), {
    code: 125,
    stderr: /is not a directory: choose another place/,
  })
})
