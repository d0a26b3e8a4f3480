/**
 * The keys of `sandbox` in sass.edge.json: where commands run, what they can change there, what they see.
 * Sources of the defaults: docs/sandbox.md, and limits.ts.
 * @module
 */

import {
  BRANCH_FILES,
  CONFIG_LIST_ITEMS,
  COPY_BYTES,
  RESERVE_BYTES,
  SESSION_PROCESSES,
  TIMEOUT_MAX_SECONDS,
} from '../limits.ts'
import { SECRETS_WORD, WORKSPACE_SECRETS_WORD, WORKSPACE_WORD } from './caller-fields.ts'
import { EGRESS } from './egress-fields.ts'
import { boolean, choice, integer, list, object, path } from './field-kinds.ts'

/** Programs, libraries, settings, the packages that are installed, the log of the system. */
export const READ_PLACES: readonly string[] = [
  ...['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/etc', '/opt', '/sys'],
  ...['/var/log', '/var/lib/dpkg', '/var/lib/apt', '/var/lib/opkg'],
]

export const SANDBOX = object(
  'Where commands run (docs/sandbox.md): in a branch of the real files, which changes nothing until somebody merges it.',
  {
    branch_roots: list(
      path({ words: [WORKSPACE_WORD], doc: 'A directory, or `$WORKSPACE` for security.workspace_root.' }),
      CONFIG_LIST_ITEMS,
      [WORKSPACE_WORD],
      {
        doc: 'The directories that commands may change, in their branch. Everything else can only be read.',
        absent: 'the workspace',
        empty: 'nothing can be written but what lies in memory (/tmp)',
        full: '`["/"]`: every directory of the device',
      },
    ),
    read: list(path({ doc: 'A directory or a file.' }), CONFIG_LIST_ITEMS, READ_PLACES, {
      doc: 'What commands can read beside the workspace and what they may change. Nothing else is there: an empty directory stands in its place.',
      absent: 'programs, libraries, settings, the record of installed packages and the log of the system',
      empty: 'nothing but the workspace, so that no program is found',
      full: '`["/"]`: the whole device but for what is hidden',
    }),
    hidden: list(
      path({
        words: [SECRETS_WORD, WORKSPACE_SECRETS_WORD],
        doc: 'A file or directory, `*` for any characters of a name; or `$SECRETS` for all places of secrets that are known, or `$WORKSPACE_SECRETS` for files of the branched directories with the names of such (docs/security.md).',
      }),
      CONFIG_LIST_ITEMS,
      [SECRETS_WORD],
      {
        doc: 'What is not there for commands within what they can read.',
        absent: 'the known places of secrets',
        empty: 'nothing: what the user may read, commands read',
        full: 'leave it out of `read` instead',
      },
    ),
    sockets: list(path({ doc: 'A Unix socket of the device.' }), CONFIG_LIST_ITEMS, [], {
      doc: 'Unix sockets of the device that commands may connect to. Whoever listens there does what commands ask, outside of any branch.',
      absent: 'none',
      empty: 'none',
      full: 'there is no wildcard: name each',
    }),
    require: choice(['overlay', 'copy', 'none'], 'overlay', {
      doc: 'The least that keeps the real files apart: `overlay`, a whole `copy` where the kernel has no overlay, or `none`, which runs commands on the real files. Where it cannot be had, nothing runs.',
    }),
    copy_bytes: integer(0, Number.MAX_SAFE_INTEGER, COPY_BYTES, {
      doc: 'Most bytes of the branched directories where they have to be copied (`require`: `copy`).',
    }),
    volatile: list(path({ doc: 'A directory beneath a branch root.' }), CONFIG_LIST_ITEMS, [], {
      doc: 'Directories that lie in memory, are empty at first, and never reach a diff.',
      absent: 'none but /tmp and its kin',
      empty: 'none but /tmp and its kin',
      full: 'there is no wildcard: name each',
    }),
    memory_directory_bytes: integer(65_536, Number.MAX_SAFE_INTEGER, null, {
      doc: 'Most bytes of all directories in memory of a session together, /tmp among them; null: a quarter of the memory of the device.',
    }),
    devices: list(path({ doc: 'A device file, or a directory of them.' }), CONFIG_LIST_ITEMS, [], {
      doc: 'Devices that commands may use beside null, zero, full, random, urandom, tty and terminals.',
      absent: 'none beside those',
      empty: 'none beside those',
      full: '`["/dev"]` is refused: name each',
    }),
    limits: object(
      'Bounds of the commands of one session together, where the kernel lets the daemon count (control groups), and of each.',
      {
        memory_bytes: integer(1_048_576, Number.MAX_SAFE_INTEGER, null, {
          doc: 'Memory of a session; what takes more is killed. null: three quarters of that of the device.',
        }),
        processes: integer(1, 4_194_304, SESSION_PROCESSES, {
          doc: 'Processes and threads of a session; one more cannot be started.',
        }),
        open_files: integer(16, 1_048_576, null, {
          doc: 'Descriptors that each process may have open (RLIMIT_NOFILE); null: as many as the daemon.',
        }),
        file_bytes: integer(0, Number.MAX_SAFE_INTEGER, null, {
          doc: 'The largest file that a process may write (RLIMIT_FSIZE); null: as large as there is room for.',
        }),
        branch_bytes: integer(1_048_576, Number.MAX_SAFE_INTEGER, null, {
          doc: 'What the branch of a session may take up on the disk of the state directory; what takes more is ended, and its branch stays. null: half of what is free there when the first command of the session begins, at most 4 GiB. No file of a command grows larger than this.',
        }),
        branch_files: integer(16, 16_777_216, BRANCH_FILES, {
          doc: 'Files and directories that the branch of a session may hold.',
        }),
        reserve_bytes: integer(0, 1_099_511_627_776, RESERVE_BYTES, {
          doc: 'Taken ahead on the disk of the state directory, and given back when that is full to the record, to drops and purges and to a start; at most an eighth of the disk. With less than this free beside it, the session that grew most is ended. 0: nothing.',
        }),
        cpu_percent: integer(1, 100, null, {
          doc: 'Share of the time of all processors together that a session may take; null: as much as there is.',
        }),
        silence_seconds: integer(1, TIMEOUT_MAX_SECONDS, null, {
          doc: 'How long a command may say nothing before all of its processes are killed; null: as long as it likes.',
        }),
      },
    ),
    network: choice(['gate', 'none', 'host'], 'gate', {
      doc: 'The network of commands: `gate` is one of their own, from which they reach what `egress` lists and nothing else; `none` is one with nothing in it; `host` is that of the device, for people.',
    }),
    egress: EGRESS,
    trust_network: boolean(false, {
      doc: 'Whether a capability set of an agent may have the network of the device (`network`: `host`), where no list holds.',
    }),
  },
)
