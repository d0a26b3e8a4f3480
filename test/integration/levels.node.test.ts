/**
 * Levels of alarm on a whole daemon: what raises them, what is still answered, what ends, and how an operator lowers
 * them. After each attack the test looks at the host.
 * @module
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { viScreen } from '../../src/defense/deception/vi-screen.ts'
import { encodeFrame } from '../../src/wire/frame.ts'
import { executeRequest } from '../../src/wire/messages.ts'
import { client, levels, question, running } from './agents.node.ts'
import { authenticateFrame, framesIn, isServed, known, tls, type Wire } from './connections.node.ts'
import { type Daemon, install, isAlive, ON_REAL_FILES, sassEdge, startDaemon, until } from './daemon.node.ts'

const rule = (name: string, more: object) => ({
  id: `own.${name}`,
  argv: { program: [name] },
  action: 'deny',
  description: 'A rule of the test.',
  why: 'It is a test.',
  examples: { match: [`${name} 1`], pass: ['true'] },
  ...more,
})
const RULES = JSON.stringify({
  rules: ['medium', 'high', 'critical'].map((severity) => rule(`x${severity}`, { severity })),
})
const CHANGE = {
  policy: { rules_file: 'rules.json' },
  defense: {
    vi_swap: { hold_seconds: 1 },
    tarpit: { chunk_bytes: 64, total_bytes: 128, delay_ms: 50 },
  },
}

/** A name that is not what it seems: nobody writes it by accident. */
const DISGUISED = 'chmod\u200b'

async function start(t: Test): Promise<Daemon> {
  const directory = await install(t, { ...ON_REAL_FILES, ...CHANGE })
  writeFileSync(join(directory, '.sass-edge/rules.json'), RULES)
  return startDaemon(t, directory)
}

/** Asks for a command and does not wait for its end; the stream number. */
function ask(wire: Wire, stream: number, command: string, ...args: string[]): void {
  wire.socket.write(encodeFrame(stream, 'OPEN', executeRequest.encode({ command, args }), 2))
}

/** Whether the stream got an editor's start screen. */
function gotScreen(wire: Wire, stream: number): boolean {
  const screen = Buffer.from(viScreen())
  return framesIn(wire.received()).some((frame) => {
    const message = frame.stream === stream && frame.kind === 'MSG' ? frame.payload : undefined
    const data = (message as ReadonlyMap<number, unknown> | undefined)?.get(2)
    return data instanceof Uint8Array && screen.equals(Buffer.from(data))
  })
}

t.test(
  'three violations contain an agent: what runs is killed, nothing begins, until an operator says so',
  async (t) => {
    const daemon = await start(t)
    const victim = join(daemon.workspace, 'file')
    writeFileSync(victim, 'as it was', { mode: 0o600 })
    const agent = await client(daemon)
    const pid = await running(agent)
    const wire = await known(daemon)
    for (const stream of [3, 5]) {
      ask(wire, stream, DISGUISED, '0777', victim)
      await until('a screen', () => gotScreen(wire, stream))
    }
    t.same(await levels(daemon), [], 'two are not enough')
    t.ok(isAlive(pid))
    ask(wire, 7, DISGUISED, '0777', victim)
    await until('the end of what ran', () => !isAlive(pid))
    t.match(await levels(daemon), [
      { scope: 'agent', name: 'agent', level: 'CONTAIN', why: /violation.*3 times.*argument\.hidden/ },
    ])
    ask(wire, 9, 'touch', 'new')
    await until('a screen', () => gotScreen(wire, 9))
    t.notOk(existsSync(join(daemon.workspace, 'new')))

    // It outlives connections and the daemon.
    await daemon.stop()
    const again = await startDaemon(t, daemon.directory)
    t.match(await levels(again), [{ scope: 'agent', name: 'agent', level: 'CONTAIN' }])
    t.equal((await again.cli(['exec', '--', 'touch', 'new'])).code, 255)
    t.notOk(existsSync(join(daemon.workspace, 'new')))
    const lowered = await again.cli(['level', 'set', 'agent', 'agent', 'NORMAL', '--why', 'looked into'])
    t.equal(lowered.code, 0, lowered.stderr)
    t.same(await levels(again), [])
    await isServed(t, again)
    const steps = again.audit().filter(({ type }) => type === 'level')
    t.match(steps, [
      { scope: 'agent', from: 'NORMAL', to: 'CONTAIN', by: '' },
      { scope: 'agent', from: 'CONTAIN', to: 'NORMAL', by: /./, why: 'looked into' },
    ])
  },
)

t.test('a level that an operator set has no record to look into', async (t) => {
  const daemon = await start(t)
  t.equal((await daemon.cli(['level', 'set', 'agent', 'agent', 'RESTRICT', '--why', 'a drill'])).code, 0)
  const shown = (await daemon.cli(['level'])).stdout.toString()
  t.match(shown, /NORMAL\.\nTo let it go on:\n {2}sass-edge level set agent agent NORMAL\n$/)
})

t.test(
  'a rule of severity medium leaves the session only what reads (JF-093, JF-R35, SS-38, SS-40)',
  async (t) => {
    const daemon = await start(t)
    writeFileSync(join(daemon.workspace, 'there'), '')
    const agent = await client(daemon)
    await t.rejects(agent.execute('xmedium'), { code: 'RESPONSE_VI_SWAP_ENGAGED' })
    t.match(await levels(daemon), [{ scope: 'session', name: agent.sessionId, level: 'RESTRICT' }])
    const listed = await agent.execute('ls')
    t.equal(listed.exitCode, 0)
    t.equal(Buffer.from(listed.stdout).toString(), 'there\n')
    await t.rejects(agent.execute('touch', ['new']), { code: 'RESPONSE_VI_SWAP_ENGAGED' })
    t.notOk(existsSync(join(daemon.workspace, 'new')))
    const other = await client(daemon)
    t.equal((await other.execute('touch', ['new'])).exitCode, 0, 'another session is not concerned')
    await other.close()
    await agent.close()
    await until('the end of the session', async () => (await levels(daemon)).length === 0)
  },
)

