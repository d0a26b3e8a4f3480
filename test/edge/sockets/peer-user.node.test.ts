/**
 * Who is at the other end of a Unix socket: real processes connect to a real one, from this process namespace and from
 * others, stay or go.
 * @module
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createIsInOwnNamespace } from '../../../src/edge/sockets/peer-namespace.node.ts'
import { createPeerUser } from '../../../src/edge/sockets/peer-user.node.ts'
import { loadSyscalls } from '../../../src/sandbox/kernel/syscalls.node.ts'
import { temporary, until } from '../../integration/daemon.node.ts'

const CONNECT = `const s = require('node:net').connect(process.argv[1]); s.on('data', () => process.exit()); s.on('error', () => process.exit(9))`
const isRoot = process.geteuid?.() === 0
const ELSEWHERE = ['unshare', ...(isRoot ? [] : ['--user', '--map-current-user']), '--pid', '--fork', '--']
const canBeElsewhere = spawnSync(ELSEWHERE[0] ?? '', [...ELSEWHERE.slice(1), 'true']).status === 0

type Peer = { readonly socket: Socket; readonly descriptor: number; readonly child: ChildProcess }

/** Connects as a process of its own, begun by `before`; gives this side of it. */
async function peerOf(t: Test, path: string, before: readonly string[]): Promise<Peer> {
  const server = createServer()
  server.listen(path)
  await once(server, 'listening')
  const argv = [...before, process.execPath, '-e', CONNECT, path]
  const child = spawn(argv[0] ?? '', argv.slice(1), { stdio: ['ignore', 'ignore', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const [socket] = (await once(server, 'connection')) as [Socket]
  t.teardown(() => socket.destroy())
  server.close()
  const { _handle: handle } = socket as unknown as { readonly _handle: { readonly fd: number } }
  return { socket, descriptor: handle.fd, child }
}

const place = (t: Test): string => join(temporary(t), 's')

t.test('a process of this namespace is its user, and nothing stays open of it', async (t) => {
  const path = place(t)
  const { descriptor } = await peerOf(t, path, [])
  const userOf = createPeerUser(path)
  t.equal(userOf(descriptor), process.geteuid?.())
  const open = readdirSync('/proc/self/fd').length
  for (let round = 0; round < 10; round++) userOf(descriptor)
  t.equal(readdirSync('/proc/self/fd').length, open)
})

t.test('the same program of the same user in a process namespace of its own is nobody', async (t) => {
  if (!canBeElsewhere) return void t.comment('skipped: this machine lets nobody make namespaces')
  const path = place(t)
  const { descriptor } = await peerOf(t, path, ELSEWHERE)
  t.equal(createPeerUser(path)(descriptor), undefined)
})

t.test('who is not beneath the process namespace of whoever asks is nobody', async (t) => {
  if (!canBeElsewhere) return void t.comment('skipped: this machine lets nobody make namespaces')
  const path = place(t)
  const module = join(import.meta.dirname, '../../../src/edge/sockets/peer-user.node.ts')
  const ask = `import { createPeerUser } from ${JSON.stringify(module)}
import { createServer } from 'node:net'
const server = createServer((socket) => { console.log(String(createPeerUser(process.argv[1])(socket._handle.fd))); process.exit() })
server.listen(process.argv[1], () => console.log('listening'))`
  const argv = [...ELSEWHERE, process.execPath, '--input-type=module', '-e', ask, path]
  const asker = spawn(argv[0] ?? '', argv.slice(1), { stdio: ['ignore', 'pipe', 'ignore'] })
  t.teardown(() => asker.kill('SIGKILL'))
  let said = ''
  asker.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (text.startsWith('listening')) spawn(process.execPath, ['-e', CONNECT, path], { stdio: 'ignore' })
    said += text
  })
  await once(asker, 'close')
  t.equal(said, 'listening\nundefined\n')
})

t.test('who has connected and gone is nobody, whoever may have its number by now', async (t) => {
  const path = place(t)
  const { socket, descriptor, child } = await peerOf(t, path, [])
  const gone = once(child, 'exit')
  socket.write('go')
  await gone
  t.equal(createPeerUser(path)(descriptor), undefined)
})

t.test('a kernel that has no descriptors of peers is asked by number', async (t) => {
  const path = place(t)
  const syscalls = loadSyscalls()
  const { libc } = syscalls
  const older = { ...syscalls, libc: { close: libc.close, getsockopt: () => -92 } as unknown as typeof libc }
  const isOurs = createIsInOwnNamespace({ ...older, checked: (result) => result })
  const { descriptor, child } = await peerOf(t, path, [])
  t.ok(isOurs(descriptor, child.pid ?? 0))
  t.notOk(isOurs(descriptor, 0))
  t.notOk(isOurs(descriptor, 0x3fff_ffff), 'nobody has that number')
  if (!canBeElsewhere) return void t.comment('skipped: this machine lets nobody make namespaces')
  const sleeper = spawn(ELSEWHERE[0] ?? '', [...ELSEWHERE.slice(1), 'sleep', '60'], { stdio: 'ignore' })
  t.teardown(() => sleeper.kill('SIGKILL'))
  const children = (): string => readFileSync(`/proc/${sleeper.pid}/task/${sleeper.pid}/children`, 'latin1')
  await until('a process beneath it', () => children() !== '')
  t.teardown(() => process.kill(Number(children()), 'SIGKILL'))
  t.notOk(isOurs(descriptor, Number(children())))
})

t.test('a socket that nobody has connected to is nobody', async (t) => {
  t.equal(createPeerUser(place(t))(-1), undefined)
})
