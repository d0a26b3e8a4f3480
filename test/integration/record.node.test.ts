/**
 * The record of a real daemon: nothing is done that is not in it, whenever the daemon is killed; and what is purged is
 * found nowhere. RECORD_KILLS says how many times it is killed; the long form is 1,000.
 * @module
 */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { connect } from '../../src/client/client.node.ts'
import { RECORD_LINE_BYTES } from '../../src/limits.ts'
import { encodeFrame } from '../../src/wire/frame.ts'
import { executeRequest } from '../../src/wire/messages.ts'
import { client } from './agents.node.ts'
import { known } from './connections.node.ts'
import {
  changeConfig,
  eventsIn,
  install,
  type Json,
  ON_REAL_FILES,
  sassEdge,
  startDaemon,
  startNew,
  until,
} from './daemon.node.ts'

const KILLS = Number(process.env['RECORD_KILLS'] ?? 6)

async function said(directory: string, ...args: string[]): Promise<Json & { readonly code: number }> {
  const { code, stdout } = await sassEdge([...args, '--json'], { cwd: directory, timeoutMs: 120_000 })
  return { ...JSON.parse(stdout.toString()), code }
}

/** Every file under a directory, with its path. */
function everyFile(directory: string): string[] {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name)
    return statSync(path).isDirectory() ? everyFile(path) : statSync(path).isFile() ? [path] : []
  })
}

/** Records of all files of the chain. */
function records(directory: string): Json[] {
  const place = join(directory, '.sass-edge/state/audit')
  return readdirSync(place)
    .filter((name) => name.endsWith('.jsonl'))
    .sort((a, b) => (a === 'audit.jsonl' ? 1 : b === 'audit.jsonl' ? -1 : a < b ? -1 : 1))
    .flatMap((name) => eventsIn(readFileSync(join(place, name), 'utf8')))
}

t.test(
  'killed at any moment under load: the chain is whole, and nothing was done without its record (RX-24, RX-43, SS-34)',
  async (t) => {
    // Small epochs and files, so that their changes are among the moments.
    const directory = await install(t, {
      ...ON_REAL_FILES,
      audit: { epoch_records: 7, segment_bytes: 65_536 },
      session: { max_sessions: 64, max_per_agent: null },
      log: { level: 'error' },
    })
    const began: string[] = []
    let [done, torn] = [0, 0]
    for (let round = 0; round < KILLS; round++) {
      const daemon = await startDaemon(t, directory)
      const agents = await Promise.all([client(daemon), client(daemon), client(daemon)])
      let isOver = false
      const work = agents.map(async (agent) => {
        while (!isOver) {
          const id = randomBytes(16).toString('hex')
          began.push(id)
          await agent.execute('touch', [`done-${id}`], { id })
        }
      })
      // From just after the start to well under way.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 120))
      daemon.signal('SIGKILL')
      isOver = true
      await Promise.allSettled(work)
      await daemon.ended
      const verified = await said(directory, 'audit', 'verify')
      t.match(verified, { code: 0, ok: true, pinned: true }, `round ${round}: ${verified['reason'] ?? ''}`)
      if (verified['unfinished'] === true) torn++
    }
    // The start signs a record that was cut off before its signature: what it permits may have been done.
    const daemon = await startDaemon(t, directory)
    await daemon.stop()
    const permitted = new Set(
      records(directory).flatMap(({ action, response, execution }) =>
        action === 'execute' && response === 'R1' ? [String(execution)] : [],
      ),
    )
    for (const name of readdirSync(join(directory, '.sass-edge/workspace'))) {
      if (!name.startsWith('done-')) continue
      done++
      if (!permitted.has(name.slice('done-'.length))) t.fail(`${name} has no record`)
    }
    t.ok(
      done > 0,
      `${KILLS} kills, ${began.length} commands asked for, ${done} done, ${permitted.size} recorded, ${torn} torn lines`,
    )
    t.comment(
      `${KILLS} kills, ${began.length} asked for, ${done} done, ${permitted.size} recorded, ${torn} torn`,
    )
    t.match(await said(directory, 'audit', 'verify'), { ok: true, unfinished: false })
    t.match(await said(directory, 'audit', 'replay'), { ok: true, different: 0, missing: 0, purged: 0 })
  },
)

