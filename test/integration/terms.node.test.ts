/**
 * Whose rights a command has: those that its own capability set gives now, not those of somebody who was there before, nor
 * those of before a reload.
 * @module
 */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { changeConfig, configPath, type Daemon, install, startDaemon } from './daemon.node.ts'

const isRoot = process.geteuid?.() === 0
const OTHER = { allowed_commands: ['*'], allowed_paths: ['*'], allowed_env: ['*'] }

/** A daemon with a second agent, whose capability set is `other`; commands of the first run as nobody. */
async function startTwo(t: Test, sandbox: Record<string, unknown>): Promise<Daemon> {
  const directory = await install(t, { sandbox })
  const config = JSON.parse(readFileSync(configPath(directory), 'utf8'))
  const [first, operator] = config.agents
  config.capabilities.other = OTHER
  config.capabilities.default.run_as = 'nobody'
  // Keys of an operator will do for a second agent.
  config.agents = [first, { ...operator, role: 'agent', capability: 'other' }]
  writeFileSync(configPath(directory), JSON.stringify(config))
  const daemon = await startDaemon(t, directory)
  // On the real files the way to the workspace is the real one.
  for (const path of ['', '.sass-edge']) chmodSync(join(directory, path), 0o711)
  chmodSync(daemon.workspace, 0o777)
  return daemon
}

async function whoIs(daemon: Daemon, agent: string): Promise<string> {
  const key = join(daemon.directory, `.sass-edge/keys/${agent}.key`)
  const ran = await daemon.cli(['exec', '--agent', agent, '--key', key, '--', 'id', '-un'])
  return ran.code === 0 ? ran.stdout.toString().trim() : ran.stderr
}

for (const sandbox of [{ require: 'overlay' }, { require: 'none' }]) {
  t.test(`two agents do not run as each other: ${sandbox.require}`, async (t) => {
    if (!isRoot) return void t.comment('skipped: only root can run commands as somebody else')
    const daemon = await startTwo(t, sandbox)
    for (let round = 0; round < 2; round++) {
      t.equal(await whoIs(daemon, 'agent'), 'nobody')
      t.equal(await whoIs(daemon, 'operator'), 'root')
    }
  })

  t.test(`after a reload commands have the new rights: ${sandbox.require}`, async (t) => {
    if (!isRoot) return void t.comment('skipped: only root can run commands as somebody else')
    const daemon = await startTwo(t, sandbox)
    t.equal(await whoIs(daemon, 'operator'), 'root')
    changeConfig(daemon.directory, { capabilities: { other: { ...OTHER, run_as: 'nobody' } } })
    t.equal((await daemon.cli(['reload'])).code, 0)
    t.equal(await whoIs(daemon, 'operator'), 'nobody')
    changeConfig(daemon.directory, { capabilities: { other: { ...OTHER, run_as: null } } })
    t.equal((await daemon.cli(['reload'])).code, 0)
    t.equal(await whoIs(daemon, 'operator'), 'root')
  })
}

t.test('whatever the umask of the daemon is, everybody finds the way in a session', async (t) => {
  if (!isRoot) return void t.comment('skipped: only root can run commands as somebody else')
  const before = process.umask(0o077)
  t.teardown(() => process.umask(before))
  const daemon = await startTwo(t, { require: 'overlay' })
  t.equal(await whoIs(daemon, 'agent'), 'nobody')
  const key = join(daemon.directory, '.sass-edge/keys/agent.key')
  const ran = await daemon.cli(['exec', '--key', key, '--', 'ls', '/var', '/var/log/..'])
  t.equal(ran.code, 0, ran.stderr)
})
