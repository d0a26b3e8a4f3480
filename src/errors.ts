/**
 * The one error class and the closed table of codes.
 * A code is matched by name (`error.code`), never by class or text. `audience` says who may learn it:
 * `agent` codes may travel in a STATUS frame to any caller, `operator` codes only to operators and the audit,
 * `local` codes never leave the process that raised them.
 * Names and numbers: docs/protocol.md, section 7.
 * @module
 */

type Audience = 'agent' | 'operator' | 'local'
type CodeEntry = { readonly number: number; readonly audience: Audience }

/** Every code of the system. Numbers are stable for ever. */
export const CODES = Object.freeze({
  ACL_DENIED: { number: 1, audience: 'operator' },
  ACL_NO_REMOTE_ADDR: { number: 2, audience: 'operator' },
  AUTH_REQUIRED: { number: 3, audience: 'operator' },
  AUTH_INVALID: { number: 4, audience: 'operator' },
  SHELL_NOT_FOUND: { number: 10, audience: 'agent' },
  SPAWN_FAILED: { number: 11, audience: 'agent' },
  EXECUTION_TIMEOUT: { number: 12, audience: 'agent' },
  PROCESS_NOT_FOUND: { number: 13, audience: 'agent' },
  SIGNAL_FAILED: { number: 14, audience: 'agent' },
  OUTPUT_TRUNCATED: { number: 15, audience: 'agent' },
  PTY_UNAVAILABLE: { number: 16, audience: 'agent' },
  SANDBOX_UNAVAILABLE: { number: 17, audience: 'agent' },
  EXECUTION_OUTCOME_UNKNOWN: { number: 18, audience: 'agent' },
  FILE_NOT_FOUND: { number: 20, audience: 'agent' },
  FILE_PATH_DENIED: { number: 21, audience: 'agent' },
  FILE_IO: { number: 22, audience: 'agent' },
  FILE_METADATA_MISSING: { number: 23, audience: 'agent' },
  FILE_SEEK_FAILED: { number: 24, audience: 'agent' },
  FILE_CREATE_DIR_FAILED: { number: 25, audience: 'agent' },
  FILE_DIGEST_MISMATCH: { number: 26, audience: 'agent' },
  FILE_TOO_LARGE: { number: 27, audience: 'agent' },
  CONFIG_INVALID: { number: 30, audience: 'agent' },
  CONFIG_LOAD_FAILED: { number: 31, audience: 'operator' },
  TLS_HANDSHAKE_FAILED: { number: 40, audience: 'operator' },
  TLS_CERT_INVALID: { number: 41, audience: 'operator' },
  TLS_CLIENT_CERT_REQUIRED: { number: 42, audience: 'operator' },
  TLS_CLIENT_CERT_INVALID: { number: 43, audience: 'operator' },
  TLS_CA_MISMATCH: { number: 44, audience: 'operator' },
  CAPABILITY_DENIED: { number: 50, audience: 'agent' },
  CAPABILITY_PATH_DENIED: { number: 51, audience: 'agent' },
  CAPABILITY_CMD_DENIED: { number: 52, audience: 'agent' },
  CAPABILITY_EXPIRED: { number: 53, audience: 'operator' },
  INTENT_REJECTED: { number: 54, audience: 'agent' },
  DECOMPRESSION_LIMIT_EXCEEDED: { number: 55, audience: 'agent' },
  HANDOFF_REJECTED: { number: 56, audience: 'agent' },
  SESSION_NOT_FOUND: { number: 60, audience: 'agent' },
  SESSION_EXPIRED: { number: 61, audience: 'agent' },
  SESSION_LIMIT: { number: 62, audience: 'agent' },
  AUTH_KEY_NOT_FOUND: { number: 70, audience: 'operator' },
  AUTH_SIGNATURE_INVALID: { number: 71, audience: 'operator' },
  CHALLENGE_FAILED: { number: 80, audience: 'agent' },
  ROGUE_AGENT_DETECTED: { number: 81, audience: 'operator' },
  CHALLENGE_TIMEOUT: { number: 82, audience: 'agent' },
  CHALLENGE_REPLAY: { number: 83, audience: 'agent' },
  CHALLENGE_RATE_LIMIT: { number: 84, audience: 'agent' },
  CONFIRMATION_DENIED: { number: 85, audience: 'agent' },
  CONFIRMATION_TIMEOUT: { number: 86, audience: 'agent' },
  OUTPUT_BLOCKED: { number: 87, audience: 'agent' },
  LOCALHOST_UNAUTHORIZED: { number: 90, audience: 'operator' },
  SPOOFED_RESPONSE: { number: 91, audience: 'operator' },
  RESPONSE_CHALLENGE_REQUIRED: { number: 100, audience: 'agent' },
  RESPONSE_THROTTLED: { number: 101, audience: 'agent' },
  RESPONSE_VI_SWAP_ENGAGED: { number: 102, audience: 'agent' },
  RESPONSE_TARPIT_ENGAGED: { number: 103, audience: 'operator' },
  RESPONSE_DROPPED: { number: 104, audience: 'operator' },
  RING_BUFFER_DATA_LOSS: { number: 105, audience: 'agent' },
  FRAME_MALFORMED: { number: 106, audience: 'agent' },
  DAEMON_SHUTTING_DOWN: { number: 107, audience: 'agent' },
  // Local codes: raised in a command or a client library, never sent.
  USAGE: { number: 1001, audience: 'local' },
  RUNTIME_UNSUITABLE: { number: 1002, audience: 'local' },
  ADDRESS_IN_USE: { number: 1003, audience: 'local' },
  STATE_UNWRITABLE: { number: 1004, audience: 'local' },
  KEY_FILE_INVALID: { number: 1005, audience: 'local' },
  PIN_UNKNOWN: { number: 1006, audience: 'local' },
  PIN_MISMATCH: { number: 1007, audience: 'local' },
  CONNECT_FAILED: { number: 1008, audience: 'local' },
  CONNECTION_LOST: { number: 1009, audience: 'local' },
  INTERNAL: { number: 1010, audience: 'local' },
  INTEGRITY_RISK: { number: 1011, audience: 'local' },
  BRANCH_REFUSED: { number: 1012, audience: 'local' },
  STATE_FORMAT: { number: 1013, audience: 'local' },
} as const satisfies Record<string, CodeEntry>)

