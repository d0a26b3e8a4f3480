/**
 * A small internet for sessions that reach it through the gate of a real daemon: a name server, servers on addresses of
 * the loopback that no other test has, certificates of an authority of the test, and the table of hosts and the resolver
 * that the daemon finds in the device's places. What comes to a server or to the name server is counted, so that a test
 * can look at what has left.
 * Needs root, for ports below 1024 and for mounts of the daemon's own, and openssl; says what is missing.
 * @module
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttp, type RequestListener } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type Branched, startBranched, type Who } from './branched.node.ts'
import { auditEvents, type Json } from './daemon.node.ts'

/** Below .example: programs take no certificate for all names of a top level. */
const NAMES: readonly string[] = ['web', 'git', 'pip', 'npm', 'deb', 'allowed']
const DNS_PORT = 53
const TYPE_A = 1
const TYPE_AAAA = 28

export type Hit = { readonly port: number; readonly address: string; readonly bytes: () => string }

export type World = {
  /** An address of the test, with `last` for its last number. */
  address(last: number): string
  /** Names that the name server knows; what it is asked for otherwise does not exist. */
  readonly names: Map<string, readonly string[]>
  /** As those, for IPv6: sixteen bytes in hexadecimal digits. */
  readonly six: Map<string, string>
  /** Every question that came, `name type`. */
  readonly questions: string[]
  /** Every connection that came to a server of the test. */
  readonly hits: Hit[]
  /** Connections to that server: now, and most at once. */
  open(last: number, port: number): number
  peak(last: number, port: number): number
  readonly authority: string
  readonly directory: string
  /** Answers whoever comes, in the clear or with a certificate for all names of the test. */
  http(last: number, port: number, answer: RequestListener): Promise<void>
  https(last: number, port: number, answer: RequestListener): Promise<void>
  tcp(last: number, port: number, answer: (socket: Socket) => void): Promise<void>
  /** Counts datagrams. */
  udp(last: number, port: number): Promise<{ readonly received: string[] }>
  hosts(text: string): void
  start(who: Who, change: Json): Promise<Branched>
}

/** What this machine has not, in a sentence; undefined: nothing. */
export function missing(): string | undefined {
  if (process.geteuid?.() !== 0) return 'only root gives a daemon a resolver of its own'
  if (spawnSync('openssl', ['version']).status !== 0) return 'there is no openssl'
  if (spawnSync('unshare', ['--mount', 'true']).status !== 0) return 'this machine lets nobody make mounts'
  return undefined
}

function run(directory: string, line: string): void {
  execFileSync('sh', ['-c', line], { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] })
}

/** An authority and one certificate for its names. */
function makeCertificates(directory: string): void {
  const key = 'openssl ecparam -name prime256v1 -genkey -noout -out'
  run(directory, `${key} ca.key && ${key} leaf.key`)
  run(
    directory,
    'openssl req -x509 -new -key ca.key -days 30 -subj /CN=Test -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign -out ca.pem',
  )
  writeFileSync(
    join(directory, 'leaf.ext'),
    `subjectAltName=${NAMES.map((name) => `DNS:${name}.example`).join(',')}\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\nauthorityKeyIdentifier=keyid\nsubjectKeyIdentifier=hash\n`,
  )
  run(directory, 'openssl req -new -key leaf.key -subj /CN=leaf -out leaf.csr')
  run(
    directory,
    'openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile leaf.ext -out leaf.pem',
  )
}

/** `name type` of a question, and where it ends. */
function readName(message: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 }
}

type Found = { readonly type: number; readonly bytes: Buffer }

function answerTo(message: Buffer, end: number, found: readonly Found[], isKnown: boolean): Buffer {
  const head = Buffer.from(message.subarray(0, end))
  head.writeUInt16BE(isKnown ? 0x8180 : 0x8183, 2)
  head.writeUInt16BE(found.length, 6)
  head.writeUInt32BE(0, 8)
  const records = found.map(({ type, bytes }) =>
    Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 1, 0, bytes.length, ...bytes]),
  )
  return Buffer.concat([head, ...records])
}

