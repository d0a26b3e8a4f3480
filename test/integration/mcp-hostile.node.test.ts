/**
 * `sass-edge mcp` and hosts that send what they should not, flood, or go away; and the inspector of the protocol.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { MCP_LINE_BYTES } from '../../src/cli/mcp/bounds.ts'
import { connect } from '../../src/client/client.node.ts'
import {
  changeConfig,
  environment,
  install,
  isAlive,
  ON_REAL_FILES,
  PROGRAM,
  ROOT,
  sleep,
  startDaemon,
  startNew,
  until,
} from './daemon.node.ts'
import { HELLO, startBare } from './mcp-host.node.ts'

t.test('a host may send anything: it is bounded, said on stderr, and the next message is read', async (t) => {
  const daemon = await startNew(t, ON_REAL_FILES)
  const host = startBare(t, daemon)
  host.child.stdin.write('garbage\n\n{"jsonrpc":"1.0","id":90,"method":"ping"}\n[]\n"x"\n{}\n')
  host.child.stdin.write(Buffer.from([0xff, 0xfe, 0x0a]))
  host.child.stdin.write(`${'['.repeat(200_000)}\n`)
  host.child.stdin.write(
    `{"jsonrpc":"2.0","id":91,"method":"ping","params":{"x":"${'y'.repeat(MCP_LINE_BYTES)}"}}\n`,
  )
  host.send({ ...HELLO, params: { ...HELLO.params, protocolVersion: '1999-01-01' } })
  t.match(await host.answer(0), {
    result: { protocolVersion: '2025-11-25', serverInfo: { name: 'sass-edge' } },
  })
  t.match(await host.answer(90), { error: { code: -32_600 } }, 'whoever waits for an answer gets one')
  const errors = host.messages().filter((message) => 'error' in message)
  t.equal(errors.length, 8)
  t.match(JSON.stringify(errors), /more than 8388608 bytes/)
  t.match(host.stderr(), /is no JSON(.|\n)*no message of JSON-RPC(.|\n)*no UTF-8(.|\n)*more than/)
  host.send({ jsonrpc: '2.0', id: 1, method: 'no/such/method' })
  t.match(await host.answer(1), { error: { code: -32_601 } })
  host.send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: '__proto__', arguments: {} } })
  t.match(await host.answer(2), { error: { code: -32_602 } })
  host.send({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'execute', arguments: [] } })
  t.match(await host.answer(3), { error: {} })
  host.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 77 } })
  host.child.stdin.write('{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"execute",')
  await sleep(100)
  host.child.stdin.write('"arguments":{"command":["echo","in two pieces"]}}}\r\n')
  t.match(await host.answer(4), { result: { structuredContent: { stdout: { content: 'in two pieces\n' } } } })
  for (const line of host.stdout().trimEnd().split('\n'))
    t.match(JSON.parse(line), { jsonrpc: '2.0' }, 'stdout has the protocol and nothing else')
  host.child.stdin.end()
  t.match(await host.ended, { code: 0 })
})

t.test('a host that floods and does not read holds itself up, and nothing else', async (t) => {
  const daemon = await startNew(t, ON_REAL_FILES)
  const host = startBare(t, daemon)
  host.send(HELLO)
  await host.answer(0)
  host.child.stdout.pause()
  let isFull = false
  // Each answer has some 10 kB: all of them would be 200 MB.
  for (let id = 1; id <= 20_000 && !isFull; id++) {
    const hasRoom = host.child.stdin.write(
      `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list' })}\n`,
    )
    if (hasRoom) continue
    isFull = !(await Promise.race([
      new Promise((resolve) => host.child.stdin.once('drain', () => resolve(true))),
      sleep(3_000),
    ]))
  }
  t.ok(isFull, 'its input is not taken any more')
  host.child.stdout.resume()
  await host.answer(1_000)
  host.child.kill('SIGTERM')
  t.match(await host.ended, { code: 0 }, 'and it ends in order')
})

t.test('a host that closes its side of stdout alone ends the server too', async (t) => {
  const daemon = await startNew(t, ON_REAL_FILES)
  const host = startBare(t, daemon)
  host.send(HELLO)
  await host.answer(0)
  host.child.stdout.destroy()
  host.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  await until('its end', () => !isAlive(host.child.pid ?? 0))
})

t.test('the daemon knows nothing of it: no thread, no byte of the SDK is loaded there', async (t) => {
  const directory = await install(t, ON_REAL_FILES)
  changeConfig(directory, {})
  const daemon = await startDaemon(t, directory)
  const client = await connect({
    reconnect: false,
    host: '127.0.0.1',
    port: daemon.port,
    agent: 'agent',
    privateKey: daemon.seed(),
    pin: daemon.fingerprint,
  })
  t.match(await client.execute('true'), { exitCode: 0 })
  await client.close()
  const names = spawnSync('sh', ['-c', `cat /proc/${daemon.pid}/task/*/comm`], { encoding: 'utf8' }).stdout
  t.notMatch(names, /mcp/)
})

t.test('the inspector of the protocol finds nothing wrong', async (t) => {
  const inspector = [
    join(ROOT, 'node_modules/.bin/mcp-inspector'),
    '/usr/local/bin/mcp-inspector',
    '/usr/bin/mcp-inspector',
  ].find(existsSync)
  if (inspector === undefined)
    return t.comment('skipped: mcp-inspector is not here (npm install -g @modelcontextprotocol/inspector)')
  const daemon = await startNew(t, ON_REAL_FILES)
  const inspect = (...args: readonly string[]) =>
    spawnSync(inspector, ['--cli', '--cwd', daemon.directory, PROGRAM, 'mcp', ...args], {
      encoding: 'utf8',
      env: environment(daemon.directory),
      timeout: 60_000,
    })
  const tools = inspect('--method', 'tools/list', '--strict')
  t.equal(tools.status, 0, tools.stderr)
  t.equal(JSON.parse(tools.stdout).tools.length, 10)
  const ran = inspect(
    '--method',
    'tools/call',
    '--tool-name',
    'execute',
    '--tool-arg',
    'command=["sh","-c","exit 4"]',
  )
  t.match(JSON.parse(ran.stdout), { structuredContent: { exit_code: 4 } })
})
