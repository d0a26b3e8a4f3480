/**
 * A link that breaks while the device lets a client in that has asked for a command with it: whoever is told that it may
 * be repeated has started nothing.
 * @module
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cutLink } from './cutting.node.ts'
import { ON_REAL_FILES, startNew, until } from './daemon.node.ts'

const daemon = await startNew(t, ON_REAL_FILES)
// The first bytes that come down are the handshake, then the ticket and the answer to Authenticate.
const CUTS = Array.from({ length: 40 }, (_, index) => 1_000 + 60 * index)

t.test('255 is told where nothing was started, however far the answer came', async (t) => {
  const link = await cutLink(
    t,
    daemon.port,
    CUTS.map((bytes) => ({ way: 'down', bytes })),
  )
  const key = join(daemon.directory, '.sass-edge/keys/agent.key')
  const target = `agent@127.0.0.1:${link.port}`
  const started: string[] = []
  const told = new Map<number | null, number>()
  for (const bytes of CUTS) {
    const mark = join(daemon.workspace, `ran-${bytes}`)
    const words = ['--yes', '--key', key, '--reconnect', '0', target, '--', 'touch', mark]
    const { code, stderr } = await daemon.cli(['exec', ...words])
    told.set(code, (told.get(code) ?? 0) + 1)
    if (code === 254) t.match(stderr, /sass-edge attach .*[0-9a-f]{32}/, 'how to look what became of it')
    if (code === 255) started.push(mark)
  }
  await until('all of it has ended', async () => {
    const { stdout } = await daemon.cli(['status', '--json'])
    return JSON.parse(stdout.toString()).active_processes === 0
  })
  t.strictSame(started.filter(existsSync), [])
  t.comment([...told].map(([code, count]) => `${count} times ${code}`).join(', '))
  t.ok(told.has(254) && told.has(255), 'it was cut before and behind')
})