t.test(
  'a command finds its own decision in the record, and its end is there when it has ended (RX-06)',
  async (t) => {
    const daemon = await startNew(t, { ...ON_REAL_FILES, policy: { default_rules: false } })
    const chain = join(daemon.directory, '.sass-edge/state/audit/audit.jsonl')
    // Not on the command line, where the daemon reads what is named.
    writeFileSync(join(daemon.workspace, 'look.sh'), `cat '${chain}'\n`)
    const agent = await client(daemon)
    const id = randomBytes(16).toString('hex')
    const { stdout } = await agent.execute('sh', ['./look.sh'], { id })
    const seen = Buffer.from(stdout)
      .toString()
      .split('\n')
      .filter((line) => line.includes(id))
    t.equal(seen.length, 1)
    t.match(seen[0], /"action":"execute".*"response":"R1".*"type":"decision"/)
    await until('its end', () => records(daemon.directory).some(({ type }) => type === 'execution_ended'))
    const own = records(daemon.directory).filter(({ execution }) => execution === id)
    t.match(own, [{ type: 'decision' }, { type: 'execution_ended', exit_code: 0 }])
    t.equal(own[0]?.['warrant'], own[1]?.['warrant'])
  },
)

t.test('a warrant has at most two records, and each is far below the bounds of a log (RX-31)', async (t) => {
  // Nobody is there to be asked about it.
  const daemon = await startNew(t, { security: { opaque: 'allow' } })
  const agent = await client(daemon)
  for (let index = 0; index < 20; index++) await agent.execute('true')
  await agent.execute('./no-such-program').catch(() => {})
  await daemon.stop()
  const lines = readFileSync(join(daemon.directory, '.sass-edge/state/audit/audit.jsonl'), 'utf8').split('\n')
  const perWarrant = new Map<string, number>()
  for (const { warrant } of records(daemon.directory))
    if (typeof warrant === 'string') perWarrant.set(warrant, (perWarrant.get(warrant) ?? 0) + 1)
  t.ok(perWarrant.size > 20)
  t.ok(Math.max(...perWarrant.values()) <= 2)
  t.ok(Math.max(...lines.map(({ length }) => length)) <= RECORD_LINE_BYTES, 'a record is about 1 KiB')
})

t.test(
  'what the daemon knew at each decision, and every record of one, comes out of the records before it (RX-36)',
  async (t) => {
    const directory = await install(t, {
      ...ON_REAL_FILES,
      defense: { vi_swap: { hold_seconds: 1 } },
      quota: { ticks_per_task: 2 },
    })
    const levels = join(directory, '.sass-edge/state/levels.json')
    const replayed = async () => {
      const { decisions, same, state, ...rest } = await said(directory, 'audit', 'replay')
      return { ...rest, decisions, same, state: state as { followed: number; broken: Json[] } }
    }
    const first = await startDaemon(t, directory)
    const agent = await client(first)
    const wire = await known(first)
    const asked = (stream: number) =>
      executeRequest.encode({ command: 'echo', args: [`${stream}`], declared_goal: 'g' })
    for (const stream of [3, 5]) wire.socket.write(encodeFrame(stream, 'OPEN', asked(stream), 2))
    await until(
      'both',
      () => records(directory).filter(({ type }) => type === 'execution_ended').length === 2,
    )
    wire.socket.destroy()
    await agent.execute('curl', ['--version']).catch(() => {})
    await Promise.allSettled([1, 2, 3].map(() => agent.execute('chmod\u200b', ['1', 'x'])))
    await first.cli(['level', 'set', 'agent', 'other', 'CONTAIN'])
    await first.stop()
    const kept = readFileSync(levels, 'utf8')
    const second = await startDaemon(t, directory)
    await client(second).catch(() => {})
    await second.stop()
    const whole = await replayed()
    t.match(whole, { code: 0, ok: true, state: { untold: 0, broken: [] } })
    t.ok(whole.decisions === whole.same && whole.decisions === whole.state.followed, JSON.stringify(whole))
    t.match(kept, /CONTAIN/)

    rmSync(levels)
    await (await startDaemon(t, directory)).stop()
    const forgot = await replayed()
    const start = records(directory).findLast(({ what }) => what === 'started')
    t.match(forgot, { code: 1, ok: false, different: 0, missing: 0 })
    t.match(forgot.state.broken[0], {
      sequence: start?.['seq'],
      what: 'level of agent/agent',
      recorded: '"NORMAL"',
      rebuilt: '"CONTAIN"',
    })
    const told = await sassEdge(['audit', 'replay'], { cwd: directory })
    t.match(
      told.stdout.toString(),
      /Record \d+ has level of agent\/agent "NORMAL", and the records before it/,
    )
  },
)

