/**
 * Stdin that came a byte a message, for a program that did not read, once cost 450 bytes of the daemon's memory for
 * each: 1 MiB of it, which one stream may send, was 450 MiB.
 * @module
 */
import t from 'tap'
import { publicKeyOf, signWith } from '../../src/base/crypto/ed25519.node.ts'
import { CHANNEL_BINDING_BYTES, CHANNEL_BINDING_LABEL, MAX_WINDOW_BYTES } from '../../src/limits.ts'
import { authSigningInput } from '../../src/wire/auth-input.ts'
import { encodeFrame } from '../../src/wire/frame.ts'
import { authRequest, stdinChunk } from '../../src/wire/messages.ts'
import { tls } from '../integration/connections.node.ts'
import { startNew, until } from '../integration/daemon.node.ts'
import { command, EXECUTE_STREAM, field, isOver, on } from './streams.node.ts'

const AUTHENTICATE = 8
/** The garbage of a million frames included. */
const GROWTH_KIB = 64 * 1_024

t.test(
  'stdin in single bytes is kept as it was sent, not an object a byte, and all of it arrives',
  async (t) => {
    const daemon = await startNew(t)
    const wire = await tls(daemon.port)
    const { socket } = wire
    const nonce = new Uint8Array(16)
    const binding = socket.exportKeyingMaterial(CHANNEL_BINDING_BYTES, CHANNEL_BINDING_LABEL, Buffer.alloc(0))
    const proof = {
      agent_name: 'agent',
      public_key: publicKeyOf(daemon.seed()),
      signature: signWith(daemon.seed(), authSigningInput('agent', nonce, binding)),
      nonce,
      window: MAX_WINDOW_BYTES,
    }
    socket.write(encodeFrame(1, 'OPEN', authRequest.encode(proof), AUTHENTICATE))
    await until('an answer to Authenticate', () => isOver(wire, 1))
    const before = daemon.anonymousKib()
    const script = `sleep 3; head -c ${MAX_WINDOW_BYTES} | cksum`
    socket.write(command(3, EXECUTE_STREAM, { command: 'sh', args: ['-c', script], stdin: true }))
    const byte = encodeFrame(3, 'MSG', stdinChunk.encode({ data: Uint8Array.of(65) }))
    const many = Buffer.concat(Array.from({ length: 4_096 }, () => byte))
    for (let sent = 0; sent < MAX_WINDOW_BYTES; sent += 4_096) socket.write(many)
    let most = 0
    await until('the end', () => {
      most = Math.max(most, daemon.anonymousKib())
      return isOver(wire, 3)
    })
    t.comment(`${most - before} KiB more at most`)
    t.ok(most - before < GROWTH_KIB)
    const said = on(wire, 3)
      .map((frame) => field(frame, 2))
      .filter((data) => data instanceof Uint8Array)
      .map((data) => Buffer.from(data).toString())
      .join('')
    t.equal(said, `${crc(MAX_WINDOW_BYTES)} ${MAX_WINDOW_BYTES}\n`)
    socket.destroy()
  },
)

/** cksum(1) of that many `A`: POSIX's CRC, the length behind the bytes. */
function crc(count: number): number {
  let value = 0
  const add = (byte: number): void => {
    value ^= byte << 24
    for (let bit = 0; bit < 8; bit++) value = value < 0 ? (value << 1) ^ 0x04c11db7 : value << 1
  }
  for (let at = 0; at < count; at++) add(65)
  for (let length = count; length > 0; length = Math.floor(length / 256)) add(length % 256)
  return ~value >>> 0
}