export async function openWorld(t: Test): Promise<World> {
  const directory = mkdtempSync('/var/lib/sass-edge-world-')
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  chmodSync(directory, 0o755)
  makeCertificates(directory)
  // Not among the addresses that stand for names in a session, and no other test's.
  const net = `127.${200 + (process.pid % 50)}.${Math.floor(process.pid / 50) % 250}`
  const address = (last: number): string => `${net}.${last}`
  const etc = join(directory, 'etc')
  execFileSync('cp', ['-a', '/etc', etc])
  const [hostsFile, resolver] = [join(etc, 'hosts'), join(etc, 'resolv.conf')]
  rmSync(resolver, { force: true })
  writeFileSync(hostsFile, '127.0.0.1 localhost\n')
  writeFileSync(resolver, `nameserver ${address(DNS_PORT)}\n`)
  const names = new Map<string, readonly string[]>()
  const six = new Map<string, string>()
  const questions: string[] = []
  const hits: Hit[] = []

  const dns = createSocket('udp4')
  dns.on('message', (message, from) => {
    const { name, type, end } = readName(message)
    questions.push(`${name} ${type}`)
    const four = (names.get(name) ?? []).map((text) => Buffer.from(text.split('.').map(Number)))
    const all: Found[] = [
      ...four.map((bytes) => ({ type: TYPE_A, bytes })),
      ...(six.has(name) ? [{ type: TYPE_AAAA, bytes: Buffer.from(six.get(name) ?? '', 'hex') }] : []),
    ]
    const found = all.filter((one) => one.type === type)
    dns.send(answerTo(message, end, found, all.length > 0), from.port, from.address)
  })
  dns.bind(DNS_PORT, address(DNS_PORT))
  await once(dns, 'listening')
  t.teardown(() => new Promise<void>((resolve) => dns.close(() => resolve())))

  const servers = new Map<string, { readonly open: Set<Socket>; peak: number }>()
  type Listening = ReturnType<typeof createServer>
  async function listen(server: Listening, last: number, port: number): Promise<void> {
    const open = new Set<Socket>()
    const counts = { open, peak: 0 }
    servers.set(`${last} ${port}`, counts)
    server.on('connection', (socket: Socket) => {
      open.add(socket)
      counts.peak = Math.max(counts.peak, open.size)
      let text = ''
      socket.on('error', () => {})
      socket.on('close', () => open.delete(socket))
      const emit = socket.emit.bind(socket)
      // Seen on the way: whoever answers reads it himself.
      socket.emit = (event: string | symbol, ...args: unknown[]) => {
        if (event === 'data' && text.length < 65_536) text += String(args[0])
        return emit(event, ...args)
      }
      hits.push({ port, address: address(last), bytes: () => text })
    })
    server.listen(port, address(last))
    await once(server, 'listening')
    t.teardown(() => {
      for (const socket of open) socket.destroy()
      server.close()
    })
  }

  return {
    address,
    names,
    six,
    open: (last, port) => servers.get(`${last} ${port}`)?.open.size ?? 0,
    peak: (last, port) => servers.get(`${last} ${port}`)?.peak ?? 0,
    questions,
    hits,
    authority: join(directory, 'ca.pem'),
    directory,
    http: (last, port, answer) => listen(createHttp(answer), last, port),
    https: (last, port, answer) => {
      const [key, cert] = ['leaf.key', 'leaf.pem'].map((name) => readFileSync(join(directory, name)))
      return listen(createHttps({ key, cert }, answer), last, port)
    },
    tcp: (last, port, answer) => listen(createServer(answer), last, port),
    async udp(last, port) {
      const received: string[] = []
      const socket = createSocket('udp4')
      socket.on('message', (bytes, from) => {
        received.push(bytes.toString('latin1'))
        socket.send(`to ${bytes.toString('latin1')}`, from.port, from.address)
      })
      socket.bind(port, address(last))
      await once(socket, 'listening')
      t.teardown(() => new Promise<void>((resolve) => socket.close(() => resolve())))
      return { received }
    },
    hosts: (text) => writeFileSync(hostsFile, `127.0.0.1 localhost\n${text}`),
    async start(who, change) {
      const { sandbox, security, ...more } = change as { sandbox?: Json; security?: Json }
      const daemon = await startBranched(
        t,
        who,
        {
          sandbox: { network: 'gate', ...sandbox },
          security: { unlisted_domains: 'deny', reachable_addresses: [`${net}.0/24`], ...security },
          ...more,
        },
        { etc },
      )
      daemon.put('ca.pem', readFileSync(join(directory, 'ca.pem')), 0o644)
      return daemon
    },
  }
}

/** What the record has of the gate. */
export function egressOf(daemon: Branched): Json[] {
  return auditEvents(daemon.directory).filter(({ type }) => type === 'egress')
}
