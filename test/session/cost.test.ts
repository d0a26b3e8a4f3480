/**
 * What a response costs the daemon: the draft's table (section 3.2) as a measurement. R1 holds what it runs; every
 * other response holds the same whether the request was small or as large as it may be.
 * The heap is collected before each look, so that what is counted is what is held; sizes are compared, not times.
 * @module
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { zstdCompressSync } from 'node:zlib'
import t from 'tap'
import { PARKED_BYTES } from '../../src/limits.ts'
import { executeRequest } from '../../src/wire/messages.ts'
import { authOf, connect, enter, type StageOptions, stageRooms, unpacked } from './stage.ts'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

function heapBytes(): number {
  collect()
  collect()
  return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers
}

/** Held at once for each look; enough to tell a kept request from noise. */
const HELD = 120
const PER_CONNECTION = 8
const SMALL = 64
/** A frame is the most that arrives at once, a payload the most that it may expand to. */
const LARGE_FRAME = 60_000
const LARGE_PAYLOAD = 4_000_000
/** A kept request of the large size would show as fifteen times this. */
const NOISE_BYTES = 4_096

const all = { capability: { max_concurrent: 1_000 }, maxSessions: 1_000 }

function requestOf(command: string, bytes: number, isPacked: boolean) {
  const argument = 'x'.repeat(bytes)
  if (!isPacked) return executeRequest.encode({ command, args: [argument] })
  const raw_payload = zstdCompressSync(Buffer.from(JSON.stringify([command, argument]))).toString('base64')
  return executeRequest.encode({ raw_payload })
}

/** Bytes that the daemon holds for each of HELD requests of that size. */
async function heldBytes(
  options: StageOptions,
  command: string,
  bytes: number,
  isPacked: boolean,
): Promise<number> {
  const stage = stageRooms({ ...all, ...options })
  const clients = Array.from({ length: HELD / PER_CONNECTION }, () => enter(stage))
  // Once of everything, so that what is made at the first need (a frame's buffer) is not counted.
  for (const client of clients) client.open('ExecuteStream', requestOf(command, LARGE_FRAME, false))
  for (const client of clients) client.transport.writes.length = 0
  // What was held before is let go of in turns of its own.
  for (let turn = 0; turn < 3; turn++) {
    collect()
    await new Promise((done) => setImmediate(done))
  }
  const before = heapBytes()
  for (const client of clients) {
    for (let index = 1; index < PER_CONNECTION; index++)
      client.open('ExecuteStream', requestOf(command, bytes, isPacked))
  }
  await unpacked(stage)
  for (const client of clients) {
    client.transport.writes.length = 0
    client.heard.length = 0
  }
  const held = (heapBytes() - before) / (HELD - clients.length)
  // Keeps everything alive until here.
  if (stage.rooms.sessions.size === 0 && clients.length > 0 && held < 0) throw new Error('nothing was held')
  return held
}

t.test('R4 holds nothing of the request, however large (SS-35)', async (t) => {
  const options = { capability: { ...all.capability, denied_commands: ['rm'] }, automatic: false }
  const small = await heldBytes(options, 'rm', SMALL, false)
  const large = await heldBytes(options, 'rm', LARGE_FRAME, false)
  t.ok(large - small < NOISE_BYTES, `${small} and ${large} bytes`)
  const packed = await heldBytes(options, 'rm', LARGE_PAYLOAD, true)
  t.ok(packed - small < NOISE_BYTES, `${small} and ${packed} bytes`)
})

t.test('what waits (R2, R3) holds at most PARKED_BYTES, and nothing of what is larger (SS-35)', async (t) => {
  const challenged: StageOptions = {
    rules: [{ action: 'challenge', severity: 'high', argv: { program: ['halt'] } }],
  }
  const queued: StageOptions = { capability: { max_concurrent: 1 }, queue: 1_000 }
  for (const [name, options, command] of [
    ['R2', challenged, 'halt'],
    ['R3', queued, 'sleep'],
  ] as const) {
    const small = await heldBytes(options, command, SMALL, false)
    const large = await heldBytes(options, command, LARGE_FRAME, false)
    t.ok(large - small < PARKED_BYTES + NOISE_BYTES, `${name}: ${small} and ${large} bytes`)
    const packed = await heldBytes(options, command, LARGE_PAYLOAD, true)
    t.ok(packed - small < NOISE_BYTES, `${name}: ${small} and ${packed} bytes`)
  }
})

t.test(
  'R5 and R6 cost the same for every caller, and nothing is kept of what they sent (SS-35)',
  async (t) => {
    const held = (bytes: number, tarpits: number): number => {
      const stage = stageRooms({ ...all, tarpits })
      const strangers = Array.from({ length: HELD }, () => connect(stage))
      const before = heapBytes()
      for (const stranger of strangers) {
        // What is wrong is the proof; the rest of the message is as long as the gate takes.
        stranger.open('Authenticate', authOf({ name: 'b'.repeat(Math.min(bytes, 64)), keySeed: 9 }))
        stranger.transport.writes.length = 0
        stranger.heard.length = 0
      }
      const cost = (heapBytes() - before) / HELD
      t.equal(stage.rooms.tarpits.held, Math.min(tarpits, HELD))
      return cost
    }
    t.ok(Math.abs(held(64, HELD) - held(1, HELD)) < NOISE_BYTES)
    t.ok(held(64, 0) < NOISE_BYTES, 'a reset costs nothing')
  },
)
