/**
 * Callers whom the daemon knows and does not let do what they ask: the editor's screen, and sessions that are not theirs.
 * @module
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import t from 'tap'
import { publicKeyOf } from '../../src/base/crypto/ed25519.node.ts'
import { connect } from '../../src/client/client.node.ts'
import { viScreen } from '../../src/defense/deception/vi-screen.ts'
import { encodeFrame, type Frame } from '../../src/wire/frame.ts'
import { executeRequest, stdinChunk } from '../../src/wire/messages.ts'
import { authenticateFrame, framesIn, isServed, known, refusals, tls, type Wire } from './connections.node.ts'
import {
  changeConfig,
  collect,
  configPath,
  environment,
  PROGRAM,
  sleep,
  startNew,
  until,
} from './daemon.node.ts'

const HOLD_SECONDS = 2
const daemon = await startNew(t, {
  // Repeated violations would contain the agent, which has tests of its own.
  defense: { vi_swap: { hold_seconds: HOLD_SECONDS }, levels: { automatic: false } },
  capabilities: { default: { denied_commands: ['rm'], max_concurrent: 2 } },
})
const { port, fingerprint: pin } = daemon

/** What is refused is not asked again by itself. */
const open = (agent = 'agent') =>
  connect({ host: '127.0.0.1', port, agent, privateKey: daemon.seed(agent), pin, reconnect: false })
const screen = Buffer.from(viScreen())
/** Nothing of this may reach somebody who is refused. */
const TELLING = /den(y|ied)|allow|refus|polic|permi|forbid|sass|capab|secur/i

const on = (wire: Wire, stream: number): Frame[] =>
  framesIn(wire.received()).filter((frame) => frame.stream === stream)
const payload = (frame: Frame | undefined): ReadonlyMap<number, unknown> =>
  frame?.payload as ReadonlyMap<number, unknown>

t.test('a hostile command gets an editor’s screen and silence, and is not run (SS-42)', async (t) => {
  const wire = await known(daemon)
  const audited = daemon.audit().length
  const lines = refusals(daemon).length
  const request = executeRequest.encode({ command: 'cat', args: ['/etc/shadow'], stdin: true })
  wire.socket.write(encodeFrame(3, 'OPEN', request, 2))
  await until('the screen', () => on(wire, 3).length === 2)
  const begin = performance.now()
  const shown = Buffer.from((payload(on(wire, 3)[1]).get(2) as Uint8Array | undefined) ?? [])
  t.ok(shown.equals(screen))
  for (const part of ['\x1b[?1049h', '\x1b[2J', '\x1b[H', '\x1b[?25l', '\x1b[24;1H'])
    t.ok(shown.includes(part))
  t.notMatch(shown.toString(), TELLING)
  for (const keys of [':q!\r', '\x03', 'x'.repeat(4_096)])
    wire.socket.write(encodeFrame(3, 'MSG', stdinChunk.encode({ data: new Uint8Array(Buffer.from(keys)) })))
  await sleep(500)
  t.ok(
    on(wire, 3).every(({ kind }) => kind === 'MSG' || kind === 'CREDIT'),
    'what is typed is swallowed',
  )
  await until('the end of the hold', () => on(wire, 3).some(({ kind }) => kind === 'STATUS'))
  t.ok(performance.now() - begin > HOLD_SECONDS * 1_000 - 300)
  const end = payload(on(wire, 3).at(-1))
  t.same([end.get(1), end.get(2) ?? ''], [102, ''], 'the end names a screen, not a reason')
  const records = daemon
    .audit()
    .slice(audited)
    .filter(({ type }) => type === 'decision')
  t.equal(records.length, 1, 'one record')
  t.match(records[0], { response: 'R4', code: 'CAPABILITY_CMD_DENIED', rule: 'credentials.shadow' })
  t.equal(refusals(daemon).length - lines, 1, 'one line in the log')
  t.equal(
    daemon.audit().some((event) => event['type'] === 'execution_ended'),
    false,
    'nothing ran',
  )
  wire.socket.destroy()
})

t.test(
  'what the set of an agent denies is refused with a sentence, at once, and raises nothing',
  async (t) => {
    const audited = daemon.audit().length
    const agent = await open()
    const sentence = /^The command, or one that it would start, is denied by capability default\.$/
    await t.rejects(agent.execute('rm', ['x']), { code: 'CAPABILITY_CMD_DENIED', message: sentence })
    await t.rejects(agent.execute('sh', ['-c', 'ls; rm x']), { code: 'CAPABILITY_CMD_DENIED' })
    await agent.close()
    const { code, stdout, stderr } = await daemon.cli(['exec', '--', 'rm', 'x'])
    t.same([code, stdout.length], [255, 0])
    t.match(stderr, /is denied by capability default/)
    t.match(
      daemon
        .audit()
        .slice(audited)
        .filter(({ type, rule }) => type === 'decision' && rule === 'default.denied_commands'),
      [1, 2, 3].map(() => ({ response: 'STATUS', severity: 'warning' })),
    )
  },
)

