/**
 * The cells of the layers about the command and its limits: single things, rules, quota.
 * @module
 */
import type { ExecuteAction } from '../../../src/defense/facts.ts'
import { executing, exposed, OPERATOR, POLICY, policyWith, REQUEST } from '../staged-facts.ts'
import {
  asked,
  authenticates,
  type Cell,
  noted,
  OPEN,
  PASSED,
  questions,
  refused,
  runs,
  violated,
} from './cell.ts'

/** The call of a plan whose tool is the file with the digest `aa`. */
function planned(sha256: string): ExecuteAction {
  return {
    ...executing(),
    executable: { path: '/usr/bin/ls', device: '1', inode: '2', sha256 },
    plan: { call: 'c', id: 'p', issuer: 'i', sha256: 'aa', tool: 'list' },
  }
}

export const COMMAND_CELLS: readonly Cell[] = [
  {
    name: 'specifics: a pinned program that is another file now',
    facts: {
      action: { ...executing(), executable: { path: '/usr/bin/ls', device: '1', inode: '2', sha256: 'bb' } },
    },
    policy: policyWith({}, { pins: { '/usr/bin/ls': 'aa' } }),
    gives: violated('CAPABILITY_CMD_DENIED', 'specifics', 'executables.changed'),
  },
  {
    name: 'specifics: a pinned program that was not looked at',
    policy: policyWith({}, { pins: { '/usr/bin/ls': 'aa' } }),
    gives: violated('CAPABILITY_CMD_DENIED', 'specifics', 'executables.changed'),
  },
  {
    name: 'specifics: a pinned program passes',
    facts: {
      action: { ...executing(), executable: { path: '/usr/bin/ls', device: '1', inode: '2', sha256: 'aa' } },
    },
    policy: policyWith({}, { pins: { '/usr/bin/ls': 'aa' }, pinnedOnly: true }),
    gives: PASSED,
  },
  {
    name: 'specifics: a tool whose program is another file now',
    facts: { action: planned('bb') },
    gives: refused('CAPABILITY_CMD_DENIED', 'specifics', 'executables.tool'),
  },
  {
    name: 'specifics: a tool passes where only pinned programs may run, since its manifest pins it',
    facts: { action: planned('aa') },
    policy: policyWith({}, { pins: { '/usr/bin/cat': 'aa' }, pinnedOnly: true }),
    gives: PASSED,
  },
  {
    name: 'specifics: a program without a pin where only pinned ones may run',
    policy: policyWith({}, { pins: { '/usr/bin/cat': 'aa' }, pinnedOnly: true }),
    gives: refused('CAPABILITY_CMD_DENIED', 'specifics', 'executables.unpinned'),
  },
  {
    name: 'specifics: a program without a pin passes elsewhere',
    policy: policyWith({}, { pins: { '/usr/bin/cat': 'aa' } }),
    gives: PASSED,
  },
  {
    name: "specifics: the daemon's own files",
    facts: runs(['ls', '/var/lib/edge/state']),
    policy: OPEN,
    gives: ['VI_SWAP', 'CAPABILITY_PATH_DENIED', 'specifics', 'protected.daemon', 'critical', 'high'],
  },
  {
    name: "specifics: the daemon's own files by a symbolic link",
    facts: { ...runs(['ls', 'link']), realPaths: [{ path: '/srv/work/link', real: '/var/lib/edge' }] },
    policy: OPEN,
    gives: ['VI_SWAP', 'CAPABILITY_PATH_DENIED', 'specifics', 'protected.daemon', 'critical', 'high'],
  },
  {
    name: "13policy: a directory that holds the daemon's own files is removed",
    facts: runs(['mv', '/var/lib', '/srv/work/x']),
    policy: OPEN,
    gives: ['VI_SWAP', 'CAPABILITY_PATH_DENIED', '13policy', 'protected.around', 'critical', 'high'],
  },
  {
    name: "13policy: a directory beside the daemon's own files passes",
    facts: runs(['mv', '/var/lib/other', '/srv/work/x']),
    policy: OPEN,
    gives: PASSED,
  },
  {
    name: 'specifics: another program that would be started is not the pinned one',
    facts: { ...runs(['env', 'tool']), programs: [{ path: '/usr/bin/tool', sha256: '1'.repeat(64) }] },
    policy: { ...OPEN, security: { ...POLICY.security, pins: { '/usr/bin/tool': '0'.repeat(64) } } },
    gives: violated('CAPABILITY_CMD_DENIED', 'specifics', 'executables.changed'),
  },
  {
    name: "specifics: a workspace among the daemon's own files passes",
    facts: runs(['ls', '/var/lib/edge/workspace/x']),
    policy: OPEN,
    gives: PASSED,
  },
  {
    name: 'specifics: characters in a program that nobody sees',
    facts: runs(['l\u200bs']),
    policy: OPEN,
    gives: violated('CAPABILITY_CMD_DENIED', 'specifics', 'argument.hidden'),
  },
  {
    name: 'specifics: characters in an argument that nobody sees are noted',
    facts: runs(['ls', 'a\u202eb']),
    policy: OPEN,
    gives: noted('specifics', 'argument.hidden'),
  },
  ...questions(
    'specifics: a file that holds secrets',
    'CAPABILITY_PATH_DENIED',
    'specifics',
    'sensitive_files',
    {
      facts: runs(['cat', '.env']),
      policy: OPEN,
    },
  ),
  {
    name: 'specifics: a file that holds secrets, denied',
    facts: runs(['cat', '.env']),
    policy: policyWith({}, { sensitiveFiles: 'deny' }),
    gives: violated('CAPABILITY_PATH_DENIED', 'specifics', 'sensitive_files'),
  },
  {
    name: 'specifics: a file that holds secrets, under RESTRICT',
    facts: runs(['cat', '.env']),
    policy: OPEN,
    ledger: { level: 'RESTRICT' },
    gives: violated('CAPABILITY_PATH_DENIED', 'specifics', 'sensitive_files'),
  },
  {
    name: 'specifics: a file that holds secrets, audited',
    facts: runs(['cat', '.env']),
    policy: policyWith({}, { sensitiveFiles: 'audit' }),
    gives: noted('specifics', 'sensitive_files'),
  },
  {
    name: 'specifics: a file that holds secrets, allowed, passes',
    facts: runs(['cat', '.env']),
    policy: policyWith({}, { sensitiveFiles: 'allow' }),
    gives: PASSED,
  },
  {
    name: 'specifics: what nobody has read runs where nothing of the sandbox is missing, and is told by its class',
    facts: runs(['plantctl', 'stop']),
    policy: OPEN,
    gives: ['EXECUTE', undefined, 'specifics', 'opaque.unknown', 'info'],
  },
  {
    name: 'specifics: the strictest class of several is told',
    facts: runs(['sh', '-c', 'make && ./x.sh']),
    policy: OPEN,
    gives: ['EXECUTE', undefined, 'specifics', 'opaque.file', 'info'],
  },
  ...questions(
    'specifics: what nobody has read, with the network of the device',
    'CAPABILITY_CMD_DENIED',
    'specifics',
    'opaque.interpreter',
    { facts: { action: exposed(executing(['python3', 'x.py']), 'host_network') }, policy: OPEN },
    ['EXECUTE', undefined, 'specifics', 'opaque.interpreter', 'info'],
  ),
  {
    name: 'specifics: what nobody has read, on the real files, refused',
    facts: { action: exposed(executing(['plantctl', 'stop']), 'real_files') },
    policy: policyWith({}, { opaque: 'deny' }),
    gives: refused('CAPABILITY_CMD_DENIED', 'specifics', 'opaque.unknown'),
  },
  {
    name: 'specifics: what nobody has read, with a device, allowed',
    facts: { action: exposed(executing(['plantctl', 'stop']), 'devices') },
    policy: policyWith({}, { opaque: 'allow' }),
    gives: ['EXECUTE', undefined, 'specifics', 'opaque.unknown', 'info'],
  },
  {
    name: 'specifics: where a command would run is not known, so it is taken to reach the device',
    facts: { action: { ...executing(['plantctl', 'stop']), place: undefined } as never },
    policy: policyWith({}, { opaque: 'deny' }),
    gives: refused('CAPABILITY_CMD_DENIED', 'specifics', 'opaque.unknown'),
  },
  {
    name: 'specifics: a plain command passes wherever it runs',
    facts: { action: exposed(executing(['ls']), 'real_files', 'host_network') },
    policy: policyWith({}, { opaque: 'deny' }),
    gives: PASSED,
  },
  {
    name: 'specifics: a program that is not on the device starts nothing, and passes',
    facts: {
      action: exposed({ ...executing(['plantctl', 'stop']), executable: null }, 'real_files'),
    },
    policy: policyWith({}, { opaque: 'deny' }),
    gives: PASSED,
  },
  {
    name: 'specifics: what would be started by what is not on the device is judged',
    facts: {
      action: exposed({ ...executing(['env', 'plantctl', 'stop']), executable: null }, 'real_files'),
    },
    policy: policyWith({}, { opaque: 'deny' }),
    gives: refused('CAPABILITY_CMD_DENIED', 'specifics', 'opaque.unknown'),
  },
  {
    name: 'specifics: a program that the operator knows, with these words, is plain',
    facts: runs(['plantctl', 'status']),
    policy: policyWith({}, { knownPrograms: ['plantctl status'] }),
    gives: PASSED,
  },
  {
    name: 'specifics: a program whose file is pinned is plain',
    facts: { ...runs(['/opt/plant/plantctl', 'stop']), programs: [] },
    policy: policyWith({}, { pins: { '/opt/plant/plantctl': '0'.repeat(64) } }),
    gives: PASSED,
  },
  {
    name: 'specifics: a program that the set of the caller names is plain',
    facts: runs(['plantctl', 'stop']),
    policy: policyWith({ allowed_commands: ['plantctl', '*'] }, {}),
    gives: PASSED,
  },
  {
    name: 'specifics: an address outside passes',
    facts: runs(['curl', 'https://example.com/']),
    policy: OPEN,
    gives: PASSED,
  },
  ...questions(
    'specifics: a toxic combination',
    'CAPABILITY_DENIED',
    'specifics',
    'toxic.untrusted-secret-outward',
    { facts: runs(['curl', 'https://example.com/']), policy: OPEN, ledger: { toxic: ['secret'] } },
  ),
  {
    name: 'specifics: a toxic combination, denied',
    facts: runs(['curl', 'https://example.com/']),
    policy: policyWith({}, { toxicCombinations: 'deny' }),
    ledger: { toxic: ['secret'] },
    gives: refused('CAPABILITY_DENIED', 'specifics', 'toxic.untrusted-secret-outward'),
  },
  {
    name: 'specifics: a toxic combination, audited',
    facts: runs(['curl', 'https://example.com/']),
    policy: policyWith({}, { toxicCombinations: 'audit' }),
    ledger: { toxic: ['secret'] },
    gives: noted('specifics', 'toxic.untrusted-secret-outward'),
  },
  {
    name: 'specifics: a toxic combination, allowed, passes',
    facts: runs(['curl', 'https://example.com/']),
    policy: policyWith({}, { toxicCombinations: 'allow' }),
    ledger: { toxic: ['secret'] },
    gives: PASSED,
  },
  {
    name: 'specifics: what a stranger wrote, and then a change, is noted',
    facts: runs(['chmod', '+x', 'a']),
    policy: OPEN,
    ledger: { toxic: ['untrusted'] },
    gives: noted('specifics', 'toxic.untrusted-change'),
  },

  ...(['high', 'medium'] as const).map(
    (severity): Cell => ({
      name: `13policy: a ${severity} denial`,
      facts: runs([`deny-${severity}`]),
      policy: OPEN,
      gives: ['VI_SWAP', 'CAPABILITY_CMD_DENIED', '13policy', `test.deny-${severity}`, 'critical', severity],
    }),
  ),
  ...(['critical', 'high', 'medium'] as const).flatMap((severity): Cell[] => [
    {
      name: `13policy: a ${severity} challenge`,
      facts: runs([`challenge-${severity}`]),
      policy: OPEN,
      gives: ['CHALLENGE', 'RESPONSE_CHALLENGE_REQUIRED', '13policy', `test.challenge-${severity}`, 'info'],
    },
    {
      name: `13policy: a ${severity} challenge that is met`,
      facts: { ...runs([`challenge-${severity}`]), ...asked({ challenge: 'passed' }) },
      policy: OPEN,
      gives: noted('13policy', `test.challenge-${severity}`),
    },
    {
      name: `13policy: a ${severity} challenge, too often`,
      facts: runs([`challenge-${severity}`]),
      policy: OPEN,
      ledger: { challengesFree: false },
      gives: ['THROTTLE', 'CHALLENGE_RATE_LIMIT', '13policy', `test.challenge-${severity}`, 'warning'],
    },
  ]),
  ...(['deny-low', 'challenge-low', 'note-low', 'note-critical'] as const).map(
    (rule): Cell => ({
      name: `13policy: ${rule} is noted`,
      facts: runs([rule]),
      policy: OPEN,
      gives: noted('13policy', `test.${rule}`),
    }),
  ),
  ...(['critical', 'high', 'medium', 'low'] as const).flatMap((severity) =>
    questions(
      `13policy: a rule that asks, ${severity}`,
      'CAPABILITY_CMD_DENIED',
      '13policy',
      `test.ask-${severity}`,
      { facts: runs([`ask-${severity}`]), policy: OPEN },
      noted('13policy', `test.ask-${severity}`),
    ),
  ),
  {
    name: '13policy: a yes does not lift a denial of the same line',
    facts: {
      ...runs(['sh', '-c', 'ask-high; deny-medium']),
      request: { ...REQUEST, approvals: [{ rule: 'test.ask-high', outcome: 'approved' }] },
    },
    policy: OPEN,
    gives: ['VI_SWAP', 'CAPABILITY_CMD_DENIED', '13policy', 'test.deny-medium', 'critical', 'medium'],
  },
  {
    name: '13policy: what is asked about takes along a directory that holds what is the daemon’s own',
    facts: runs(['sh', '-c', 'ask-high; rm -r /var/lib']),
    policy: OPEN,
    gives: ['VI_SWAP', 'CAPABILITY_PATH_DENIED', '13policy', 'protected.around', 'critical', 'high'],
  },
  {
    name: '13policy: a hostile command is hostile also where the set does not allow it',
    facts: runs(['deny-high']),
    policy: policyWith({ allowed_commands: ['ls'] }),
    gives: ['VI_SWAP', 'CAPABILITY_CMD_DENIED', '13policy', 'test.deny-high', 'critical', 'high'],
  },
  {
    name: '13policy: nobody is asked about what the set does not allow',
    facts: runs(['ask-high']),
    policy: policyWith({ allowed_commands: ['ls'] }),
    gives: refused('CAPABILITY_CMD_DENIED', 'capability', 'default.allowed_commands'),
  },
  ...(['critical', 'high', 'medium', 'low'] as const).map(
    (severity): Cell => ({
      name: `13policy: an allow of ${severity} passes`,
      facts: runs([`allow-${severity}`]),
      policy: OPEN,
      gives: PASSED,
    }),
  ),
  {
    name: '13policy: an operator gets a critical denial as anybody does',
    facts: { identity: OPERATOR, ...runs(['deny-critical']) },
    policy: OPEN,
    gives: ['TARPIT', 'CAPABILITY_CMD_DENIED', '13policy', 'test.deny-critical', 'critical', 'critical'],
  },
  {
    name: '13policy: a challenge that is met does not lift a denial',
    facts: { ...runs(['deny-high']), ...asked({ challenge: 'passed' }) },
    policy: OPEN,
    gives: ['VI_SWAP', 'CAPABILITY_CMD_DENIED', '13policy', 'test.deny-high', 'critical', 'high'],
  },

  {
    name: 'quota: as many executions as the caller may have',
    ledger: { executionsOfCaller: 2 },
    gives: ['THROTTLE', 'RESPONSE_THROTTLED', 'quota', 'default.max_concurrent', 'info', undefined, 'slot'],
  },
  {
    name: 'quota: as many executions as the caller may have, and no place to wait',
    ledger: { executionsOfCaller: 2, queueFree: false },
    gives: ['THROTTLE', 'RESPONSE_THROTTLED', 'quota', 'default.max_concurrent', 'info'],
  },
  { name: 'quota: one fewer passes', ledger: { executionsOfCaller: 1 }, gives: PASSED },
  {
    name: 'quota: as many executions as the device has',
    ledger: { executionsFree: 0 },
    gives: ['THROTTLE', 'RESPONSE_THROTTLED', 'quota', 'execution.max_concurrent', 'info', undefined, 'slot'],
  },
  {
    name: 'quota: a new session and no room for it',
    facts: authenticates,
    ledger: { sessionsFree: false },
    gives: ['THROTTLE', 'SESSION_LIMIT', 'quota', 'session.max_sessions', 'warning'],
  },
  {
    name: 'quota: as many sessions as the caller may have',
    facts: authenticates,
    ledger: { sessionsOfCaller: 4 },
    gives: ['THROTTLE', 'SESSION_LIMIT', 'quota', 'session.max_per_agent', 'warning'],
  },
  {
    name: 'quota: a session that is taken back needs no room',
    facts: { ...authenticates, action: { kind: 'authenticate', name: 'bot', isNew: false } },
    ledger: { sessionsFree: false, sessionsOfCaller: 4 },
    gives: PASSED,
  },
  {
    name: 'quota: the caller has filled its share of the record',
    ledger: { recordFree: false },
    gives: ['THROTTLE', 'RESPONSE_THROTTLED', 'quota', 'audit.share', 'warning'],
  },
  {
    name: 'quota: attaching is recorded too',
    facts: { action: { kind: 'attach', executionId: 'x', stdin: false } },
    ledger: { recordFree: false },
    gives: ['THROTTLE', 'RESPONSE_THROTTLED', 'quota', 'audit.share', 'warning'],
  },
  {
    name: 'quota: whoever comes in is told then',
    facts: authenticates,
    ledger: { recordFree: false },
    gives: PASSED,
  },
  {
    name: 'quota: attaching, signalling and reading take no slot',
    facts: { action: { kind: 'attach', executionId: 'x', stdin: false } },
    ledger: { executionsFree: 0, executionsOfCaller: 9 },
    gives: PASSED,
  },
  ...questions('quota: a task has used its ticks', 'RESPONSE_THROTTLED', 'quota', 'quota.ticks_per_task', {
    facts: asked({ task: 'aa' }),
    policy: { ...POLICY, quota: { ...POLICY.quota, ticksPerTask: 3 } },
    ledger: { ticks: 3 },
  }),
  {
    name: 'quota: a task with a tick left passes',
    facts: asked({ task: 'aa' }),
    policy: { ...POLICY, quota: { ...POLICY.quota, ticksPerTask: 3 } },
    ledger: { ticks: 2 },
    gives: PASSED,
  },
  {
    name: 'quota: what belongs to no task has no ticks',
    policy: { ...POLICY, quota: { ...POLICY.quota, ticksPerTask: 3 } },
    ledger: { ticks: 3 },
    gives: PASSED,
  },
  ...questions(
    'quota: a session has been given its tokens',
    'RESPONSE_THROTTLED',
    'quota',
    'quota.tokens_per_session',
    {
      policy: { ...POLICY, quota: { ...POLICY.quota, tokensPerSession: 100 } },
      ledger: { tokens: 100 },
    },
  ),
  {
    name: 'quota: a session with a token left passes',
    policy: { ...POLICY, quota: { ...POLICY.quota, tokensPerSession: 100 } },
    ledger: { tokens: 99 },
    gives: PASSED,
  },
]
