/**
 * A device that does not answer: what that is called, and how its error is told from that of a link that was lost.
 * @module
 */
import { SassError } from '../../errors.ts'
import { MCP_SILENCE_MS } from './bounds.ts'

const SILENT = 'silent'

export function silence(): SassError {
  return new SassError(
    'CONNECTION_LOST',
    `The device has not answered for ${MCP_SILENCE_MS / 1_000} s, so it is not waited for any longer: it is slow, or it does not do this and does not say so.`,
    { [SILENT]: true },
  )
}

export function isSilence({ details }: SassError): boolean {
  return details[SILENT] === true
}
