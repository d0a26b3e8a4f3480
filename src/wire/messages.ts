/**
 * Every message of the protocol, by the names and keys of docs/protocol.md, section 3. Keys 1 to 11 are the
 * reference schema's, from 12 on they are this profile's. docs/sass.cddl is generated from this file.
 * @module
 */
import {
  AGENT_NAME_BYTES,
  ARGUMENT_BYTES,
  ARGUMENTS_MAX,
  AUTH_NONCE_BYTES,
  CHECKPOINT_LABEL_BYTES,
  CHUNK_BYTES,
  ENROLMENT_TOKEN_BYTES,
  ENVIRONMENT_MAX,
  EXECUTION_ID_BYTES,
  FRAME_BYTES,
  LISTED_CHECKPOINTS,
  LISTED_CONFIRMATIONS,
  LISTED_DESTINATIONS,
  LISTED_ENTRIES,
  LISTED_EXECUTIONS,
  NAMED_PATHS,
  PATH_BYTES,
  SHOWN_BYTES,
  TIMEOUT_MAX_SECONDS,
  TOLD_PATHS,
  UNARY_OUTPUT_BYTES,
} from '../limits.ts'
import { talkedTo } from './egress-messages.ts'
import { DELEGATION_TOKEN_BYTES } from './limits.ts'
import {
  bool,
  borrowedBytes,
  bytes,
  countMap,
  defaulted,
  listOf,
  type MessageInput,
  type MessageValue,
  message,
  optional,
  required,
  text,
  textMap,
  unsigned,
} from './schema.ts'

const uuid = bytes(EXECUTION_ID_BYTES)
const digest = bytes(32)
const sentence = text(1_024)
const path = text(PATH_BYTES)
const argument = text(ARGUMENT_BYTES)
const UINT16 = 0xffff
const EMPTY = new Uint8Array(0)

export const terminalSize = message('TerminalSize', {
  rows: required(1, unsigned(UINT16)),
  cols: required(2, unsigned(UINT16)),
})

export const pty = message('Pty', {
  rows: required(1, unsigned(UINT16)),
  cols: required(2, unsigned(UINT16)),
  term: optional(3, text(64), 'value of TERM'),
})

export const challenge = message('Challenge', {
  challenge_id: required(1, uuid),
  nonce: required(2, bytes(12)),
  ciphertext: required(3, bytes(80)),
  expires_at: required(4, unsigned()),
})

export const executeRequest = message('ExecuteRequest', {
  command: defaulted(1, argument, '', 'program; required unless raw_payload is there'),
  args: defaulted(2, listOf(argument, ARGUMENTS_MAX), []),
  cwd: optional(3, path),
  env: optional(4, textMap(text(256), argument, ENVIRONMENT_MAX)),
  execution_id: optional(5, uuid, 'chosen by the client: makes the start happen at most once'),
  session_id: optional(6, uuid),
  is_reattach: defaulted(7, bool, false),
  resume_offset: defaulted(8, unsigned(), 0, 'stdout'),
  raw_payload: optional(12, text(FRAME_BYTES), 'Base64(Zstd(array of arguments))'),
  stdin: defaulted(13, bool, false, 'StdinChunk messages follow'),
  pty: optional(14, pty),
  resume_offset_stderr: defaulted(15, unsigned(), 0),
  accept: defaulted(
    16,
    unsigned(0xff),
    0,
    'bit 0: zstd data; bit 1: offsets may be left out; bit 2: zstd data where the link is metered',
  ),
  declared_goal: optional(17, sentence),
  tail: optional(18, unsigned(), 'start at most this many bytes before the end of each stream'),
  timeout_seconds: optional(19, unsigned(TIMEOUT_MAX_SECONDS)),
  keep_background: defaulted(20, bool, false, 'what the command leaves running stays in its session'),
})

export const finding = message('Finding', {
  kind: required(1, text(64)),
  offset: defaulted(2, unsigned(), 0),
  length: defaulted(3, unsigned(), 0),
})

