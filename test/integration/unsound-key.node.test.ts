/**
 * A public key with a low-order component: verifiers disagree about what it has signed. Nobody comes in with one.
 * @module
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { changeConfig, configPath, install, sassEdge, startDaemon, temporary, until } from './daemon.node.ts'
import { enroll, freePort, invite } from './enrolling.node.ts'

/** Five times the base point and a point of order eight, added; made with @noble/curves. */
const MIXED = 'ExYE0Bhl--359mLSUxHGihl88obyaDckhzoUf-1q2jU'

/** The installation's own agents and one of that key. */
function enlist(directory: string): void {
  const { agents } = JSON.parse(readFileSync(configPath(directory), 'utf8')) as { agents: object[] }
  changeConfig(directory, { agents: [...agents, { name: 'odd', public_key: MIXED, capability: 'default' }] })
}

t.test('a start takes it out of the list and says so; the others are served', async (t) => {
  const directory = await install(t)
  enlist(directory)
  const checked = await sassEdge(['check'], { cwd: directory })
  t.equal(checked.code, 125)
  t.match(checked.stdout.toString(), /agents\[2\]\.public_key.*prime-order subgroup/)
  const daemon = await startDaemon(t, directory)
  await until('a line about it', () => daemon.log().some((line) => line.includes('key_refused')))
  t.match(
    daemon.log().find((line) => line.includes('key_refused')),
    /agent=odd path=agents\[2\]\.public_key/,
  )
  const { code, stderr } = await daemon.cli(['exec', '--', 'true'])
  t.equal(code, 0, stderr)
})

t.test('a reload with it changes nothing', async (t) => {
  const directory = await install(t)
  const daemon = await startDaemon(t, directory)
  enlist(directory)
  const { code, stderr } = await daemon.cli(['reload'])
  t.not(code, 0)
  t.match(stderr, /agents\[2\]\.public_key.*prime-order subgroup/)
  t.equal((await daemon.cli(['exec', '--', 'true'])).code, 0)
})

t.test('whoever has enrolled is served beside it', async (t) => {
  const directory = await install(t)
  const { listen } = JSON.parse(readFileSync(configPath(directory), 'utf8')) as { listen: object }
  changeConfig(directory, { listen: { ...listen, port: await freePort() } })
  const before = await startDaemon(t, directory)
  const home = temporary(t)
  const came = await enroll(home, await invite(before, 'guest'), '--name', 'edge7')
  t.equal(came.code, 0, came.stderr)
  await before.stop()
  enlist(directory)
  const daemon = await startDaemon(t, directory)
  await until('a line about it', () => daemon.log().some((line) => line.includes('key_refused')))
  const { code, stderr } = await sassEdge(['exec', 'edge7', '--', 'true'], { cwd: home })
  t.equal(code, 0, stderr)
})
