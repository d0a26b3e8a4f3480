/**
 * What went wrong, for a model: what happened in the words of the device or of the client, whether anything was started,
 * and what to do now. Why a policy said no is told as far as the device told it.
 * Rules: docs/mcp.md; docs/protocol.md, sections 7 to 9.
 * @module
 */
import { asSassError, type Code, SassError } from '../../errors.ts'
import { EXIT, exitOfError } from '../words/exit-codes.ts'
import { MCP_SILENCE_MS } from './bounds.ts'
import type { ToolResult } from './thread-messages.ts'
import { shownText } from './tool-text.ts'

const SILENT = 'silent'

/** A device that does not answer: told from a link that was lost. */
export function silence(): SassError {
  return new SassError(
    'CONNECTION_LOST',
    `The device has not answered for ${MCP_SILENCE_MS / 1_000} s, so it is not waited for any longer: it is slow, or it does not do this and does not say so.`,
    { [SILENT]: true },
  )
}

function isSilence({ details }: SassError): boolean {
  return details[SILENT] === true
}

/** After the sentence of the error, where that does not say it yet. */
const ADVICE: Readonly<Partial<Record<Code, string>>> = Object.freeze({
  SHELL_NOT_FOUND: 'Look for the program with ["sh", "-c", "command -v NAME"], or name it by its whole path.',
  SPAWN_FAILED:
    'The first word must be a program of the device; no shell splits words or knows builtins, so give ["sh", "-c", "..."] for those.',
  FILE_NOT_FOUND: 'Look at what is there with list.',
  FILE_PATH_DENIED: 'Stay inside the workspace, and do not try other spellings of the path.',
  FILE_CREATE_DIR_FAILED: 'Make the directory first, with execute and ["mkdir", "-p", "DIR"].',
  FILE_TOO_LARGE: 'An operator sets the limit; read large files in pieces, or leave them where they are.',
  SANDBOX_UNAVAILABLE: 'This is for the operator of the device: sass-edge doctor says what is missing.',
  CAPABILITY_DENIED: 'Do without it, or ask whoever you work for to have it allowed.',
  CAPABILITY_PATH_DENIED: 'Stay in the workspace, or ask whoever you work for to have the place allowed.',
  CAPABILITY_CMD_DENIED:
    'Do it with a command that you may run, or ask whoever you work for to have this one allowed; other spellings of it are refused as well.',
  CONFIRMATION_DENIED: 'A human has said no: do something else, or ask whoever you work for.',
  CONFIRMATION_TIMEOUT:
    'Nobody answered in time: tell whoever you work for that an operator has to approve it (sass-edge confirm list), then ask again.',
  RESPONSE_VI_SWAP_ENGAGED:
    'The device did not do it and does not say why; what it showed is all there is. Do not repeat it in other words: ask whoever you work for, whose operator can see the reason.',
  HANDOFF_REJECTED:
    'Put right what it names, word for word where it belongs to a chain; if you cannot, tell whoever you work for.',
  OUTPUT_BLOCKED: 'What it printed is kept back: ask whoever you work for.',
  PROCESS_NOT_FOUND: 'See what there is with job_status without an id, or with handoff_list.',
  CONNECT_FAILED: 'Nothing was started. Try again later; if it stays so, the device is off or out of reach.',
  DAEMON_SHUTTING_DOWN: 'The device is being restarted: wait a minute, then ask again.',
})

const UNKNOWN_ADVICE = 'It may have run: look with job_status before you do anything twice.'

/** As the exit contract of the command line has it: what is known of whether it ran. */
export function outcomeOf(code: Code): 'not_started' | 'ended' | 'unknown' {
  if (code === 'EXECUTION_TIMEOUT') return 'ended'
  return exitOfError(code) === EXIT.OUTCOME_UNKNOWN ? 'unknown' : 'not_started'
}

function noAnswer(message: string): ToolResult {
  const error = 'NO_ANSWER'
  const advice =
    'Do not ask for the same in other words: go on without it, or ask whoever you work for, whose operator can see the reason.'
  return {
    text: `Error ${error}: ${message}\n${advice}`,
    data: { error, message, advice, outcome: 'unknown' },
    isError: true,
  }
}

/** `hasBegun`: the device has said so, and then nothing proves that it did not run. */
export function failed(cause: unknown, id?: string, hasBegun = false): ToolResult {
  const known = asSassError(cause)
  if (known !== undefined && isSilence(known)) return noAnswer(known.message)
  const error: Code = known?.code ?? 'INTERNAL'
  const message = shownText(
    known?.message ?? 'Something happened that should not; the log of sass-edge mcp has it.',
  )
  const proven = outcomeOf(error)
  const outcome =
    hasBegun && proven === 'not_started' && error !== 'RESPONSE_VI_SWAP_ENGAGED' ? 'unknown' : proven
  const advice = outcome === 'unknown' ? UNKNOWN_ADVICE : ADVICE[error]
  const words = [
    `Error ${error}: ${message}`,
    ...(advice === undefined ? [] : [advice]),
    ...(id === undefined || outcome === 'not_started' ? [] : [`Its id is ${id}.`]),
  ]
  return {
    text: words.join('\n'),
    data: {
      ...{ error, message, outcome },
      ...(advice === undefined ? {} : { advice }),
      ...(id === undefined || outcome === 'not_started' ? {} : { id }),
    },
    isError: true,
  }
}