export const executeResponse = message('ExecuteResponse', {
  exit_code: optional(1, unsigned(255), 'present unless signal is'),
  stdout: defaulted(2, borrowedBytes(UNARY_OUTPUT_BYTES), EMPTY),
  stderr: defaulted(3, borrowedBytes(UNARY_OUTPUT_BYTES), EMPTY),
  execution_id: required(4, uuid),
  signal: optional(12, unsigned(127), 'POSIX number'),
  truncated: defaulted(13, bool, false),
  findings: optional(14, listOf(finding, 64)),
  why: optional(15, sentence, 'why the device ended it'),
  refused: optional(16, sentence, 'what the network of its session refused'),
  content_source: defaulted(17, unsigned(0xff), 0),
  notice: optional(18, sentence, 'what the device has to say to whoever reads the output'),
})

export const streamResponse = message('StreamResponse', {
  source: defaulted(1, unsigned(2), 0, '0 STDOUT, 1 STDERR, 2 SYSTEM'),
  data: optional(2, borrowedBytes(CHUNK_BYTES)),
  exit_code: optional(3, unsigned(255), 'last message only'),
  is_queued: defaulted(4, bool, false),
  queue_position: optional(5, unsigned()),
  offset: optional(6, unsigned(), 'of the first byte of data in its source; first message: of stdin'),
  signal: optional(12, unsigned(127), 'last message only, POSIX number'),
  execution_id: optional(13, uuid, 'first message only'),
  challenge: optional(14, challenge),
  content_source: defaulted(15, unsigned(0xff), 0, 'in the last message of a command; as in CONTENT_SOURCES'),
  findings: optional(16, listOf(finding, 64)),
  encoding: defaulted(17, unsigned(1), 0, '1: data is zstd'),
  code: optional(18, unsigned(UINT16), 'of section 7'),
  sha256: optional(19, digest, 'of an upload: of what is there before offset'),
  why: optional(20, sentence, 'why the device ended it; last message only'),
  isolation: optional(21, text(16), 'to operators, first message only: overlay, copy or none'),
  refused: optional(22, sentence, 'what the network of its session refused; last message only'),
  notice: optional(23, sentence, 'from SYSTEM, to whoever reads the output; last message only'),
})

export const stdinChunk = message('StdinChunk', {
  data: optional(1, borrowedBytes(CHUNK_BYTES)),
  resize: optional(2, terminalSize),
})

export const executionReference = message('ExecutionReference', { execution_id: required(1, uuid) })

export const signalRequest = message('SignalRequest', {
  execution_id: required(1, uuid),
  signal: required(2, unsigned(16 + 64), '0 INT, 1 TERM, 2 KILL, 3 HUP, from 17 on 16 + the POSIX number'),
  signal_id: optional(12, unsigned(), 'drawn at random; the same one is not delivered twice'),
})

export const outcome = message('Outcome', {
  success: defaulted(1, bool, false),
  message: defaulted(2, sentence, ''),
})

export const authRequest = message('AuthRequest', {
  agent_name: required(1, text(AGENT_NAME_BYTES)),
  public_key: required(2, bytes(0, 32), '32 bytes; empty on the admin socket'),
  signature: required(3, bytes(0, 64), '64 bytes; empty on the admin socket'),
  nonce: required(4, bytes(AUTH_NONCE_BYTES)),
  window: optional(12, unsigned(), 'credit of every stream and direction, bytes'),
  resume_session_id: optional(13, uuid),
  client_version: optional(14, text(64)),
  branch: optional(
    15,
    bytes(0, 16),
    'empty: the caller’s latest branch; 16 bytes: that one; absent: one of its own',
  ),
  enrolment: optional(16, bytes(ENROLMENT_TOKEN_BYTES), 'token of an invitation: section 4'),
  delegation: optional(17, bytes(DELEGATION_TOKEN_BYTES), 'token of what was handed on: section 4'),
})

export const authResponse = message('AuthResponse', {
  success: defaulted(1, bool, false),
  session_id: required(2, uuid),
  capability_hash: required(3, digest),
  challenge_nonce: optional(4, bytes(12)),
  challenge_ciphertext: optional(5, bytes(80)),
  message: optional(6, sentence),
  window: required(12, unsigned()),
  expires_at: required(13, unsigned(), 'Unix seconds'),
  daemon_version: required(14, text(64)),
  challenge_id: optional(15, uuid),
  audit_seq: required(16, unsigned()),
  audit_hash: required(17, digest),
  metered: defaulted(18, bool, false, 'the link of the device is paid by the byte'),
  branch: optional(19, uuid, 'where the session works, if not in a branch of its own'),
  next_key: optional(20, digest, 'SHA-256 of the SubjectPublicKeyInfo that follows the one shown'),
  audit_key: optional(
    21,
    bytes(32),
    'key of the first epoch of the record, to who has come in by an invitation',
  ),
})

