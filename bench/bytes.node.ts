/**
 * What a link costs: bytes of TCP payload in both directions, TLS and all, of connecting, of short and long commands,
 * compressed and not, and of a day on which nothing happens.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, type Compression, connect } from '../src/client/client.node.ts'
import { KEEPALIVE_MAX_MS, KEEPALIVE_MS } from '../src/limits.ts'
import { createKeepalive } from '../src/session/connection/keepalive.ts'
import type { Device } from './device.node.ts'
import { startFlightCounter } from './flights.node.ts'
import { type Relay, startRelay } from './relay.node.ts'

export type Record = (
  what: string,
  value: number,
  unit: string,
  bound: number,
  isCeiling: boolean,
  detail: string,
) => void

const FOUND_BYTES = 64 * 1_048_576

type Groups = 'default' | 'metered'
type Way = { readonly port: number; readonly groups?: Groups; readonly compression?: Compression }

function connectTo(device: Device, way: Way): Promise<Client> {
  const { fingerprint: pin, privateKey } = device
  return connect({ host: '127.0.0.1', agent: 'agent', privateKey, pin, ...way })
}

/** What passes both ways while `work` is done. */
async function counted(relay: Relay, work: () => Promise<unknown>): Promise<number> {
  relay.reset()
  await work()
  const { toClient, toServer } = relay.counts()
  return toClient + toServer
}

async function firstAndWarm(device: Device, relay: Relay, record: Record): Promise<void> {
  for (const [groups, bound] of [
    ['metered', 1_900],
    ['default', 4_300],
  ] as const) {
    let client: Client | undefined
    const first = await counted(relay, async () => {
      client = await connectTo(device, { port: relay.port, groups })
      await client.execute('true')
    })
    const what = groups === 'metered' ? 'X25519' : 'X25519MLKEM768 first'
    record(`connect, authenticate, first exec (${what})`, first, ' B', bound, true, 'TLS included, both ways')
    for (let index = 0; index < 200; index++) await client?.execute('true')
    const hundred = await counted(relay, async () => {
      for (let index = 0; index < 100; index++) await client?.execute('true')
    })
    if (groups === 'default')
      record('warm exec of true on the wire', hundred / 100, ' B', 110, true, 'both ways, mean of 100')
    await client?.close()
  }
}

/** One round trip is two flights; that of TCP itself comes before them. */
async function roundTrips(device: Device, record: Record): Promise<void> {
  for (const groups of ['default', 'metered'] as const) {
    const counter = await startFlightCounter({ host: '127.0.0.1', port: device.port })
    const client = await connectTo(device, { port: counter.port, groups })
    await client.execute('true')
    const flights = counter.connections[0] ?? []
    const detail = flights.map(({ from, bytes }) => `${from} ${bytes} B`).join(', ')
    record(`round trips from SYN to the first exit (${groups})`, 1 + flights.length / 2, '', 4, true, detail)
    await client.close()
    await counter.stop()
  }
}

/** The output of find(1) of GNU, which follows no links. */
function found(...args: readonly string[]): string {
  return execFileSync('find', args, { encoding: 'utf8', maxBuffer: FOUND_BYTES })
}

/** Texts of the kinds that people look at over a slow link, made from what is on this machine, in the workspace. */
function texts(workspace: string): readonly (readonly [string, string])[] {
  const names = found('/usr/include', '-name', '*.h').trim().split('\n').slice(0, 4_000)
  const log = names.map((name, index) => {
    const object = name.replaceAll('/', '_').replace(/\.h$/, '')
    const line = `[${index + 1}/${names.length}] cc -O2 -g -Wall -Wextra -Iinclude -MMD -MF build/${object}.d -c ${name} -o build/${object}.o`
    return index % 9 === 0
      ? `${line}\n${name}:${(index % 311) + 1}:${(index % 37) + 1}: warning: unused parameter 'context' [-Wunused-parameter]`
      : line
  })
  writeFileSync(join(workspace, 'build.log'), `${log.join('\n')}\n`)
  const entry = '{"name":"%p","size":%s,"mode":"%m","inode":%i,"changed":"%CY-%Cm-%CdT%CT"},\\n'
  const dump = found('/usr/bin', '/usr/sbin', '/usr/share/doc', '-printf', entry)
  writeFileSync(join(workspace, 'dump.json'), `[${dump.slice(0, -2)}]`)
  return [
    ['ls -lR /usr', 'ls -lR /usr 2>/dev/null'],
    ['a build log', 'cat build.log'],
    ['a dump in JSON', 'cat dump.json'],
  ]
}

