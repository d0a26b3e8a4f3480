/**
 * The keys of `intent` in sass.edge.json: work that arrives signed instead of live.
 * Rules: docs/intent.md. Sources of the defaults: the source system's own, in intent-limits.ts.
 * @module
 */
import { CONFIG_AGENTS } from '../limits.ts'
import type { ObjectField } from './field-kinds.ts'
import { DROP_DIRECTORIES, ENVELOPES_PER_HOUR, INTENT_POLL_MS, QUARANTINE_FILES } from './intent-limits.ts'

const ISSUER = {
  kind: 'object',
  short: 'sha256',
  doc: 'The SHA-256 of the 32 bytes of one issuer’s public key.',
  fields: {
    sha256: {
      kind: 'text',
      format: 'digest',
      maxBytes: 64,
      doc: '64 lower-case hexadecimal digits (required).',
    },
  },
} as const satisfies ObjectField

const GRANT = {
  kind: 'object',
  short: 'permissions',
  doc: 'The permissions that one tool is given.',
  fields: {
    permissions: {
      kind: 'list',
      item: { kind: 'text', format: 'permission', maxBytes: 64, doc: 'A permission of docs/plans.md.' },
      maxItems: 16,
      default: [],
      doc: 'Its permissions, like `["fs:read"]`.',
      absent: 'none',
      empty: 'none',
      full: 'there is no wildcard: name each',
    },
  },
} as const satisfies ObjectField

export const INTENT = {
  kind: 'object',
  doc: 'Work that arrives signed instead of live (docs/intent.md). It is on where there is a vault.',
  fields: {
    id: {
      kind: 'text',
      format: 'name',
      maxBytes: 64,
      default: 'device',
      doc: 'The name of the device itself as a receiver and a sender of envelopes; no agent may have it.',
    },
    vault: {
      kind: 'path',
      default: null,
      nullable: true,
      doc: 'The directory with the templates and capability sets that the dispatcher has signed; null: nothing signed is taken in.',
    },
    dispatcher_pin: {
      kind: 'text',
      format: 'digest',
      maxBytes: 64,
      default: null,
      nullable: true,
      doc: 'The SHA-256 of the dispatcher’s public key. The vault has that very key, or the daemon does not start. Required with a vault.',
    },
    issuer_pins: {
      kind: 'map',
      value: ISSUER,
      maxEntries: CONFIG_AGENTS,
      default: {},
      doc: 'Whose plans may run, by the name of the agent: the SHA-256 of its public key. Absent and empty: nobody’s.',
    },
    tools: {
      kind: 'path',
      default: null,
      nullable: true,
      doc: 'The directory with the manifests of tools that plans may call, `NAME.tool.json`, which nobody but root or the user of the daemon may write; null: there are none.',
    },
    grants: {
      kind: 'map',
      value: GRANT,
      maxEntries: 128,
      default: {},
      doc: 'What each tool is given, by its name: one that wants more is not loaded. Absent and empty: nothing.',
    },
    plans_without_expiry: {
      kind: 'boolean',
      default: false,
      doc: 'Whether a plan of an older form runs, which says not until when it is meant.',
    },
    drop_directories: {
      kind: 'list',
      item: { kind: 'path', doc: 'A directory with one directory for each receiver.' },
      maxItems: DROP_DIRECTORIES,
      default: [],
      doc: 'Directories beside `intent/inbox` of the state directory that envelopes are taken from, like that of a stick: `NAME/*.satl.json`. They need not be there.',
      absent: 'the inboxes of the state directory alone',
      empty: 'the inboxes of the state directory alone',
      full: 'there is no wildcard: name each',
    },
    outbox_directory: {
      kind: 'path',
      default: null,
      nullable: true,
      doc: 'Where envelopes of the device are put whose receiver is not here, as `NAME/*.satl.json`, whenever the directory is there; null: they wait in the outbox.',
    },
    quarantine_max: {
      kind: 'integer',
      min: 1,
      max: 100_000,
      default: QUARANTINE_FILES,
      doc: 'Files in quarantine, the refused ones included. With so many nothing further is taken in.',
    },
    envelopes_per_hour: {
      kind: 'integer',
      min: 1,
      max: 1_000_000,
      default: ENVELOPES_PER_HOUR,
      doc: 'Envelopes of one sender that are accepted within an hour.',
    },
    poll_ms: {
      kind: 'integer',
      min: 50,
      max: 60_000,
      default: INTENT_POLL_MS,
      doc: 'How often the inboxes are looked at, in milliseconds.',
    },
  },
} as const satisfies ObjectField
