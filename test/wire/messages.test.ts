import fc from 'fast-check'
import t from 'tap'
import { encodeCbor, openCbor } from '../../src/base/encoding/cbor.ts'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import * as egressMessages from '../../src/wire/egress-messages.ts'
import * as fileMessages from '../../src/wire/file-messages.ts'
import * as handoffMessages from '../../src/wire/handoff-messages.ts'
import * as identityMessages from '../../src/wire/identity-messages.ts'
import * as intentMessages from '../../src/wire/intent-messages.ts'
import * as messages from '../../src/wire/messages.ts'
import * as planMessages from '../../src/wire/plan-messages.ts'
import * as proposalMessages from '../../src/wire/proposal-messages.ts'
import { type AnyMessage, readMessage } from '../../src/wire/schema.ts'
import * as statusMessages from '../../src/wire/status-messages.ts'
import { EXAMPLES } from './message-examples.ts'

/** Keys and presence as docs/protocol.md, section 3, has them, written from that page: `?` may be absent. */
const TABLE: Readonly<Record<string, string>> = {
  ExecuteRequest:
    '1? command, 2? args, 3? cwd, 4? env, 5? execution_id, 6? session_id, 7? is_reattach, 8? resume_offset, 12? raw_payload, 13? stdin, 14? pty, 15? resume_offset_stderr, 16? accept, 17? declared_goal, 18? tail, 19? timeout_seconds, 20? keep_background',
  ExecuteResponse:
    '1? exit_code, 2? stdout, 3? stderr, 4 execution_id, 12? signal, 13? truncated, 14? findings, 15? why, 16? refused, 17? content_source, 18? notice',
  StreamResponse:
    '1? source, 2? data, 3? exit_code, 4? is_queued, 5? queue_position, 6? offset, 12? signal, 13? execution_id, 14? challenge, 15? content_source, 16? findings, 17? encoding, 18? code, 19? sha256, 20? why, 21? isolation, 22? refused, 23? notice',
  StdinChunk: '1? data, 2? resize',
  TerminalSize: '1 rows, 2 cols',
  Pty: '1 rows, 2 cols, 3? term',
  Challenge: '1 challenge_id, 2 nonce, 3 ciphertext, 4 expires_at',
  Finding: '1 kind, 2? offset, 3? length',
  ExecutionReference: '1 execution_id',
  SignalRequest: '1 execution_id, 2 signal, 12? signal_id',
  Outcome: '1? success, 2? message',
  FileMetadata:
    '1 remote_path, 2? total_size, 3? offset, 12? mode, 13? sha256, 14? kind, 15? target, 16? content_source',
  FileChunk: '1? metadata, 2? data',
  FileOutcome: '1? success, 2? message, 3? bytes_written, 12? sha256',
  FileDownloadRequest: '1 remote_path, 2? offset, 12? sha256, 13? handoff_id',
  FileDownloadEnd: '12 sha256, 13 total_size, 14? findings',
  AuthRequest:
    '1 agent_name, 2 public_key, 3 signature, 4 nonce, 12? window, 13? resume_session_id, 14? client_version, 15? branch, 16? enrolment, 17? delegation',
  AuthResponse:
    '1? success, 2 session_id, 3 capability_hash, 4? challenge_nonce, 5? challenge_ciphertext, 6? message, 12 window, 13 expires_at, 14 daemon_version, 15? challenge_id, 16 audit_seq, 17 audit_hash, 18? metered, 19? branch, 20? next_key, 21? audit_key',
  ChallengeAnswer: '1 decrypted_plaintext, 2 client_ekm_hmac, 12 challenge_id',
  ChallengeResult: '1? passed, 2? session_token, 3? message',
  InviteRequest: '1 agent_name, 2? is_operator, 3 capability, 4? ttl_seconds',
  Invitation: '1? success, 2? message, 3? token, 4? expires_at',
  DelegateRequest: '1 worker, 2? tools, 3? allowed_commands, 4? allowed_paths, 5? ttl_seconds',
  RulesTold: '1 text, 2 sha256',
  Delegation: '1? success, 2? message, 3? token, 4? expires_at',
  Termination: '1 instance',
  KeyRotation: '1 public_key, 2 signature',
  Empty: '',
  SecurityStatus:
    '1? active_tarpits, 2? active_sessions, 3? blocked_ips, 4? policy_version, 12 responses, 13? level, 14 audit_seq, 15 audit_hash, 16? session, 17? today, 18? yesterday, 19? sessions, 20? device, 21? gate, 22? watched, 23? signed_work',
  SignedWork: '1? waiting, 2? quarantined, 3? outbox, 4? plans_running, 5? plans_kept',
  WatchedAgent: '1 agent_name, 2? turns, 3? is_calibrated, 4? alerts, 5? beyond',
  GateReadings:
    '1? sessions, 2? connections, 3? asked, 4? passed, 5? refused, 6? failed, 7? sent, 8? received, 9? lately',
  RefusedPlace: '1 host, 2? port, 3 reason, 4? times, 5? at, 6? protocol',
  TalkedTo: '1? host, 2? port, 3? connections, 4? sent, 5? received, 6? protocol',
  DeviceReadings:
    '1? started_at, 2? rss_bytes, 3? anonymous_bytes, 4? open_files, 5? free_bytes, 6? running, 7? stalled, 8? queued, 9? rings, 10? rings_used, 11? confirmations, 12? transfers, 13? branches, 14? connections, 15? strangers, 16? tarpit_bytes, 17? tarpit_seconds',
  MetricsText: '1 text',
  WireBytes: '1? received, 2? sent, 3? since',
  SessionBytes: '1 session_id, 2 agent_name, 3? received, 4? sent, 5? acts_for, 6? instance',
  PingResponse: '1 daemon_version, 2? uptime_seconds, 5 os, 6? active_processes',
  Renewal: '1? success, 2 expires_at',
  Capabilities:
    '1? allowed_commands, 2? denied_commands, 3? allowed_paths, 4? denied_paths, 5? max_concurrent, 6? timeout_seconds, 7? max_file_size_bytes',
  AuditPublicKey: '1 public_key, 2 key_fingerprint, 12? epoch',
  Execution:
    '1 execution_id, 2 state, 3 command, 4? started_at, 5? ended_at, 6? exit_code, 7? signal, 8? stdout_bytes, 9? stderr_bytes, 10? is_attached, 11? agent_name, 12? is_terminal, 13? has_left',
  ExecutionList: '1? executions, 2? total',
  ConfirmationList: '1? confirmations, 2? total',
  Confirmation:
    '1 id, 2 agent_name, 3 session_id, 4 layer, 5 rule, 6 reason, 7 shown, 8 digest, 9 asked_at, 10 expires_at',
  ConfirmationAnswer: '1 id, 2 approve, 3 digest',
  LevelList: '1? entries, 2? incident',
  LevelEntry: '1 scope, 2? name, 3 level, 4? why, 5? since',
  LevelChange: '1 scope, 2? name, 3 level, 4? why, 5? incident',
  PenaltyList: '1? entries, 2? total',
  PenaltyEntry: '1 source, 2 seconds_left, 3? is_active, 4? reason',
  PenaltyClear: '1? source',
  PurgeRequest: '1 session_id',
  BranchReference: '1 session_id',
  BranchEntry:
    '1 session_id, 2 agent_name, 3 level, 4 opened_at, 5? sessions, 6? running, 7? is_empty, 8? can_undo, 9? stopped',
  BranchListRequest: '1? skip',
  BranchList: '1? branches, 2? total',
  BranchDiffRequest: '1 session_id, 2? form, 3? paths',
  ChangesRequest: '2? form, 3? paths',
  BranchDiffEnd:
    '1 digest, 2? changes, 3? conflicts, 4? held_back, 5? shown, 6? is_preview, 7? branch, 8? stopped, 9? talked_to',
  BranchMergeRequest: '1 session_id, 2 digest, 3? paths, 4? force, 5? held_back',
  BranchPath: '1 path, 2? what',
  BranchOutcome:
    '1? success, 2? message, 3? merged, 4? bytes, 5? conflicts, 6? conflicts_total, 7? left_out, 8? left_out_total, 9? digest',
  BranchCheckpoint: '1 session_id, 2? label, 3? restore, 4? remove',
  Checkpoint: '1 number, 2? label, 3 made_at, 4? files, 5? bytes',
  CheckpointList: '1? checkpoints, 2? total',
  WhyRequest: '1 seq',
  HandoffRequest: '1 content',
  HandoffReference: '1 handoff_id',
  HandoffEntry:
    '1 handoff_id, 2 from_agent, 3 to_agent, 4 criticality, 5 depth, 6 sent_at, 7 expires_at, 8 digest, 9? is_taken, 10? injection, 11? hidden, 12? previous, 13? artifacts',
  HandoffArtifact: '1 path, 2? size, 3? sha256, 4? why',
  PlanCall:
    '1 tool_call_id, 2 tool_name, 3 state, 4? number, 5? why, 6 execution_id, 7? stdout_bytes, 8? stderr_bytes',
  PlanReference: '1? plan_id, 2? session_id',
  PlanRequest: '1? plan, 2? session_id',
  PlanState: '1 plan_id, 2 session_id, 3 issuer, 4 state, 5? calls, 6? begun_at',
  ToolEntry: '1 name, 2? version, 3? tier, 4? permissions, 5? args, 6? is_loaded, 7? why',
  ToolList: '1? tools',
  DecideRequest: '1 content, 2? said, 3? tokens',
  Decided: '1 decision, 2 cycle, 3 artifact, 4 state, 5? content, 6? hidden, 7? injection',
  HandoffList: '1? handoffs, 2? total',
  HandoffContent: '1 entry, 2 content, 3 content_source',
  EnvelopePiece: '1 receiver, 2 piece, 3? total, 4? offset, 5? digest',
  EnvelopeEntry:
    '1 envelope_id, 2 session_id, 3 sender, 4 receiver, 5 template, 6 digest, 7 size, 8 accepted_at, 9? is_taken',
  EnvelopeReceipt: '1? entry, 2? received',
  EnvelopeList: '1? envelopes, 2? total',
  EnvelopeReference: '1 envelope_id, 2? offset',
  EnvelopeContent: '1 entry, 2 piece, 3 content_source, 4? injection',
  QuarantineRequest: '1? offset',
  QuarantineEntry:
    '1 name, 2 receiver, 3? from, 4 since, 5? size, 6? digest, 7? step, 8? code, 9? ticket, 10? problem',
  QuarantineList: '1? files, 2? total',
  QuarantineSettling: '1 name, 2? releases',
  Explanation:
    '1 seq, 2? asked, 3 response, 4 layer, 5 rule, 6 reason, 7? advice, 8? agent_name, 9? source, 10? at, 11? effective, 12? severity, 13? opaque, 14? confinement',
  Status: '1 code, 2? text, 3? details',
}

