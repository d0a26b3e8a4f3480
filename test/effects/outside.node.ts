/**
 * The network around a world, in a network namespace of its own, at the other end of the world's only cable: every
 * address is here, so whatever leaves the device arrives, is counted by address, port and name, and is looked through for
 * canaries. A DNS server knows every name; HTTP, HTTPS (by the world's CA) and Git answer as their public services would;
 * other common ports take what they are given. Told to by messages of its parent (`outside-protocol.ts`).
 * Sources: packet(7), RFC 1035, RFC 9110; Git's "dumb" protocol (gitprotocol-http(5)).
 * @module
 */
import { execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { createServer, type Socket } from 'node:net'
import { join, normalize } from 'node:path'
import { formatIpAddress } from '../../src/base/ip-address.ts'
import { loadSyscalls, O_CLOEXEC, O_NONBLOCK } from '../../src/sandbox/kernel/syscalls.node.ts'
import {
  DEVICE_ADDRESS,
  type FromOutside,
  OUTSIDE_ADDRESS,
  OUTSIDE_ADDRESS_6,
  type Reached,
  type ToOutside,
  writtenForms,
} from './outside-protocol.ts'

const AF_PACKET = 17
const SOCK_DGRAM = 2
const SOL_SOCKET = 1
const SO_RCVBUFFORCE = 33
const SOL_PACKET = 263
const PACKET_STATISTICS = 6
const BUFFER_BYTES = 64 * 2 ** 20
const ETH_P_ALL_BE = 0x0300
const HEAD_BYTES = 128
const LOOK_MS = 10
const KEPT_BYTES = 2 ** 20
const TCP_PORTS = [
  21, 22, 23, 25, 53, 110, 139, 143, 389, 445, 465, 587, 853, 873, 993, 1080, 1337, 1883, 2375, 3000, 3128,
  3306, 3333, 4433, 4444, 5000, 5432, 5555, 5900, 6379, 6667, 7000, 8000, 8080, 8081, 8443, 8888, 9000, 9001,
  9090, 9100, 9200, 9418, 9999, 11211, 27017, 31337,
]
const UDP_PORTS = [69, 123, 161, 443, 514, 1900, 4444, 5353, 5683, 9999, 51820]
const NEIGHBOUR_FIRST = 130
const NEIGHBOUR_LAST = 143

const [certificates = '', repository = ''] = process.argv.slice(2)

const names = new Map<string, string>()
const addressesOf = new Map<string, string>()
let questions: string[] = []
let canaries: { canary: string; place: string }[] = []
let reached = new Map<string, Reached>()
const sought = new Map<string, readonly string[]>()
let missed = 0

/** Any name has an address, always the same. */
function addressOf(name: string): string {
  const known = addressesOf.get(name)
  if (known !== undefined) return known
  const index = addressesOf.size
  const address = `151.101.${(index >> 8) & 0xff}.${index & 0xff}`
  addressesOf.set(name, address)
  names.set(address, name)
  return address
}

function lookThrough(bytes: Buffer | string, place: string): void {
  const text = typeof bytes === 'string' ? bytes : bytes.toString('latin1')
  for (const [canary, forms] of sought)
    if (forms.some((form) => text.includes(form))) canaries.push({ canary, place })
}

/** Each of its own name; the next bytes are looked through together with those before. */
function takeAll(socket: Socket, place: string): void {
  let kept = Buffer.alloc(0)
  socket.on('data', (bytes: Buffer) => {
    kept = Buffer.concat([kept.subarray(-KEPT_BYTES), bytes])
    lookThrough(kept, place)
  })
  socket.on('error', () => {})
  socket.setTimeout(1_500, () => socket.destroy())
}

/** A file of the stand-in repository under any name that ends in it, or undefined. */
function repositoryFile(path: string): Buffer | undefined {
  const inside = /^\/[^/]+\/[^/]+?(?:\.git)?\/(HEAD|info\/refs|objects\/.*|refs\/.*|packed-refs)$/.exec(
    path,
  )?.[1]
  const file = inside === undefined ? '' : normalize(join(repository, inside))
  const isThere = file.startsWith(repository) && existsSync(file) && statSync(file).isFile()
  return isThere ? readFileSync(file) : undefined
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const host = request.headers.host ?? '?'
  const place = `${request.method} ${host}${request.url}`
  lookThrough(`${place}\n${request.rawHeaders.join('\n')}`, place.slice(0, 200))
  const chunks: Buffer[] = []
  request.on('data', (bytes: Buffer) => chunks.push(bytes))
  request.on('error', () => {})
  request.on('end', () => {
    lookThrough(Buffer.concat(chunks), place.slice(0, 200))
    const [path = '/'] = (request.url ?? '/').split('?')
    const file = repositoryFile(path)
    if (file !== undefined) return void response.end(file)
    if (/^registry\.|^pypi\./.test(host) || path.includes('/info/refs')) {
      response.writeHead(404, { 'content-type': 'application/json' })
      return void response.end('{"error":"not found"}\n')
    }
    const isJson = host.startsWith('api.') || path.endsWith('.json')
    response.setHeader('content-type', isJson ? 'application/json' : 'text/html')
    response.end(isJson ? '{"ok":true,"name":"x"}\n' : '<html><body>hello</body></html>\n')
  })
}

function readQuestion(message: Buffer): { name: string; type: number; end: number } | undefined {
  const labels: string[] = []
  let at = 12
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.subarray(at + 1, at + 1 + length).toString('latin1'))
    at += length + 1
    if (at > message.length) return undefined
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 }
}

