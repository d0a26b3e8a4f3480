/**
 * Works on session networks as whoever starts it, and prints what it found as JSON: run as root, and as a user in a user
 * namespace of its own. The first argument is an empty directory, the second what to do.
 * @module
 */
import { spawn, spawnSync } from 'node:child_process'
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { overlayAttributes } from '../../../src/sandbox/branch/threads/branch-store.node.ts'
import { loadSyscalls } from '../../../src/sandbox/kernel/syscalls.node.ts'
import { createKeeper } from '../../../src/sandbox/namespaces/keeper.node.ts'
import { createKernel } from '../../../src/sandbox/namespaces/kernel.node.ts'
import type {
  ListenPlace,
  NamespaceDescriptors,
  NamespacePlan,
} from '../../../src/sandbox/namespaces/namespace-plan.ts'
import { createNetworkHome, makeNetwork } from '../../../src/sandbox/namespaces/session-network.node.ts'
import { createRefusals } from '../../../src/sandbox/places/refusals.node.ts'

const MANY = 50
const LISTENS: readonly ListenPlace[] = [
  { protocol: 'tcp', port: 80, address: undefined },
  { protocol: 'tcp', port: 443, address: undefined },
  { protocol: 'tcp', port: 8080, address: '127.0.0.1' },
]

const [directory = '', what = ''] = process.argv.slice(2)

function planFor(change: Partial<NamespacePlan>): NamespacePlan {
  for (const name of ['real', 'upper', 'work', 'view']) mkdirSync(join(directory, name), { recursive: true })
  const options = overlayAttributes() === 'trusted' ? 'redirect_dir=on,index=on' : 'userxattr'
  const [path, upper, work] = ['real', 'upper', 'work'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ]
  return {
    roots: [{ kind: 'overlay', path, upper, work, options }],
    shown: [],
    scratch: ['/tmp', '/run'],
    scratchBytes: 1_048_576,
    kept: [],
    volatile: [],
    stage: join(directory, 'view'),
    read: ['/usr', '/bin', '/lib', '/lib64', '/etc', '/sys'],
    hidden: [],
    hidesSecrets: true,
    own: [],
    sockets: [],
    homes: [],
    devices: [],
    network: 'gate',
    listens: LISTENS,
    userId: process.getuid?.() ?? 0,
    groupId: process.getgid?.() ?? 0,
    caches: [],
    ...change,
  }
}

function close({ mount, pid, ipc, network, networkRest, gate, root, lifeline }: NamespaceDescriptors): void {
  const ofGate = gate === undefined ? [] : [gate.names, gate.refusals]
  for (const descriptor of [lifeline, mount, pid, ipc, network, networkRest, root, ...ofGate])
    if (descriptor >= 0) closeSync(descriptor)
}

