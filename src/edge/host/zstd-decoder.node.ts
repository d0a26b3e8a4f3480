/**
 * The ZstdDecoder port over the libzstd of Node: one frame at a time, on the thread pool, in pieces, so that neither the
 * size that a frame has declared nor its time is ever exceeded by more than one of them.
 * A frame of 500 bytes that says 5 MiB can keep libzstd busy for 140 ms.
 * Rules: docs/protocol.md, section 3 (raw_payload); what it is given has passed src/wire/zstd-gate.ts.
 * @module
 */
import { constants, createZstdDecompress } from 'node:zlib'
import { defer } from '../../base/deferred.ts'
import { PAYLOAD_DECODE_MS, PAYLOAD_PIECE_BYTES, PAYLOAD_PIECE_MS, PAYLOAD_WINDOW_LOG } from '../../limits.ts'
import type { ZstdDecoded, ZstdDecoder } from '../../ports.ts'

/** The least that node:zlib takes. */
const LEAST_PIECE_BYTES = 64

/** Processor time of the other threads of this process, in milliseconds: those that decode are among them. */
function othersMs(): number {
  const all = process.cpuUsage()
  const own = process.threadCpuUsage()
  return (all.user + all.system - own.user - own.system) / 1_000
}

function decodeFrame(frame: Uint8Array, plainBytes: number, limitMs: number): Promise<ZstdDecoded> {
  const { promise, resolve } = defer<ZstdDecoded>()
  const stream = createZstdDecompress({
    // One byte more than is due: what gives more shows it in the same piece.
    chunkSize: Math.min(Math.max(plainBytes + 1, LEAST_PIECE_BYTES), PAYLOAD_PIECE_BYTES),
    params: { [constants.ZSTD_d_windowLogMax]: PAYLOAD_WINDOW_LOG },
  })
  const plain = new Uint8Array(plainBytes)
  let produced = 0
  let workedMs = 0
  let since = { wallMs: performance.now(), othersMs: othersMs() }

  function end(result: ZstdDecoded): void {
    stream.destroy()
    resolve(result)
  }

  stream.on('data', (piece: Uint8Array) => {
    const now = { wallMs: performance.now(), othersMs: othersMs() }
    // Whatever else was done meanwhile, here or on the machine, is not the frame's doing.
    workedMs += Math.min(now.wallMs - since.wallMs, now.othersMs - since.othersMs, PAYLOAD_PIECE_MS)
    since = now
    if (piece.length > plainBytes - produced) return end('corrupt')
    if (workedMs > limitMs) return end('slow')
    plain.set(piece, produced)
    produced += piece.length
  })
  stream.on('error', () => end('corrupt'))
  stream.on('end', () => end(produced === plainBytes ? plain : 'corrupt'))
  stream.end(frame)
  return promise
}

/** `limitMs`: how long one frame may take. */
export function createZstdDecoder(limitMs: number = PAYLOAD_DECODE_MS): ZstdDecoder {
  let last: Promise<unknown> = Promise.resolve()
  return {
    decode(frame, plainBytes) {
      const decoded = last.then(() => decodeFrame(frame, plainBytes, limitMs))
      // Neither kept until the next one nor, where it could not be begun, the end of all.
      last = decoded.then(
        () => {},
        () => {},
      )
      return decoded
    },
  }
}