t.test('a rule of severity high makes the session wait for a human', async (t) => {
  const daemon = await start(t)
  const agent = await client(daemon)
  await t.rejects(agent.execute('xhigh'), { code: 'RESPONSE_VI_SWAP_ENGAGED' })
  t.match(await levels(daemon), [{ scope: 'session', level: 'CHECKPOINT' }])
  t.ok((await agent.ping()).uptime_seconds >= 0, 'what only tells is told')
  const heard: string[] = []
  const made = agent.execute('touch', ['approved'], { onWaiting: ({ kind }) => void heard.push(kind) })
  const { id, rule: by, shown } = await question(daemon)
  t.notOk(existsSync(join(daemon.workspace, 'approved')), 'nothing is done yet')
  t.equal(by, 'level.checkpoint')
  t.match(shown, { action: { argv: ['touch', 'approved'] } })
  t.equal((await daemon.cli(['confirm', 'approve', id, '--yes'])).code, 0)
  t.equal((await made).exitCode, 0)
  t.ok(existsSync(join(daemon.workspace, 'approved')))
  t.same(heard, ['operator'])
  await agent.close()
})

t.test(
  'a rule of severity critical is noise and the end of the session, and contains the agent (JF-R35, SS-38, SS-40)',
  async (t) => {
    const daemon = await start(t)
    const agent = await client(daemon)
    const pid = await running(agent)
    const wire = await known(daemon)
    const before = wire.received().length
    ask(wire, 3, 'xcritical')
    t.equal(await wire.closed, 'fin')
    const noise = framesIn(wire.received().subarray(before))
    t.equal(noise.length, 2)
    t.ok(noise.every(({ stream, kind }) => stream === 1 && kind === 'MSG'))
    await until('the end of what ran', () => !isAlive(pid))
    t.match(await levels(daemon), [{ scope: 'agent', name: 'agent', level: 'CONTAIN' }])
    const ended = daemon.audit().filter(({ to, source }) => to === 'DESTROYED' && source !== 'local')
    t.equal(ended.length, 1, 'the session of whoever asked for it')
    t.match(
      daemon.audit().find(({ response }) => response === 'R5'),
      { layer: '13policy', rule: 'own.xcritical', severity: 'critical' },
    )
  },
)

t.test(
  'HALT ends every connection and command; only the admin socket and a named incident lead back (JF-096)',
  async (t) => {
    const daemon = await start(t)
    const agent = await client(daemon)
    const pid = await running(agent)
    const idle = await known(daemon, 'operator')
    const fresh = await tls(daemon.port)
    t.equal((await daemon.cli(['level', 'set', 'daemon', 'HALT', '--why', 'a test'])).code, 0)
    await until('the end of what ran', () => !isAlive(pid))
    t.equal(await idle.closed, 'reset', 'an operator over the network as well')
    await agent.closed
    // Who has not authenticated is not let in any more.
    fresh.socket.write(authenticateFrame(fresh.socket, 'agent', daemon.seed()))
    t.equal(await fresh.closed, 'reset')
    t.equal(await (await tls(daemon.port)).closed, 'reset')
    const shown = JSON.parse((await daemon.cli(['level', 'show', '--json'])).stdout.toString())
    t.match(shown.levels, [{ scope: 'daemon', level: 'HALT', why: 'a test' }])
    t.match(shown.incident, /^[0-9a-f]{64}$/)
    t.match(
      daemon.audit().find(({ type }) => type === 'exit'),
      { reason: 'INTEGRITY_RISK', why: 'a test' },
    )
    const unnamed = await daemon.cli(['level', 'set', 'daemon', 'NORMAL'])
    t.not(unnamed.code, 0)
    t.match(unnamed.stderr, /--ack-incident/)

    await daemon.stop()
    const refused = await sassEdge(['run'], { cwd: daemon.directory })
    t.equal(refused.code, 125)
    t.match(refused.stderr, new RegExp(`halted after an incident .*--ack-incident ${shown.incident}`))
    const wrong = await sassEdge(['run', '--ack-incident', '0'.repeat(64)], { cwd: daemon.directory })
    t.equal(wrong.code, 125)
    t.match(
      (await sassEdge(['check'], { cwd: daemon.directory })).stdout,
      /^FAILED {2}levels: .*--ack-incident/m,
    )
    const again = await startDaemon(t, daemon.directory, ['--ack-incident', shown.incident])
    await isServed(t, again)
    t.same(await levels(again), [])
    await again.stop()
    const plain = await startDaemon(t, daemon.directory)
    await isServed(t, plain)
  },
)

t.test(
  'a halted daemon goes on without a restart once its incident is named on the admin socket',
  async (t) => {
    const daemon = await start(t)
    await daemon.cli(['level', 'set', 'daemon', 'HALT'])
    const { incident } = JSON.parse((await daemon.cli(['level', 'show', '--json'])).stdout.toString())
    t.equal((await daemon.cli(['level', 'set', 'daemon', 'NORMAL', '--ack-incident', incident])).code, 0)
    await isServed(t, daemon)
  },
)