export const challengeAnswer = message('ChallengeAnswer', {
  decrypted_plaintext: required(1, bytes(64)),
  client_ekm_hmac: required(2, digest),
  challenge_id: required(12, uuid),
})

export const challengeResult = message('ChallengeResult', {
  passed: defaulted(1, bool, false),
  session_token: optional(2, uuid),
  message: defaulted(3, sentence, ''),
})

export const empty = message('Empty', {})

export const pingResponse = message('PingResponse', {
  daemon_version: required(1, text(64)),
  uptime_seconds: defaulted(2, unsigned(), 0),
  os: required(5, text(128)),
  active_processes: defaulted(6, unsigned(), 0),
})

export const renewal = message('Renewal', {
  success: defaulted(1, bool, false),
  expires_at: required(2, unsigned()),
})

const patterns = listOf(text(PATH_BYTES), 1_024)
export const capabilities = message('Capabilities', {
  allowed_commands: defaulted(1, patterns, []),
  denied_commands: defaulted(2, patterns, []),
  allowed_paths: defaulted(3, patterns, []),
  denied_paths: defaulted(4, patterns, []),
  max_concurrent: defaulted(5, unsigned(), 0),
  timeout_seconds: defaulted(6, unsigned(), 0, '0: none'),
  max_file_size_bytes: defaulted(7, unsigned(), 0),
})

export const auditPublicKey = message('AuditPublicKey', {
  public_key: required(1, bytes(32)),
  key_fingerprint: required(2, text(64)),
  epoch: defaulted(12, unsigned(), 0),
})

export const execution = message('Execution', {
  execution_id: required(1, uuid),
  state: required(2, unsigned(4), '0 starting, 1 running, 2 finished, 3 not started, 4 unknown'),
  command: required(3, text(256), 'the program alone, never its arguments'),
  started_at: defaulted(4, unsigned(), 0, 'Unix seconds'),
  ended_at: optional(5, unsigned()),
  exit_code: optional(6, unsigned(255)),
  signal: optional(7, unsigned(127)),
  stdout_bytes: defaulted(8, unsigned(), 0),
  stderr_bytes: defaulted(9, unsigned(), 0),
  is_attached: defaulted(10, bool, false),
  agent_name: defaulted(11, text(AGENT_NAME_BYTES), ''),
  is_terminal: defaulted(12, bool, false, 'it runs on a terminal'),
  has_left: defaulted(13, bool, false, 'it has ended, and what it was asked to leave runs on'),
})

export const executionList = message('ExecutionList', {
  executions: defaulted(1, listOf(execution, LISTED_EXECUTIONS), []),
  total: defaulted(2, unsigned(), 0),
})

export type ExecuteRequest = MessageValue<typeof executeRequest>
export type ExecuteResponse = MessageValue<typeof executeResponse>
export type Finding = MessageValue<typeof finding>
export type StreamResponse = MessageValue<typeof streamResponse>
export type ConfirmationAnswer = MessageValue<typeof confirmationAnswer>
export type Confirmation = MessageValue<typeof confirmation>
export type LevelChange = MessageValue<typeof levelChange>
export type LevelList = MessageValue<typeof levelList>
export type PenaltyList = MessageValue<typeof penaltyList>
export type PenaltyClear = MessageValue<typeof penaltyClear>
export type PurgeRequest = MessageValue<typeof purgeRequest>
export type BranchReference = MessageValue<typeof branchReference>
export type BranchListRequest = MessageValue<typeof branchListRequest>
export type BranchList = MessageValue<typeof branchList>
export type BranchDiffRequest = MessageValue<typeof branchDiffRequest>
export type ChangesRequest = MessageValue<typeof changesRequest>
export type BranchDiffEnd = MessageValue<typeof branchDiffEnd>
export type BranchMergeRequest = MessageValue<typeof branchMergeRequest>
export type BranchOutcome = MessageValue<typeof branchOutcome>
export type BranchCheckpoint = MessageValue<typeof branchCheckpoint>
export type CheckpointList = MessageValue<typeof checkpointList>
export type ChallengeAnswer = MessageValue<typeof challengeAnswer>
export type StdinChunk = MessageValue<typeof stdinChunk>
export type AuthRequest = MessageValue<typeof authRequest>
export type AuthResponse = MessageValue<typeof authResponse>
export type PingResponse = MessageValue<typeof pingResponse>
export type Capabilities = MessageValue<typeof capabilities>
export type ExecutionSummary = MessageValue<typeof execution>
export type ExecutionSummaryInput = MessageInput<typeof execution>

