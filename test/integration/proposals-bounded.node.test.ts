/**
 * A configuration with which reads and writes are those of the constitution and no others, tried from all sides: by
 * proposals, by transfers and commands of whoever proposes, and by the commands of another agent on that device.
 * Rules: docs/proposals.md, "Nothing but that".
 * @module
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { userInput } from '../../src/intent/proposals/observations.ts'
import { candidate } from '../intent/proposals/ground.node.ts'
import { SHORT } from './agentic.node.ts'
import { client } from './agents.node.ts'
import { changeConfig, install, type Json, sassEdge, startDaemon } from './daemon.node.ts'
import { told } from './handoffs.node.ts'

const SAY = 'Hello'
const claim = { observation_ids: [userInput(SAY).id] }
const PROGRAMS = ['/usr', '/bin', '/lib', '/lib64']

t.test(
  'reads of artifacts and workspace, writes to workspace and logs, and nothing else (RX-30)',
  async (t) => {
    const directory = await install(t, SHORT)
    // Not in /tmp, which is another one for each session.
    const workspace = t.testdir()
    const place = join(workspace, 'proposals')
    for (const name of ['artifacts', 'workspace', 'logs']) mkdirSync(join(place, name), { recursive: true })
    writeFileSync(join(place, 'artifacts/given'), 'given')
    let calls = 0
    const server = createServer((socket) => {
      calls++
      socket.destroy()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const { port } = server.address() as { port: number }
    // What no rule reads: a command line with such a path is refused before it could try.
    const tries = ['127.0.0.1', '192.0.2.1'].map((host) => `echo x >/dev/tcp/${host}/${port} && exit 0`)
    writeFileSync(join(place, 'artifacts/connect.sh'), [...tries, 'exit 42', ''].join('\n'))
    const roots = ['workspace', 'logs'].map((name) => join(place, name))
    const allowed_paths = [...roots, join(place, 'artifacts')]
    changeConfig(directory, {
      security: { workspace_root: workspace },
      sandbox: { network: 'none', read: [...PROGRAMS, join(place, 'artifacts')], branch_roots: roots },
      capabilities: {
        default: { allowed_commands: [], allowed_paths, max_file_size_bytes: 1_000 },
        worker: { allowed_commands: ['*'], allowed_paths: ['*'] },
      },
    })
    const added = await sassEdge(['agent', 'add', 'helper', '--capability', 'worker'], { cwd: directory })
    t.equal(added.code, 0, added.stderr)
    const daemon = await startDaemon(t, directory)
    const [agent, helper] = [await client(daemon), await client(daemon, 'helper')]
    t.teardown(() => Promise.all([agent.close(), helper.close()]))

    const propose = (type: string, fields: Json) =>
      agent.proposals.decide({ candidates: [candidate({ type, fields, claim })], said: SAY })
    const read = (path: string) => propose('ReadLocal', { path })
    const write = (path: string) => propose('WriteLocal', { path, content: 'made' })
    t.match(await read('./artifacts/given'), { decision: 'ACTION', content: 'given' })
    t.match(await write('./workspace/made'), { decision: 'ACTION' })
    t.match(await read('./workspace/made'), { content: 'made' })
    t.match(await write('./logs/made'), { decision: 'ACTION' })
    for (const path of ['/etc/hostname', './logs/made', '../keys/agent.key', './artifacts/../../x'])
      t.match(await read(path), { decision: 'REFUSE', content: undefined }, `read ${path}`)
    for (const path of ['./artifacts/made', '/tmp/made', '../made', './workspace/../made'])
      t.match(await write(path), { decision: 'REFUSE' }, `write ${path}`)
    for (const type of ['Connect', 'Fetch', 'Execute'])
      t.match(await propose(type, { url: 'http://127.0.0.1/' }), { decision: 'REFUSE' }, type)

    // By no other way either: what is no proposal of whoever proposes reaches nothing more, but reads its logs.
    const local = join(directory, 'local')
    writeFileSync(local, 'local')
    t.match(await told(agent.execute('/usr/bin/cat', ['/etc/hostname'])), /^CAPABILITY_/)
    t.match(await told(agent.download('/etc/hostname', join(directory, 'got'))), /^CAPABILITY_/)
    t.match(await told(agent.upload(local, join(place, 'other'))), /^CAPABILITY_/)
    t.equal(
      await told(agent.upload(local, join(place, 'workspace/other'))),
      'done',
      'what may be written can be',
    )
    t.match(await told(agent.upload(local, join(place, 'artifacts/other'))), /^FILE_/, 'only read')

    t.equal(await told(agent.download(join(place, 'logs/made'), join(directory, 'logs'))), 'done', 'its logs')

    // Whoever may run commands there sees nothing of the device but programs, and has no network.
    const cwd = join(place, 'workspace')
    const run = (...argv: readonly string[]) => helper.execute('/bin/bash', ['-c', ...argv], { cwd })
    const code = async (line: string) => (await run(line)).exitCode
    t.equal(await code('cat ../artifacts/given'), 0)
    t.equal(await code('echo x > made && echo x > ../logs/made'), 0)
    t.not(await code('cat /etc/hostname'), 0, 'not there')
    t.not(await code(`cat ${directory}/local`), 0, 'not there either')
    t.not(await code('echo x > ../artifacts/made'), 0)
    t.not(await code('echo x > ../made'), 0)
    t.equal(await code('bash ../artifacts/connect.sh'), 42, 'it ran, and neither was reached')
    t.equal(calls, 0, 'nobody was reached')

    t.same([existsSync(join(place, 'artifacts/made')), existsSync(join(place, 'made'))], [false, false])
    t.equal(readFileSync(join(place, 'artifacts/given'), 'utf8'), 'given')
    t.equal((await daemon.cli(['audit', 'replay'])).code, 0)
  },
)
