/**
 * What a Zstandard frame from a caller holds: the gate first, and what it has passed to the decoder of the host.
 * Rules: docs/protocol.md, section 3 (raw_payload); draft 6.2.
 * @module
 */
import { PAYLOAD_DECODE_MS } from '../limits.ts'
import type { ZstdDecoder } from '../ports.ts'
import { checkZstdFrame, type ZstdRefusal } from './zstd-gate.ts'

export type ZstdPlain = { readonly ok: true; readonly plain: Uint8Array } | ZstdRefusal

/** The content of exactly one frame, at most `limitPlainBytes` bytes; measured before it is decoded. */
export async function openZstd(
  frame: Uint8Array,
  limitPlainBytes: number,
  decoder: ZstdDecoder,
): Promise<ZstdPlain> {
  const measured = checkZstdFrame(frame, limitPlainBytes)
  if (!measured.ok) return measured
  const plain = await decoder.decode(frame, measured.plainBytes)
  if (plain === 'corrupt')
    return { ok: false, code: 'FRAME_MALFORMED', problem: 'its blocks do not give what it says' }
  if (plain !== 'slow') return { ok: true, plain }
  const problem = `decoding it took more than ${PAYLOAD_DECODE_MS} ms`
  return { ok: false, code: 'DECOMPRESSION_LIMIT_EXCEEDED', problem }
}