/** Method 32: what a human is asked. `shown` is RFC 8785 JSON, and `digest` is its SHA-256. */
export const confirmation = message('Confirmation', {
  id: required(1, uuid),
  agent_name: required(2, text(AGENT_NAME_BYTES)),
  session_id: required(3, uuid),
  layer: required(4, text(32)),
  rule: required(5, text(128)),
  reason: required(6, sentence),
  shown: required(7, text(SHOWN_BYTES)),
  digest: required(8, digest),
  asked_at: required(9, unsigned(), 'Unix seconds'),
  expires_at: required(10, unsigned()),
})
export const confirmationList = message('ConfirmationList', {
  confirmations: defaulted(1, listOf(confirmation, LISTED_CONFIRMATIONS), []),
  total: defaulted(2, unsigned(), 0),
})
export const confirmationAnswer = message('ConfirmationAnswer', {
  id: required(1, uuid),
  approve: required(2, bool),
  digest: required(3, digest, 'of what was shown'),
})

export const levelEntry = message('LevelEntry', {
  scope: required(1, text(16), 'daemon, agent or session'),
  name: defaulted(2, text(AGENT_NAME_BYTES), ''),
  level: required(3, text(16)),
  why: defaulted(4, sentence, ''),
  since: defaulted(5, unsigned(), 0, 'Unix seconds'),
})
export const levelList = message('LevelList', {
  entries: defaulted(1, listOf(levelEntry, LISTED_ENTRIES), []),
  incident: optional(2, text(64), 'hash of the record of what halted the daemon'),
})
export const levelChange = message('LevelChange', {
  scope: required(1, text(16)),
  name: defaulted(2, text(AGENT_NAME_BYTES), ''),
  level: required(3, text(16)),
  why: defaulted(4, sentence, ''),
  incident: optional(5, text(64), 'to lower HALT'),
})

export const penaltyEntry = message('PenaltyEntry', {
  source: required(1, text(64)),
  seconds_left: required(2, unsigned()),
  is_active: defaulted(3, bool, false),
  reason: defaulted(4, text(32), ''),
})
export const penaltyList = message('PenaltyList', {
  entries: defaulted(1, listOf(penaltyEntry, LISTED_ENTRIES), []),
  total: defaulted(2, unsigned(), 0),
})
export const penaltyClear = message('PenaltyClear', {
  source: optional(1, text(64), 'absent: all'),
})

export const purgeRequest = message('PurgeRequest', {
  session_id: required(1, uuid, 'whose content is erased'),
})

/** Names of files need not be text: bytes, absolute, or from the workspace. */
const filePath = bytes(1, PATH_BYTES)