t.test('what is purged is found nowhere; the chain verifies, and replay says so (SS-52)', async (t) => {
  const daemon = await startNew(t, {
    defense: { tarpit: { chunk_bytes: 64, total_bytes: 128, delay_ms: 50 } },
  })
  const { directory } = daemon
  const state = join(directory, '.sass-edge/state')
  const canary = () => `canary-${randomBytes(9).toString('hex')}`
  const [argument, variable, place, input, output, denied] = [
    canary(),
    canary(),
    canary(),
    canary(),
    canary(),
    canary(),
  ]
  mkdirSync(join(daemon.workspace, place))
  writeFileSync(join(daemon.workspace, 'told'), output)
  const agent = await client(daemon)
  const other = await client(daemon)
  await agent.execute('echo', [argument], { environment: { LANG: variable }, cwd: place })
  await agent.execute('cat', ['told'])
  const fed = agent.stream('cat', [], { output() {}, stdin: true })
  fed.write(Buffer.from(input))
  fed.end()
  await fed.exit
  await other.execute('echo', ['of another session'])
  const ofAgent = records(directory).find(({ action, response }) => action === 'execute' && response === 'R1')
  const session = String(ofAgent?.['session'])
  const found = (): string[] =>
    everyFile(state).flatMap((path) => {
      const bytes = readFileSync(path)
      return [argument, variable, place, input, output, denied].flatMap((word) =>
        [word, Buffer.from(word).toString('base64'), Buffer.from(word).toString('hex')].some((form) =>
          bytes.includes(form),
        )
          ? [`${word} in ${path}`]
          : [],
      )
    })
  const running = other.stream('sleep', ['60'], { output() {} })
  running.exit.catch(() => {})
  await until('its start', async () => (await other.ping()).active_processes === 1)
  const ofOther = String(
    records(directory).findLast(({ action, response }) => action === 'execute' && response === 'R1')?.[
      'session'
    ],
  )
  const refused = await daemon.cli(['purge', ofOther, '--yes'])
  t.not(refused.code, 0)
  t.match(refused.stderr, /still run: end them first/)
  await other.cancel(running.id)
  await running.exit.catch(() => {})
  // It contains the agent, so it comes last.
  await t.rejects(agent.execute('rm', ['-rf', '/', denied]))

  t.same(found(), [], 'it is sealed from the start')
  t.match(await said(directory, 'audit', 'replay'), { ok: true, purged: 0 })
  const keysBefore = everyFile(join(state, 'audit'))
    .filter((path) => path.endsWith('.keys'))
    .map((path) => readFileSync(path))

  t.match(await daemon.cli(['purge', session]), { code: 125, stderr: /goes for good[\s\S]*Nobody said yes/ })
  t.match(await daemon.cli(['purge', session.slice(0, 8), '--yes']), { code: 125, stderr: /the 32 digits/ })
  const nobody = await daemon.cli(['purge', '0'.repeat(32), '--yes'])
  t.match(nobody.stderr, /There is nothing of a session with that id/, 'what no session did stays')
  const purged = await said(directory, 'purge', session, '--yes')
  t.equal(purged.code, 0)
  t.not((await daemon.cli(['purge', session, '--yes'])).code, 0, 'there is nothing left of it')
  t.not((await daemon.cli(['purge', 'ab'.repeat(16), '--yes'])).code, 0)
  const seq = String(ofAgent?.['seq'])
  t.notMatch((await daemon.cli(['why', seq])).stdout.toString(), new RegExp(argument), 'nor in words')
  await daemon.stop()
  t.same(found(), [])
  const keys = everyFile(join(state, 'audit'))
    .filter((path) => path.endsWith('.keys'))
    .map((path) => readFileSync(path))
  const left = keysBefore.flatMap((bytes, file) =>
    Array.from({ length: bytes.length / 64 }, (_, slot) => bytes.subarray(slot * 64, slot * 64 + 64)).filter(
      (slot) => slot.subarray(0, 16).toString('hex') === session && keys[file]?.includes(slot.subarray(32)),
    ),
  )
  t.same(left, [], 'its keys are nowhere')
  t.match(await said(directory, 'audit', 'verify'), { ok: true, code: 0 })
  const replayed = await said(directory, 'audit', 'replay')
  t.match(replayed, { ok: true, different: 0, missing: 0 })
  t.ok(Number(replayed['purged']) >= 4 && Number(replayed['same']) > 0)
  t.ok(records(directory).some(({ type, session: named }) => type === 'purge' && named === session))
})

