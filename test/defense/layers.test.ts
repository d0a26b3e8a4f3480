/**
 * The layers of the decision: every finding of every layer beside the case that passes, and the order of the layers.
 * @module
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { adjudicate } from '../../src/defense/adjudicator.ts'
import type { CapabilitySet } from '../../src/defense/capability.ts'
import type { Facts, Identity, Ledger, RequestFacts } from '../../src/defense/facts.ts'
import type { Policy } from '../../src/defense/layer.ts'
import { LAYERS } from '../../src/defense/layers.ts'
import { LAYER_NAMES, type Verdict } from '../../src/defense/verdict.ts'
import {
  ADMIN,
  AGENT,
  executing,
  FACTS,
  LEDGER,
  NOBODY,
  OPEN_SET,
  OPERATOR,
  POLICY,
  policyWith,
  REQUEST,
  SESSION,
  TLS,
  TRANSPORT,
} from './staged-facts.ts'

type Cell = {
  readonly name: string
  readonly facts?: Partial<Facts>
  readonly policy?: Policy
  readonly ledger?: Partial<Ledger>
  /** response or `mistake`, code, layer, rule, severity, incident, what is awaited */
  readonly gives: readonly (string | undefined)[]
}

const PASSED = ['EXECUTE', undefined, 'all', 'all_passed', 'info'] as const
const SHELLS = 'sh ash bash csh dash fish ksh mksh rbash tcsh yash zsh'.split(' ')
const before: Partial<Facts> = { identity: NOBODY, session: undefined }
const arrives: Partial<Facts> = {
  ...before,
  request: undefined,
  action: { kind: 'connect', address: '192.0.2.1' },
}
const authenticates: Partial<Facts> = {
  session: undefined,
  request: { ...REQUEST, method: 'Authenticate' },
  action: { kind: 'authenticate', name: 'bot', isNew: true },
}
const reads = (method: string): Partial<Facts> => ({
  request: { ...REQUEST, method },
  action: { kind: 'read', method },
})
const runs = (argv: readonly string[], change: Partial<Facts> = {}): Partial<Facts> => ({
  action: executing(argv),
  ...change,
})
const asked = (change: Partial<RequestFacts>): Partial<Facts> => ({ request: { ...REQUEST, ...change } })
const agent = (change: Partial<typeof AGENT>): Partial<Facts> => ({
  identity: { ...AGENT, ...change } as Identity,
})
const OPEN = policyWith({})
const violated = (code: string, layer: string, rule: string) =>
  ['VI_SWAP', code, layer, rule, 'critical', 'violation'] as const
const asking = (code: string, layer: string, rule: string) =>
  ['THROTTLE', code, layer, rule, 'warning', undefined, 'operator'] as const
const noted = (layer: string, rule: string) => ['EXECUTE', undefined, layer, rule, 'warning'] as const

/** The four ends of a question: asked, no place for it, yes, no, silence. */
function questions(
  name: string,
  code: string,
  layer: string,
  rule: string,
  { facts = {}, policy = POLICY, ledger = {} }: Pick<Cell, 'facts' | 'policy' | 'ledger'>,
  approved: readonly (string | undefined)[] = PASSED,
): readonly Cell[] {
  const answer = (outcome: 'approved' | 'denied' | 'timed_out'): Partial<Facts> => ({
    ...facts,
    request: { ...(facts.request ?? REQUEST), approvals: [{ rule, outcome }] },
  })
  return [
    { name: `${name}: a human is asked`, facts, policy, ledger, gives: asking(code, layer, rule) },
    {
      name: `${name}: nobody can be asked`,
      facts,
      policy,
      ledger: { ...ledger, confirmationsFree: false },
      gives: ['THROTTLE', code, layer, rule, 'warning'],
    },
    { name: `${name}: yes`, facts: answer('approved'), policy, ledger, gives: approved },
    {
      name: `${name}: no`,
      facts: answer('denied'),
      policy,
      ledger,
      gives: violated('CONFIRMATION_DENIED', layer, rule),
    },
    {
      name: `${name}: silence`,
      facts: answer('timed_out'),
      policy,
      ledger,
      gives: violated('CONFIRMATION_TIMEOUT', layer, rule),
    },
    {
      name: `${name}: yes to another question`,
      facts: {
        ...facts,
        request: { ...(facts.request ?? REQUEST), approvals: [{ rule: 'other', outcome: 'approved' }] },
      },
      policy,
      ledger,
      gives: asking(code, layer, rule),
    },
  ]
}

