/**
 * The keys of `intent` in sass.edge.json: work that arrives signed instead of live.
 * Rules: docs/intent.md. Sources of the defaults: the source system's own, in intent-limits.ts.
 * @module
 */
import { CONFIG_AGENTS } from '../limits.ts'
import { boolean, integer, list, map, object, path, pathOr, text, textOr } from './field-kinds.ts'
import { DROP_DIRECTORIES, ENVELOPES_PER_HOUR, INTENT_POLL_MS, QUARANTINE_FILES } from './intent-limits.ts'

const ISSUER = {
  short: 'sha256',
  ...object('The SHA-256 of the 32 bytes of one issuer’s public key.', {
    sha256: text('digest', 64, { doc: '64 lower-case hexadecimal digits (required).' }),
  }),
}

const GRANT = {
  short: 'permissions',
  ...object('The permissions that one tool is given.', {
    permissions: list(text('permission', 64, { doc: 'A permission of docs/plans.md.' }), 16, [], {
      doc: 'Its permissions, like `["fs:read"]`.',
      absent: 'none',
      empty: 'none',
      full: 'there is no wildcard: name each',
    }),
  }),
}

export const INTENT = object(
  'Work that arrives signed instead of live (docs/intent.md). It is on where there is a vault.',
  {
    id: textOr('device', 'name', 64, {
      doc: 'The name of the device itself as a receiver and a sender of envelopes; no agent may have it.',
    }),
    vault: pathOr(null, {
      doc: 'The directory with the templates and capability sets that the dispatcher has signed; null: nothing signed is taken in.',
    }),
    dispatcher_pin: textOr(null, 'digest', 64, {
      doc: 'The SHA-256 of the dispatcher’s public key. The vault has that very key, or the daemon does not start. Required with a vault.',
    }),
    issuer_pins: map(
      ISSUER,
      CONFIG_AGENTS,
      {},
      {
        doc: 'Whose plans may run, by the name of the agent: the SHA-256 of its public key. Absent and empty: nobody’s.',
      },
    ),
    tools: pathOr(null, {
      doc: 'The directory with the manifests of tools that plans may call, `NAME.tool.json`, which nobody but root or the user of the daemon may write; null: there are none.',
    }),
    grants: map(
      GRANT,
      128,
      {},
      {
        doc: 'What each tool is given, by its name: one that wants more is not loaded. Absent and empty: nothing.',
      },
    ),
    plans_without_expiry: boolean(false, {
      doc: 'Whether a plan of an older form runs, which says not until when it is meant.',
    }),
    drop_directories: list(
      path({ doc: 'A directory with one directory for each receiver.' }),
      DROP_DIRECTORIES,
      [],
      {
        doc: 'Directories beside `intent/inbox` of the state directory that envelopes are taken from, like that of a stick: `NAME/*.satl.json`. They need not be there.',
        absent: 'the inboxes of the state directory alone',
        empty: 'the inboxes of the state directory alone',
        full: 'there is no wildcard: name each',
      },
    ),
    outbox_directory: pathOr(null, {
      doc: 'Where envelopes of the device are put whose receiver is not here, as `NAME/*.satl.json`, whenever the directory is there; null: they wait in the outbox.',
    }),
    quarantine_max: integer(1, 100_000, QUARANTINE_FILES, {
      doc: 'Files in quarantine, the refused ones included. With so many nothing further is taken in.',
    }),
    envelopes_per_hour: integer(1, 1_000_000, ENVELOPES_PER_HOUR, {
      doc: 'Envelopes of one sender that are accepted within an hour; those of the device itself are not counted.',
    }),
    poll_ms: integer(50, 60_000, INTENT_POLL_MS, {
      doc: 'How often the inboxes are looked at, in milliseconds.',
    }),
  },
)
