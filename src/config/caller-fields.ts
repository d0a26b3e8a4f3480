/**
 * The keys of one agent and of one capability set in sass.edge.json.
 * Missing lists deny and empty lists allow nothing (docs/responses.md); sources: the draft's sections 5.2 and 5.3.
 * @module
 */

import { TIER_NAMES } from '../base/tool-name.ts'
import { AGENT_NAME_BYTES, CONFIG_LIST_ITEMS, PATH_BYTES, TIMEOUT_MAX_SECONDS } from '../limits.ts'
import { SET_EGRESS } from './egress-fields.ts'
import { choice, integer, list, object, path, text, textOr } from './field-kinds.ts'

const GIB = 1_073_741_824
/** Stands for security.workspace_root in the paths of a capability set, so that the two cannot drift apart. */
export const WORKSPACE_WORD = '$WORKSPACE'
/** In `sandbox.hidden`: all places of secrets that are known (docs/security.md). */
export const SECRETS_WORD = '$SECRETS'
/** There as well: files of the branched directories whose names say that they hold secrets. */
export const WORKSPACE_SECRETS_WORD = '$WORKSPACE_SECRETS'
export const ALL_WORD = '*'
/** The capability set of an agent that names none. */
export const DEFAULT_CAPABILITY = 'default'

const COMMAND = text('command', PATH_BYTES, {
  doc: 'A program by its base name or absolute path, with the first arguments that it must have (`git status`); `*` within a word stands for any characters, alone for every command.',
})
const CAPABILITY_PATH = path({
  words: [ALL_WORD, WORKSPACE_WORD],
  doc: 'A file or a directory with all beneath it, `$WORKSPACE` for security.workspace_root, or `*` alone for everything.',
})

/** Of at most four properties: more cannot be told apart. */
export const COMBINATIONS = 16
export const COMBINATION = text('combination', 64, {
  doc: 'Properties joined by +: `untrusted` took in what strangers wrote, `secret` saw secrets, `outward` can send out, `change` changes rights or removes files.',
})

export const AGENT = object('One caller that may authenticate.', {
  name: text('name', AGENT_NAME_BYTES, { doc: 'Its name, unique: 1 to 64 of A-Z a-z 0-9 . _ - (required).' }),
  public_key: text('public-key', AGENT_NAME_BYTES, {
    doc: 'Its Ed25519 public key, unique: 32 bytes in base64url without padding, 43 characters (required).',
  }),
  role: choice(['agent', 'operator'], 'agent', {
    doc: 'An operator may also call the methods that watch and steer the daemon.',
  }),
  capability: textOr(DEFAULT_CAPABILITY, 'name', AGENT_NAME_BYTES, {
    doc: 'The set of `capabilities` that bounds it.',
  }),
  tier: choice(TIER_NAMES, 'T3', {
    doc: 'The tools that it may have at most: T1 reads, T2 also writes and runs commands, T3 also uses the network, T5 also hands work on to other agents (Task); T4 gives what T2 does, since this device keeps no memory for agents.',
  }),
  tools: list(text('tool', 32, { doc: 'The name of a tool, or `*`.' }), 64, [ALL_WORD], {
    doc: 'The tools of its tier that it has.',
    absent: 'all of its tier: the tier is what grants, this only narrows',
    empty: 'none, so it can run nothing',
    full: '`["*"]`: all of its tier',
  }),
  delegated_by: textOr(null, 'name', AGENT_NAME_BYTES, {
    doc: 'The agent for whom this one acts; then it may do only what both may. null: it acts for itself.',
  }),
})

