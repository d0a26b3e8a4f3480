/**
 * Every key of sass.edge.json: kind, default, range, meaning. This one table makes the parser (config.ts), the JSON
 * Schema, the file as shipped and docs/configuration.md, so none of them can know a key that another does not.
 * A list says what its absence, emptiness and fullness mean; of two readings the stricter one is the default.
 * Sources of the defaults: limits.ts, and the draft's sections 4.5, 5.2 and 6.4 behind it.
 * @module
 */

import {
  AUDIT_EPOCH_RECORDS,
  AUDIT_EPOCH_SECONDS,
  AUDIT_KEEP_BYTES,
  AUDIT_RESERVE_BYTES,
  AUDIT_SEGMENT_BYTES,
  CONFIG_AGENTS,
  CONFIG_LIST_ITEMS,
  DEFAULT_PORT,
  DRAIN_MS,
  EXECUTIONS_MAX,
  KEEPALIVE_MS,
  LOG_FILE_BYTES,
  LOG_FILES_KEPT,
  RING_BYTES,
  SESSION_MAX_SECONDS,
  SESSIONS_MAX,
  SESSIONS_PER_AGENT,
  TIMEOUT_MAX_SECONDS,
} from '../limits.ts'
import { AGENT, ALL_WORD, CAPABILITY, DEFAULT_CAPABILITY, WORKSPACE_WORD } from './caller-fields.ts'
import { DEFENSE, PENALTIES } from './defense-fields.ts'
import { boolean, choice, integer, list, map, object, pathOr, text, textOr } from './field-kinds.ts'
import { INTENT } from './intent-fields.ts'
import { CONFIRM, POLICY, QUOTA, SECURITY } from './policy-fields.ts'
import { SANDBOX } from './sandbox-fields.ts'

const MIB = 1_048_576
/** Where the configuration of a whole device lives; the defaults of paths assume it. */
export const SYSTEM_CONFIG_DIRECTORY = '/etc/sass-edge'