t.test('the screen holds one of the caller’s slots', async (t) => {
  const wire = await known(daemon)
  for (const stream of [3, 5])
    wire.socket.write(
      encodeFrame(stream, 'OPEN', executeRequest.encode({ command: 'cat', args: ['/etc/shadow'] }), 2),
    )
  wire.socket.write(encodeFrame(7, 'OPEN', executeRequest.encode({ command: 'true' }), 1))
  await until('an answer', () => on(wire, 7).length > 0)
  t.match(on(wire, 7)[0], { kind: 'MSG' })
  const waiting = payload(on(wire, 7)[0])
  t.same(
    [waiting.get(4), waiting.get(5), waiting.get(18)],
    [true, 1, 101],
    'the third waits as the first in line',
  )
  await until('its turn, when a screen is over', () => on(wire, 7).some(({ kind }) => kind === 'END'))
  t.ok(on(wire, 3).some(({ kind }) => kind === 'STATUS') || on(wire, 5).some(({ kind }) => kind === 'STATUS'))
  wire.socket.destroy()
  await until('the slots', async () => (await daemon.cli(['exec', '--', 'true'])).code === 0)
})

t.test('on the command line the refused see the same screen and no word more', async (t) => {
  const child = spawn(PROGRAM, ['exec', '--', 'cat', '/etc/shadow'], {
    cwd: daemon.directory,
    env: environment(daemon.directory),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { code, stdout, stderr } = await collect(child)
  t.equal(code, 255)
  t.ok(stdout.equals(screen))
  t.match(stderr, /^sass-edge: [^\n]*\n$/)
  t.notMatch(stderr.replace('sass-edge', ''), TELLING)
  const unary = await open()
  const begin = performance.now()
  await t.rejects(unary.execute('cat', ['/etc/shadow']), { code: 'RESPONSE_VI_SWAP_ENGAGED' })
  t.ok(performance.now() - begin > HOLD_SECONDS * 1_000 - 300, 'a unary answer is held as long')
  await unary.close()
})

t.test(
  'an agent that calls an operator’s method gets silence, whether there is one or not; an operator gets an answer (RX-23)',
  async (t) => {
    const audited = daemon.audit().length
    const agent = await known(daemon)
    // One that takes nothing, one whose message is not complete, one that does not exist.
    for (const [stream, method] of [
      [3, 32],
      [5, 33],
      [7, 60],
    ] as const)
      agent.socket.write(encodeFrame(stream, 'OPEN', new Map(), method))
    // Streams are answered in order here: once the next one is, these will not be.
    agent.socket.write(encodeFrame(9, 'OPEN', new Map(), 11))
    await until('the answer to what came after them', () => on(agent, 9).length > 0)
    for (const stream of [3, 5, 7])
      t.equal(on(agent, stream).length, 0, 'silence, as from a stream that is held')
    agent.socket.destroy()
    const records = daemon.audit().slice(audited)
    for (const name of ['ListConfirmations', 'AnswerConfirmation', '#60'])
      t.match(
        records.filter(({ method }) => method === name),
        [{ response: 'R4', code: 'CAPABILITY_DENIED', rule: 'method.operator' }],
      )
    const operator = await known(daemon, 'operator')
    for (const [stream, method] of [
      [3, 32],
      [5, 60],
    ] as const)
      operator.socket.write(encodeFrame(stream, 'OPEN', new Map(), method))
    await until('the answers', () => on(operator, 3).length > 0 && on(operator, 5).length > 0)
    t.equal(on(operator, 3)[0]?.kind, 'END')
    t.equal(payload(on(operator, 5)[0]).get(1), 106)
    operator.socket.destroy()
  },
)

t.test('an operator is told the reason', async (t) => {
  const { code, stderr, stdout } = await daemon.cli(['exec', '--agent', 'operator', '--', 'rm', 'x'])
  t.same([code, stdout.length], [255, 0])
  t.match(stderr, /^sass-edge: The command, or one that it would start, is denied by capability default\.\n$/)
})

/** The session id of a new connection that asks to take `resume` back. */
async function resumed(name: string, resume: Uint8Array, from: string): Promise<Uint8Array> {
  const wire = await tls(port, { localAddress: from })
  wire.socket.write(authenticateFrame(wire.socket, name, daemon.seed(name), { resume_session_id: resume }))
  await until('an answer', () => on(wire, 1).length > 0)
  const id = payload(on(wire, 1)[0]).get(2) as Uint8Array
  wire.socket.destroy()
  return Uint8Array.from(id)
}

t.test(
  'a session is taken back by its own key from its own address, and by nobody else (SS-17)',
  async (t) => {
    const first = await open()
    const running = first.stream('sleep', ['2'], { output() {} })
    await running.started
    const id = new Uint8Array(Buffer.from(first.sessionId, 'hex'))
    t.not(
      Buffer.from(await resumed('operator', id, '127.0.0.1')).toString('hex'),
      first.sessionId,
      'another key',
    )
    t.not(
      Buffer.from(await resumed('agent', id, '127.0.0.2')).toString('hex'),
      first.sessionId,
      'another address',
    )
    t.equal((await first.ping()).active_processes, 1, 'its holder is still there')
    t.equal(Buffer.from(await resumed('agent', id, '127.0.0.1')).toString('hex'), first.sessionId, 'its own')
    await first.closed
    await t.rejects(first.ping(), { code: 'CONNECT_FAILED' }, 'and the one that held it is dismissed')
  },
)

t.test('a name whose key was replaced does not get the sessions of the old key (SS-17)', async (t) => {
  const own = await startNew(t)
  const wire = await known(own)
  const id = payload(on(wire, 1)[0]).get(2) as Uint8Array
  wire.socket.destroy()
  const seed = new Uint8Array(32).fill(9)
  const config = JSON.parse(readFileSync(configPath(own.directory), 'utf8'))
  const public_key = Buffer.from(publicKeyOf(seed)).toString('base64url')
  const agents = config.agents.map((agent: { name: string }) =>
    agent.name === 'agent' ? { ...agent, public_key } : agent,
  )
  changeConfig(own.directory, { agents })
  t.equal((await own.cli(['reload'])).code, 0)
  const again = await tls(own.port)
  again.socket.write(authenticateFrame(again.socket, 'agent', seed, { resume_session_id: id }))
  await until('an answer', () => on(again, 1).length > 0)
  const given = payload(on(again, 1)[0]).get(2) as Uint8Array
  t.equal(given.length, id.length, 'it is let in')
  t.notOk(Buffer.from(given).equals(Buffer.from(id)), 'with a session of its own')
  again.socket.destroy()
})

t.test(
  'ten sessions at once, five of one agent, and one more is code 62 (SS-12, JF-051, JF-R03)',
  async (t) => {
    await until('no sessions', async () => {
      const status = await daemon.cli(['status', '--json'])
      return JSON.parse(status.stdout.toString()).active_processes === 0
    })
    const clients = []
    for (let index = 0; index < 5; index++) clients.push(await open())
    await t.rejects(open(), { code: 'SESSION_LIMIT', message: /The agent holds 5 sessions/ })
    for (let index = 0; index < 5; index++) clients.push(await open('operator'))
    await t.rejects(open('operator'), { code: 'SESSION_LIMIT', message: /session\.max_sessions/ })
    t.equal((await clients[0]?.ping())?.active_processes, 0, 'the ten are served')
    await clients.shift()?.close()
    clients.push(await open())
    for (const client of clients) await client.close()
    await isServed(t, daemon)
  },
)

t.test('a session that is away and runs nothing makes room; one that works does not (SS-12)', async (t) => {
  const own = await startNew(t, { session: { max_sessions: 1 } })
  const enter = () =>
    connect({
      ...{ host: '127.0.0.1', port: own.port, pin: own.fingerprint },
      ...{ agent: 'agent', privateKey: own.seed(), reconnect: false },
    })
  const idle = await known(own)
  await t.rejects(enter(), { code: 'SESSION_LIMIT' }, 'it is connected')
  idle.socket.destroy()
  let working = await enter().catch(() => undefined)
  await until('a place', async () => {
    working ??= await enter().catch(() => undefined)
    return working !== undefined
  })
  const running = working?.stream('sleep', ['2'], { output() {} })
  await running?.started
  running?.detach()
  await working?.close()
  await t.rejects(enter(), { code: 'SESSION_LIMIT' }, 'it is away, and works')
})

t.test('RenewSession moves the end of a session on (SS-13)', async (t) => {
  const client = await open()
  await sleep(1_100)
  t.ok((await client.renewSession()) > client.expiresAt)
  await client.close()
})

t.test('the admin socket speaks the same protocol and nothing else', async (t) => {
  const request = httpRequest({ socketPath: daemon.adminSocket, path: '/' })
  const answer = await new Promise((resolve) => {
    request.on('response', () => resolve('a response'))
    request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
    request.end()
  })
  t.equal(answer, 'ECONNRESET')
  const operator = await connect({ socketPath: daemon.adminSocket })
  t.equal((await operator.status()).active_tarpits, 0)
  await operator.close()
})
