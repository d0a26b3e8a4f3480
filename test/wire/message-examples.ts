/**
 * A full example of every message, for tests of the messages and of the grammar that describes them.
 * @module
 */
import * as egressMessages from '../../src/wire/egress-messages.ts'
import * as fileMessages from '../../src/wire/file-messages.ts'
import * as handoffMessages from '../../src/wire/handoff-messages.ts'
import * as identityMessages from '../../src/wire/identity-messages.ts'
import * as intentMessages from '../../src/wire/intent-messages.ts'
import * as messages from '../../src/wire/messages.ts'
import * as planMessages from '../../src/wire/plan-messages.ts'
import * as proposalMessages from '../../src/wire/proposal-messages.ts'
import type { AnyMessage } from '../../src/wire/schema.ts'
import * as statusMessages from '../../src/wire/status-messages.ts'

const id = new Uint8Array(16).fill(7)
const digest = new Uint8Array(32).fill(9)

/** One example of each message that travels by itself, with every field. */
const DEVICE = {
  started_at: 1,
  rss_bytes: 2 ** 33,
  anonymous_bytes: 3,
  open_files: 4,
  free_bytes: 2 ** 40,
  running: 6,
  stalled: 7,
  queued: 8,
  rings: 9,
  rings_used: 10,
  confirmations: 11,
  transfers: 12,
  branches: 13,
  connections: 14,
  strangers: 15,
  tarpit_bytes: 16,
  tarpit_seconds: 17,
}

const PLAN_CALL = {
  tool_call_id: 'c',
  tool_name: 'count',
  state: 'exited',
  number: 1,
  why: 'It failed.',
  execution_id: new Uint8Array(16),
  stdout_bytes: 2,
  stderr_bytes: 3,
}
const TOOL = {
  name: 'count',
  version: '1',
  tier: 'T1',
  permissions: ['fs:read'],
  args: ['file'],
  is_loaded: true,
  why: 'no',
}
const ENVELOPE = {
  ...{ envelope_id: 'e1', session_id: 's1', sender: 'ci', receiver: 'helper', template: 'blog v1' },
  ...{ digest, size: 2, accepted_at: 1_800_000_000, is_taken: true },
}
const QUARANTINED = {
  ...{
    name: 'device.00.satl.json',
    receiver: 'device',
    from: 'inbox',
    since: 1_800_000_000,
    size: 2,
    digest,
  },
  ...{ step: 12, code: 'REPLAY', ticket: 'FT-002', problem: 'It was accepted before.' },
}
const HANDED = {
  ...{ handoff_id: id, from_agent: 'ci-20261128T120000Z-0a1b2c3d', to_agent: 'helper' },
  ...{ criticality: 2, depth: 1, sent_at: 5, expires_at: 6, digest, is_taken: true },
  ...{ injection: 700, hidden: 1, previous: id },
  artifacts: [{ path: 'a', size: 3, sha256: digest, why: 'It is a directory.' }],
}

const REFUSED = { host: 'b.example', port: 443, reason: 'unlisted', times: 2, at: 5, protocol: 'udp' }
const GATE = {
  ...{ sessions: 1, connections: 2, asked: 3, passed: 4, refused: 5, failed: 6, sent: 7, received: 8 },
  lately: [REFUSED],
}
const TALKED = { host: 'a.example', port: 443, connections: 1, sent: 2, received: 2 ** 40, protocol: 'udp' }

const SIGNED_WORK = { waiting: 1, quarantined: 2, outbox: 3, plans_running: 4, plans_kept: 5 }
const WATCHED = { agent_name: 'a', turns: 40, is_calibrated: true, alerts: 2, beyond: 'volume fill' }

