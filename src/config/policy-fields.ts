/**
 * The keys of `security`, `policy`, `quota` and `confirm` in sass.edge.json: what holds for every agent, the rules over
 * commands, the limits, and the questions to a human.
 * Sources of the defaults: the draft's section 8, and limits.ts.
 * @module
 */

import {
  CONFIG_LIST_ITEMS,
  CONFIRM_PENDING,
  CONFIRM_TIMEOUT_SECONDS,
  PATH_BYTES,
  QUEUE_PLACES,
  TICKS_PER_TASK,
  TIMEOUT_MAX_SECONDS,
} from '../limits.ts'
import { ALL_WORD, COMBINATION, COMBINATIONS } from './caller-fields.ts'
import { boolean, choice, integer, list, object, path, pathOr, text, textOr } from './field-kinds.ts'

const MEASURES = ['deny', 'ask', 'audit', 'allow'] as const

const PIN = object('One program and the only content that it may have.', {
  path: path({ doc: 'The file, its symbolic links resolved (required).' }),
  sha256: text('digest', 64, { doc: 'Its SHA-256 in 64 hexadecimal digits (required).' }),
})

export const SECURITY = object(
  'What holds for every agent, before its own capability set: each only narrows the other.',
  {
    workspace_root: pathOr(
      { under: 'state_directory', name: 'workspace' },
      { doc: 'Where a command starts that names no working directory.' },
    ),
    questions: choice(['strict', 'standard', 'permissive'], 'standard', {
      doc: 'How much people are asked about. It sets those of sensitive_files, toxic_combinations, unlisted_domains and opaque that have their defaults: strict denies what standard asks about, and what a rule asks about, permissive asks about secrets, domains and what nobody has read, and records the rest.',
    }),
    founding_rules: boolean(false, {
      doc: 'Whether every capability set must forbid at least three commands, and three rules hold for each agent whose breach contains it at once: no handing on of what was handed on, no deciding for a human, no deceiving (docs/security.md). An agent that does not say otherwise then has tier T1, and a human is asked about what nothing lists.',
    }),
    allow_shell: boolean(true, {
      doc: 'Whether a command shell (sh, bash and their kin) may run, as the program of a command or beneath another.',
    }),
    allowed_commands: list(
      text('command', PATH_BYTES, { doc: 'As in a capability set.' }),
      CONFIG_LIST_ITEMS,
      [ALL_WORD],
      {
        doc: 'The commands that any agent may run.',
        absent: 'every one that its capability set allows',
        empty: 'no command may run',
        full: '`["*"]`: every one that its capability set allows',
      },
    ),
    blocked_commands: list(
      text('blocked', PATH_BYTES, {
        doc: 'A program with options and words that must all be there, in any order of the options: `rm -rf` also stops `rm -r -f x`.',
      }),
      CONFIG_LIST_ITEMS,
      [],
      {
        doc: 'The commands that no agent may run, whatever is allowed.',
        absent: 'nothing is blocked beyond the rules',
        empty: 'nothing is blocked beyond the rules',
        full: 'there is no wildcard: empty allowed_commands instead',
      },
    ),
    confirm_dangerous_actions: boolean(false, {
      doc: 'Whether a human is asked about a command that nothing lists, instead of refusing it.',
    }),
    sensitive_files: choice(MEASURES, 'ask', {
      doc: 'What happens when a command uses a file that holds secrets (.env, private keys, credentials): `deny`, `ask` a human, `audit`, or `allow`.',
    }),
    toxic_combinations: choice(MEASURES, 'ask', {
      doc: 'What happens when a session would complete a combination of `toxic_registry`.',
    }),
    toxic_registry: list(COMBINATION, COMBINATIONS, ['untrusted+secret+outward', 'untrusted+secret+change'], {
      doc: 'What may not come together within one session, in any order.',
      absent: 'as the default',
      empty: 'anything may come together',
      full: 'there is no wildcard: a combination names its properties',
    }),
    internal_addresses: choice(MEASURES, 'deny', {
      doc: 'What happens to a connection to an address inside (loopback, private, link-local, and what carries one of these) that sandbox.egress does not list: `allow` lets it through, everything else refuses it.',
    }),
    allowed_domains: list(
      text('domain', 255, {
        doc: 'The name of a host, `*.` with all names beneath it, an IP address, or `*`.',
      }),
      CONFIG_LIST_ITEMS,
      [ALL_WORD],
      {
        doc: 'An older way to write sandbox.egress, for files without that key: each entry holds for the ports 80 and 443. `["*"]` says nothing.',
        absent: 'what sandbox.egress lists',
        empty: 'nothing is reached',
        full: '`["*"]`: what sandbox.egress lists',
      },
    ),
    unlisted_domains: choice(MEASURES, 'ask', {
      doc: 'What happens to a connection to a name or an address that sandbox.egress does not list: it is refused, a human is asked while it waits, or it is let through and recorded (`audit` and `allow`).',
    }),
    opaque: choice(['deny', 'ask', 'allow'], 'ask', {
      doc: 'What happens to a command that nobody has read (docs/policy.md: code, build tools, terminals, programs that nothing is known of) where something of the sandbox is missing: the real files, the network of the device, a listed device or socket. Where nothing is missing it runs, and its class is recorded.',
    }),
    unknown_programs: choice(MEASURES, 'ask', {
      doc: 'Of no effect: write `opaque`. A program that nothing is known of is one of the commands that nobody has read.',
    }),
    known_programs: list(
      text('command', PATH_BYTES, {
        doc: 'A program by its name or its absolute path, and words behind it that must be there, as in allowed_commands.',
      }),
      CONFIG_LIST_ITEMS,
      [],
      {
        doc: 'Programs of this device of which somebody knows what they do, beside those that the daemon knows.',
        absent: 'none beside them',
        empty: 'none beside them',
        full: '`["*"]` names none: set opaque to allow instead',
      },
    ),
    reachable_addresses: list(
      text('range', 49, { doc: 'A CIDR range or a single address.' }),
      CONFIG_LIST_ITEMS,
      [],
      {
        doc: 'Addresses inside that may be reached all the same.',
        absent: 'none',
        empty: 'none',
        full: '`["*"]` is none: set internal_addresses to allow instead',
      },
    ),
    executables: list(PIN, CONFIG_LIST_ITEMS, [], {
      doc: 'Programs that run only with exactly this content; it is the very bytes that were checked that run.',
      absent: 'no program is pinned',
      empty: 'no program is pinned',
      full: 'there is no wildcard: every program is listed',
    }),
    pinned_only: boolean(false, { doc: 'Whether only the programs of `executables` may run.' }),
  },
)

