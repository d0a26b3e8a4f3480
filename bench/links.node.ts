/**
 * What a link far away makes of a first command: round trips from the SYN to its exit, over a laboratory link of 300 ms
 * each way; and what a keystroke and its echo take.
 * @module
 */
import { type Client, connect } from '../src/client/client.node.ts'
import { startLab } from '../test/links/lab.node.ts'
import type { Record } from './bytes.node.ts'
import type { Device } from './device.node.ts'

const ROUND_TRIP_MS = 600
const KEYS = 20
const PAUSE_MS = 60

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** The place of the session is made beforehand: what is measured is the link. */
async function firstExit(device: Device, record: Record): Promise<void> {
  const lab = await startLab({ target: { host: '127.0.0.1', port: device.port }, seed: 1 })
  const { fingerprint: pin, privateKey } = device
  const options = { host: '127.0.0.1', port: lab.port, agent: 'agent', privateKey, pin }
  const before = await connect(options)
  await before.execute('true')
  lab.link.setDelay(ROUND_TRIP_MS / 2)
  const first = { command: 'true', args: [], options: { output() {} } }
  // The moment of the SYN is the one in which the connection is asked for.
  const began = performance.now()
  const client = await connect({ ...options, branch: 'latest', first })
  await client.first?.exit
  const tookMs = performance.now() - began
  record(
    'round trips from SYN to the exit of a first command (600 ms)',
    Math.floor(tookMs / ROUND_TRIP_MS),
    '',
    3,
    true,
    `${tookMs.toFixed(0)} ms in all, that of TCP included; what is no whole one is the work of both ends`,
  )
  lab.link.setDelay(0)
  await client.close()
  await before.close()
  await lab.close()
}

/** Each key alone, with time for its echo: the mean of both ways. */
async function keystrokes(device: Device, record: Record): Promise<void> {
  const lab = await startLab({ target: { host: '127.0.0.1', port: device.port }, seed: 1 })
  const { fingerprint: pin, privateKey } = device
  const client: Client = await connect({ host: '127.0.0.1', port: lab.port, agent: 'agent', privateKey, pin })
  let echoed = 0
  const terminal = { rows: 24, columns: 80, term: 'xterm' }
  const running = client.stream('cat', [], {
    stdin: true,
    terminal,
    output: (_source, bytes) => {
      echoed += bytes.length
    },
  })
  await running.started
  await sleep(PAUSE_MS * 3)
  const before = lab.counts()
  for (let key = 0; key < KEYS; key++) {
    running.write(new Uint8Array([0x61]))
    await sleep(PAUSE_MS)
  }
  const after = lab.counts()
  for (const [what, bytes] of [
    ['a keystroke on the wire', after.up - before.up],
    ['its echo on the wire', after.down - before.down],
  ] as const)
    record(what, bytes / KEYS, ' B', 34, true, `mean of ${KEYS} with TLS, ${echoed} echoed`)
  await client.cancel(running.id)
  await running.exit.catch(() => {})
  await client.close()
  await lab.close()
}

export async function comingBack(device: Device, record: Record): Promise<void> {
  await firstExit(device, record)
  await keystrokes(device, record)
}
