/**
 * What a real daemon writes down: who, what was decided and why; never what was in a command or came out of it.
 * @module
 */
import { constants, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { client } from './agents.node.ts'
import { auditEvents, install, type Json, sassEdge, startDaemon, startNew } from './daemon.node.ts'

t.test('the audit holds transitions and their reasons and never the text of a command (SS-51)', async (t) => {
  const directory = await install(t)
  const daemon = await startDaemon(t, directory)
  const secret = 'hunter2-Zf8'
  const { stdout } = await daemon.cli(['exec', '--', 'echo', secret])
  t.equal(stdout.toString(), `${secret}\n`)
  await daemon.cli(['exec', '--', 'ls', `/no/such/${secret}`])
  await daemon.cli(['exec', '--', `./${secret}`])
  await daemon.stop()
  const events = daemon.audit()
  const types = new Set(events.map(({ type }) => type))
  t.strictSame([...types].sort(), ['daemon', 'decision', 'epoch', 'execution_ended', 'firewall', 'session'])
  for (const event of events.filter(({ type }) => type === 'decision'))
    t.match(event, { response: /^(R[1-6]|STATUS)$/, layer: String, rule: String, severity: String })
  const written = readFileSync(join(directory, '.sass-edge/state/audit/audit.jsonl'), 'utf8')
  t.notMatch(written, new RegExp(`hunter2|echo|no/such|${directory}`))
})

const INSTANCE = /^(agent|operator|admin)-\d{8}T\d{6}Z-[0-9a-f]{8}$/
/** Records that are about the daemon and nobody else. */
const NOBODYS = ['daemon', 'epoch', 'recovered', 'dropped', 'refusals', 'firewall']

/** A day in short: commands that end, that are killed and that are refused, levels, questions, a purge. */
async function livedThrough(directory: string, daemon: Awaited<ReturnType<typeof startDaemon>>) {
  const agent = await client(daemon)
  await agent.execute('true')
  const detached = await daemon.cli(['exec', '--detach', '--', 'sleep', '60'])
  await daemon.cli(['kill', detached.stdout.toString().trim()])
  await daemon.cli(['level', 'set', 'agent', 'agent', 'RESTRICT', '--why', 'a drill'])
  await daemon.cli(['level', 'set', 'agent', 'agent', 'NORMAL', '--why', 'it is over'])
  await agent.execute('rm', ['-rf', '/']).catch(() => {})
  await agent.close().catch(() => {})
  const session = auditEvents(directory).find(({ type }) => type === 'session')?.['session']
  await daemon.cli(['purge', String(session), '--yes'])
  await daemon.stop()
  return auditEvents(directory)
}

t.test(
  'every record of what somebody did names the instance, and all other records are about nobody (JF-053, JF-R01)',
  async (t) => {
    const daemon = await startNew(t, {
      defense: {
        vi_swap: { hold_seconds: 1 },
        tarpit: { chunk_bytes: 64, total_bytes: 128, delay_ms: 50 },
      },
    })
    const events = await livedThrough(daemon.directory, daemon)
    const types = new Set(events.map(({ type }) => String(type)))
    for (const type of ['decision', 'session', 'execution_ended', 'level', 'purge'])
      t.ok(types.has(type), `${type} is among them`)
    for (const event of events) {
      const { type, agent } = event
      if (NOBODYS.includes(String(type))) continue
      // A connection that nobody has proven to be: there is no agent yet.
      if (type === 'decision' && agent === null) t.equal(event['instance'], null)
      else t.match(event['instance'], INSTANCE, JSON.stringify(event))
    }
    const own = events.filter((event) => event['agent'] === 'agent')
    const bySession = new Map(own.map((event) => [event['session'], event['instance']]))
    bySession.delete(null)
    for (const event of own.filter(({ session }) => session !== null))
      t.equal(event['instance'], bySession.get(event['session']), 'one session, one instance')
  },
)

t.test(
  'whatever is named by what it is, is named by the whole SHA-256 in lower-case digits (RX-09)',
  async (t) => {
    const daemon = await startNew(t)
    await daemon.cli(['exec', '--', 'true'])
    await daemon.stop()
    const place = join(daemon.directory, '.sass-edge/state/audit')
    const lines = readFileSync(join(place, 'audit.jsonl'), 'utf8').split('\n').filter(Boolean)
    const whole = /^[0-9a-f]{64}$/
    let named = 0
    for (const line of lines) {
      const { chain_hash, event } = JSON.parse(line) as { chain_hash: string; event: Json }
      t.match(chain_hash, whole)
      for (const field of ['warrant', 'action_digest', 'facts', 'frozen', 'digest', 'follows'])
        if (typeof event[field] === 'string') {
          t.match(event[field], whole, field)
          named++
        }
    }
    t.ok(named > 5, `${named} of them`)
    for (const name of readdirSync(join(place, 'policies'))) t.match(name, /^[0-9a-f]{64}\.(json|rules)$/)
  },
)

/** All that the chain says, in order; throws where a file was closed meanwhile. */
function chainBytes(place: string): Buffer {
  const closed = () =>
    readdirSync(place)
      .filter((name) => /^audit-\d+\.jsonl$/.test(name))
      .sort()
  const files = closed()
  const bytes = Buffer.concat([...files, 'audit.jsonl'].map((name) => readFileSync(join(place, name))))
  if (closed().length !== files.length) throw new Error('Between two files.')
  return bytes
}

t.test('what was written stays as it is: the chain only grows, whatever happens (JF-F08)', async (t) => {
  const directory = await install(t, { audit: { segment_bytes: 65_536, epoch_records: 20 } })
  const place = join(directory, '.sass-edge/state/audit')
  let before: Buffer = Buffer.alloc(0)
  let looks = 0
  const look = () => {
    let now: Buffer
    try {
      now = chainBytes(place)
    } catch {
      // Between two files for a moment.
      return
    }
    if (now.length < before.length || !now.subarray(0, before.length).equals(before))
      t.fail('what was written is another thing now')
    before = now
    looks++
  }
  for (let start = 0; start < 3; start++) {
    const daemon = await startDaemon(t, directory)
    const flags = readdirSync(`/proc/${daemon.pid}/fd`).flatMap((name) => {
      const info = readFileSync(`/proc/${daemon.pid}/fdinfo/${name}`, 'utf8')
      const path = readlinkSync(`/proc/${daemon.pid}/fd/${name}`)
      return path.endsWith('audit.jsonl')
        ? [Number.parseInt(/^flags:\s+(\d+)/m.exec(info)?.[1] ?? '0', 8)]
        : []
    })
    t.equal(flags.length, 1, 'one descriptor')
    t.ok((flags[0] ?? 0) & constants.O_APPEND, 'which can write nowhere but at the end')
    const agent = await client(daemon)
    for (let index = 0; index < 40; index++) {
      await agent.execute('true')
      look()
    }
    await daemon.cli(['level', 'set', 'agent', 'agent', 'RESTRICT'])
    await daemon.cli(['level', 'set', 'agent', 'agent', 'NORMAL'])
    look()
    // Once it ends in order, and twice in the middle of something.
    if (start === 0) await daemon.stop()
    else {
      agent.execute('true').catch(() => {})
      daemon.signal('SIGKILL')
      await daemon.ended
    }
    // A line that was torn before its hash was never acted upon: it is the one thing that goes.
    before = before.subarray(0, before.lastIndexOf(0x0a) + 1)
    look()
    before = before.subarray(0, before.lastIndexOf(0x0a) + 1)
  }
  t.ok(looks > 100, `${looks} looks`)
  t.ok(
    readdirSync(place).some((name) => /^audit-\d+\.jsonl$/.test(name)),
    'over several files',
  )
  const { code } = await sassEdge(['audit', 'verify'], { cwd: directory })
  t.equal(code, 0)
})
