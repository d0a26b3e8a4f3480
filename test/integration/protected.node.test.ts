/**
 * What governs the daemon is out of reach of those whom it judges, and what they destroy in their workspace is not
 * destroyed before a human has seen it.
 * @module
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { connect } from '../../src/client/client.node.ts'
import { configPath, install, startDaemon } from './daemon.node.ts'

t.test(
  'writing to the record, the rules or the keys is denied; what is destroyed in the workspace waits for a human in its branch (JF-064)',
  async (t) => {
    const directory = await install(t, {
      defense: { vi_swap: { hold_seconds: 1 } },
      policy: { rules_file: 'rules.json' },
    })
    const own = join(directory, '.sass-edge')
    writeFileSync(join(own, 'rules.json'), '{"rules": []}')
    const daemon = await startDaemon(t, directory)
    const { port, fingerprint: pin } = daemon
    const enter = () =>
      connect({ host: '127.0.0.1', port, agent: 'agent', privateKey: daemon.seed(), pin, branch: 'new' })
    const boss = await connect({ socketPath: daemon.adminSocket })
    const chain = join(own, 'state/audit/audit.jsonl')
    t.ok(existsSync(chain))
    for (const argv of [
      ['sh', '-c', `echo x >> ${chain}`],
      ['rm', '-r', dirname(chain)],
      ['touch', join(own, 'rules.json')],
      ['cp', 'x', configPath(directory)],
      ['mv', join(own, 'state'), 'x'],
    ]) {
      const device = await enter()
      const [command = '', ...args] = argv
      await t.rejects(device.execute(command, args), { code: 'RESPONSE_VI_SWAP_ENGAGED' }, argv.join(' '))
      t.match(
        daemon.audit().findLast(({ type }) => type === 'decision'),
        { response: 'R4', severity: 'critical' },
      )
      await device.close()
      await boss.operator.setLevel({ scope: 'agent', name: 'agent', level: 'NORMAL' })
    }

    const build = join(daemon.workspace, 'build')
    mkdirSync(build)
    writeFileSync(join(build, 'out'), 'x')
    const device = await enter()
    const removed = await device.execute('sh', ['-c', 'rm -r build && test ! -e build'])
    t.equal(removed.exitCode, 0, Buffer.from(removed.stderr).toString())
    t.ok(existsSync(join(build, 'out')), 'it is gone in the branch alone')
    const { digest } = await boss.branches.diff(device.sessionId, 'stat', () => {})
    const unasked = await daemon.cli(['branch', 'merge', device.sessionId])
    t.match(unasked, { code: 125, stderr: /Nobody said yes/ })
    t.ok(existsSync(join(build, 'out')), 'and stays so for as long as nobody says yes')
    t.match(await boss.branches.merge(device.sessionId, digest), { success: true })
    t.notOk(existsSync(build), 'until a human has looked at it and said so')
    await Promise.all([device.close(), boss.close()])
  },
)
