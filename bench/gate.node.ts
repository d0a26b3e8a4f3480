/**
 * What the gate to the network costs: how much passes it, how late the daemon is meanwhile, what it adds to a
 * connection, and what a session with a gate takes while nobody uses it. A server of its own process, curl on both ways;
 * the way without a gate is the same program on the device.
 * @module
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Client } from '../src/client/client.node.ts'
import type { Record } from './bytes.node.ts'
import { type Device, startDevice } from './device.node.ts'
import { median } from './median.ts'

const ROUNDS = 5
const BODY_BYTES = 1_073_741_824
const PINGS_ALONE = 400
const IDLE_SESSIONS = 16
const CONNECTIONS = 60
const PAUSE_MS = 2_000

/** Answers `/` with a gibibyte of zeros and everything else with one byte. */
const SERVER = `
const block = Buffer.alloc(1048576)
const server = require('node:http').createServer((request, response) => {
  if (request.url !== '/') return response.end('x')
  response.setHeader('content-length', ${BODY_BYTES})
  let left = ${BODY_BYTES} / block.length
  const more = () => {
    while (left-- > 0) if (!response.write(block)) return response.once('drain', more)
    response.end()
  }
  more()
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
`

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

async function startServer(): Promise<{ port: number; child: ChildProcess }> {
  const child = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [text] = await once(child.stdout ?? child, 'data')
  return { port: Number(String(text)), child }
}

const curl = (format: string, url: string): readonly string[] => [
  '/usr/bin/curl',
  ...['--silent', '--output', '/dev/null', '--noproxy', '*', '--write-out', format, url],
]

type Run = (argv: readonly string[]) => Promise<string>

async function onDevice(argv: readonly string[]): Promise<string> {
  const child = spawn(argv[0] ?? '', argv.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk
  })
  await once(child, 'close')
  return text
}

const inSession =
  (client: Client): Run =>
  async (argv) => {
    const { stdout, exitCode } = await client.execute(argv[0] ?? '', argv.slice(1))
    if (exitCode !== 0) throw new Error(`${argv.join(' ')} ended with ${exitCode} in a session.`)
    return Buffer.from(stdout).toString()
  }

async function pingsUntil(client: Client, isOver: () => boolean): Promise<number[]> {
  const times: number[] = []
  while (!isOver()) {
    const began = performance.now()
    await client.ping()
    times.push(performance.now() - began)
    await pause(2)
  }
  return times
}

/** Megabytes a second that curl says it had. */
async function speed(run: Run, port: number): Promise<number> {
  return Number(await run(curl('%{speed_download}', `http://127.0.0.1:${port}/`))) / 1e6
}

async function passing(client: Client, watcher: Client, port: number) {
  let left = PINGS_ALONE
  const alone = await pingsUntil(watcher, () => left-- === 0)
  const [rates, without, beside]: [number[], number[], number[]] = [[], [], []]
  for (let round = 0; round < ROUNDS; round++) {
    without.push(await speed(onDevice, port))
    let isOver = false
    const passes = speed(inSession(client), port).finally(() => {
      isOver = true
    })
    beside.push(...(await pingsUntil(watcher, () => isOver)))
    rates.push(await passes)
  }
  return { rates, without, alone, beside }
}

async function exchanges(client: Client, port: number): Promise<number> {
  const [through, without]: [number[], number[]] = [[], []]
  for (let count = 0; count < CONNECTIONS; count++) {
    const small = curl('%{time_total}', `http://127.0.0.1:${port}/small`)
    through.push(Number(await inSession(client)(small)) * 1_000)
    without.push(Number(await onDevice(small)) * 1_000)
  }
  return median(through) - median(without)
}

/** Private memory of the daemon and of all it began, KiB. */
function familyKib(pid: number): number {
  const own = Number(/^Anonymous:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0)
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  const threads = children === '' ? [] : children.split(' ').map(Number)
  return threads.reduce((sum, child) => sum + familyKib(child), own)
}

async function idleSessions(device: Device, connectTo: (device: Device) => Promise<Client>): Promise<number> {
  const begin = async (count: number): Promise<Client[]> => {
    const clients: Client[] = []
    for (let index = 0; index < count; index++) {
      const client = await connectTo(device)
      await client.execute('/bin/true')
      clients.push(client)
    }
    return clients
  }
  // What the first ones bring in is there once for all.
  for (const client of await begin(2)) await client.close()
  await pause(PAUSE_MS)
  const before = familyKib(device.pid)
  const clients = await begin(IDLE_SESSIONS)
  await pause(PAUSE_MS)
  const after = familyKib(device.pid)
  for (const client of clients) await client.close()
  return (after - before) / IDLE_SESSIONS
}

/** `connectTo` makes a session of its own each time. */
export async function gate(connectTo: (device: Device) => Promise<Client>, record: Record): Promise<void> {
  const server = await startServer()
  const device = await startDevice({
    session: { max_sessions: 32, max_per_agent: null },
    sandbox: { egress: [`127.0.0.1:${server.port}`] },
  })
  try {
    const [client, watcher] = [await connectTo(device), await connectTo(device)]
    const addedMs = await exchanges(client, server.port)
    record('the gate adds to a connection', addedMs, ' ms', 2, true, 'a whole small exchange of curl, median')
    const { rates, without, alone, beside } = await passing(client, watcher, server.port)
    const direct = `${median(without).toFixed(0)} MB/s without it`
    record('bytes through the gate', median(rates), ' MB/s', 250, false, direct)
    const pings = `${median(beside).toFixed(2)} ms and ${median(alone).toFixed(2)} ms alone`
    record('ping while the gate is full / alone', median(beside) / median(alone), 'x', 2, true, pings)
    await client.close()
    await watcher.close()
    const idleKib = await idleSessions(device, connectTo)
    const detail = `the daemon and what it began, mean of ${IDLE_SESSIONS}`
    record('an idle session with a gate', idleKib, ' KiB', 1_024, true, detail)
  } finally {
    await device.stop()
    server.child.kill()
  }
}