t.test(
  'the evidence of a session verifies and replays elsewhere, with the pinned key and nothing else',
  async (t) => {
    const directory = await install(t, {
      ...ON_REAL_FILES,
      audit: { epoch_records: 5, segment_bytes: 65_536, keep_bytes: 1_048_576 },
    })
    const daemon = await startDaemon(t, directory)
    const before = await client(daemon)
    const epochs = () => records(directory).filter(({ type }) => type === 'epoch').length
    while (epochs() < 4) await before.execute('true')
    const [agent, other] = [await client(daemon), await client(daemon)]
    for (let index = 0; index < 4; index++) {
      await agent.execute('echo', [`of it ${index}`])
      await other.execute('echo', [`of another ${index}`])
    }
    await daemon.stop()
    const session = String(
      records(directory).findLast(
        ({ action, response, agent: who }) => action === 'execute' && response === 'R1' && who === 'agent',
      )?.['session'],
    )
    const exported = await said(directory, 'audit', 'export', session, '--out', 'evidence.json')
    t.match(exported, { code: 0, session })
    t.equal(statSync(join(directory, 'evidence.json')).mode & 0o777, 0o600)
    t.equal(
      (await sassEdge(['audit', 'export', session, '--out', 'evidence.json'], { cwd: directory })).code,
      125,
      'nothing is overwritten',
    )
    const piped = await sassEdge(['audit', 'export', session, '--out', '-'], { cwd: directory })
    t.ok(piped.stdout.equals(readFileSync(join(directory, 'evidence.json'))))
    t.notOk(existsSync(join(directory, '-')))
    const elsewhere = t.testdir({
      'evidence.json': readFileSync(join(directory, 'evidence.json'), 'utf8'),
      'audit.pub': readFileSync(join(directory, '.sass-edge/state/audit.pub')),
    })
    const check = (name = 'evidence.json') =>
      said(elsewhere, 'audit', 'verify', '--evidence', name, '--key', 'audit.pub')
    const checked = await check()
    t.match(checked, { code: 0, ok: true, pinned: true, different: 0, missing: 0, no_policy: 0 })
    t.ok(Number(checked['same']) >= 4, `${checked['same']}`)
    const evidence = JSON.parse(readFileSync(join(elsewhere, 'evidence.json'), 'utf8'))
    t.equal(evidence.keys.length, 1, 'the keys of nobody else')
    const damage: Record<string, (copy: typeof evidence) => void> = {
      'a record is altered': (copy) => {
        copy.records[1] = copy.records[1].replace('"seq":', '"seq": ')
      },
      'a record is left out': (copy) => copy.records.splice(2, 1),
      'a key is left out': (copy) => copy.links.splice(1, 1),
      'facts are left out': (copy) => copy.frames.pop(),
      'facts are altered': (copy) => {
        copy.frames[0] = Buffer.from(copy.frames[0], 'base64').fill(1, 40, 44).toString('base64')
      },
      'the policies are left out': (copy) => {
        copy.policies = {}
      },
    }
    for (const [name, damaged] of Object.entries(damage)) {
      const copy = structuredClone(evidence)
      damaged(copy)
      writeFileSync(join(elsewhere, 'damaged.json'), JSON.stringify(copy))
      const found = await check('damaged.json')
      t.match(found, { ok: false, code: 1 }, name)
      // Where it was laid out is nothing that anybody has given.
      if (found['file'] !== undefined) t.match(found, { file: 'damaged.json', line: 1 }, name)
    }
    writeFileSync(join(elsewhere, 'damaged.json'), '{"form": 1}')
    t.not((await sassEdge(['audit', 'verify', '--evidence', 'damaged.json'], { cwd: elsewhere })).code, 0)
    t.not((await sassEdge(['audit', 'export', 'ab'.repeat(16)], { cwd: directory })).code, 0)
  },
)

t.test(
  'what is dropped takes its policies along, and all that is left is replayed and verified',
  async (t) => {
    const directory = await install(t, {
      ...ON_REAL_FILES,
      audit: { segment_bytes: 65_536, keep_bytes: 1_048_576 },
    })
    const daemon = await startDaemon(t, directory)
    const policies = () => readdirSync(join(directory, '.sass-edge/state/audit/policies'))
    const documents = () => policies().filter((name) => name.endsWith('.json'))
    // An agent may not fill so much of it; an operator may.
    const { port, fingerprint: pin } = daemon
    const privateKey = new Uint8Array(readFileSync(join(directory, '.sass-edge/keys/operator.key')))
    const agent = await connect({
      host: '127.0.0.1',
      port,
      agent: 'operator',
      privateKey,
      pin,
      reconnect: false,
    })
    await agent.execute('true')
    const [first = ''] = documents()
    changeConfig(directory, { session: { max_per_agent: 4 } })
    t.equal((await daemon.cli(['reload'])).code, 0)
    t.equal(documents().length, 2)
    for (let round = 0; documents().includes(first) && round < 100; round++)
      await Promise.all(Array.from({ length: 20 }, () => agent.execute('true')))
    await until('the first policy to go', () => !documents().includes(first))
    t.equal(documents().length, 1)
    await daemon.stop()
    t.match(await said(directory, 'audit', 'verify'), { code: 0, ok: true })
    t.match(await said(directory, 'audit', 'replay'), { code: 0, no_policy: 0, different: 0, missing: 0 })
  },
)