async function compressed(device: Device, relay: Relay, record: Record): Promise<void> {
  for (const [what, script] of texts(join(device.directory, '.sass-edge/workspace'))) {
    const bytes = async (compression: Compression) => {
      const client = await connectTo(device, { port: relay.port, compression })
      const run = () => client.stream('sh', ['-c', script], { output() {} }).exit
      const total = await counted(relay, run)
      await client.close()
      return total
    }
    const plain = await bytes('never')
    const packed = await bytes('always')
    const detail = `${packed} B and ${plain} B, both ways`
    record(`-z of ${what} / without`, packed / plain, 'x', 0.5, true, detail)
  }
}

/** IPv4 without options and TCP with timestamps, as Linux sends it. */
const HEAD_BYTES = 20 + 32
const DAY_MS = 86_400_000

/** PINGs of a day on which everything is answered at once. */
export function pingsOfDay(firstMs: number): number {
  const keepalive = createKeepalive(firstMs, 0)
  let pings = 0
  for (let now = 0; now < DAY_MS; now += 1_000) {
    if (keepalive.tick(now) !== 'ping') continue
    pings++
    keepalive.received(now)
    keepalive.answered()
  }
  return pings
}

/** What the records of a PING and its PONG take, with a nonce of the longest form, where nothing else is said. */
export async function exchangeBytes(client: Client, relay: Relay): Promise<number> {
  await client.execute('true')
  relay.reset()
  let seen = relay.counts()
  while (seen.toClient === 0 || seen.toServer === 0) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    seen = relay.counts()
  }
  // A first nonce is one byte; from 256 on it is three, on both ways.
  return seen.toClient + seen.toServer + 2 * 2
}

/** What so many exchanges cost with the heads: PING, PONG and the acknowledgement of that. */
export function dayBytes(pings: number, exchange: number): number {
  return pings * (exchange + 3 * HEAD_BYTES)
}

/** `hasty`: a device that asks after a second. */
async function idleDay(hasty: Device, record: Record): Promise<void> {
  const relay = await startRelay({ host: '127.0.0.1', port: hasty.port })
  const client = await connectTo(hasty, { port: relay.port })
  const exchange = await exchangeBytes(client, relay)
  await client.close()
  await relay.stop()
  const megabytes = (pings: number) => dayBytes(pings, exchange) / 1_000_000
  const detail = (pings: number) =>
    `${pings} times ${exchange} B in two records and 3 heads of ${HEAD_BYTES} B`
  for (const [profile, firstMs, bound] of [
    ['default', KEEPALIVE_MS, 0.35],
    ['metered', KEEPALIVE_MAX_MS, 0.08],
  ] as const) {
    const pings = pingsOfDay(firstMs)
    record(`a day without work (${profile})`, megabytes(pings), ' MB', bound, true, detail(pings))
  }
  const most = DAY_MS / KEEPALIVE_MS
  record('the same where every answer is late (default)', megabytes(most), ' MB', 0.35, true, detail(most))
}

export async function bytesOnTheWire(device: Device, hasty: Device, record: Record): Promise<void> {
  const relay = await startRelay({ host: '127.0.0.1', port: device.port })
  await firstAndWarm(device, relay, record)
  await roundTrips(device, record)
  await compressed(device, relay, record)
  await relay.stop()
  await idleDay(hasty, record)
}
