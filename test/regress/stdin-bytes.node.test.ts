/**
 * Stdin that came a byte a message, for a program that did not read, once cost 450 bytes of the daemon's memory for
 * each.
 * @module
 */
import t from 'tap'
import { encodeFrame } from '../../src/wire/frame.ts'
import { stdinChunk } from '../../src/wire/messages.ts'
import { known } from '../integration/connections.node.ts'
import { startNew, until } from '../integration/daemon.node.ts'
import { command, EXECUTE_STREAM, field, isOver, on } from './streams.node.ts'

/** The first credit of a stream. */
const BYTES = 65_536
/** Garbage of that many frames included; it was 30 MiB for these two. */
const GROWTH_KIB = 12 * 1_024

t.test(
  'stdin in single bytes is kept as it was sent, not an object a byte, and all of it arrives',
  async (t) => {
    const daemon = await startNew(t)
    const wire = await known(daemon)
    const run = { command: 'sh', args: ['-c', 'sleep 2; head -c 65536 | cksum'], stdin: true }
    const before = daemon.anonymousKib()
    const streams = [3, 5, 7, 9]
    for (const stream of streams) {
      wire.socket.write(command(stream, EXECUTE_STREAM, run))
      const byte = encodeFrame(stream, 'MSG', stdinChunk.encode({ data: Uint8Array.of(65) }))
      wire.socket.write(Buffer.concat(Array.from({ length: BYTES }, () => byte)))
    }
    let most = 0
    await until('the ends', () => {
      most = Math.max(most, daemon.anonymousKib())
      return streams.every((stream) => isOver(wire, stream))
    })
    t.comment(`${most - before} KiB more at most`)
    t.ok(most - before < GROWTH_KIB)
    const said = streams.map((stream) =>
      on(wire, stream)
        .map((frame) => field(frame, 2))
        .filter((data) => data instanceof Uint8Array)
        .map((data) => Buffer.from(data).toString())
        .join(''),
    )
    t.match(said[0], / 65536\n$/)
    t.equal(new Set(said).size, 1)
    wire.socket.destroy()
  },
)
