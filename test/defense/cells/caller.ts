/**
 * The cells of the layers about the caller: address, transport, identity, session, level, completeness.
 * @module
 */
import { ADMIN, OPERATOR, POLICY, SESSION, TLS, TRANSPORT } from '../staged-facts.ts'
import {
  arrives,
  asked,
  attaches,
  authenticates,
  before,
  type Cell,
  OPEN,
  PASSED,
  questions,
  reads,
  runs,
  violated,
} from './cell.ts'

export const CALLER_CELLS: readonly Cell[] = [
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
        gives: [response, 'CHALLENGE_REPLAY', 'session', 'challenge.replay', 'critical', 'violation'],
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
  ...questions(
    'level: at a checkpoint, going on to tell a command what to do',
    'RESPONSE_THROTTLED',
    'level',
    'level.checkpoint',
    { facts: attaches(true), ledger: { level: 'CHECKPOINT' } },
  ),
  {
    name: 'level: at a checkpoint, looking at a command passes',
    facts: attaches(false),
    ledger: { level: 'CHECKPOINT' },
    gives: PASSED,
  },
  {
    name: 'level: restricted, and it would go on to tell a command what to do',
    facts: attaches(true),
    ledger: { level: 'RESTRICT' },
    gives: violated('CAPABILITY_DENIED', 'level', 'level.restrict'),
  },
  {
    name: 'level: restricted, looking at a command passes',
    facts: attaches(false),
    ledger: { level: 'RESTRICT' },
    gives: PASSED,
  },

  {
    name: 'completeness: a message with problems',
    facts: asked({ problems: 'command is missing' }),
    gives: ['status', 'FRAME_MALFORMED', 'completeness', 'message', 'info'],
  },
  {
    name: 'completeness: a payload that expands too far',
    facts: asked({ overExpanded: true }),
    gives: ['status', 'DECOMPRESSION_LIMIT_EXCEEDED', 'completeness', 'raw_payload', 'warning'],
  },
]