function serveDns(): void {
  const socket = createSocket('udp4')
  socket.on('error', () => {})
  socket.on('message', (message, from) => {
    const question = message.length < 17 ? undefined : readQuestion(message)
    if (question === undefined) return
    const { name, type, end } = question
    questions.push(name)
    lookThrough(name, `DNS ${name}`)
    const head = Buffer.from(message.subarray(0, end))
    head.writeUInt16BE(0x8180, 2)
    head.writeUInt16BE(type === 1 ? 1 : 0, 6)
    head.writeUInt32BE(0, 8)
    const isAddress = type === 1
    const record = Buffer.from([
      0xc0,
      12,
      0,
      1,
      0,
      1,
      0,
      0,
      0,
      60,
      0,
      4,
      ...addressOf(name).split('.').map(Number),
    ])
    socket.send(isAddress ? Buffer.concat([head, record]) : head, from.port, from.address)
  })
  socket.bind(53, OUTSIDE_ADDRESS)
}

function serve(): void {
  const [key, cert] = ['server.key', 'server.pem'].map((name) => readFileSync(join(certificates, name)))
  createHttp(answer)
    .on('error', () => {})
    .listen(80)
  createHttps({ key, cert }, answer)
    .on('error', () => {})
    .on('tlsClientError', () => {})
    .listen(443)
  createHttps({ key, cert }, answer)
    .on('error', () => {})
    .on('tlsClientError', () => {})
    .listen(8443)
  for (const port of TCP_PORTS.filter((one) => one !== 8443))
    createServer((socket) => {
      if (port === 22) socket.write('SSH-2.0-outside\r\n')
      if (port === 25 || port === 21) socket.write('220 outside\r\n')
      takeAll(socket, `tcp ${socket.localAddress} ${port}`)
    })
      .on('error', () => {})
      .listen(port)
  for (const port of UDP_PORTS) {
    const socket = createSocket('udp6')
    socket.on('error', () => {})
    socket.on('message', (message) => lookThrough(message, `udp ${port}`))
    socket.bind(port)
  }
  serveDns()
}

