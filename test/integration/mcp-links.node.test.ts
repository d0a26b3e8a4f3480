/**
 * `sass-edge mcp` over links that break, and with daemons that are gone and come back.
 */
import { join } from 'node:path'
import t from 'tap'
import { cutLink } from './cutting.node.ts'
import { install, ON_REAL_FILES, startDaemon, startNew, until } from './daemon.node.ts'
import { outputOf, processesWith, startHost } from './mcp-host.node.ts'

t.test('a link that breaks in the middle costs no byte, and running calls go on', async (t) => {
  const daemon = await startNew(t, ON_REAL_FILES)
  const link = await cutLink(t, daemon.port, [
    { way: 'down', bytes: 40_000 },
    { way: 'down', bytes: 30_000 },
    // In the middle of what is written: nothing before it sends so much.
    { way: 'up', bytes: 20_000 },
  ])
  const key = join(daemon.directory, '.sass-edge/keys/agent.key')
  const target = `agent@127.0.0.1:${link.port}`
  const host = await startHost(t, daemon, ['--yes', '--key', key, target])
  const script = 'for i in 1 2 3 4 5 6 7 8 9; do seq 1 2000; sleep 0.2; done; exit 6'
  const ran = await host.call('execute', { command: ['sh', '-c', script], max_output_bytes: 262_144 })
  const one = Array.from({ length: 2_000 }, (_, index) => `${index + 1}\n`).join('')
  t.match(ran, { isError: false, data: { exit_code: 6 } })
  t.ok(outputOf(ran, 'stdout') === one.repeat(9), 'all of it, once')
  const content = 'x'.repeat(200_000)
  t.match(await host.call('write', { path: 'big', content }), { isError: false })
  t.match((await host.call('read', { path: 'big', max_bytes: 262_144 })).data, { bytes: 200_000 })
  t.ok(link.links >= 3, `${link.links} links`)
  t.match(host.stderr(), /link is back/)
})

t.test('a daemon that is gone is told as that, and found again when it is back', async (t) => {
  const directory = await install(t, ON_REAL_FILES)
  const daemon = await startDaemon(t, directory)
  const host = await startHost(t, daemon, ['--reconnect', '0'])
  // What an earlier run has left there is another one.
  const long = `98.${process.pid}`
  const going = host.call('execute', { command: ['sleep', long] })
  await until('the command', () => processesWith(long).length === 1)
  daemon.signal('SIGKILL')
  await daemon.ended
  const lost = await going
  t.match(lost, { isError: true, data: { outcome: 'unknown', id: /^[0-9a-f]{32}$/ } })
  t.match(lost.text, /job_status/)
  t.match(await host.call('read', { path: 'a' }), { isError: true, data: { error: 'CONNECT_FAILED' } })
  await startDaemon(t, directory)
  const back = await host.call('execute', { command: ['echo', 'again'] })
  t.match(back, { isError: false, data: { exit_code: 0 } })
  t.match(await host.call('job_status', { id: lost.data['id'] }), { text: /unknown|OUTCOME_UNKNOWN/ })
})

t.test('a device that is out of reach at the start is tried at every call', async (t) => {
  const directory = await install(t, ON_REAL_FILES)
  const host = await startHost(t, { directory })
  t.match(await host.call('list'), {
    isError: true,
    data: { error: 'CONNECT_FAILED', outcome: 'not_started' },
  })
  await startDaemon(t, directory)
  t.match(await host.call('list'), { isError: false })
  t.match(host.stderr(), /Every call tries again/)
})
