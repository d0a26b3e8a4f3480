/**
 * The cells of transfers: every layer that has a say about a file that is moved, judged as the command that would do the
 * same.
 * @module
 */
import type { Facts, FileAction } from '../../../src/defense/facts.ts'
import { compileRules, OPEN_SET, policyWith, REQUEST, SET } from '../staged-facts.ts'
import { agent, asking, type Cell, OPEN, PASSED, refused, violated } from './cell.ts'

type Upload = Extract<FileAction, { kind: 'upload' }>
type Download = Extract<FileAction, { kind: 'download' }>

function uploads(path: string, change: Partial<Upload> = {}): Partial<Facts> {
  const action: Upload = {
    kind: 'upload',
    path,
    real: path,
    what: 'file',
    target: null,
    size: 10,
    mode: null,
    sha256: null,
    offset: 0,
    ...change,
  }
  return { request: { ...REQUEST, method: 'FileUpload' }, action }
}

function downloads(path: string, change: Partial<Download> = {}): Partial<Facts> {
  const action: Download = { kind: 'download', path, real: path, size: 10, offset: 0, ...change }
  return { request: { ...REQUEST, method: 'FileDownload' }, action }
}

const BOUNDED = policyWith({ ...SET, max_file_size_bytes: 10 })
const SIZED = policyWith({ max_file_size_bytes: 10 })
const denied = violated('CAPABILITY_PATH_DENIED', 'capability', 'default.denied_paths')
const unlisted = refused('CAPABILITY_PATH_DENIED', 'capability', 'default.allowed_paths')
const protectedPlace = [
  'VI_SWAP',
  'CAPABILITY_PATH_DENIED',
  'specifics',
  'protected.daemon',
  'critical',
  'high',
]
const tooLarge = ['status', 'FILE_TOO_LARGE', 'capability', 'default.max_file_size_bytes', 'warning']

/** A rule about what is written, for the commands that people write with. */
const RULED = policyWith(
  { max_file_size_bytes: 10 },
  {},
  {
    rules: compileRules([
      {
        id: 'test.units',
        argv: { program: ['tee', 'ln'], paths: ['/etc/systemd/**'] },
        action: 'deny',
        severity: 'high',
        description: 'Writes a unit.',
        why: 'It runs at the next start.',
        examples: { match: ['tee /etc/systemd/system/x'], pass: ['tee x'] },
      },
    ]),
  },
)

