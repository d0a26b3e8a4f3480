import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { EGRESS_SHIPPED } from '../../../src/config/egress-fields.ts'
import { READ_PLACES } from '../../../src/config/sandbox-fields.ts'
import { loadConfig } from '../../../src/edge/setup/config-file.node.ts'
import { runMain } from '../run-main.node.ts'

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

t.test('a path with spaces can be pasted', async (t) => {
  const directory = t.testdir({})
  const { stdout } = await runMain(directory, ['init', 'my edge', '--port', '0'])
  t.match(stdout, `sass-edge check --config '${join(directory, 'my edge/sass.edge.json')}'`)
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

t.test('what commands may reach is what was named', async (t) => {
  const directory = t.testdir({})
  t.match(await runMain(directory, ['init', 'a', '--egress', '*']), { code: 0 })
  const egressIn = (name: string) =>
    JSON.parse(readFileSync(join(directory, name, 'sass.edge.json'), 'utf8')).sandbox.egress
  t.strictSame(egressIn('a'), ['*'])
  t.match(await runMain(directory, ['init', 'b', '--egress', 'a.example,10.0.0.0/8:1883']), { code: 0 })
  t.strictSame(egressIn('b'), ['a.example', '10.0.0.0/8:1883'])
  t.match(await runMain(directory, ['init', 'c', '--egress', 'https://a.example']), {
    code: 125,
    stderr: /--egress: "https:\/\/a.example" is an address of a page: write the host alone/,
  })
  t.notOk(existsSync(join(directory, 'c')))
})

t.test('what commands can read is written out, with where programs of the PATH lie', async (t) => {
  const place = mkdtempSync(join(process.geteuid?.() === 0 ? '/var/lib' : homedir(), 'sass-edge-it-init-'))
  t.teardown(() => rmSync(place, { recursive: true, force: true }))
  mkdirSync(join(place, 'node-v22/bin'), { recursive: true })
  const directory = t.testdir({})
  const environment = { PATH: `/usr/bin:${place}/node-v22/bin:/tmp` }
  const said = await runMain(directory, ['init', 'a'], environment)
  t.match(said, { code: 0, stdout: `(sandbox.read):\n  ${place}/node-v22\n` })
  const written = JSON.parse(readFileSync(join(directory, 'a/sass.edge.json'), 'utf8'))
  t.strictSame(written.sandbox, {
    branch_roots: ['$WORKSPACE'],
    devices: [],
    sockets: [],
    network: 'gate',
    read: [...READ_PLACES, join(place, 'node-v22')],
    hidden: ['$SECRETS'],
    egress: EGRESS_SHIPPED,
  })
  const { config } = loadConfig(join(directory, 'a/sass.edge.json'))
  t.strictSame(config.sandbox.read, written.sandbox.read)
  const plain = await runMain(directory, ['init', 'b', '--json'], { PATH: '/usr/bin:/bin' })
  t.match(JSON.parse(plain.stdout), { read_too: [] })
})
