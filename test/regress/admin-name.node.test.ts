/**
 * An agent of the name `admin` once owned the same executions as whoever came through the admin socket.
 * @module
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { changeConfig, configPath, install, sassEdge } from '../integration/daemon.node.ts'

t.test('a configuration with an agent of the admin socket’s name is refused', async (t) => {
  const directory = await install(t)
  const { agents } = JSON.parse(readFileSync(configPath(directory), 'utf8')) as { agents: object[] }
  changeConfig(directory, { agents: [{ ...agents[0], name: 'admin' }, ...agents.slice(1)] })
  const { code, stdout } = await sassEdge(['check'], { cwd: directory })
  t.equal(code, 125)
  t.match(stdout.toString(), /agents\[0\]\.name/)
})