export const FILE_CELLS: readonly Cell[] = [
  {
    name: 'files: an upload within the set passes',
    facts: uploads('/srv/work/x'),
    policy: BOUNDED,
    gives: PASSED,
  },
  {
    name: 'files: a download within the set passes',
    facts: downloads('/srv/work/x'),
    policy: BOUNDED,
    gives: PASSED,
  },
  {
    name: 'files: an upload beyond the tools of a reader',
    facts: { ...uploads('/srv/work/x'), ...agent({ tier: 'T1' }) },
    policy: BOUNDED,
    gives: violated('CAPABILITY_DENIED', 'tool_access', 'tools.T1'),
  },
  {
    name: 'files: a download by a reader passes',
    facts: { ...downloads('/srv/work/x'), ...agent({ tier: 'T1' }) },
    policy: BOUNDED,
    gives: PASSED,
  },
  {
    name: 'files: a set that is not there',
    facts: { ...uploads('/srv/work/x'), ...agent({ capability: 'none' }) },
    policy: BOUNDED,
    gives: violated('CAPABILITY_DENIED', 'capability', 'capability.missing'),
  },
  ...[uploads, downloads].flatMap((moves): readonly Cell[] => [
    {
      name: `files: ${moves.name} a denied path`,
      facts: moves('/srv/work/secret/x'),
      policy: BOUNDED,
      gives: denied,
    },
    {
      name: `files: ${moves.name} what really lies in a denied path (OS-05)`,
      facts: moves('/srv/work/x', { real: '/srv/work/secret/x' }),
      policy: BOUNDED,
      gives: denied,
    },
    {
      name: `files: ${moves.name} what nothing lists`,
      facts: moves('/srv/x'),
      policy: BOUNDED,
      gives: unlisted,
    },
    {
      name: `files: ${moves.name} what really lies outside (OS-05)`,
      facts: moves('/srv/work/x', { real: '/etc/x' }),
      policy: BOUNDED,
      gives: unlisted,
    },
    {
      name: `files: ${moves.name} as much as may be`,
      facts: moves('/x', { size: 10 }),
      policy: SIZED,
      gives: PASSED,
    },
    {
      name: `files: ${moves.name} more than may be`,
      facts: moves('/x', { size: 11 }),
      policy: SIZED,
      gives: tooLarge,
    },
    {
      name: `files: ${moves.name} of the daemon`,
      facts: moves('/var/lib/edge/key'),
      policy: SIZED,
      gives: protectedPlace,
    },
    {
      name: `files: ${moves.name} of the daemon, through a link`,
      facts: moves('/srv/work/x', { real: '/var/lib/edge/key' }),
      policy: SIZED,
      gives: protectedPlace,
    },
    {
      name: `files: ${moves.name} where nobody may begin one more`,
      facts: moves('/x'),
      policy: SIZED,
      ledger: { transfersFree: false },
      gives: ['THROTTLE', 'RESPONSE_THROTTLED', 'quota', 'transfers', 'info'],
    },
    {
      name: `files: ${moves.name} under CHECKPOINT`,
      facts: moves('/x'),
      policy: SIZED,
      ledger: { level: 'CHECKPOINT' },
      gives: asking('RESPONSE_THROTTLED', 'level', 'level.checkpoint'),
    },
    {
      name: `files: ${moves.name} with hidden characters is recorded`,
      facts: moves('/x\u202e'),
      policy: SIZED,
      gives: ['EXECUTE', undefined, 'specifics', 'argument.hidden', 'warning'],
    },
  ]),
  {
    name: 'files: a download of a secret',
    facts: downloads('/srv/id_rsa'),
    policy: SIZED,
    gives: asking('CAPABILITY_PATH_DENIED', 'specifics', 'sensitive_files'),
  },
  {
    name: 'files: a download of a secret through a link',
    facts: downloads('/srv/x', { real: '/etc/shadow' }),
    policy: SIZED,
    gives: asking('CAPABILITY_PATH_DENIED', 'specifics', 'sensitive_files'),
  },
  {
    name: 'files: a download of a secret that completes a toxic triple',
    facts: downloads('/srv/id_rsa'),
    policy: policyWith({ max_file_size_bytes: 10 }, { sensitiveFiles: 'allow' }),
    ledger: { toxic: ['untrusted', 'outward'] },
    gives: asking('CAPABILITY_DENIED', 'specifics', 'toxic.untrusted-secret-outward'),
  },
  {
    name: 'files: an upload under RESTRICT',
    facts: uploads('/x'),
    policy: SIZED,
    ledger: { level: 'RESTRICT' },
    gives: violated('CAPABILITY_DENIED', 'level', 'level.restrict'),
  },
  {
    name: 'files: a download under RESTRICT passes',
    facts: downloads('/x'),
    policy: SIZED,
    ledger: { level: 'RESTRICT' },
    gives: PASSED,
  },
  {
    name: 'files: a rule over what is written holds for an upload too',
    facts: uploads('/etc/systemd/system/x'),
    policy: RULED,
    gives: ['VI_SWAP', 'CAPABILITY_CMD_DENIED', '13policy', 'test.units', 'critical', 'high'],
  },
  {
    name: 'files: and for where it really lies',
    facts: uploads('/srv/x', { real: '/etc/systemd/system/x' }),
    policy: RULED,
    gives: ['VI_SWAP', 'CAPABILITY_CMD_DENIED', '13policy', 'test.units', 'critical', 'high'],
  },
  {
    name: 'files: and for a link',
    facts: uploads('/etc/systemd/system/x', { what: 'link', target: '/srv/x', size: 0 }),
    policy: RULED,
    gives: ['VI_SWAP', 'CAPABILITY_CMD_DENIED', '13policy', 'test.units', 'critical', 'high'],
  },
  {
    name: 'files: a download is no writing',
    facts: downloads('/etc/systemd/x'),
    policy: RULED,
    gives: PASSED,
  },
  {
    name: 'files: a directory that is made passes',
    facts: uploads('/srv/d', { what: 'directory', size: 0 }),
    policy: OPEN,
    gives: PASSED,
  },
  {
    name: 'files: tokens are used up by what is downloaded',
    facts: downloads('/x'),
    policy: policyWith(
      { max_file_size_bytes: 10 },
      {},
      {
        quota: { ticksPerTask: null, tokensPerSession: 5, sessionsPerCaller: 4 },
      },
    ),
    ledger: { tokens: 5 },
    gives: asking('RESPONSE_THROTTLED', 'quota', 'quota.tokens_per_session'),
  },
  {
    name: 'files: one for whom it acts may not',
    facts: {
      ...downloads('/srv/work/x'),
      ...agent({
        delegation: { chain: [{ name: 'up', capability: 'narrow', tools: ['*'] }], hops: 1 },
      }),
    },
    policy: {
      ...SIZED,
      capabilities: { ...SIZED.capabilities, narrow: { ...OPEN_SET, allowed_paths: ['/no'] } },
    },
    gives: refused('CAPABILITY_PATH_DENIED', 'capability', 'narrow.allowed_paths'),
  },
]