/** What a packet is to: protocol, address, port; undefined for what finds neighbours. */
function targetOf(packet: Uint8Array): Omit<Reached, 'name' | 'packets'> | undefined {
  const isSix = (packet[0] ?? 0) >> 4 === 6
  if (!isSix && (packet[0] ?? 0) >> 4 !== 4) return undefined
  const head = isSix ? 40 : ((packet[0] ?? 0) & 15) * 4
  const number = packet[isSix ? 6 : 9] ?? 0
  const bytes = [...packet.subarray(isSix ? 24 : 16, isSix ? 40 : 20)]
  const address = formatIpAddress({ family: isSix ? 6 : 4, bytes })
  const first = packet[head] ?? 0
  if (number === 58 && first >= NEIGHBOUR_FIRST && first <= NEIGHBOUR_LAST) return undefined
  // A resolver that does not wait for its second answer says so.
  if (number === 1 && first === 3 && address === OUTSIDE_ADDRESS) return undefined
  // Multicast listener reports begin with a hop-by-hop header.
  if (number === 0 && isSix) return undefined
  const protocol = { 1: 'icmp', 6: 'tcp', 17: 'udp', 58: 'icmp' }[number] ?? `protocol ${number}`
  const hasPort = number === 6 || number === 17
  return { protocol, address, port: hasPort ? ((packet[head + 2] ?? 0) << 8) | (packet[head + 3] ?? 0) : 0 }
}

/** Counts what arrives on the cable, by a socket that sees every packet. */
function countPackets(device: string): () => void {
  const { libc, checked } = loadSyscalls()
  const must = (result: number, step: string): number => {
    if (checked(result) < 0) throw new Error(`${step} is refused (${checked(result)})`)
    return result
  }
  const fd = must(libc.socket(AF_PACKET, SOCK_DGRAM | O_NONBLOCK | O_CLOEXEC, 0), 'socket')
  const room = new Int32Array([BUFFER_BYTES])
  must(libc.setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, room, 4), 'SO_RCVBUFFORCE')
  const address = new Uint8Array(new ArrayBuffer(20))
  const view = new DataView(address.buffer)
  view.setUint16(0, AF_PACKET, true)
  view.setUint16(2, ETH_P_ALL_BE, true)
  view.setInt32(4, Number(readFileSync(`/sys/class/net/${device}/ifindex`, 'latin1')), true)
  must(libc.bind(fd, address, address.length), 'bind')
  const packet = new Uint8Array(new ArrayBuffer(HEAD_BYTES))
  const statistics = new Uint32Array(2)
  const length = new Uint32Array([8])
  return () => {
    for (let read = 0; read < 50_000; read++) {
      if (Number(libc.read(fd, packet, BigInt(packet.length))) <= 0) break
      const target = targetOf(packet)
      // What goes to the device are the answers of the outside.
      if (target === undefined || [DEVICE_ADDRESS, 'fd99::2'].includes(target.address)) continue
      const key = `${target.protocol} ${target.address} ${target.port}`
      const packets = (reached.get(key)?.packets ?? 0) + 1
      reached.set(key, { ...target, name: names.get(target.address), packets })
    }
    length[0] = 8
    if (libc.getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, statistics, length) === 0)
      missed += statistics[1] ?? 0
  }
}

function main(): void {
  const ip = (...args: readonly string[]) => execFileSync('ip', args)
  ip('link', 'set', 'lo', 'up')
  ip('link', 'set', 'up0', 'up')
  ip('addr', 'add', `${OUTSIDE_ADDRESS}/30`, 'dev', 'up0')
  ip('-6', 'addr', 'add', `${OUTSIDE_ADDRESS_6}/64`, 'dev', 'up0', 'nodad')
  ip('route', 'add', 'local', 'default', 'dev', 'lo')
  ip('-6', 'route', 'add', 'local', 'default', 'dev', 'lo')
  serve()
  // The machine's /sys shows its own devices: a mount of it made here shows these.
  execFileSync('mount', ['-t', 'sysfs', 'sysfs', '/sys'])
  const count = countPackets('up0')
  setInterval(count, LOOK_MS)
  const say = (message: FromOutside) => process.send?.(message)
  process.on('message', (message: ToOutside) => {
    if (message.kind === 'canary') return void sought.set(message.canary, writtenForms(message.canary))
    count()
    say({ kind: 'seen', reached: [...reached.values()], questions, canaries, missed })
    reached = new Map()
    questions = []
    canaries = []
    missed = 0
  })
  process.on('disconnect', () => process.exit())
  say({ kind: 'ready' })
}

process.once('message', main)