export type Code = keyof typeof CODES

const NAME_BY_NUMBER: ReadonlyMap<number, Code> = new Map(
  (Object.keys(CODES) as Code[]).map((name) => [CODES[name].number, name]),
)

/** The name of a numeric code, or undefined for a number that the table does not have. */
export function codeName(number: number): Code | undefined {
  return NAME_BY_NUMBER.get(number)
}

/** True where a STATUS with this code may be sent to an agent (docs/protocol.md, section 7, last paragraph). */
export function mayTellAgent(code: Code): boolean {
  return CODES[code].audience === 'agent'
}

/**
 * The one error of the system. `message` is one sentence: what happened, what it means, what to do.
 * `details` carries machine-readable facts (a path, an errno, the list of problems), never a peer's raw bytes.
 */
export class SassError extends Error {
  readonly code: Code
  readonly details: Readonly<Record<string, unknown>>
  constructor(code: Code, message: string, details: Readonly<Record<string, unknown>> = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'SassError'
    this.code = code
    this.details = details
  }
}

/** What cannot be done as it was asked for, and how to ask for it. */
export function misuse(
  message: string,
  details?: Readonly<Record<string, unknown>>,
  cause?: unknown,
): SassError {
  return new SassError('USAGE', message, details, cause)
}

/** The SassError in `value`, or undefined. Works across bundles: it looks at the code, not at the class. */
export function asSassError(value: unknown): SassError | undefined {
  if (!(value instanceof Error) || !('code' in value) || !('details' in value)) return undefined
  return typeof value.code === 'string' && value.code in CODES ? (value as SassError) : undefined
}

/** What went wrong, for a log or a record: the words of an error. */
export function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : 'unknown'
}

/** The same of an error that has to be one; any other is thrown again. */
export function knownError(value: unknown): SassError {
  const known = asSassError(value)
  if (known === undefined) throw value
  return known
}

/** For the default branch of an exhaustive switch: the compiler proves that it is never reached. */
export function unreachable(value: never): never {
  throw new SassError(
    'INTERNAL',
    `A closed union was given a member that it does not have: ${String(value)}.`,
  )
}
