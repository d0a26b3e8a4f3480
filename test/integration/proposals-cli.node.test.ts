/**
 * Proposals to a device as a user types them: the exit code is the decision, stdout is what was read or said.
 * @module
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { userInput } from '../../src/intent/proposals/observations.ts'
import { candidate, notify } from '../intent/proposals/ground.node.ts'
import { SHORT } from './agentic.node.ts'
import { type Daemon, install, startDaemon } from './daemon.node.ts'

const SAY = 'Hello'
const claim = { observation_ids: [userInput(SAY).id] }
const read = (path: string) => candidate({ type: 'ReadLocal', fields: { path }, claim })

async function decide(daemon: Daemon, candidates: readonly object[], ...more: readonly string[]) {
  const input = JSON.stringify({ candidates })
  const words = ['decide', '--device', '--stdin', '--said', SAY, ...more]
  const { code, stdout, stderr } = await daemon.cli(words, { input })
  return { code, stdout: stdout.toString(), stderr }
}

t.test('a device decides and does it, and the exit code says how (RX-43)', async (t) => {
  const directory = await install(t, SHORT)
  const daemon = await startDaemon(t, directory)
  const place = join(daemon.workspace, 'proposals/artifacts')
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'given'), 'two\nlines')
  t.match(await decide(daemon, [notify('Hello back', { claim })]), {
    code: 0,
    stdout: 'Hello back\n',
    stderr: /^ACTION {2}Notify {2}warrant [0-9a-f]{64}\n$/,
  })
  t.match(await decide(daemon, [read('./artifacts/given')]), { code: 0, stdout: 'two\nlines\n' })
  t.match(await decide(daemon, [read('/etc/passwd')]), {
    code: 1,
    stdout: '',
    stderr: /^REFUSE {2}NO_ADMISSIBLE_ACTION {2}at io_allowlist\n$/,
  })
  const exit = candidate({ type: 'Exit', fields: { reason_code: 'USER_REQUESTED' }, claim })
  t.match(await decide(daemon, [exit]), { code: 2, stderr: /^EXIT {2}USER_REQUESTED\n$/ })
  const told = await decide(daemon, [read('./artifacts/given')], '--json')
  t.match(JSON.parse(told.stdout), {
    ...{ decision: 'ACTION', cycle: 0, content: 'two\nlines', hidden: 0 },
    ...{ artifact: { type: 'ExecutionWarrant' }, state_hash: /^[0-9a-f]{64}$/ },
  })
  t.match(await decide(daemon, [read('./artifacts/none')]), { code: 255, stderr: /no such file/ })
  t.equal(daemon.audit().filter(({ type }) => type === 'proposal_execution').length, 6, 'a cycle each')
})

t.test('what belongs to decisions without a device is refused with one', async (t) => {
  const daemon = await startDaemon(t, await install(t, SHORT))
  const refused = await decide(daemon, [], '--logs', 'run1')
  t.match(refused, { code: 125, stderr: /--logs is for decisions without a device/ })
  const file = join(daemon.directory, 'p.json')
  writeFileSync(file, JSON.stringify({ observations: [], candidates: [notify('x', { claim })] }))
  const both = await daemon.cli(['decide', '--device', '--said', SAY, 'p.json'])
  t.match(both, { code: 1, stderr: /^REFUSE {2}/ }, 'observations are the device’s own')
  t.equal((await daemon.cli(['decide', '--device', 'none.json'])).code, 125)
})
