/**
 * The six responses, each once from outside on one daemon, and programs that are pinned to one content.
 * @module
 */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Client, connect } from '../../src/client/client.node.ts'
import { authenticateFrame, framesIn, isServed, tls } from './connections.node.ts'
import {
  changeConfig,
  type Daemon,
  install,
  ON_REAL_FILES,
  startDaemon,
  startNew,
  until,
} from './daemon.node.ts'

const RULE = {
  id: 'own.prove-uname',
  argv: { program: ['uname'] },
  action: 'challenge',
  severity: 'medium',
  description: 'It must be proven who asks.',
  why: 'It is a test.',
  examples: { match: ['uname'], pass: ['true'] },
}

function client({ port, fingerprint: pin, seed }: Daemon): Promise<Client> {
  return connect({ host: '127.0.0.1', port, agent: 'agent', privateKey: seed(), pin })
}

t.test(
  'each of the six responses, as whoever gets it sees it and as the record names it (SS-32, SS-36)',
  async (t) => {
    const directory = await install(t, {
      ...ON_REAL_FILES,
      acl: { allow: ['127.0.0.1'] },
      policy: { rules_file: 'rules.json' },
      quota: { queue: 0 },
      capabilities: { default: { max_concurrent: 1 } },
      defense: {
        vi_swap: { hold_seconds: 1 },
        tarpit: { chunk_bytes: 64, total_bytes: 128, delay_ms: 50 },
      },
    })
    writeFileSync(join(directory, '.sass-edge/rules.json'), JSON.stringify({ rules: [RULE] }))
    const daemon = await startDaemon(t, directory)
    const victim = join(daemon.workspace, 'victim')
    writeFileSync(victim, '')
    const agent = await client(daemon)

    t.equal((await agent.execute('true')).exitCode, 0, 'R1: it is done')

    const heard: string[] = []
    const onWaiting = ({ kind }: { kind: string }) => void heard.push(kind)
    t.equal((await agent.execute('uname', [], { onWaiting })).exitCode, 0)
    t.same(heard, ['challenge'], 'R2: proof is asked for first')

    const held = agent.stream('sleep', ['300'], { output() {} })
    held.exit.catch(() => {})
    await until('its start', async () => (await agent.ping()).active_processes === 1)
    await t.rejects(agent.execute('touch', ['new']), { code: 'RESPONSE_THROTTLED' }, 'R3: no place is free')
    t.notOk(existsSync(join(daemon.workspace, 'new')))
    await agent.cancel(held.id)
    await until('its end', async () => (await agent.ping()).active_processes === 0)

    await t.rejects(
      agent.execute('rm\u200b', [victim]),
      { code: 'RESPONSE_VI_SWAP_ENGAGED' },
      'R4: a held screen',
    )
    t.ok(existsSync(victim))

    const forged = await tls(daemon.port)
    forged.socket.write(authenticateFrame(forged.socket, 'agent', new Uint8Array(32).fill(9)))
    t.equal(await forged.closed, 'fin', 'R5: noise, and its end')
    t.equal(framesIn(forged.received()).length, 2)

    const outside = await tls(daemon.port, { localAddress: '127.0.0.2' })
    t.equal(await outside.closed, 'reset', 'R6: nothing at all')
    t.equal(outside.received().length, 0)

    await agent.close()
    await isServed(t, daemon)
    const given = new Set(
      daemon.audit().flatMap(({ response }) => (response === undefined ? [] : [response])),
    )
    for (const response of ['R1', 'R2', 'R3', 'R4', 'R5']) t.ok(given.has(response), response)
    const status = JSON.parse((await daemon.cli(['status', '--json'])).stdout.toString())
    t.ok(Object.values(status.responses).every((count) => Number(count) > 0))
    await daemon.stop()
    // Refusals of strangers are counted and not written one by one; the end of the daemon writes what is counted.
    const counts = daemon.audit().findLast(({ type }) => type === 'refusals')?.['counts'] ?? {}
    t.match(counts, { 'R6 acl acl.allow': 1 })
  },
)

t.test('a pinned program runs only with its content, from whatever path it is called', async (t) => {
  const directory = realpathSync(
    await install(t, { ...ON_REAL_FILES, defense: { vi_swap: { hold_seconds: 1 } } }),
  )
  const tool = join(directory, 'tool')
  const put = (from: string) => {
    copyFileSync(from, `${tool}.new`)
    chmodSync(`${tool}.new`, 0o755)
    renameSync(`${tool}.new`, tool)
  }
  put('/bin/echo')
  const sha256 = createHash('sha256').update(readFileSync(tool)).digest('hex')
  changeConfig(directory, { security: { executables: [{ path: tool, sha256 }] } })
  const daemon = await startDaemon(t, directory)
  const agent = await client(daemon)
  const said = async (command: string) => Buffer.from((await agent.execute(command, ['x'])).stdout).toString()
  t.equal(await said(tool), 'x\n')
  t.equal(await said(tool), 'x\n', 'remembered, and as good')
  const record = daemon.audit().find(({ action, response }) => action === 'execute' && response === 'R1')
  t.ok(record)

  const bytes = readFileSync(tool)
  bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1
  writeFileSync(tool, bytes)
  await t.rejects(agent.execute(tool, ['x']), { code: 'RESPONSE_VI_SWAP_ENGAGED' }, 'altered in place')
  t.match(
    daemon.audit().find(({ response }) => response === 'R4'),
    { rule: 'executables.changed' },
  )
  put('/bin/true')
  await t.rejects(
    agent.execute(`${directory}/./tool`, ['x']),
    { code: 'RESPONSE_VI_SWAP_ENGAGED' },
    'replaced',
  )
  put('/bin/echo')
  t.equal(await said(tool), 'x\n', 'the same content again')
  t.equal(await said('/bin/echo'), 'x\n', 'what is not pinned is not concerned')
  await agent.close()
})

t.test('with pinned_only nothing else runs', async (t) => {
  const real = realpathSync('/bin/echo')
  const sha256 = createHash('sha256').update(readFileSync(real)).digest('hex')
  const daemon = await startNew(t, {
    ...ON_REAL_FILES,
    security: { executables: [{ path: real, sha256 }], pinned_only: true },
    defense: { vi_swap: { hold_seconds: 1 } },
  })
  const agent = await client(daemon)
  t.equal(Buffer.from((await agent.execute('echo', ['x'])).stdout).toString(), 'x\n')
  await t.rejects(agent.execute('touch', ['new']), {
    code: 'CAPABILITY_CMD_DENIED',
    message: /Only pinned programs/,
  })
  t.notOk(existsSync(join(daemon.workspace, 'new')))
  await agent.close()
})

t.test('a pinned program that was altered is not run by another one either', async (t) => {
  const directory = realpathSync(
    await install(t, { ...ON_REAL_FILES, defense: { vi_swap: { hold_seconds: 1 } } }),
  )
  const tool = join(directory, 'tool')
  copyFileSync('/bin/echo', tool)
  chmodSync(tool, 0o755)
  changeConfig(directory, { security: { executables: [{ path: tool, sha256: '0'.repeat(64) }] } })
  const daemon = await startDaemon(t, directory)
  const agent = await client(daemon)
  await t.rejects(agent.execute('env', [tool, 'x']), { code: 'RESPONSE_VI_SWAP_ENGAGED' })
  await agent.close()
})
