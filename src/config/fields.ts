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
import type { ObjectField } from './field-kinds.ts'
import { INTENT } from './intent-fields.ts'
import { CONFIRM, POLICY, QUOTA, SECURITY } from './policy-fields.ts'
import { SANDBOX } from './sandbox-fields.ts'

const MIB = 1_048_576
/** Where the configuration of a whole device lives; the defaults of paths assume it. */
export const SYSTEM_CONFIG_DIRECTORY = '/etc/sass-edge'

/** The whole file, in the order in which it is shown. */
export const CONFIG_FIELDS = {
  kind: 'object',
  doc: 'The configuration of sass-edge. A relative path starts at the directory of the file.',
  fields: {
    listen: {
      kind: 'object',
      doc: 'Where the daemon can be reached.',
      fields: {
        address: {
          kind: 'text',
          format: 'address',
          maxBytes: 45,
          default: '127.0.0.1',
          doc: 'The IP address to listen on; anything but a loopback address needs an explicit acl.allow.',
        },
        port: {
          kind: 'integer',
          min: 0,
          max: 65_535,
          default: DEFAULT_PORT,
          doc: 'The TCP port; 0 takes any free one and says which.',
        },
        profile: {
          kind: 'choice',
          choices: ['default', 'metered'],
          default: 'default',
          doc: '`metered`, for a link that is paid by the byte: where these keys have their defaults, session.keepalive_seconds is 300, defense.tarpit.mode is `hold` and tls.groups is `metered`; and clients are told, so that they ask for compressed output.',
        },
        admin_socket: {
          kind: 'path',
          default: '/run/sass-edge/admin.sock',
          doc: 'The Unix socket of the operator on the device itself: mode 0600, at most 107 bytes long.',
        },
      },
    },
    state_directory: {
      kind: 'path',
      default: '/var/lib/sass-edge',
      doc: 'Where the daemon keeps what must outlive it; made with mode 0700.',
    },
    tls: {
      kind: 'object',
      doc: 'The identity of the device. Without the two files they are made at the first start.',
      fields: {
        certificate: {
          kind: 'path',
          default: { under: 'state_directory', name: 'tls.crt' },
          doc: 'The certificate in PEM; clients pin the SHA-256 of its public key.',
        },
        key: {
          kind: 'path',
          default: { under: 'state_directory', name: 'tls.key' },
          doc: 'Its private key in PEM, mode 0600.',
        },
        client_ca: {
          kind: 'path',
          default: null,
          nullable: true,
          doc: 'A CA in PEM; with it every client must also show a certificate from it whose CN is its name. null: none asked for.',
        },
        groups: {
          kind: 'choice',
          choices: ['default', 'metered'],
          default: 'default',
          doc: '`default` offers X25519MLKEM768 before X25519; `metered` only X25519, which saves 2.3 KB of every handshake.',
        },
      },
    },
    acl: {
      kind: 'object',
      doc: 'Who may connect at all, judged before TLS.',
      fields: {
        allow: {
          kind: 'list',
          item: {
            kind: 'text',
            format: 'range',
            maxBytes: 49,
            doc: 'A CIDR range, a single address, or `*`; an IPv4-mapped IPv6 peer counts as IPv4.',
          },
          maxItems: CONFIG_LIST_ITEMS,
          default: ['127.0.0.0/8', '::1'],
          doc: 'The sources whose connections are taken; every other one is reset without a byte.',
          absent: 'loopback only, and an error where listen.address is not loopback',
          empty: 'nobody may connect over TCP; the admin socket still works',
          full: '`["*"]`: everybody may connect',
        },
        penalties: PENALTIES,
      },
    },
    agents: {
      kind: 'list',
      item: AGENT,
      maxItems: CONFIG_AGENTS,
      default: [],
      doc: 'The callers that may authenticate.',
      absent: 'nobody can authenticate',
      empty: 'nobody can authenticate',
      full: 'there is no wildcard: every caller is listed',
    },
    capabilities: {
      kind: 'map',
      value: CAPABILITY,
      maxEntries: CONFIG_AGENTS,
      doc: 'Capability sets by name. Absent: only `default` as shipped. Empty: none, so no agent can be listed.',
      default: {
        [DEFAULT_CAPABILITY]: {
          allowed_commands: [ALL_WORD],
          allowed_paths: [WORKSPACE_WORD],
          allowed_env: [ALL_WORD],
        },
      },
    },
    security: SECURITY,
    policy: POLICY,
    quota: QUOTA,
    confirm: CONFIRM,
    session: {
      kind: 'object',
      doc: 'Authenticated callers.',
      fields: {
        max_duration_seconds: {
          kind: 'integer',
          min: 1,
          max: TIMEOUT_MAX_SECONDS,
          default: SESSION_MAX_SECONDS,
          doc: 'How long a session lives before it must be renewed.',
        },
        max_sessions: {
          kind: 'integer',
          min: 1,
          max: 1_024,
          default: SESSIONS_MAX,
          doc: 'Sessions at the same time.',
        },
        max_per_agent: {
          kind: 'integer',
          min: 1,
          max: 1_024,
          default: SESSIONS_PER_AGENT,
          nullable: true,
          doc: 'Sessions of one agent that are connected or at work at the same time; null: as many as there are. Operators have what max_sessions allows.',
        },
        bind_ip: {
          kind: 'boolean',
          default: true,
          doc: 'Whether a session may be resumed only from the address that it was made from.',
        },
        ring_bytes: {
          kind: 'integer',
          min: 4_096,
          max: 64 * MIB,
          default: RING_BYTES,
          doc: 'Output kept of each stream of an execution for a client that comes back; all rings are made at start.',
        },
        keepalive_seconds: {
          kind: 'integer',
          min: 1,
          max: 3_600,
          default: KEEPALIVE_MS / 1_000,
          doc: 'Idle time after which the daemon asks whether the client is still there.',
        },
      },
    },
    execution: {
      kind: 'object',
      doc: 'Running commands.',
      fields: {
        max_concurrent: {
          kind: 'integer',
          min: 1,
          max: 256,
          default: EXECUTIONS_MAX,
          doc: 'Executions of all agents at the same time; one more waits for its turn (quota.queue).',
        },
        drain_seconds: {
          kind: 'integer',
          min: 0,
          max: 3_600,
          default: DRAIN_MS / 1_000,
          doc: 'How long running commands may finish when the daemon is asked to stop.',
        },
      },
    },
    sandbox: SANDBOX,
    defense: DEFENSE,
    intent: INTENT,
    audit: {
      kind: 'object',
      doc: 'The record of every decision.',
      fields: {
        directory: {
          kind: 'path',
          default: { under: 'state_directory', name: 'audit' },
          doc: 'Where the chain is written; made with mode 0700.',
        },
        anchor: {
          kind: 'object',
          doc: 'Time stamps by somebody else (RFC 3161), which sass-edge audit anchor asks for.',
          fields: {
            url: {
              kind: 'text',
              format: 'url',
              maxBytes: 1_024,
              default: null,
              nullable: true,
              doc: 'The authority; null: name one with --tsa.',
            },
            certificate: {
              kind: 'path',
              default: null,
              nullable: true,
              doc: 'PEM of the authority, or of who has signed its certificate; null: name one with --tsa-certificate.',
            },
          },
        },
        epoch_records: {
          kind: 'integer',
          min: 1,
          max: 1_000_000,
          default: AUDIT_EPOCH_RECORDS,
          doc: 'Records that one key signs before it is replaced and erased.',
        },
        epoch_seconds: {
          kind: 'integer',
          min: 1,
          max: TIMEOUT_MAX_SECONDS,
          default: AUDIT_EPOCH_SECONDS,
          doc: 'Seconds after which the key is replaced and erased, once it has signed anything.',
        },
        fsync: {
          kind: 'choice',
          choices: ['always', 'interval', 'never'],
          default: 'interval',
          doc: 'When records are made to outlive a loss of power: `always` before each action, `interval` together within 200 ms, `never` when the system likes.',
        },
        keep_bytes: {
          kind: 'integer',
          min: 1_048_576,
          max: 1_099_511_627_776,
          default: AUDIT_KEEP_BYTES,
          nullable: true,
          doc: 'What chain and sealed facts may take up together before their oldest files are dropped, on the record; null: nothing is.',
        },
        keep_days: {
          kind: 'integer',
          min: 1,
          max: 36_500,
          default: null,
          nullable: true,
          doc: 'Days after which a closed file of the record is dropped, on the record, one a day at most; null: age alone drops nothing.',
        },
        reserve_bytes: {
          kind: 'integer',
          min: 0,
          max: 1_073_741_824,
          default: AUDIT_RESERVE_BYTES,
          doc: 'With less than this free on its disk, commands that change anything are refused; 0: nobody looks.',
        },
        segment_bytes: {
          kind: 'integer',
          min: 65_536,
          max: 1_073_741_824,
          default: AUDIT_SEGMENT_BYTES,
          doc: 'Size at which a file of the chain is closed and the next one begun.',
        },
      },
    },
    alerts: {
      kind: 'object',
      doc: 'Who is told at once.',
      fields: {
        program: {
          kind: 'path',
          default: null,
          nullable: true,
          doc: 'A program of the operator that is run, as the user of the daemon, when a record of critical risk is written; the records are on its stdin, a JSON object a line. null: nobody is told.',
        },
      },
    },
    log: {
      kind: 'object',
      doc: 'Lines for the operator.',
      fields: {
        format: {
          kind: 'choice',
          choices: ['text', 'json'],
          default: 'text',
          doc: '`text` is key=value, `json` one object a line.',
        },
        level: {
          kind: 'choice',
          choices: ['debug', 'info', 'warn', 'error'],
          default: 'info',
          doc: 'The least important lines that are written.',
        },
        file: {
          kind: 'path',
          default: null,
          nullable: true,
          doc: 'The file to write them to, made with mode 0640 and opened anew at a reload; null: stderr, or the journal where that is stderr.',
        },
        max_bytes: {
          kind: 'integer',
          min: 65_536,
          max: 1_073_741_824,
          default: LOG_FILE_BYTES,
          doc: 'The most that the file may have: before it has more, it becomes FILE.1, that FILE.2 and so on.',
        },
        keep: {
          kind: 'integer',
          min: 1,
          max: 100,
          default: LOG_FILES_KEPT,
          doc: 'How many of these older files are kept.',
        },
      },
    },
    metrics: {
      kind: 'object',
      doc: 'Figures for Prometheus.',
      fields: {
        listen: {
          kind: 'path',
          isPlace: true,
          default: null,
          nullable: true,
          doc: 'Where GET /metrics is answered: a Unix socket of mode 0600 in the state directory or beside the admin socket, or a loopback address and port, like `127.0.0.1:9464`; null: nowhere.',
        },
      },
    },
  },
} as const satisfies ObjectField