export const EXAMPLES: readonly (readonly [AnyMessage, Readonly<Record<string, unknown>>])[] = [
  [
    messages.executeRequest,
    {
      command: 'ls',
      args: ['-l', ''],
      cwd: '/tmp',
      env: new Map([['A', 'b=c']]),
      execution_id: id,
      session_id: id,
      is_reattach: true,
      resume_offset: 2 ** 40,
      raw_payload: 'KLUv',
      stdin: true,
      pty: { rows: 24, cols: 80, term: 'xterm' },
      resume_offset_stderr: 1,
      accept: 1,
      declared_goal: 'look',
      tail: 100,
      timeout_seconds: 31_536_000,
      keep_background: true,
    },
  ],
  [
    messages.executeResponse,
    {
      exit_code: 0,
      stdout: Uint8Array.of(1),
      stderr: Uint8Array.of(2),
      execution_id: id,
      signal: 9,
      truncated: true,
      findings: [{ kind: 'email', offset: 3, length: 4 }],
      why: 'w',
      refused: 'r',
      content_source: 1,
      notice: 'n',
    },
  ],
  [
    messages.streamResponse,
    {
      source: 1,
      data: Uint8Array.of(1),
      exit_code: 255,
      is_queued: true,
      queue_position: 0,
      offset: 0,
      signal: 15,
      execution_id: id,
      challenge: {
        challenge_id: id,
        nonce: new Uint8Array(12),
        ciphertext: new Uint8Array(80),
        expires_at: 1,
      },
      content_source: 2,
      findings: [],
      encoding: 1,
      code: 101,
      sha256: digest,
      why: 'w',
      isolation: 'overlay',
      refused: 'r',
      notice: 'n',
    },
  ],
  [messages.stdinChunk, { data: Uint8Array.of(1), resize: { rows: 1, cols: 65_535 } }],
  [messages.executionReference, { execution_id: id }],
  [messages.signalRequest, { execution_id: id, signal: 80, signal_id: 7 }],
  [messages.outcome, { success: true, message: 'done' }],
  [
    fileMessages.fileChunk,
    {
      metadata: {
        remote_path: '/a',
        total_size: 5,
        offset: 1,
        mode: 0o644,
        sha256: digest,
        kind: 2,
        target: 'b',
        content_source: 2,
      },
      data: id,
    },
  ],
  [fileMessages.fileOutcome, { success: true, message: 'm', bytes_written: 5, sha256: digest }],
  [fileMessages.fileDownloadRequest, { remote_path: '/a', offset: 2, sha256: digest, handoff_id: id }],
  [
    fileMessages.fileDownloadEnd,
    { sha256: digest, total_size: 0, findings: [{ kind: 'injection:a', offset: 3, length: 4 }] },
  ],
  [
    messages.authRequest,
    {
      agent_name: 'ci',
      public_key: digest,
      signature: new Uint8Array(64),
      nonce: id,
      window: 65_536,
      resume_session_id: id,
      client_version: '1',
      branch: id,
      enrolment: id,
      delegation: digest,
    },
  ],
  [
    messages.authResponse,
    {
      success: true,
      session_id: id,
      capability_hash: digest,
      challenge_nonce: new Uint8Array(12),
      challenge_ciphertext: new Uint8Array(80),
      message: 'm',
      window: 65_536,
      expires_at: 1_700_000_000,
      daemon_version: '1',
      challenge_id: id,
      audit_seq: 0,
      audit_hash: digest,
      metered: true,
      branch: id,
      next_key: digest,
      audit_key: digest,
    },
  ],
  [
    messages.challengeAnswer,
    { decrypted_plaintext: new Uint8Array(64), client_ekm_hmac: digest, challenge_id: id },
  ],
  [messages.challengeResult, { passed: true, session_token: id, message: 'm' }],
  [messages.empty, {}],
  [
    statusMessages.securityStatus,
    {
      active_tarpits: 1,
      active_sessions: 2,
      blocked_ips: 3,
      policy_version: 'v',
      responses: new Map([
        [1, 5],
        [6, 2 ** 33],
      ]),
      level: 'NORMAL',
      audit_seq: 1,
      audit_hash: digest,
      session: { received: 1, sent: 2, since: undefined },
      today: { received: 3, sent: 2 ** 33, since: 1 },
      yesterday: { received: 0, sent: 0, since: 0 },
      sessions: [
        { session_id: id, agent_name: 'a', received: 5, sent: 6, acts_for: undefined, instance: '' },
      ],
      device: DEVICE,
      gate: GATE,
      watched: [WATCHED],
      signed_work: SIGNED_WORK,
    },
  ],
  [statusMessages.signedWork, SIGNED_WORK],
  [statusMessages.watchedAgent, WATCHED],
  [statusMessages.deviceReadings, DEVICE],
  [egressMessages.gateReadings, GATE],
  [egressMessages.refusedPlace, REFUSED],
  [egressMessages.talkedTo, TALKED],
  [statusMessages.metricsText, { text: 'a 1\n' }],
  [
    identityMessages.inviteRequest,
    { agent_name: 'laptop', is_operator: true, capability: 'default', ttl_seconds: 60 },
  ],
  [identityMessages.invitation, { success: true, message: 'm', token: id, expires_at: 1_700_000_000 }],
  [
    identityMessages.delegateRequest,
    {
      ...{ worker: 'w', tools: ['Read'], allowed_commands: ['ls'], allowed_paths: [] },
      ttl_seconds: 60,
    },
  ],
  [identityMessages.rulesTold, { text: '1. a\n', sha256: digest }],
  [identityMessages.delegation, { success: true, message: 'm', token: digest, expires_at: 1_700_000_000 }],
  [identityMessages.termination, { instance: 'a-1' }],
  [identityMessages.keyRotation, { public_key: digest, signature: new Uint8Array(64) }],
  [statusMessages.wireBytes, { received: 1, sent: 2, since: 3 }],
  [
    statusMessages.sessionBytes,
    { session_id: id, agent_name: 'a', received: 1, sent: 2, acts_for: 'b-1', instance: 'a-1' },
  ],
  [messages.pingResponse, { daemon_version: '1', uptime_seconds: 1, os: 'linux', active_processes: 2 }],
  [messages.renewal, { success: true, expires_at: 1 }],
  [
    messages.capabilities,
    {
      allowed_commands: ['*'],
      denied_commands: ['rm'],
      allowed_paths: ['/'],
      denied_paths: ['/etc'],
      max_concurrent: 1,
      timeout_seconds: 2,
      max_file_size_bytes: 3,
    },
  ],
  [messages.auditPublicKey, { public_key: digest, key_fingerprint: 'sha256:x', epoch: 4 }],
  [
    messages.executionList,
    {
      executions: [
        {
          execution_id: id,
          state: 2,
          command: 'ls',
          started_at: 1,
          ended_at: 2,
          exit_code: 0,
          signal: 0,
          stdout_bytes: 3,
          stderr_bytes: 4,
          is_attached: true,
          agent_name: 'ci',
          is_terminal: true,
          has_left: true,
        },
      ],
      total: 1,
    },
  ],
  [
    messages.confirmationList,
    {
      confirmations: [
        {
          id,
          agent_name: 'ci',
          session_id: id,
          layer: 'specifics',
          rule: 'security.sensitive_files',
          reason: 'why',
          shown: '{}',
          digest,
          asked_at: 1,
          expires_at: 61,
        },
      ],
      total: 1,
    },
  ],
  [messages.confirmationAnswer, { id, approve: true, digest }],
  [
    messages.levelList,
    {
      entries: [{ scope: 'agent', name: 'ci', level: 'CONTAIN', why: 'w', since: 5 }],
      incident: 'ab',
    },
  ],
  [messages.levelChange, { scope: 'agent', name: 'ci', level: 'NORMAL', why: 'w', incident: 'ab' }],
  [
    messages.penaltyList,
    {
      entries: [{ source: '192.0.2.7', seconds_left: 9, is_active: true, reason: 'auth_failed' }],
      total: 1,
    },
  ],
  [messages.penaltyClear, { source: '192.0.2.7' }],
  [messages.purgeRequest, { session_id: new Uint8Array(16).fill(7) }],
  [messages.branchReference, { session_id: id }],
  [messages.branchListRequest, { skip: 128 }],
  [
    messages.branchList,
    {
      branches: [
        {
          session_id: id,
          agent_name: 'ci',
          level: 'overlay',
          opened_at: 1_800_000_000,
          sessions: 1,
          running: 2,
          is_empty: true,
          can_undo: true,
        },
      ],
      total: 1,
    },
  ],
  [messages.branchDiffRequest, { session_id: id, form: 3, paths: [Uint8Array.of(0x61, 0xff)] }],
  [messages.changesRequest, { form: 1, paths: [Uint8Array.of(0x61, 0xff)] }],
  [
    messages.branchDiffEnd,
    {
      digest,
      changes: 3,
      conflicts: 1,
      held_back: 1,
      shown: 2,
      is_preview: true,
      branch: id,
      stopped: 'it has too much',
      talked_to: [TALKED],
    },
  ],
  [
    messages.branchMergeRequest,
    {
      session_id: id,
      digest,
      paths: [Uint8Array.of(0x61)],
      force: [Uint8Array.of(0xff)],
      held_back: true,
    },
  ],
  [
    messages.branchOutcome,
    {
      success: true,
      message: 'Merged.',
      merged: 3,
      bytes: 2 ** 40,
      conflicts: [{ path: Uint8Array.of(0x61), what: 'changed' }],
      conflicts_total: 1,
      left_out: [{ path: Uint8Array.of(0x62), what: 'setuid' }],
      left_out_total: 1,
      digest,
    },
  ],
  [messages.branchCheckpoint, { session_id: id, label: 'builds', restore: 1, remove: 2 }],
  [
    messages.checkpointList,
    {
      checkpoints: [{ number: 1, label: 'builds', made_at: 1_800_000_000, files: 3, bytes: 4 }],
      total: 1,
    },
  ],
  [statusMessages.whyRequest, { seq: 7 }],
  [proposalMessages.decideRequest, { content: Uint8Array.of(0x7b, 0x7d), said: 'hello', tokens: 7 }],
  [
    proposalMessages.decided,
    {
      decision: 'ACTION',
      cycle: 1,
      artifact: '{}',
      state: new Uint8Array(32),
      content: 'x',
      hidden: 1,
      injection: 2,
    },
  ],
  [handoffMessages.handoffRequest, { content: Uint8Array.of(0x7b, 0x7d) }],
  [handoffMessages.handoffReference, { handoff_id: id }],
  [handoffMessages.handoffArtifact, HANDED.artifacts[0] ?? {}],
  [handoffMessages.handoffEntry, HANDED],
  [handoffMessages.handoffList, { handoffs: [HANDED], total: 1 }],
  [
    intentMessages.envelopePiece,
    { receiver: 'helper', piece: Uint8Array.of(0x7b), total: 2, offset: 1, digest },
  ],
  [intentMessages.envelopeEntry, ENVELOPE],
  [intentMessages.envelopeReceipt, { entry: ENVELOPE, received: 2 }],
  [intentMessages.envelopeList, { envelopes: [ENVELOPE], total: 1 }],
  [intentMessages.envelopeReference, { envelope_id: 'e1', offset: 65_536 }],
  [
    intentMessages.envelopeContent,
    { entry: ENVELOPE, piece: Uint8Array.of(0x7b, 0x7d), content_source: 'AGENT_HANDOFF', injection: 710 },
  ],
  [intentMessages.quarantineRequest, { offset: 24 }],
  [intentMessages.quarantineEntry, QUARANTINED],
  [intentMessages.quarantineList, { files: [QUARANTINED], total: 1 }],
  [intentMessages.quarantineSettling, { name: 'device.00.satl.json', releases: true }],
  [handoffMessages.handoffContent, { entry: HANDED, content: '{}', content_source: 'AGENT_HANDOFF' }],
  [planMessages.planRequest, { plan: Uint8Array.of(0x7b, 0x7d), session_id: 's' }],
  [planMessages.planReference, { plan_id: 'p', session_id: 's' }],
  [planMessages.planCall, PLAN_CALL],
  [
    planMessages.planState,
    {
      plan_id: 'p',
      session_id: 's',
      issuer: 'i',
      state: 'done',
      calls: [PLAN_CALL],
      begun_at: 1_800_000_000,
    },
  ],
  [planMessages.toolEntry, TOOL],
  [planMessages.toolList, { tools: [TOOL] }],
  [
    statusMessages.explanation,
    {
      seq: 7,
      asked: 'ls',
      response: 'R4',
      layer: 'capability',
      rule: 'default.allowed_commands',
      reason: 'r',
      advice: 'a',
      agent_name: 'ci',
      source: '192.0.2.7',
      at: 1,
      effective: ['ls'],
      severity: 'warning',
      opaque: 'build: builds',
      confinement: 'whole',
    },
  ],
  [messages.status, { code: 105, text: 'gone', details: new Map([[1, 2 ** 40]]) }],
]