type FieldFacts = Readonly<Record<string, { readonly key: number; readonly presence: string }>>
const fieldsOf = (type: AnyMessage) => Object.entries(type.fields as FieldFacts)
const ALL = [
  messages,
  egressMessages,
  fileMessages,
  handoffMessages,
  intentMessages,
  proposalMessages,
  identityMessages,
  planMessages,
  statusMessages,
].flatMap((room) => Object.values(room)) as AnyMessage[]

t.test('every message has the keys of the protocol page, no more and no fewer', async (t) => {
  t.strictSame(ALL.map(({ name }) => name).sort(), Object.keys(TABLE).sort(), 'each message is in the table')
  for (const type of ALL) {
    const said = fieldsOf(type)
      .map(([field, { key, presence }]) => ({
        key,
        text: `${key}${presence === 'required' ? '' : '?'} ${field}`,
      }))
      .sort((a, b) => a.key - b.key)
    t.equal(said.map(({ text }) => text).join(', '), TABLE[type.name], type.name)
  }
})

t.test('each message comes back through bytes as it was written, field by field', async (t) => {
  const textOf = (value: unknown) =>
    JSON.stringify(value, (_, item: unknown) =>
      item instanceof Map ? [...item] : item instanceof Uint8Array ? encodeHex(item) : item,
    )
  for (const [type, value] of EXAMPLES) {
    t.strictSame(Object.keys(type.fields).sort(), Object.keys(value).sort(), `${type.name} is whole`)
    const bytes = encodeCbor(type.encode(value))
    const opened = openCbor(bytes, { depth: 8, items: 4_096 })
    const read = readMessage(type, opened.ok ? opened.value : undefined, 'strict')
    t.equal(read.ok && textOf(read.value), textOf(value), type.name)
    t.equal(
      encodeHex(encodeCbor(type.encode(read.ok ? read.value : {}))),
      encodeHex(bytes),
      `${type.name}, again`,
    )
  }
  const shown = new Set(EXAMPLES.map(([{ name }]) => name))
  const inside = [
    'BranchEntry',
    'BranchPath',
    'Challenge',
    'Checkpoint',
    'Confirmation',
    'Execution',
    'FileMetadata',
    'Finding',
    'LevelEntry',
    'PenaltyEntry',
    'Pty',
    'TerminalSize',
  ]
  t.strictSame(
    ALL.map(({ name }) => name)
      .filter((name) => !shown.has(name))
      .sort(),
    inside,
    'those without an example are inside of one',
  )
})

