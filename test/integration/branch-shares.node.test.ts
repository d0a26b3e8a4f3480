/**
 * An agent that makes branch after branch: others go on, and an operator sees all of them and can clear up.
 * @module
 */
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { connect } from '../../src/client/client.node.ts'
import { type Daemon, install, startDaemon } from './daemon.node.ts'

const BRANCHES = 150

async function writes(daemon: Daemon, agent: string): Promise<string> {
  const { port, fingerprint: pin } = daemon
  const client = await connect({ host: '127.0.0.1', port, agent, privateKey: daemon.seed(agent), pin })
  try {
    const { exitCode } = await client.execute('sh', ['-c', 'echo new > file'])
    return String(exitCode)
  } catch (cause) {
    return cause instanceof Error ? cause.message : 'unknown'
  } finally {
    await client.close()
  }
}

t.test('who has taken its share is told so, and nobody else has less', async (t) => {
  const directory = await install(t)
  const first = await startDaemon(t, directory)
  t.equal(await writes(first, 'agent'), '0')
  t.match(await first.cli(['agent', 'add', 'other']), { code: 0 })
  await first.stop()
  const store = join(directory, '.sass-edge/state/branches')
  const [one = ''] = readdirSync(store).filter((name) => /^[0-9a-f]{32}$/.test(name))
  const text = readFileSync(join(store, one, 'branch.json'), 'utf8')
  // As that many sessions leave them.
  for (let count = 1; count < BRANCHES; count++) {
    const name = count.toString(16).padStart(32, '0')
    cpSync(join(store, one), join(store, name), { recursive: true })
    writeFileSync(join(store, name, 'branch.json'), text.replaceAll(one, name))
  }
  const daemon = await startDaemon(t, directory)
  t.match(await writes(daemon, 'agent'), /150 branches of this agent wait for a decision/)
  t.equal(await writes(daemon, 'other'), '0', 'another agent goes on')
  const listed: { branches: { session: string }[]; total: number } = JSON.parse(
    (await daemon.cli(['branch', 'list', '--json'])).stdout.toString(),
  )
  t.equal(listed.branches.length, BRANCHES + 1, 'all are listed')
  t.equal(new Set(listed.branches.map(({ session }) => session)).size, BRANCHES + 1)
  for (const { session } of listed.branches.slice(-40))
    t.match(await daemon.cli(['branch', 'drop', session, '--yes']), { code: 0 })
  t.equal(await writes(daemon, 'agent'), '0', 'with fewer there is room again')
})