/** The whole file, in the order in which it is shown. */
export const CONFIG_FIELDS = object(
  'The configuration of sass-edge. A relative path starts at the directory of the file.',
  {
    listen: object('Where the daemon can be reached.', {
      address: textOr('127.0.0.1', 'address', 45, {
        doc: 'The IP address to listen on; anything but a loopback address needs an explicit acl.allow.',
      }),
      port: integer(0, 65_535, DEFAULT_PORT, { doc: 'The TCP port; 0 takes any free one and says which.' }),
      profile: choice(['default', 'metered'], 'default', {
        doc: '`metered`, for a link that is paid by the byte: where these keys have their defaults, session.keepalive_seconds is 300, defense.tarpit.mode is `hold` and tls.groups is `metered`; and clients are told, so that they ask for compressed output.',
      }),
      admin_socket: pathOr('/run/sass-edge/admin.sock', {
        doc: 'The Unix socket of the operator on the device itself: mode 0600, at most 107 bytes long.',
      }),
    }),
    state_directory: pathOr('/var/lib/sass-edge', {
      doc: 'Where the daemon keeps what must outlive it; made with mode 0700.',
    }),
    tls: object('The identity of the device. Without the two files they are made at the first start.', {
      certificate: pathOr(
        { under: 'state_directory', name: 'tls.crt' },
        { doc: 'The certificate in PEM; clients pin the SHA-256 of its public key.' },
      ),
      key: pathOr(
        { under: 'state_directory', name: 'tls.key' },
        { doc: 'Its private key in PEM, mode 0600.' },
      ),
      client_ca: pathOr(null, {
        doc: 'A CA in PEM; with it every client must also show a certificate from it whose CN is its name. null: none asked for.',
      }),
      groups: choice(['default', 'metered'], 'default', {
        doc: '`default` offers X25519MLKEM768 before X25519; `metered` only X25519, which saves 2.3 KB of every handshake.',
      }),
    }),
    acl: object('Who may connect at all, judged before TLS.', {
      allow: list(
        text('range', 49, {
          doc: 'A CIDR range, a single address, or `*`; an IPv4-mapped IPv6 peer counts as IPv4.',
        }),
        CONFIG_LIST_ITEMS,
        ['127.0.0.0/8', '::1'],
        {
          doc: 'The sources whose connections are taken; every other one is reset without a byte.',
          absent: 'loopback only, and an error where listen.address is not loopback',
          empty: 'nobody may connect over TCP; the admin socket still works',
          full: '`["*"]`: everybody may connect',
        },
      ),
      penalties: PENALTIES,
    }),
    agents: list(AGENT, CONFIG_AGENTS, [], {
      doc: 'The callers that may authenticate.',
      absent: 'nobody can authenticate',
      empty: 'nobody can authenticate',
      full: 'there is no wildcard: every caller is listed',
    }),
    capabilities: map(
      CAPABILITY,
      CONFIG_AGENTS,
      {
        [DEFAULT_CAPABILITY]: {
          allowed_commands: [ALL_WORD],
          allowed_paths: [WORKSPACE_WORD],
          allowed_env: [ALL_WORD],
        },
      },
      {
        doc: 'Capability sets by name. Absent: only `default` as shipped. Empty: none, so no agent can be listed.',
      },
    ),
    security: SECURITY,
    policy: POLICY,
    quota: QUOTA,
    confirm: CONFIRM,
    session: object('Authenticated callers.', {
      max_duration_seconds: integer(1, TIMEOUT_MAX_SECONDS, SESSION_MAX_SECONDS, {
        doc: 'How long a session lives before it must be renewed.',
      }),
      max_sessions: integer(1, 1_024, SESSIONS_MAX, { doc: 'Sessions at the same time.' }),
      max_per_agent: integer(1, 1_024, SESSIONS_PER_AGENT, {
        nullable: true,
        doc: 'Sessions of one agent that are connected or at work at the same time; null: as many as there are. Operators have what max_sessions allows.',
      }),
      bind_ip: boolean(true, {
        doc: 'Whether a session may be resumed only from the address that it was made from.',
      }),
      ring_bytes: integer(4_096, 64 * MIB, RING_BYTES, {
        doc: 'Output kept of each stream of an execution for a client that comes back; all rings are made at start.',
      }),
      keepalive_seconds: integer(1, 3_600, KEEPALIVE_MS / 1_000, {
        doc: 'Idle time after which the daemon asks whether the client is still there.',
      }),
    }),
    execution: object('Running commands.', {
      max_concurrent: integer(1, 256, EXECUTIONS_MAX, {
        doc: 'Executions of all agents at the same time; one more waits for its turn (quota.queue).',
      }),
      drain_seconds: integer(0, 3_600, DRAIN_MS / 1_000, {
        doc: 'How long running commands may finish when the daemon is asked to stop.',
      }),
    }),
    sandbox: SANDBOX,
    defense: DEFENSE,
    intent: INTENT,
    audit: object('The record of every decision.', {
      directory: pathOr(
        { under: 'state_directory', name: 'audit' },
        { doc: 'Where the chain is written; made with mode 0700.' },
      ),
      anchor: object('Time stamps by somebody else (RFC 3161), which sass-edge audit anchor asks for.', {
        url: textOr(null, 'url', 1_024, { doc: 'The authority; null: name one with --tsa.' }),
        certificate: pathOr(null, {
          doc: 'PEM of the authority, or of who has signed its certificate; null: name one with --tsa-certificate.',
        }),
      }),
      epoch_records: integer(1, 1_000_000, AUDIT_EPOCH_RECORDS, {
        doc: 'Records that one key signs before it is replaced and erased.',
      }),
      epoch_seconds: integer(1, TIMEOUT_MAX_SECONDS, AUDIT_EPOCH_SECONDS, {
        doc: 'Seconds after which the key is replaced and erased, once it has signed anything.',
      }),
      fsync: choice(['always', 'interval', 'never'], 'interval', {
        doc: 'When records are made to outlive a loss of power: `always` before each action, `interval` together within 200 ms, `never` when the system likes.',
      }),
      keep_bytes: integer(1_048_576, 1_099_511_627_776, AUDIT_KEEP_BYTES, {
        nullable: true,
        doc: 'What chain and sealed facts may take up together before their oldest files are dropped, on the record; null: nothing is.',
      }),
      keep_days: integer(1, 36_500, null, {
        doc: 'Days after which a closed file of the record is dropped, on the record, one a day at most; null: age alone drops nothing.',
      }),
      reserve_bytes: integer(0, 1_073_741_824, AUDIT_RESERVE_BYTES, {
        doc: 'With less than this free on its disk, commands that change anything are refused; 0: nobody looks.',
      }),
      segment_bytes: integer(65_536, 1_073_741_824, AUDIT_SEGMENT_BYTES, {
        doc: 'Size at which a file of the chain is closed and the next one begun.',
      }),
    }),
    alerts: object('Who is told at once.', {
      program: pathOr(null, {
        doc: 'A program of the operator that is run, as the user of the daemon, when a record of critical risk is written; the records are on its stdin, a JSON object a line. null: nobody is told.',
      }),
    }),
    log: object('Lines for the operator.', {
      format: choice(['text', 'json'], 'text', { doc: '`text` is key=value, `json` one object a line.' }),
      level: choice(['debug', 'info', 'warn', 'error'], 'info', {
        doc: 'The least important lines that are written.',
      }),
      file: pathOr(null, {
        doc: 'The file to write them to, made with mode 0640 and opened anew at a reload; null: stderr, or the journal where that is stderr.',
      }),
      max_bytes: integer(65_536, 1_073_741_824, LOG_FILE_BYTES, {
        doc: 'The most that the file may have: before it has more, it becomes FILE.1, that FILE.2 and so on.',
      }),
      keep: integer(1, 100, LOG_FILES_KEPT, { doc: 'How many of these older files are kept.' }),
    }),
    metrics: object('Figures for Prometheus.', {
      listen: pathOr(null, {
        isPlace: true,
        doc: 'Where GET /metrics is answered: a Unix socket of mode 0600 in the state directory or beside the admin socket, or a loopback address and port, like `127.0.0.1:9464`; null: nowhere.',
      }),
    }),
  },
)