/** Runs Python in a session's network and gives what it printed as JSON. */
async function inNetwork(made: NamespaceDescriptors, script: string): Promise<unknown> {
  const network = `--net=/proc/${process.pid}/fd/${made.network}`
  const child = spawn('nsenter', [network, '--', '/usr/bin/python3', '-c', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  for await (const piece of child.stdout) text += String(piece)
  return JSON.parse(text)
}

const CONNECT = `
import json, socket
found = {}
def attempt(name, what):
    try: found[name] = what() or "done"
    except OSError as error: found[name] = error.errno
def tcp(address, port):
    def run():
        one = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        one.settimeout(5)
        one.connect((address, port))
        return one.recv(100).decode()
    attempt("%s %d" % (address, port), run)
def udp(address, port):
    def run():
        one = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        one.settimeout(5)
        one.connect((address, port))
        one.send(b"x")
        one.recv(10)
    attempt("udp %s %d" % (address, port), run)
for address in ["192.0.2.7", "127.0.0.1", "2001:db8::7", "::1"]:
    tcp(address, 443)
tcp("127.0.0.1", 8080)
tcp("127.0.0.3", 8080)
tcp("192.0.2.7", 22)
tcp("2001:db8::7", 22)
udp("192.0.2.7", 123)
udp("2001:db8::7", 123)
def names(): return str(len(socket.getaddrinfo("192.0.2.7", 80, socket.AF_INET, 0, 0, socket.AI_ADDRCONFIG)) > 0)
attempt("IPv4 is there", names)
attempt("abstract", lambda: socket.socket(socket.AF_UNIX).connect("\\0" + ABSTRACT))
own = socket.socket(); own.bind(("127.0.0.1", 3000)); own.listen()
attempt("its own server", lambda: socket.create_connection(("127.0.0.1", 3000), 5).close())
print(json.dumps(found))`

async function listening(server: Server, where: object): Promise<Server> {
  await new Promise<void>((resolve) => server.listen(where, resolve))
  return server
}

async function connections(): Promise<unknown> {
  const keeper = createKeeper(undefined)
  const { descriptors: made } = await keeper.open(planFor({}))
  const abstract = `sass-edge-network-${process.pid}`
  const servers = [await listening(createServer(), { path: `\0${abstract}` })]
  for (const { descriptor } of made.gate?.listeners ?? [])
    servers.push(
      await listening(
        createServer((socket) => {
          socket.on('error', () => undefined)
          socket.end(`${socket.localAddress} ${socket.localPort}`)
        }),
        { fd: descriptor },
      ),
    )
  const found = await inNetwork(made, `ABSTRACT = "${abstract}"\n${CONNECT}`)
  const take = createRefusals(loadSyscalls(), made.gate?.refusals ?? -1)
  const result = {
    found,
    refused: take(),
    again: take(),
    names: made.gate?.names,
    resolver: readResolver(made),
  }
  for (const server of servers) server.close()
  close(made)
  await keeper.end(made.initPid)
  await keeper.close()
  return result
}

const readResolver = (made: NamespaceDescriptors): string =>
  readFileSync(`/proc/self/fd/${made.root}/etc/resolv.conf`, 'utf8')

/** Networks that something of this process holds: by descriptor, or with a thread in it. */
function networksHeld(): readonly string[] {
  const found = new Set<string>()
  for (const name of readdirSync('/proc/self/fd')) {
    try {
      const target = readlinkSync(`/proc/self/fd/${name}`)
      if (target.startsWith('net:')) found.add(target)
    } catch {
      // It was the directory itself.
    }
  }
  for (const thread of readdirSync('/proc/self/task'))
    found.add(readlinkSync(`/proc/self/task/${thread}/ns/net`))
  return [...found].sort()
}

async function many(): Promise<unknown> {
  const keeper = createKeeper(undefined)
  const times: number[] = []
  let before: unknown
  const state = () => ({ descriptors: readdirSync('/proc/self/fd').length, networks: networksHeld() })
  for (let turn = 0; turn <= MANY; turn++) {
    const network = turn % 5 === 4 ? 'none' : 'gate'
    const begin = performance.now()
    const { descriptors: made } = await keeper.open(planFor({ network }))
    times.push(performance.now() - begin)
    for (const { descriptor } of made.gate?.listeners ?? []) closeSync(descriptor)
    close(made)
    await keeper.end(made.initPid)
    if (turn === 0) before = state()
  }
  const after = state()
  await keeper.close()
  return { before, after, milliseconds: times.sort((a, b) => a - b)[MANY / 2] }
}

/** What the kernel refuses in the midst of it. */
async function refused(): Promise<unknown> {
  const keeper = createKeeper(undefined)
  const messages: string[] = []
  const counts: unknown[] = []
  const attempts: readonly Partial<NamespacePlan>[] = [
    { listens: [{ protocol: 'tcp', port: 80, address: 'nowhere' }] },
    {
      listens: Array.from({ length: 200 }, (_, index) => ({
        protocol: 'tcp' as const,
        port: 1_000 + index,
        address: undefined,
      })),
    },
    { roots: [{ kind: 'bind', path: join(directory, 'real'), source: join(directory, 'nowhere') }] },
  ]
  for (const attempt of [attempts[0], ...attempts]) {
    await keeper.open(planFor(attempt ?? {})).catch((cause: Error) => messages.push(cause.message))
    counts.push([readdirSync('/proc/self/fd').length, networksHeld()])
  }
  const { descriptors: made } = await keeper.open(planFor({}))
  const listeners = made.gate?.listeners.length
  await keeper.close()
  return { messages, counts, listeners }
}

/** What a session finds that asks where to ask for names; `etc`: /etc is a branch. */
async function resolver(etc: boolean): Promise<unknown> {
  const keeper = createKeeper(undefined)
  const plan = planFor({})
  const branch = plan.roots[0]
  if (branch?.kind !== 'overlay') throw new Error('no overlay')
  const roots = etc ? [{ ...branch, path: '/etc' }] : plan.roots
  const { descriptors: made } = await keeper.open({ ...plan, roots })
  const seen = (path: string): string => {
    const inside = ['--mount', '--root', '--wd'].map(
      (name) => `${name}=/proc/${process.pid}/fd/${name === '--mount' ? made.mount : made.root}`,
    )
    const child = spawnSync('nsenter', [...inside, '--', 'sh', '-c', path], { encoding: 'utf8' })
    return `${child.status} ${child.stdout}${child.stderr}`
  }
  const result = {
    resolver: seen('cat /etc/resolv.conf'),
    written: seen('echo x > /etc/resolv.conf').slice(0, 1),
    removed: seen('rm /etc/resolv.conf').slice(0, 1),
    hosts: seen('cat /etc/hosts'),
    hostsWritten: seen('echo x > /etc/hosts').slice(0, 1),
    upper: readdirSync(branch.upper),
  }
  close(made)
  for (const { descriptor } of made.gate?.listeners ?? []) closeSync(descriptor)
  await keeper.end(made.initPid)
  await keeper.close()
  return result
}

/** As on a device where it is turned off for every network. */
async function withoutSix(): Promise<unknown> {
  const kernel = createKernel(loadSyscalls(), openSync('/dev/null', 'r+'))
  const home = createNetworkHome(kernel)
  home.leave()
  for (const name of ['all', 'default', 'lo'])
    writeFileSync(`/proc/sys/net/ipv6/conf/${name}/disable_ipv6`, '1')
  const held: { lasting: number[] } = { lasting: [] }
  const listens: readonly ListenPlace[] = [
    ...LISTENS,
    { protocol: 'tcp', port: 443, address: '2001:db8::7' },
    { protocol: 'tcp', port: 443, address: '::1' },
  ]
  const made = makeNetwork(kernel, planFor({ listens }), held)
  return made?.listeners.map(({ address, port }) => `${address} ${port}`)
}

const WORK: Readonly<Record<string, () => Promise<unknown>>> = {
  connections,
  many,
  refused,
  'without six': withoutSix,
  resolver: () => resolver(false),
  'resolver etc': () => resolver(true),
}
writeFileSync(1, JSON.stringify(await WORK[what]?.()))
process.exit(0)
