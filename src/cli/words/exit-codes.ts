/**
 * The exit contract of the command line (docs/protocol.md, section 9): a proven remote exit passes through, and our
 * own codes say what is known. A script may repeat after 255 and must not after 254.
 * @module
 */
import type { Code } from '../../errors.ts'
import type { ExitStatus } from '../../ports.ts'

/** Exit codes that sass-edge itself gives. */
export const EXIT = Object.freeze({
  OK: 0,
  /** The time given ran out; the text says whether the job still runs. */
  TIMED_OUT: 124,
  /** Usage, configuration or this machine: nothing was sent. */
  LOCAL: 125,
  NOT_EXECUTABLE: 126,
  NOT_FOUND: 127,
  /** Started, outcome unknown: do not repeat. */
  OUTCOME_UNKNOWN: 254,
  /** Not started, proven: transport, authentication or refusal. */
  NOT_STARTED: 255,
} as const)

/** Added to the number of a signal that ended the remote program. */
const SIGNAL_BASE = 128

/** The exit code for a remote end: the code itself, or 128 + the signal. */
export function exitOfRemote(status: ExitStatus): number {
  return status.kind === 'exited' ? status.code : SIGNAL_BASE + status.signal
}

/** Every code that does not prove that nothing was started; all others do. */
const EXIT_BY_CODE: Readonly<Partial<Record<Code, number>>> = Object.freeze({
  USAGE: EXIT.LOCAL,
  RUNTIME_UNSUITABLE: EXIT.LOCAL,
  ADDRESS_IN_USE: EXIT.LOCAL,
  STATE_UNWRITABLE: EXIT.LOCAL,
  INTEGRITY_RISK: EXIT.LOCAL,
  STATE_FORMAT: EXIT.LOCAL,
  KEY_FILE_INVALID: EXIT.LOCAL,
  CONFIG_INVALID: EXIT.LOCAL,
  CONFIG_LOAD_FAILED: EXIT.LOCAL,
  TLS_CERT_INVALID: EXIT.LOCAL,
  EXECUTION_TIMEOUT: EXIT.TIMED_OUT,
  SHELL_NOT_FOUND: EXIT.NOT_FOUND,
  SPAWN_FAILED: EXIT.NOT_EXECUTABLE,
  EXECUTION_OUTCOME_UNKNOWN: EXIT.OUTCOME_UNKNOWN,
  CONNECTION_LOST: EXIT.OUTCOME_UNKNOWN,
  OUTPUT_TRUNCATED: EXIT.OUTCOME_UNKNOWN,
  OUTPUT_BLOCKED: EXIT.OUTCOME_UNKNOWN,
  RING_BUFFER_DATA_LOSS: EXIT.OUTCOME_UNKNOWN,
  INTERNAL: EXIT.OUTCOME_UNKNOWN,
})

/**
 * The exit code for an error.
 * @param errno the errno name of a failed start on the device, where it is known
 */
export function exitOfError(code: Code, errno?: string): number {
  if (code === 'SPAWN_FAILED' && errno === 'ENOENT') return EXIT.NOT_FOUND
  return EXIT_BY_CODE[code] ?? EXIT.NOT_STARTED
}
