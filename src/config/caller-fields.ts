/**
 * The keys of one agent and of one capability set in sass.edge.json.
 * Missing lists deny and empty lists allow nothing (docs/responses.md); sources: the draft's sections 5.2 and 5.3.
 * @module
 */

import { TIER_NAMES } from '../base/tool-name.ts'
import { AGENT_NAME_BYTES, CONFIG_LIST_ITEMS, PATH_BYTES, TIMEOUT_MAX_SECONDS } from '../limits.ts'
import { SET_EGRESS } from './egress-fields.ts'
import type { ObjectField, PathField, TextField } from './field-kinds.ts'

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

const COMMAND = {
  kind: 'text',
  format: 'command',
  maxBytes: PATH_BYTES,
  doc: 'A program by its base name or absolute path, with the first arguments that it must have (`git status`); `*` within a word stands for any characters, alone for every command.',
} as const satisfies TextField
const CAPABILITY_PATH = {
  kind: 'path',
  words: [ALL_WORD, WORKSPACE_WORD],
  doc: 'A file or a directory with all beneath it, `$WORKSPACE` for security.workspace_root, or `*` alone for everything.',
} as const satisfies PathField

/** Of at most four properties: more cannot be told apart. */
export const COMBINATIONS = 16
export const COMBINATION = {
  kind: 'text',
  format: 'combination',
  maxBytes: 64,
  doc: 'Properties joined by +: `untrusted` took in what strangers wrote, `secret` saw secrets, `outward` can send out, `change` changes rights or removes files.',
} as const satisfies TextField

export const AGENT = {
  kind: 'object',
  doc: 'One caller that may authenticate.',
  fields: {
    name: {
      kind: 'text',
      format: 'name',
      maxBytes: AGENT_NAME_BYTES,
      doc: 'Its name, unique: 1 to 64 of A-Z a-z 0-9 . _ - (required).',
    },
    public_key: {
      kind: 'text',
      format: 'public-key',
      maxBytes: AGENT_NAME_BYTES,
      doc: 'Its Ed25519 public key, unique: 32 bytes in base64url without padding, 43 characters (required).',
    },
    role: {
      kind: 'choice',
      choices: ['agent', 'operator'],
      default: 'agent',
      doc: 'An operator may also call the methods that watch and steer the daemon.',
    },
    capability: {
      kind: 'text',
      format: 'name',
      maxBytes: AGENT_NAME_BYTES,
      default: DEFAULT_CAPABILITY,
      doc: 'The set of `capabilities` that bounds it.',
    },
    tier: {
      kind: 'choice',
      choices: TIER_NAMES,
      default: 'T3',
      doc: 'The tools that it may have at most: T1 reads, T2 also writes and runs commands, T3 also uses the network, T5 also hands work on to other agents (Task); T4 gives what T2 does, since this device keeps no memory for agents.',
    },
    tools: {
      kind: 'list',
      item: { kind: 'text', format: 'tool', maxBytes: 32, doc: 'The name of a tool, or `*`.' },
      maxItems: 64,
      default: [ALL_WORD],
      doc: 'The tools of its tier that it has.',
      absent: 'all of its tier: the tier is what grants, this only narrows',
      empty: 'none, so it can run nothing',
      full: '`["*"]`: all of its tier',
    },
    delegated_by: {
      kind: 'text',
      format: 'name',
      maxBytes: AGENT_NAME_BYTES,
      default: null,
      nullable: true,
      doc: 'The agent for whom this one acts; then it may do only what both may. null: it acts for itself.',
    },
  },
} as const satisfies ObjectField