t.test('every message refuses what is no map, every missing field, and every stranger', async (t) => {
  for (const [type, value] of EXAMPLES) {
    t.notOk(readMessage(type, [1], 'strict').ok, type.name)
    const whole = type.encode(value)
    for (const [name, { key, presence }] of fieldsOf(type)) {
      const without = new Map([...whole].filter(([own]) => own !== key))
      const read = readMessage(type, without, 'strict')
      t.equal(read.ok, presence !== 'required', `${type.name} without ${name}`)
      const wrong = readMessage(type, new Map<number, unknown>([...whole, [key, null]]), 'strict')
      t.match(!wrong.ok && wrong.problems[0]?.path, name, `${type.name} with ${name} null`)
    }
    t.notOk(readMessage(type, new Map<number, unknown>([...whole, [11_111, 1]]), 'strict').ok)
    t.ok(readMessage(type, new Map<number, unknown>([...whole, [11_111, 1]]), 'lenient').ok)
  }
})

t.test('no payload at all makes a reader throw', async (t) => {
  fc.assert(
    fc.property(
      fc.constantFrom(...ALL),
      fc.anything({ withMap: true, withTypedArray: true }),
      (type, payload) => {
        const read = readMessage(type, payload, 'strict')
        return read.ok || read.problems.length > 0
      },
    ),
    { numRuns: 2_000 },
  )
  t.pass()
})