export const branchReference = message('BranchReference', {
  session_id: required(1, uuid, 'that the branch was made for'),
})
export const branchEntry = message('BranchEntry', {
  session_id: required(1, uuid, 'names the branch'),
  agent_name: required(2, text(AGENT_NAME_BYTES)),
  level: required(3, text(16), 'overlay or copy'),
  opened_at: required(4, unsigned(), 'Unix seconds'),
  sessions: defaulted(5, unsigned(), 0, 'that work in it now'),
  running: defaulted(6, unsigned(), 0, 'commands that run in it'),
  is_empty: defaulted(7, bool, false, 'nothing was changed, or all of it is merged'),
  can_undo: defaulted(8, bool, false, 'its last merge can be taken back'),
  stopped: optional(9, sentence, 'why its commands were ended and nothing more begins in it; may be cut'),
})
export const branchListRequest = message('BranchListRequest', {
  skip: defaulted(1, unsigned(), 0, 'so many of the latest are left out'),
})
export const branchList = message('BranchList', {
  branches: defaulted(1, listOf(branchEntry, LISTED_ENTRIES), []),
  total: defaulted(2, unsigned(), 0),
})
export const branchDiffRequest = message('BranchDiffRequest', {
  session_id: required(1, uuid),
  form: defaulted(2, unsigned(3), 0, '0 text, 1 stat, 2 JSON, 3 patch'),
  paths: defaulted(3, listOf(filePath, NAMED_PATHS), [], 'with all that is beneath; none: everything'),
})
export const changesRequest = message('ChangesRequest', {
  form: defaulted(2, unsigned(1), 0, '0 text, 1 stat'),
  paths: defaulted(3, listOf(filePath, NAMED_PATHS), [], 'with all that is beneath; none: everything'),
})
export const branchDiffEnd = message('BranchDiffEnd', {
  digest: required(1, digest, 'of the whole list of changes'),
  changes: defaulted(2, unsigned(), 0),
  conflicts: defaulted(3, unsigned(), 0, 'of them: the real file was changed since'),
  held_back: defaulted(4, unsigned(), 0, 'of them: merged only by name'),
  shown: defaulted(5, unsigned(), 0, 'changes that the text is about'),
  is_preview: defaulted(6, bool, false, 'commands run in the branch'),
  branch: optional(7, uuid, 'of ShowChanges: names the branch'),
  stopped: optional(8, sentence, 'why its commands were ended and nothing more begins in it'),
  talked_to: defaulted(9, listOf(talkedTo, LISTED_DESTINATIONS), [], 'the most bytes first'),
})
export const branchMergeRequest = message('BranchMergeRequest', {
  session_id: required(1, uuid),
  digest: required(2, digest, 'of the list that was looked at'),
  paths: defaulted(3, listOf(filePath, NAMED_PATHS), [], 'with all that is beneath; none: everything'),
  force: defaulted(4, listOf(filePath, NAMED_PATHS), [], 'merged in spite of a conflict'),
  held_back: defaulted(5, bool, false, 'with what is merged only by name'),
})
export const branchPath = message('BranchPath', {
  path: required(1, filePath),
  what: defaulted(2, text(256), ''),
})
export const branchOutcome = message('BranchOutcome', {
  success: defaulted(1, bool, false),
  message: defaulted(2, sentence, ''),
  merged: defaulted(3, unsigned(), 0, 'changes that were merged or taken back'),
  bytes: defaulted(4, unsigned(), 0, 'content that was written'),
  conflicts: defaulted(5, listOf(branchPath, TOLD_PATHS), [], 'the first of them'),
  conflicts_total: defaulted(6, unsigned(), 0),
  left_out: defaulted(7, listOf(branchPath, TOLD_PATHS), [], 'the first of them'),
  left_out_total: defaulted(8, unsigned(), 0),
  digest: optional(9, digest, 'of the branch as it is, where another one was named'),
})
export const branchCheckpoint = message('BranchCheckpoint', {
  session_id: required(1, uuid),
  label: defaulted(2, text(CHECKPOINT_LABEL_BYTES), ''),
  restore: optional(3, unsigned(), 'back to that one, in place of making one'),
  remove: optional(4, unsigned(), 'removes that one'),
})
export const checkpoint = message('Checkpoint', {
  number: required(1, unsigned()),
  label: defaulted(2, text(CHECKPOINT_LABEL_BYTES), ''),
  made_at: required(3, unsigned(), 'Unix seconds'),
  files: defaulted(4, unsigned(), 0),
  bytes: defaulted(5, unsigned(), 0),
})
export const checkpointList = message('CheckpointList', {
  checkpoints: defaulted(1, listOf(checkpoint, LISTED_CHECKPOINTS), []),
  total: defaulted(2, unsigned(), 0),
})

/** STATUS and GOAWAY carry these; `details` depends on the code. */
export const status = message('Status', {
  code: required(1, unsigned(UINT16)),
  text: defaulted(2, sentence, ''),
  details: optional(
    3,
    countMap(8),
    '105: 1 oldest stdout offset, 2 oldest stderr offset; 11, 20 to 25: 1 errno; 107: 1 seconds',
  ),
})
export type Status = MessageValue<typeof status>
