/**
 * What the daemon tells its service manager, read from a real datagram socket, as systemd has one.
 * @module
 */
import { spawn } from 'node:child_process'
import { dlopen } from 'node:ffi'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { connect } from '../../../src/client/client.node.ts'
import { serviceManager } from '../../../src/edge/host/service-manager.node.ts'
import { environment, install, PROGRAM, sleep, temporary, until } from '../../integration/daemon.node.ts'

const AF_UNIX = 1
const SOCK_DGRAM = 2
const MSG_DONTWAIT = 0x40

/** A bound datagram socket; `@` in front: in no file system. */
function receiver(t: Test, path: string): { take(): string | undefined } {
  const { functions } = dlopen(null, {
    socket: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
    bind: { arguments: ['i32', 'buffer', 'u32'], return: 'i32' },
    recv: { arguments: ['i32', 'buffer', 'u64', 'i32'], return: 'i64' },
    close: { arguments: ['i32'], return: 'i32' },
  })
  const descriptor = functions.socket(AF_UNIX, SOCK_DGRAM, 0)
  const name = path.startsWith('@') ? `\0${path.slice(1)}` : `${path}\0`
  const address = Buffer.concat([Buffer.from([AF_UNIX, 0]), Buffer.from(name)])
  t.equal(functions.bind(descriptor, address, address.length), 0, `bound at ${path}`)
  t.teardown(() => functions.close(descriptor))
  return {
    take() {
      const buffer = Buffer.alloc(4_096)
      const bytes = Number(functions.recv(descriptor, buffer, 4_096n, MSG_DONTWAIT))
      return bytes < 0 ? undefined : buffer.toString('utf8', 0, bytes)
    },
  }
}

t.test('ready and stopping are told at a path and in the abstract name space', (t) => {
  for (const path of [join(temporary(t), 'notify'), `@sass-edge-test-${process.pid}`]) {
    const { take } = receiver(t, path)
    const manager = serviceManager({ NOTIFY_SOCKET: path })
    manager.ready('Listens on\n[::1]:1', '/nowhere')
    t.equal(take(), 'READY=1\nSTATUS=Listens on [::1]:1')
    manager.stopping(9)
    t.equal(take(), 'STOPPING=1\nEXTEND_TIMEOUT_USEC=29000000')
    t.equal(take(), undefined)
  }
  t.end()
})

t.test('without a service manager, and with one that does not listen, nothing happens', (t) => {
  for (const NOTIFY_SOCKET of [undefined, '', 'relative', '/nowhere/notify', `/${'x'.repeat(200)}`]) {
    const manager = serviceManager(NOTIFY_SOCKET === undefined ? {} : { NOTIFY_SOCKET })
    manager.ready('Listens', '/nowhere')
    manager.stopping(9)
    t.equal(manager.listener, undefined)
  }
  t.end()
})

t.test('a socket that was handed over is taken by the process that it was meant for', (t) => {
  const pid = String(process.pid)
  t.equal(serviceManager({ LISTEN_FDS: '1', LISTEN_PID: pid }).listener, 3)
  t.equal(serviceManager({ LISTEN_FDS: '1', LISTEN_PID: '1' }).listener, undefined)
  t.equal(serviceManager({ LISTEN_FDS: '1' }).listener, undefined)
  t.throws(() => serviceManager({ LISTEN_FDS: '2', LISTEN_PID: pid }), { code: 'CONFIG_INVALID' })
  t.end()
})

t.test('life is told while the admin socket answers, and no longer', async (t) => {
  const directory = temporary(t)
  const { take } = receiver(t, join(directory, 'notify'))
  const adminSocket = join(directory, 'admin')
  const server = createServer((socket) => socket.end())
  await new Promise<void>((resolve) => server.listen(adminSocket, resolve))
  const manager = serviceManager({
    NOTIFY_SOCKET: join(directory, 'notify'),
    WATCHDOG_USEC: '1000000',
    WATCHDOG_PID: String(process.pid),
  })
  manager.ready('Listens', adminSocket)
  t.match(take(), /^READY=1/)
  await until('a sign of life', () => take() === 'WATCHDOG=1')
  await new Promise((resolve) => server.close(resolve))
  // What was under way when it closed.
  await sleep(600)
  while (take() !== undefined) {}
  await sleep(1_500)
  t.equal(take(), undefined)
  manager.stopping(9)
})

t.test('a daemon takes the port that was opened for it, and tells the rest', async (t) => {
  const directory = await install(t)
  const { take } = receiver(t, join(directory, 'notify'))
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const bound = server.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0
  const handle = (server as unknown as { readonly _handle: { readonly fd: number } })._handle
  // What systemd does between fork and exec: the process knows that it is meant by its own number.
  const child = spawn('/bin/sh', ['-c', `LISTEN_PID=$$ WATCHDOG_PID=$$ exec "${PROGRAM}" run --json`], {
    cwd: directory,
    env: {
      ...environment(directory),
      NOTIFY_SOCKET: join(directory, 'notify'),
      WATCHDOG_USEC: '2000000',
      LISTEN_FDS: '1',
    },
    stdio: ['ignore', 'pipe', 'pipe', handle.fd],
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  t.teardown(() => child.kill('SIGKILL'))
  let said = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const told: string[] = []
  const hear = () => {
    for (let message = take(); message !== undefined; message = take()) told.push(message)
  }
  await until('a sign of life', () => {
    hear()
    return told.includes('WATCHDOG=1')
  })
  t.equal(told[0], `READY=1\nSTATUS=Listens on 127.0.0.1:${port}`)
  const { address, fingerprint } = JSON.parse(said)
  t.equal(address, `127.0.0.1:${port}`)
  // From here on the daemon alone takes what comes.
  await new Promise((resolve) => server.close(resolve))
  const privateKey = new Uint8Array(readFileSync(join(directory, '.sass-edge/keys/agent.key')))
  const client = await connect({ host: '127.0.0.1', port, agent: 'agent', privateKey, pin: fingerprint })
  t.equal((await client.execute('true')).exitCode, 0)
  await client.close()
  child.kill('SIGTERM')
  t.equal(await ended, 0)
  hear()
  t.equal(told.at(-1), 'STOPPING=1\nEXTEND_TIMEOUT_USEC=29000000')
})