export const POLICY = object('The rules over commands (docs/policy.md).', {
  rules_file: pathOr(null, { doc: 'A file of own rules, beside the default ones. null: none.' }),
  rules_sha256: textOr(null, 'digest', 64, {
    doc: 'SHA-256 of rules_file; a file that has another one halts the daemon at its start, and is not taken over by a reload. null: not pinned.',
  }),
  default_rules: boolean(true, { doc: 'Whether the rules that ship with the daemon hold.' }),
  disabled_rules: list(text('rule', 128, { doc: 'The id of a rule.' }), CONFIG_LIST_ITEMS, [], {
    doc: 'Rules that do not hold on this device.',
    absent: 'all of them hold',
    empty: 'all of them hold',
    full: 'there is no wildcard: set default_rules to false',
  }),
  broad_patterns: choice(['warn', 'refuse'], 'warn', {
    doc: 'What happens to an allowed command that looks narrow and is not (`find`, `git`, an interpreter): the daemon says what it opens, or does not start.',
  }),
})

export const QUOTA = object(
  'Limits of what is asked for; beyond them a request waits or is refused for the moment.',
  {
    queue: integer(0, 1_024, QUEUE_PLACES, {
      doc: 'Commands of all agents that may wait for their turn; half of it for one agent.',
    }),
    ticks_per_task: integer(1, 1_000_000, TICKS_PER_TASK, {
      nullable: true,
      doc: 'Commands of one session with the same declared goal, before a human must say that it may go on; null: not counted. A command without a goal belongs to no task.',
    }),
    tokens_per_session: integer(1, Number.MAX_SAFE_INTEGER, null, {
      doc: 'Output of a session in tokens (four bytes each), before a human must say that it may go on; null: not counted. 100000 suits a model.',
    }),
    tool_timeout_seconds: integer(1, TIMEOUT_MAX_SECONDS, null, {
      doc: 'How long any execution may run; null: as its capability set says.',
    }),
    output_bytes: integer(0, Number.MAX_SAFE_INTEGER, null, {
      doc: 'The output that any execution may deliver of each of its two streams; null: as its capability set says.',
    }),
  },
)

export const CONFIRM = object('Questions to a human.', {
  timeout_seconds: integer(1, 86_400, CONFIRM_TIMEOUT_SECONDS, {
    doc: 'How long an answer may take; silence is a no.',
  }),
  max_pending: integer(0, 64, CONFIRM_PENDING, {
    doc: 'Questions of one session that may wait; one more is refused for the moment.',
  }),
})
