/**
 * The limits of tarpits, from the configuration.
 * @module
 */
import type { Config } from '../../config/config.ts'
import type { TarpitLimits } from '../../session/standing/tarpits.ts'

export function tarpitLimits(tarpit: Config['defense']['tarpit']): TarpitLimits {
  return {
    mode: tarpit.mode,
    dailyBytes: tarpit.daily_bytes,
    chunkBytes: tarpit.chunk_bytes,
    totalBytes: tarpit.total_bytes,
    delayMs: tarpit.delay_ms,
    concurrent: tarpit.max_concurrent,
    sendTimeoutMs: tarpit.send_timeout_ms,
  }
}