export const CAPABILITY = {
  kind: 'object',
  doc: 'What an agent may do. Denied is looked at first; what nothing allows is denied.',
  fields: {
    allowed_commands: {
      kind: 'list',
      item: COMMAND,
      maxItems: CONFIG_LIST_ITEMS,
      default: [],
      doc: 'The commands that may run.',
      absent: 'no command may run',
      empty: 'no command may run',
      full: '`["*"]`: every command that is not denied may run',
    },
    denied_commands: {
      kind: 'list',
      item: COMMAND,
      maxItems: CONFIG_LIST_ITEMS,
      default: [],
      doc: 'The commands that may not run, whatever is allowed.',
      absent: 'nothing is denied beyond what is not allowed',
      empty: 'nothing is denied beyond what is not allowed',
      full: '`["*"]`: no command may run',
    },
    forbidden_commands: {
      kind: 'list',
      item: COMMAND,
      maxItems: CONFIG_LIST_ITEMS,
      default: [],
      doc: 'The commands that nobody who works as this agent has any business with: one try contains the agent until an operator lets it go on.',
      absent: 'no command is forbidden beyond what is denied',
      empty: 'no command is forbidden beyond what is denied',
      full: '`["*"]`: every command contains the agent',
    },
    plan: {
      kind: 'list',
      item: COMMAND,
      maxItems: CONFIG_LIST_ITEMS,
      default: null,
      nullable: true,
      doc: 'The commands that its task consists of. Others may run where they are allowed; an operator is told where they become many (defense.anomaly.drift_permille). null: no plan.',
      absent: 'no plan, so nothing is outside of it',
      empty: 'every command is outside of it',
      full: '`["*"]`: nothing is outside of it',
    },
    combinations: {
      kind: 'list',
      item: COMBINATION,
      maxItems: COMBINATIONS,
      default: null,
      nullable: true,
      doc: 'What may come together in one of its sessions. It allows nothing: what else comes together is permitted or not as ever (security.toxic_combinations), and an operator is told. null: nobody has said.',
      absent: 'nothing is told',
      empty: 'any two that come together are told',
      full: '`["untrusted+secret+outward+change"]`: nothing is told',
    },
    allowed_paths: {
      kind: 'list',
      item: CAPABILITY_PATH,
      maxItems: CONFIG_LIST_ITEMS,
      default: [],
      doc: 'The files and directories that may be used, as a working directory too.',
      absent: 'no path may be used',
      empty: 'no path may be used',
      full: '`["*"]`: every path that is not denied may be used',
    },
    denied_paths: {
      kind: 'list',
      item: CAPABILITY_PATH,
      maxItems: CONFIG_LIST_ITEMS,
      default: [],
      doc: 'The files and directories that may not be used, whatever is allowed.',
      absent: 'nothing is denied beyond what is not allowed',
      empty: 'nothing is denied beyond what is not allowed',
      full: '`["*"]`: no path may be used',
    },
    max_concurrent: {
      kind: 'integer',
      min: 1,
      max: 256,
      default: 8,
      doc: 'Executions of one agent at the same time; one more waits for its turn (quota.queue).',
    },
    timeout_seconds: {
      kind: 'integer',
      min: 1,
      max: TIMEOUT_MAX_SECONDS,
      default: null,
      nullable: true,
      doc: 'How long an execution may run before all of its processes are killed; null: as long as it likes.',
    },
    max_file_size_bytes: {
      kind: 'integer',
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
      default: GIB,
      doc: 'The largest file that may be transferred; 0: none but empty ones.',
    },
    run_as: {
      kind: 'text',
      format: 'name',
      maxBytes: AGENT_NAME_BYTES,
      default: null,
      nullable: true,
      doc: 'The user of the device that commands run as, which only a daemon that is root can give. null: the user of the daemon, without any of its rights.',
    },
    require_plan: {
      kind: 'choice',
      choices: ['never', 'restricted', 'always'],
      default: 'never',
      doc: 'What runs only as a call of a signed plan (docs/plans.md): `restricted`, what nobody has read (docs/policy.md), about which a human is asked otherwise; `always`, every command and every transfer of a file.',
    },
    network: {
      kind: 'choice',
      choices: ['default', 'gate', 'none', 'host'],
      default: 'default',
      doc: 'The network of commands, as sandbox.network; by `default` what that says. `host` is for operators, or needs sandbox.trust_network.',
    },
    egress: SET_EGRESS,
    allowed_env: {
      kind: 'list',
      item: {
        kind: 'text',
        format: 'variable',
        maxBytes: 256,
        doc: 'The name of an environment variable, the beginning of names followed by `*`, or `*`.',
      },
      maxItems: CONFIG_LIST_ITEMS,
      default: [],
      doc: 'The environment variables that a request may set; those that change what a program loads (LD_* and its kin) never pass.',
      absent: 'a request may set none',
      empty: 'a request may set none',
      full: '`["*"]`: every variable but those that never pass',
    },
    output_bytes: {
      kind: 'integer',
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
      default: null,
      nullable: true,
      doc: 'The output that one execution may deliver of each of its two streams; null: no cap.',
    },
  },
} as const satisfies ObjectField