const CELLS: readonly Cell[] = [
  { name: 'everything is in order', gives: PASSED },

  {
    name: 'acl: an address that is not listed',
    facts: { source: { ...TLS, isAllowed: false } },
    gives: ['DROP', 'ACL_DENIED', 'acl', 'acl.allow', 'warning'],
  },
  {
    name: 'acl: a new connection from an address under a penalty',
    facts: { ...arrives, source: { ...TLS, isPenalised: true } },
    gives: ['DROP', 'ACL_DENIED', 'acl', 'acl.penalties', 'warning'],
  },
  {
    name: 'acl: a caller that is in already passes in spite of a penalty',
    facts: { source: { ...TLS, isPenalised: true } },
    gives: PASSED,
  },
  {
    name: 'acl: too many wait, and the lot fell',
    facts: { ...arrives, source: { ...TLS, crowd: { waiting: 10, draw: 29 } } },
    gives: ['DROP', 'ACL_DENIED', 'acl', 'acl.early_drop', 'info'],
  },
  {
    name: 'acl: too many wait, and the lot fell otherwise, passes',
    facts: { ...arrives, source: { ...TLS, crowd: { waiting: 10, draw: 30 } } },
    gives: PASSED,
  },

  {
    name: 'transport: a frame that is malformed',
    facts: { transport: { ...TRANSPORT, frameProblem: 'a tag' } },
    gives: ['DROP', 'FRAME_MALFORMED', 'transport', 'frame', 'warning'],
  },
  {
    name: 'transport: a malformed frame on the admin socket',
    facts: { source: ADMIN, transport: { ...TRANSPORT, frameProblem: 'a tag' } },
    gives: ['DROP', 'FRAME_MALFORMED', 'transport', 'frame', 'warning'],
  },
  ...(
    [
      ['another version of TLS', { version: 'TLSv1.2' }],
      ['a suite that is not offered', { suite: 'TLS_AES_128_GCM_SHA256' }],
      ['another application protocol', { alpn: 'h2' }],
      ['nothing to bind to', { hasExporter: false }],
    ] as const
  ).map(
    ([name, change]): Cell => ({
      name: `transport: ${name}`,
      facts: { transport: { ...TRANSPORT, ...change } },
      gives: ['DROP', 'TLS_HANDSHAKE_FAILED', 'transport', 'tls', 'warning'],
    }),
  ),
  {
    name: 'transport: the other suite passes',
    facts: { transport: { ...TRANSPORT, suite: 'TLS_CHACHA20_POLY1305_SHA256' } },
    gives: PASSED,
  },
  {
    name: 'transport: the admin socket agrees nothing and passes',
    facts: {
      source: ADMIN,
      transport: { ...TRANSPORT, version: '', suite: '', alpn: '', hasExporter: false },
    },
    gives: PASSED,
  },
  { name: 'transport: not known yet passes', facts: { ...arrives, transport: undefined }, gives: PASSED },

  { name: 'identity: nobody yet, and nothing asked, passes', facts: arrives, gives: PASSED },
  {
    name: 'identity: silent past the grace',
    facts: { ...arrives, identity: { kind: 'none', dismissed: 'grace' } },
    gives: ['DROP', 'AUTH_REQUIRED', 'identity', 'login_grace', 'warning'],
  },
  {
    name: 'identity: made room for a newer one',
    facts: { ...arrives, identity: { kind: 'none', dismissed: 'crowd' } },
    gives: ['DROP', 'AUTH_REQUIRED', 'identity', 'crowd', 'warning'],
  },
  ...([1, 0] as const).flatMap((tarpitsFree): Cell[] => {
    const response = tarpitsFree === 1 ? 'TARPIT' : 'DROP'
    const end = tarpitsFree === 1 ? '' : ', and no tarpit free'
    const local = { ...TLS, isLoopback: true }
    const unauthorized = [
      response,
      'LOCALHOST_UNAUTHORIZED',
      'identity',
      'localhost.unauthorized',
      'critical',
    ]
    return [
      {
        name: `identity: a request before Authenticate${end}`,
        facts: before,
        ledger: { tarpitsFree },
        gives: [response, 'AUTH_REQUIRED', 'identity', 'before_authenticate', 'warning'],
      },
      {
        name: `identity: an action other than arriving, without a request${end}`,
        facts: { ...arrives, action: { kind: 'renew' } },
        ledger: { tarpitsFree },
        gives: [response, 'AUTH_REQUIRED', 'identity', 'before_authenticate', 'warning'],
      },
      {
        name: `identity: a failed proof${end}`,
        facts: { ...before, identity: { kind: 'failed', code: 'AUTH_SIGNATURE_INVALID', why: 'w' } },
        ledger: { tarpitsFree },
        gives: [response, 'AUTH_SIGNATURE_INVALID', 'identity', 'authenticate', 'critical'],
      },
      {
        name: `identity: a stranger of this host that would write${end}`,
        facts: { ...before, source: local, action: { kind: 'deceive', argv: ['rm', 'x'] } },
        ledger: { tarpitsFree },
        gives: unauthorized,
      },
      {
        name: `identity: a stranger of this host beyond what is played along${end}`,
        facts: { ...before, source: local, action: { kind: 'deceive', argv: ['ls'] } },
        ledger: { tarpitsFree, deceptionsFree: false },
        gives: unauthorized,
      },
      {
        name: `identity: a stranger of this host where nobody is deceived${end}`,
        facts: { ...before, source: local, action: { kind: 'deceive', argv: ['ls'] } },
        policy: { ...POLICY, deceives: false },
        ledger: { tarpitsFree },
        gives: unauthorized,
      },
      {
        name: `identity: a stranger from elsewhere is never played along with${end}`,
        facts: { ...before, action: { kind: 'deceive', argv: ['ls'] } },
        ledger: { tarpitsFree },
        gives: [response, 'AUTH_REQUIRED', 'identity', 'before_authenticate', 'warning'],
      },
      {
        name: `session: another's, or none${end}`,
        facts: { session: { ...SESSION, state: 'unknown' } },
        ledger: { tarpitsFree },
        gives: [response, 'SESSION_NOT_FOUND', 'session', 'session.unknown', 'critical'],
      },
      {
        name: `session: a challenge that was met does not make another's session one's own${end}`,
        facts: { session: { ...SESSION, state: 'unknown' }, ...asked({ challenge: 'passed' }) },
        ledger: { tarpitsFree },
        gives: [response, 'SESSION_NOT_FOUND', 'session', 'session.unknown', 'critical'],
      },
      {
        name: `session: a challenge with a wrong answer${end}`,
        facts: asked({ challenge: 'failed' }),
        ledger: { tarpitsFree },
        gives: [response, 'CHALLENGE_FAILED', 'session', 'challenge.wrong', 'critical', 'critical'],
      },
      {
        name: `session: a challenge that nobody answered in time${end}`,
        facts: asked({ challenge: 'late' }),
        ledger: { tarpitsFree },
        gives: [response, 'CHALLENGE_TIMEOUT', 'session', 'challenge.late', 'critical', 'violation'],
      },
      {
        name: `session: an answer to no challenge${end}`,
        facts: asked({ challenge: 'unknown' }),
        ledger: { tarpitsFree },
        gives: [response, 'CHALLENGE_REPLAY', 'session', 'challenge.replay', 'critical', 'critical'],
      },
      {
        name: `level: a stranger that would be played along with, while the daemon is contained${end}`,
        facts: { ...before, source: local, action: { kind: 'deceive', argv: ['ls'] } },
        ledger: { tarpitsFree, level: 'CONTAIN' },
        gives: [response, 'LOCALHOST_UNAUTHORIZED', 'level', 'level.contain', 'critical'],
      },
      {
        name: `level: a stranger that would be played along with, at a checkpoint${end}`,
        facts: { ...before, source: local, action: { kind: 'deceive', argv: ['ls'] } },
        ledger: { tarpitsFree, level: 'CHECKPOINT' },
        gives: [response, 'LOCALHOST_UNAUTHORIZED', 'level', 'level.checkpoint', 'critical'],
      },
      {
        name: `13policy: a critical denial${end}`,
        facts: runs(['deny-critical']),
        policy: OPEN,
        ledger: { tarpitsFree },
        gives: [response, 'CAPABILITY_CMD_DENIED', '13policy', 'test.deny-critical', 'critical', 'critical'],
      },
    ]
  }),
  {
    name: 'identity: a stranger of this host that only reads is played along with',
    facts: {
      ...before,
      source: { ...TLS, isLoopback: true },
      action: { kind: 'deceive', argv: ['ls', '/'] },
    },
    gives: ['EXECUTE', 'SPOOFED_RESPONSE', 'identity', 'localhost.deception', 'warning'],
  },

  ...(['expired', 'unproven'] as const).flatMap((state): Cell[] => {
    const code = state === 'expired' ? 'SESSION_EXPIRED' : 'RESPONSE_CHALLENGE_REQUIRED'
    return [
      {
        name: `session: ${state}`,
        facts: { session: { ...SESSION, state } },
        gives: ['CHALLENGE', code, 'session', `session.${state}`, 'info'],
      },
      {
        name: `session: ${state}, and challenged too often`,
        facts: { session: { ...SESSION, state } },
        ledger: { challengesFree: false },
        gives: ['THROTTLE', 'CHALLENGE_RATE_LIMIT', 'session', `session.${state}`, 'warning'],
      },
      {
        name: `session: ${state}, and the challenge is met, passes`,
        facts: { session: { ...SESSION, state }, ...asked({ challenge: 'passed' }) },
        gives: PASSED,
      },
      {
        name: `session: ${state} on the admin socket passes`,
        facts: { source: ADMIN, session: { ...SESSION, state } },
        gives: PASSED,
      },
    ]
  }),
  {
    name: 'session: authenticating from where something failed lately',
    facts: { ...authenticates, source: { ...TLS, isSuspect: true } },
    gives: ['CHALLENGE', 'RESPONSE_CHALLENGE_REQUIRED', 'session', 'authenticate.suspect', 'info'],
  },
  {
    name: 'session: authenticating from there, and challenged too often',
    facts: { ...authenticates, source: { ...TLS, isSuspect: true } },
    ledger: { challengesFree: false },
    gives: ['THROTTLE', 'CHALLENGE_RATE_LIMIT', 'session', 'authenticate.suspect', 'warning'],
  },
  { name: 'session: authenticating passes', facts: authenticates, gives: PASSED },
  {
    name: 'session: an operator from there passes',
    facts: { ...authenticates, identity: OPERATOR, source: { ...TLS, isSuspect: true } },
    gives: PASSED,
  },
  {
    name: 'session: a caller that is in already is not challenged for its address',
    facts: { source: { ...TLS, isSuspect: true } },
    gives: PASSED,
  },

  {
    name: 'level: halted, and a caller asks',
    ledger: { level: 'HALT' },
    gives: ['DROP', 'ROGUE_AGENT_DETECTED', 'level', 'level.halt', 'critical'],
  },
  {
    name: 'level: halted, and somebody arrives',
    facts: arrives,
    ledger: { level: 'HALT' },
    gives: ['DROP', 'ROGUE_AGENT_DETECTED', 'level', 'level.halt', 'critical'],
  },
  {
    name: 'level: halted, and an operator comes over the network',
    facts: { identity: OPERATOR, ...reads('SecurityStatus') },
    ledger: { level: 'HALT' },
    gives: ['DROP', 'ROGUE_AGENT_DETECTED', 'level', 'level.halt', 'critical'],
  },
  {
    name: 'level: halted, and an operator of the admin socket would run something',
    facts: { identity: OPERATOR, source: ADMIN },
    ledger: { level: 'HALT' },
    gives: ['DROP', 'ROGUE_AGENT_DETECTED', 'level', 'level.halt', 'critical'],
  },
  {
    name: 'level: halted, and an operator of the admin socket looks, passes',
    facts: { identity: OPERATOR, source: ADMIN, ...reads('SecurityStatus') },
    ledger: { level: 'HALT' },
    gives: PASSED,
  },
  {
    name: 'level: halted, and the admin socket is opened, passes',
    facts: { ...arrives, source: ADMIN },
    ledger: { level: 'HALT' },
    gives: PASSED,
  },
  {
    name: 'level: contained',
    ledger: { level: 'CONTAIN' },
    gives: ['VI_SWAP', 'ROGUE_AGENT_DETECTED', 'level', 'level.contain', 'warning'],
  },
  {
    name: 'level: contained, even to look',
    facts: reads('Ping'),
    ledger: { level: 'CONTAIN' },
    gives: ['VI_SWAP', 'ROGUE_AGENT_DETECTED', 'level', 'level.contain', 'warning'],
  },
  {
    name: 'level: contained may authenticate',
    facts: authenticates,
    ledger: { level: 'CONTAIN' },
    gives: PASSED,
  },
  {
    name: 'level: contained, and an operator looks, passes',
    facts: { identity: OPERATOR, ...reads('SecurityStatus') },
    ledger: { level: 'CONTAIN' },
    gives: PASSED,
  },
  {
    name: 'level: contained, and an operator would run something',
    facts: { identity: OPERATOR },
    ledger: { level: 'CONTAIN' },
    gives: ['VI_SWAP', 'ROGUE_AGENT_DETECTED', 'level', 'level.contain', 'warning'],
  },
  ...questions('level: at a checkpoint', 'RESPONSE_THROTTLED', 'level', 'level.checkpoint', {
    ledger: { level: 'CHECKPOINT' },
  }),
  ...questions('level: at a checkpoint, a file', 'RESPONSE_THROTTLED', 'level', 'level.checkpoint', {
    facts: reads('FileUpload'),
    ledger: { level: 'CHECKPOINT' },
  }),
  {
    name: 'level: at a checkpoint, looking passes',
    facts: reads('Ping'),
    ledger: { level: 'CHECKPOINT' },
    gives: PASSED,
  },
  {
    name: 'level: restricted, and it would write',
    facts: runs(['touch', 'x']),
    policy: OPEN,
    ledger: { level: 'RESTRICT' },
    gives: violated('CAPABILITY_DENIED', 'level', 'level.restrict'),
  },
  {
    name: 'level: restricted, and it would run a shell',
    facts: runs(['sh', '-c', 'ls']),
    policy: OPEN,
    ledger: { level: 'RESTRICT' },
    gives: violated('CAPABILITY_DENIED', 'level', 'level.restrict'),
  },
  {
    name: 'level: restricted, and it would send a file',
    facts: reads('FileUpload'),
    ledger: { level: 'RESTRICT' },
    gives: violated('CAPABILITY_DENIED', 'level', 'level.restrict'),
  },
  ...[runs(['cat', 'x']), runs(['ls']), runs(['grep', 'a', 'x']), reads('FileDownload'), reads('Ping')].map(
    (facts, index): Cell => ({
      name: `level: restricted, and it only reads, passes (${index + 1})`,
      facts,
      policy: OPEN,
      ledger: { level: 'RESTRICT' },
      gives: PASSED,
    }),
  ),

  {
    name: 'completeness: a message with problems',
    facts: asked({ problems: 'command is missing' }),
    gives: ['mistake', 'FRAME_MALFORMED', 'completeness', 'message', 'info'],
  },
  {
    name: 'completeness: a payload that expands too far',
    facts: asked({ overExpanded: true }),
    gives: ['mistake', 'DECOMPRESSION_LIMIT_EXCEEDED', 'completeness', 'raw_payload', 'warning'],
  },

  {
    name: "tool_access: an agent with an operator's method",
    facts: asked({ audience: 'operator' }),
    gives: violated('CAPABILITY_DENIED', 'tool_access', 'method.operator'),
  },
  {
    name: "tool_access: an operator with an operator's method passes",
    facts: { identity: OPERATOR, ...asked({ audience: 'operator' }) },
    gives: PASSED,
  },
  {
    name: 'tool_access: more than the tier gives',
    facts: { ...runs(['touch', 'x']), ...agent({ tier: 'T1' }) },
    policy: OPEN,
    gives: violated('CAPABILITY_DENIED', 'tool_access', 'tools.T1'),
  },
  {
    name: 'tool_access: more than the list gives',
    facts: { ...runs(['touch', 'x']), ...agent({ tools: ['Read', 'Bash'] }) },
    policy: OPEN,
    gives: violated('CAPABILITY_DENIED', 'tool_access', 'tools.T5'),
  },
  {
    name: 'tool_access: an empty list gives nothing',
    facts: agent({ tools: [] }),
    gives: violated('CAPABILITY_DENIED', 'tool_access', 'tools.T5'),
  },
  {
    name: 'tool_access: a method beyond the tier',
    facts: { ...reads('FileUpload'), ...agent({ tier: 'T1' }) },
    gives: violated('CAPABILITY_DENIED', 'tool_access', 'tools.T1'),
  },
  {
    name: 'tool_access: a method within the tier passes',
    facts: { ...reads('FileDownload'), ...agent({ tier: 'T1' }) },
    gives: PASSED,
  },
  {
    name: 'tool_access: within the tier passes',
    facts: agent({ tier: 'T1', tools: ['Glob'] }),
    gives: PASSED,
  },
  {
    name: 'tool_access: what needs no tool passes without any',
    facts: { ...reads('Ping'), ...agent({ tools: [] }) },
    gives: PASSED,
  },

  ...(
    [
      [
        'two above',
        {
          chain: [
            { name: 'a', capability: 'default', tools: ['*'] },
            { name: 'b', capability: 'default', tools: ['*'] },
          ],
          hops: 2,
        },
        'depth',
      ],
      ['three hands', { chain: [{ name: 'a', capability: 'default', tools: ['*'] }], hops: 3 }, 'hops'],
      [
        'a tool that the one above has not',
        { chain: [{ name: 'a', capability: 'default', tools: ['Read'] }], hops: 1 },
        'rights',
      ],
      [
        'one above that is not there any more',
        { chain: [{ name: 'a', capability: '', tools: [] }], hops: 1 },
        'rights',
      ],
    ] as const
  ).map(
    ([name, delegation, rule]): Cell => ({
      name: `delegation: ${name}`,
      facts: agent({ delegation }),
      gives: violated('CAPABILITY_DENIED', 'delegation', `delegation.${rule}`),
    }),
  ),
  {
    name: 'delegation: a file that the one above may not write',
    facts: {
      ...reads('FileUpload'),
      ...agent({ delegation: { chain: [{ name: 'a', capability: 'default', tools: ['Read'] }], hops: 1 } }),
    },
    gives: violated('CAPABILITY_DENIED', 'delegation', 'delegation.rights'),
  },
  {
    name: 'delegation: what both may passes',
    facts: agent({ delegation: { chain: [{ name: 'a', capability: 'default', tools: ['Glob'] }], hops: 2 } }),
    gives: PASSED,
  },
  {
    name: 'delegation: looking passes',
    facts: {
      ...reads('Ping'),
      ...agent({ delegation: { chain: [{ name: 'a', capability: '', tools: [] }], hops: 1 } }),
    },
    gives: PASSED,
  },

  {
    name: 'capability: a set that does not exist',
    policy: { ...POLICY, capabilities: {} },
    gives: violated('CAPABILITY_DENIED', 'capability', 'capability.missing'),
  },
  {
    name: 'capability: the name of something that every object inherits',
    facts: agent({ capability: 'toString' }),
    gives: violated('CAPABILITY_DENIED', 'capability', 'capability.missing'),
  },
  {
    name: 'capability: a denied command, though a pattern allows it',
    facts: runs(['git', 'push']),
    policy: policyWith({ denied_commands: ['git push'] }),
    gives: violated('CAPABILITY_CMD_DENIED', 'capability', 'default.denied_commands'),
  },
  {
    name: 'capability: an unlisted command',
    facts: runs(['rm', 'x']),
    gives: violated('CAPABILITY_CMD_DENIED', 'capability', 'default.allowed_commands'),
  },
  {
    name: 'capability: a command that security does not list',
    facts: runs(['rm', 'x']),
    policy: policyWith({}, { allowedCommands: ['ls'] }),
    gives: violated('CAPABILITY_CMD_DENIED', 'capability', 'security.allowed_commands'),
  },
  {
    name: 'capability: a command that security blocks, though it is allowed',
    facts: runs(['rm', '-r', '-f', 'x']),
    policy: policyWith({}, { blockedCommands: ['rm -rf'] }),
    gives: violated('CAPABILITY_CMD_DENIED', 'capability', 'security.blocked_commands'),
  },
  {
    name: 'capability: a command beside a blocked one passes',
    facts: runs(['rm', '-r', 'x']),
    policy: policyWith({}, { blockedCommands: ['rm -rf'] }),
    gives: PASSED,
  },
  ...questions(
    'capability: an unlisted command where humans are asked',
    'CAPABILITY_CMD_DENIED',
    'capability',
    'default.allowed_commands',
    {
      facts: runs(['touch', 'x']),
      policy: policyWith({ allowed_commands: ['ls'] }, { confirmsUnlisted: true }),
    },
  ),
  ...questions(
    'capability: a command that security does not list where humans are asked',
    'CAPABILITY_CMD_DENIED',
    'capability',
    'security.allowed_commands',
    {
      facts: runs(['touch', 'x']),
      policy: policyWith({}, { allowedCommands: ['ls'], confirmsUnlisted: true }),
    },
  ),
  {
    name: 'capability: nobody is asked about a command in a denied directory',
    facts: { action: executing(['touch', 'x'], '/usr/bin/touch', '/srv/work/secret') },
    policy: policyWith(
      { allowed_commands: ['ls'], denied_paths: ['/srv/work/secret'] },
      { confirmsUnlisted: true },
    ),
    gives: violated('CAPABILITY_PATH_DENIED', 'capability', 'default.denied_paths'),
  },
  {
    name: 'capability: nobody is asked where the one above is denied it',
    facts: {
      ...runs(['touch', 'x']),
      ...agent({ delegation: { chain: [{ name: 'a', capability: 'above', tools: ['*'] }], hops: 1 } }),
    },
    policy: policyWith(
      {},
      { confirmsUnlisted: true },
      {
        capabilities: {
          default: { ...OPEN_SET, allowed_commands: ['ls'] },
          above: { ...OPEN_SET, denied_commands: ['touch'] },
        },
      },
    ),
    gives: violated('CAPABILITY_CMD_DENIED', 'capability', 'above.denied_commands'),
  },
  {
    name: 'capability: the one above has no set',
    facts: agent({ delegation: { chain: [{ name: 'a', capability: 'gone', tools: ['*'] }], hops: 1 } }),
    gives: violated('CAPABILITY_DENIED', 'capability', 'capability.missing'),
  },
  {
    name: 'capability: no command at all',
    facts: { action: executing([], '/usr/bin/rm') },
    gives: violated('CAPABILITY_CMD_DENIED', 'capability', 'default.allowed_commands'),
  },
  {
    name: 'capability: a denied directory',
    facts: { action: executing(['ls'], '/usr/bin/ls', '/srv/work/secret/deep') },
    gives: violated('CAPABILITY_PATH_DENIED', 'capability', 'default.denied_paths'),
  },
  {
    name: 'capability: an unlisted directory',
    facts: { action: executing(['ls'], '/usr/bin/ls', '/srv/workshop') },
    gives: violated('CAPABILITY_PATH_DENIED', 'capability', 'default.allowed_paths'),
  },
  {
    name: 'capability: a denied path among the arguments',
    facts: runs(['ls', 'secret/deep']),
    gives: violated('CAPABILITY_PATH_DENIED', 'capability', 'default.denied_paths'),
  },
  {
    name: 'capability: a program that was not found is judged by its name',
    facts: { action: { ...executing(), executable: null } },
    gives: PASSED,
  },
  ...SHELLS.flatMap((shell): Cell[] => [
    {
      name: `capability: ${shell} by name`,
      facts: runs([shell, '-c', 'x']),
      policy: policyWith({}, { allowShell: false }),
      gives: violated('CAPABILITY_CMD_DENIED', 'capability', 'security.allow_shell'),
    },
    {
      name: `capability: ${shell} behind another name`,
      facts: { action: executing(['/srv/work/harmless'], `/bin/${shell}`) },
      policy: policyWith({}, { allowShell: false }),
      gives: violated('CAPABILITY_CMD_DENIED', 'capability', 'security.allow_shell'),
    },
    {
      name: `capability: ${shell} behind another program`,
      facts: runs(['env', shell, '-c', 'x']),
      policy: policyWith({}, { allowShell: false }),
      gives: violated('CAPABILITY_CMD_DENIED', 'capability', 'security.allow_shell'),
    },
    {
      name: `capability: ${shell} where shells are allowed passes`,
      facts: runs([shell]),
      policy: policyWith({}, { allowShell: true }),
      gives: PASSED,
    },
  ]),

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
    name: 'specifics: a program without a pin where only pinned ones may run',
    policy: policyWith({}, { pins: { '/usr/bin/cat': 'aa' }, pinnedOnly: true }),
    gives: violated('CAPABILITY_CMD_DENIED', 'specifics', 'executables.unpinned'),
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
    name: 'specifics: an address inside',
    facts: runs(['curl', 'http://10.0.0.1/']),
    policy: OPEN,
    gives: violated('CAPABILITY_DENIED', 'specifics', 'internal_addresses'),
  },
  ...questions(
    'specifics: an address inside where humans are asked',
    'CAPABILITY_DENIED',
    'specifics',
    'internal_addresses',
    { facts: runs(['curl', 'http://10.0.0.1/']), policy: policyWith({}, { internalAddresses: 'ask' }) },
  ),
  {
    name: 'specifics: an address inside, audited',
    facts: runs(['curl', 'http://10.0.0.1/']),
    policy: policyWith({}, { internalAddresses: 'audit' }),
    gives: noted('specifics', 'internal_addresses'),
  },
  {
    name: 'specifics: an address inside, allowed, passes',
    facts: runs(['curl', 'http://10.0.0.1/']),
    policy: policyWith({}, { internalAddresses: 'allow' }),
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
    gives: violated('CAPABILITY_DENIED', 'specifics', 'toxic.untrusted-secret-outward'),
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
  ...(['deny', 'challenge'] as const).map(
    (action): Cell => ({
      name: `13policy: a low ${action} is noted`,
      facts: runs([`${action}-low`]),
      policy: OPEN,
      gives: noted('13policy', `test.${action}-low`),
    }),
  ),
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
    name: 'quota: attaching, signalling and reading take no slot',
    facts: { action: { kind: 'attach', executionId: 'x' } },
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

function shapeOf(verdict: Verdict): readonly (string | undefined)[] {
  return [
    verdict.kind === 'response' ? verdict.response : verdict.kind,
    verdict.code,
    verdict.layer,
    verdict.rule,
    verdict.severity,
    verdict.incident,
    'awaits' in verdict ? verdict.awaits : undefined,
  ]
}

const NOTHING = new Array<undefined>(7).fill(undefined)

for (const { name, facts, policy, ledger, gives } of CELLS) {
  t.test(name, (t) => {
    const verdict = adjudicate({ ...FACTS, ...facts }, policy ?? POLICY, { ...LEDGER, ...ledger })
    t.strictSame(shapeOf(verdict), [...gives, ...NOTHING].slice(0, 7))
    const isExecute = verdict.kind === 'response' && verdict.response === 'EXECUTE'
    t.equal(
      verdict.enhancedAudit,
      isExecute ? verdict.layer !== 'all' : verdict.severity === 'critical',
      'the record says more of what is noted and of what is critical',
    )
    if (verdict.kind === 'mistake') t.equal(verdict.ends, verdict.code === 'DECOMPRESSION_LIMIT_EXCEEDED')
    t.end()
  })
}

t.test('the table has a cell for every rule that the layers name', (t) => {
  const named = new Set<string>()
  for (const file of ['connection', 'session', 'rights', 'command', 'quota']) {
    const code = readFileSync(join(import.meta.dirname, `../../src/defense/gates/${file}.ts`), 'utf8')
    for (const [, rule = ''] of code.matchAll(
      /'((?:[a-z_]+\.)+[a-z_]+|sensitive_files|internal_addresses|frame|tls|authenticate|crowd|login_grace|before_authenticate)'/g,
    ))
      named.add(rule)
  }
  const tested = new Set(CELLS.map(({ gives }) => gives[3]))
  t.ok(named.size > 35, [...named].join(' '))
  t.strictSame(
    [...named].filter((rule) => !tested.has(rule)),
    [],
  )
  t.end()
})

t.test('exactly the layers that can deny do: each has a cell, and so has each of the six responses', (t) => {
  t.strictSame([...new Set(CELLS.map(({ gives }) => gives[2]))].sort(), [...LAYER_NAMES, 'all'].sort())
  t.strictSame([...new Set(CELLS.map(({ gives }) => gives[0]))].sort(), [
    'CHALLENGE',
    'DROP',
    'EXECUTE',
    'TARPIT',
    'THROTTLE',
    'VI_SWAP',
    'mistake',
  ])
  t.end()
})

t.test('denied wins over allowed with R4, and what no pattern matches is denied (SS-19)', (t) => {
  const response = (argv: readonly string[], cwd: string, set: Partial<CapabilitySet>) => {
    const action = executing(argv, '/usr/bin/x', cwd)
    const [outcome, , , rule] = shapeOf(adjudicate({ ...FACTS, action }, policyWith(set), LEDGER))
    return `${outcome} ${rule}`
  }
  t.equal(response(['x'], '/srv', {}), 'EXECUTE all_passed')
  t.equal(response(['x'], '/srv', { denied_commands: ['x'] }), 'VI_SWAP default.denied_commands')
  t.equal(response(['x'], '/srv', { denied_paths: ['/srv'] }), 'VI_SWAP default.denied_paths')
  t.equal(response(['x'], '/srv', { allowed_commands: ['y'] }), 'VI_SWAP default.allowed_commands')
  t.equal(response(['x'], '/srv', { allowed_commands: [] }), 'VI_SWAP default.allowed_commands')
  t.equal(response(['x'], '/srv', { allowed_paths: ['/etc'] }), 'VI_SWAP default.allowed_paths')
  t.equal(response(['x'], '/srv', { allowed_paths: [] }), 'VI_SWAP default.allowed_paths')
  t.end()
})

t.test('a shell needs the allow-list as well as the switch (OS-06)', (t) => {
  const action = executing(['bash', '-c', 'true'])
  const outcome = (allowShell: boolean, allowed_commands: string[]) =>
    shapeOf(adjudicate({ ...FACTS, action }, policyWith({ allowed_commands }, { allowShell }), LEDGER))[0]
  t.equal(outcome(true, []), 'VI_SWAP')
  t.equal(outcome(true, ['ls']), 'VI_SWAP')
  t.equal(outcome(false, ['bash']), 'VI_SWAP')
  t.equal(outcome(true, ['bash']), 'EXECUTE')
  t.end()
})

t.test('the layers are complete, and in the order of the table of docs/responses.md', (t) => {
  t.strictSame(
    LAYERS.map(({ name }) => name),
    LAYER_NAMES,
  )
  t.ok(Object.isFrozen(LAYERS) && Object.isFrozen(LAYER_NAMES))
  const page = readFileSync(join(import.meta.dirname, '../../docs/responses.md'), 'utf8')
  const rows = [...page.matchAll(/^\| (\d+) \| `([0-9a-z_]+)` \| (.*?) \|/gm)]
  t.strictSame(
    rows.map(([, number, name]) => `${number} ${name}`),
    LAYER_NAMES.map((name, index) => `${index + 1} ${name}`),
  )
  t.notMatch(page, /asks nothing/, 'each of them asks something')
  t.end()
})

t.test('the page names every level, tier and measure, and every rule of single things', (t) => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/responses.md'), 'utf8')
  const named = [
    ...['RESTRICT', 'CHECKPOINT', 'CONTAIN', 'HALT', 'T1', 'T2', 'T3', 'T4', 'T5'],
    ...['`deny`', '`ask`', '`audit`', '`allow`'],
    ...CELLS.filter(({ gives }) => gives[2] === 'specifics').map(({ gives }) => `\`${gives[3]}\``),
  ]
  t.strictSame(
    named.filter((name) => !page.includes(name)),
    [],
  )
  t.end()
})

t.test('a known caller and nobody share no answer to a violation', (t) => {
  const violation = { ...FACTS, action: executing(['rm']) }
  t.equal(shapeOf(adjudicate({ ...violation, identity: AGENT }, POLICY, LEDGER))[0], 'VI_SWAP')
  t.equal(shapeOf(adjudicate({ ...violation, ...before }, POLICY, LEDGER))[0], 'TARPIT')
  t.end()
})

t.test('what is permitted says what it adds to what its session has done', (t) => {
  const toxicOf = (argv: readonly string[]) => {
    const verdict = adjudicate(
      { ...FACTS, action: executing(argv) },
      policyWith({}, { sensitiveFiles: 'allow' }),
      LEDGER,
    )
    return 'toxic' in verdict ? verdict.toxic : undefined
  }
  t.strictSame(toxicOf(['ls']), [])
  t.strictSame(toxicOf(['curl', 'https://example.com']), ['untrusted', 'outward'])
  t.strictSame(toxicOf(['cat', '.env']), ['secret'])
  t.strictSame(toxicOf(['rm', 'x']), ['change'])
  t.end()
})