export const CAPABILITY = object(
  'What an agent may do. Denied is looked at first; what nothing allows is denied.',
  {
    allowed_commands: list(COMMAND, CONFIG_LIST_ITEMS, [], {
      doc: 'The commands that may run.',
      absent: 'no command may run',
      empty: 'no command may run',
      full: '`["*"]`: every command that is not denied may run',
    }),
    denied_commands: list(COMMAND, CONFIG_LIST_ITEMS, [], {
      doc: 'The commands that may not run, whatever is allowed.',
      absent: 'nothing is denied beyond what is not allowed',
      empty: 'nothing is denied beyond what is not allowed',
      full: '`["*"]`: no command may run',
    }),
    forbidden_commands: list(COMMAND, CONFIG_LIST_ITEMS, [], {
      doc: 'The commands that nobody who works as this agent has any business with: one try contains the agent until an operator lets it go on.',
      absent: 'no command is forbidden beyond what is denied',
      empty: 'no command is forbidden beyond what is denied',
      full: '`["*"]`: every command contains the agent',
    }),
    plan: list(COMMAND, CONFIG_LIST_ITEMS, null, {
      doc: 'The commands that its task consists of. Others may run where they are allowed; an operator is told where they become many (defense.anomaly.drift_permille). null: no plan.',
      absent: 'no plan, so nothing is outside of it',
      empty: 'every command is outside of it',
      full: '`["*"]`: nothing is outside of it',
    }),
    combinations: list(COMBINATION, COMBINATIONS, null, {
      doc: 'What may come together in one of its sessions. It allows nothing: what else comes together is permitted or not as ever (security.toxic_combinations), and an operator is told. null: nobody has said.',
      absent: 'nothing is told',
      empty: 'any two that come together are told',
      full: '`["untrusted+secret+outward+change"]`: nothing is told',
    }),
    allowed_paths: list(CAPABILITY_PATH, CONFIG_LIST_ITEMS, [], {
      doc: 'The files and directories that may be used, as a working directory too.',
      absent: 'no path may be used',
      empty: 'no path may be used',
      full: '`["*"]`: every path that is not denied may be used',
    }),
    denied_paths: list(CAPABILITY_PATH, CONFIG_LIST_ITEMS, [], {
      doc: 'The files and directories that may not be used, whatever is allowed.',
      absent: 'nothing is denied beyond what is not allowed',
      empty: 'nothing is denied beyond what is not allowed',
      full: '`["*"]`: no path may be used',
    }),
    max_concurrent: integer(1, 256, 8, {
      doc: 'Executions of one agent at the same time; one more waits for its turn (quota.queue).',
    }),
    timeout_seconds: integer(1, TIMEOUT_MAX_SECONDS, null, {
      doc: 'How long an execution may run before all of its processes are killed; null: as long as it likes.',
    }),
    max_file_size_bytes: integer(0, Number.MAX_SAFE_INTEGER, GIB, {
      doc: 'The largest file that may be transferred; 0: none but empty ones.',
    }),
    run_as: textOr(null, 'name', AGENT_NAME_BYTES, {
      doc: 'The user of the device that commands run as, which only a daemon that is root can give. null: the user of the daemon, without any of its rights.',
    }),
    require_plan: choice(['never', 'restricted', 'always'], 'never', {
      doc: 'What runs only as a call of a signed plan (docs/plans.md): `restricted`, what nobody has read (docs/policy.md), about which a human is asked otherwise; `always`, every command and every transfer of a file.',
    }),
    network: choice(['default', 'gate', 'none', 'host'], 'default', {
      doc: 'The network of commands, as sandbox.network; by `default` what that says. `host` is for operators, or needs sandbox.trust_network.',
    }),
    egress: SET_EGRESS,
    allowed_env: list(
      text('variable', 256, {
        doc: 'The name of an environment variable, the beginning of names followed by `*`, or `*`.',
      }),
      CONFIG_LIST_ITEMS,
      [],
      {
        doc: 'The environment variables that a request may set; those that change what a program loads (LD_* and its kin) never pass.',
        absent: 'a request may set none',
        empty: 'a request may set none',
        full: '`["*"]`: every variable but those that never pass',
      },
    ),
    output_bytes: integer(0, Number.MAX_SAFE_INTEGER, null, {
      doc: 'The output that one execution may deliver of each of its two streams; null: no cap.',
    }),
  },
)
