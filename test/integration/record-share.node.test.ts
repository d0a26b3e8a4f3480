/**
 * An agent that fills the record with what it sends: it is refused before anything of the history is pushed out, and
 * nobody else is.
 * @module
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { connect } from '../../src/client/client.node.ts'
import { install, sassEdge, startDaemon } from './daemon.node.ts'

const MIB = 1_048_576
/** Two and a half times what is kept, if all of it were recorded. */
const COMMANDS = 340
const ARGUMENT_BYTES = 60_000

/** A daemon that keeps little, and two agents who come to it. */
async function shared(t: Test) {
  const directory = await install(t, { audit: { keep_bytes: 8 * MIB, segment_bytes: MIB } })
  const added = await sassEdge(['agent', 'add', 'other'], { cwd: directory })
  t.equal(added.code, 0, added.stderr)
  const daemon = await startDaemon(t, directory)
  const come = (agent: string) =>
    connect({
      host: '127.0.0.1',
      port: daemon.port,
      agent,
      privateKey: daemon.seed(agent),
      pin: daemon.fingerprint,
    })
  return { directory, daemon, come }
}

t.test('long arguments push nothing out of the record, and cost others nothing', async (t) => {
  const { directory, daemon, come } = await shared(t)
  const client = await come('agent')
  const word = 'x'.repeat(ARGUMENT_BYTES)
  let done = 0
  const refused = new Map<string, number>()
  for (let count = 0; count < COMMANDS; count++)
    try {
      await client.execute('true', [word])
      done++
    } catch (cause) {
      const { code = '', message = '' } = cause as { code?: string; message?: string }
      const why = `${code} ${message}`
      refused.set(why, (refused.get(why) ?? 0) + 1)
    }
  t.comment(`${done} ran`)
  t.ok(done > 20 && done < 40, 'a quarter of what is kept')
  t.equal(refused.size, 1)
  t.match([...refused.keys()][0], /RESPONSE_THROTTLED .*filled its share of the record/)
  t.notOk(existsSync(join(directory, '.sass-edge/state/audit/dropped.json')), 'nothing is dropped')
  const others = await come('other')
  t.equal((await others.execute('true', [])).exitCode, 0, 'another agent goes on')
  await others.close()
  await client.close()
  t.match(await daemon.cli(['branch', 'list']), { code: 0 }, 'an operator too')
  await daemon.stop()
  for (const words of ['verify', 'replay'])
    t.equal((await sassEdge(['audit', words], { cwd: directory })).code, 0, words)
})

/** Of these a share of 2 MiB holds some 33. */
const NEARLY_ALL = 28

t.test(
  'an agent that has nearly filled its share waits for its next answer, and nobody else does',
  async (t) => {
    const { daemon, come } = await shared(t)
    const [flooding, other] = [await come('agent'), await come('other')]
    const word = 'x'.repeat(ARGUMENT_BYTES)
    await other.execute('true', [])
    for (let count = 0; count < NEARLY_ALL; count++) await flooding.execute('true', [word])
    const ended: string[] = []
    const run = async (name: string, client: typeof other, times: number, words: string[]) => {
      for (let count = 0; count < times; count++) {
        t.equal((await client.execute('true', words)).exitCode, 0, name)
        ended.push(name)
      }
    }
    await Promise.all([run('flooding', flooding, 2, [word]), run('other', other, 10, [])])
    t.strictSame(
      ended.slice(0, 10),
      Array(10).fill('other'),
      'it has ten answers before that one has its next',
    )
    t.strictSame(ended.slice(10), ['flooding', 'flooding'], 'which come all the same')
    await Promise.all([flooding.close(), other.close()])
    await daemon.stop()
  },
)
