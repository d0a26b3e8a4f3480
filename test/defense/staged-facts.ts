/**
 * Facts, policies and ledgers for the tests of the decision: one that every layer passes, and arbitraries over all.
 * The rules are really compiled, and commands are really taken apart.
 * @module
 */
import fc from 'fast-check'
import { ALL_TOOLS, TIER_NAMES, TOOLS } from '../../src/base/tool-name.ts'
import { TOXIC_PROPERTIES } from '../../src/base/toxic-property.ts'
import { createMatcher, type Matcher } from '../../src/defense/13policy/rules/matcher.ts'
import { readRules } from '../../src/defense/13policy/rules/rules-file.ts'
import { effectiveCommands } from '../../src/defense/13policy/unwrap.ts'
import type { CapabilitySet } from '../../src/defense/capability.ts'
import type {
  Action,
  Confinement,
  ExecuteAction,
  Facts,
  Identity,
  Ledger,
  RequestFacts,
  SessionFacts,
  Source,
  Weakness,
} from '../../src/defense/facts.ts'
import type { Policy } from '../../src/defense/layer.ts'
import { LEVELS } from '../../src/defense/level.ts'
import { ALPN_PROTOCOL } from '../../src/limits.ts'

export const HOME = '/home/agent'

export const SET: CapabilitySet = {
  allowed_commands: ['ls', 'git status', '/usr/bin/env', 'bash', 'sh'],
  denied_commands: ['git push'],
  allowed_paths: ['/srv/work'],
  denied_paths: ['/srv/work/secret'],
  max_concurrent: 2,
  timeout_seconds: null,
  max_file_size_bytes: 0,
  allowed_env: [],
  output_bytes: null,
}

/** Allows everything. */
export const OPEN_SET: CapabilitySet = {
  ...SET,
  allowed_commands: ['*'],
  denied_commands: [],
  allowed_paths: ['*'],
  denied_paths: [],
}

/** A rule for a program of its own: `deny-critical` runs into `test.deny-critical`. */
export function ruleText(action: string, severity: string, program = `${action}-${severity}`): object {
  return {
    id: `test.${action}-${severity}`,
    argv: { program: [program] },
    action,
    severity,
    description: `Runs ${program}.`,
    why: 'It does harm.',
    examples: { match: [program], pass: ['ls'] },
  }
}

export const RULE_ACTIONS = ['deny', 'ask', 'challenge', 'note', 'allow'] as const
export const RULE_SEVERITIES = ['critical', 'high', 'medium', 'low'] as const
export const RULES: readonly object[] = RULE_ACTIONS.flatMap((action) =>
  RULE_SEVERITIES.map((severity) => ruleText(action, severity)),
)

export function compileRules(rules: readonly object[]): Matcher {
  const read = readRules(JSON.stringify({ sets: {}, rules }), 'test.json')
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return createMatcher(read.rules, HOME)
}

/** As the daemon does it: what the caller sets is judged as if it had been given to env(1). */
export function effectiveOf({ argv, environment, cwd, terminal, stdin, executable }: ExecuteAction) {
  const whole = environment.length === 0 ? argv : ['env', ...environment, ...argv]
  const resolved = environment.length === 0 ? executable?.path : undefined
  return effectiveCommands(whole, { cwd, home: HOME, resolved, terminal, stdin })
}

export const SECURITY: Policy['security'] = {
  allowShell: false,
  allowedCommands: ['*'],
  blockedCommands: [],
  confirmsUnlisted: false,
  sensitiveFiles: 'ask',
  toxicCombinations: 'ask',
  toxicRegistry: [
    ['untrusted', 'secret', 'outward'],
    ['untrusted', 'secret', 'change'],
  ],
  opaque: 'ask',
  knownPrograms: [],
  pins: {},
  pinnedOnly: false,
}

export const POLICY: Policy = {
  capabilities: { default: SET },
  security: SECURITY,
  rules: compileRules(RULES),
  rulesDigest: 'ef'.repeat(16),
  home: HOME,
  ownPaths: { paths: ['/var/lib/edge'], except: ['/var/lib/edge/workspace'] },
  quota: { ticksPerTask: null, tokensPerSession: null, sessionsPerCaller: 4 },
  earlyDrop: { start: 10, ratePercent: 30, full: 20 },
  deceives: true,
  effective: effectiveOf,
}

/** The same policy with another capability set, and with changes to `security`. */
export function policyWith(
  set: Partial<CapabilitySet>,
  security: Partial<Policy['security']> = {},
  change: Partial<Policy> = {},
): Policy {
  return {
    ...POLICY,
    capabilities: { default: { ...OPEN_SET, ...set } },
    security: { ...SECURITY, allowShell: true, ...security },
    ...change,
  }
}

export const LEDGER: Ledger = {
  tarpitsFree: 1,
  executionsFree: 1,
  executionsOfCaller: 0,
  transfersFree: true,
  sessionsFree: true,
  sessionsOfCaller: 1,
  queueFree: true,
  challengesFree: true,
  confirmationsFree: true,
  deceptionsFree: true,
  level: 'NORMAL',
  ticks: 0,
  tokens: 0,
  toxic: [],
}

type Known = Extract<Identity, { kind: 'known' }>

export const AGENT: Known = {
  kind: 'known',
  name: 'bot',
  role: 'agent',
  capability: 'default',
  tier: 'T5',
  tools: [ALL_TOOLS],
  delegation: undefined,
  instance: undefined,
}
export const OPERATOR: Known = { ...AGENT, name: 'boss', role: 'operator' }
export const NOBODY: Identity = { kind: 'none', dismissed: 'no' }

export const TLS: Source = {
  transport: 'tls',
  address: '192.0.2.1',
  isLoopback: false,
  isAllowed: true,
  isPenalised: false,
  isSuspect: false,
  crowd: undefined,
}
export const ADMIN: Source = { ...TLS, transport: 'admin', address: 'local', isLoopback: true }

export const TRANSPORT = {
  version: 'TLSv1.3',
  suite: 'TLS_AES_256_GCM_SHA384',
  alpn: ALPN_PROTOCOL,
  hasExporter: true,
  frameProblem: undefined,
} as const

export const REQUEST: RequestFacts = {
  method: 'Execute',
  audience: 'anyone',
  problems: '',
  overExpanded: false,
  challenge: 'none',
  approvals: [],
  task: undefined,
}

export const SESSION: SessionFacts = { id: 'ab'.repeat(16), state: 'live' }

/** Nothing of the sandbox is missing. */
export const CONTAINED: Confinement = { digest: 'ef'.repeat(16), weak: [] }

/** `ls` in the workspace, found as /usr/bin/ls. A program of another name is found by that name. */
export function executing(
  argv: readonly string[] = ['ls'],
  path = `/usr/bin/${(argv[0] ?? '').slice((argv[0] ?? '').lastIndexOf('/') + 1)}`,
  cwd = '/srv/work',
): ExecuteAction {
  return {
    kind: 'execute',
    executionId: 'cd'.repeat(16),
    argv,
    executable: { path, device: '1', inode: '2', sha256: null },
    cwd,
    environment: [],
    place: { branch: 'ab'.repeat(16), confinement: CONTAINED, keepsBackground: false, level: 'overlay' },
    terminal: false,
    stdin: false,
    timeoutSeconds: null,
    outputBytes: null,
  }
}

/** The same, where the device could be reached. */
export function exposed(action: ExecuteAction, ...weak: readonly Weakness[]): ExecuteAction {
  const { place } = action
  if (place === undefined) throw new Error('The command has no place.')
  return { ...action, place: { ...place, confinement: { ...place.confinement, weak } } }
}

/** Every layer passes these. */
export const FACTS: Facts = {
  cycle: 7,
  source: TLS,
  transport: TRANSPORT,
  identity: AGENT,
  session: SESSION,
  request: REQUEST,
  action: executing(),
  realPaths: [],
}

const word = fc.oneof(
  fc.constantFrom(
    ...[
      'ls',
      'git',
      'status',
      'push',
      '*',
      '/usr/bin/env',
      'bash',
      '-c',
      'rm -rf x',
      'curl',
      '.env',
      '~/.ssh',
    ],
    ...[
      'http://127.0.0.1/',
      'deny-critical',
      'deny-high',
      'deny-low',
      'challenge-high',
      'cat',
      '/srv/work/*',
    ],
    ...['/var/lib/edge/key', '$(id)', 'A=b', '--', 'a\u202eb'],
  ),
  fc.string({ unit: 'binary' }),
)
const place = fc.constantFrom('/', '/srv/work', '/srv/work/a', '/srv/work/secret/x', '/srv/workshop', '/etc')

export const anyExecute: fc.Arbitrary<ExecuteAction> = fc.record({
  kind: fc.constant('execute' as const),
  executionId: fc.string(),
  argv: fc.array(word, { maxLength: 4 }),
  executable: fc.option(
    fc.record({
      path: word,
      device: fc.string(),
      inode: fc.string(),
      sha256: fc.constantFrom(null, 'aa', 'bb'),
    }),
  ),
  cwd: place,
  environment: fc.array(fc.constantFrom('PAGER=rm x', 'LANG=C', 'A=', 'LD_PRELOAD=./x'), { maxLength: 2 }),
  terminal: fc.boolean(),
  stdin: fc.boolean(),
  timeoutSeconds: fc.option(fc.nat()),
  outputBytes: fc.option(fc.nat()),
})

const anyPlace = fc.constantFrom(
  ...['/srv/work/x', '/srv/work/secret/y', '/etc/shadow', '/var/lib/edge/x', '/tmp/a b', '/', '/srv/id_rsa'],
)

export const anyAction: fc.Arbitrary<Action> = fc.oneof(
  { arbitrary: anyExecute, weight: 4 },
  fc.record({ kind: fc.constant('connect' as const), address: fc.string() }),
  fc.record({ kind: fc.constant('authenticate' as const), name: fc.string(), isNew: fc.boolean() }),
  fc.record({ kind: fc.constant('deceive' as const), argv: fc.array(word, { maxLength: 3 }) }),
  fc.record({ kind: fc.constant('attach' as const), executionId: fc.string(), stdin: fc.boolean() }),
  fc.record({ kind: fc.constant('signal' as const), executionId: fc.string(), signal: fc.nat() }),
  fc.record({ kind: fc.constant('cancel' as const), executionId: fc.string() }),
  fc.record({ kind: fc.constant('read' as const), method: fc.string() }),
  fc.record({ kind: fc.constant('renew' as const) }),
  fc.record({
    kind: fc.constant('upload' as const),
    path: anyPlace,
    real: anyPlace,
    what: fc.constantFrom('file' as const, 'directory' as const, 'link' as const),
    target: fc.option(anyPlace),
    size: fc.nat(100),
    mode: fc.option(fc.nat(0o777)),
    sha256: fc.option(fc.string()),
    offset: fc.nat(100),
  }),
  fc.record({
    kind: fc.constant('download' as const),
    path: anyPlace,
    real: anyPlace,
    size: fc.option(fc.nat(100)),
    offset: fc.nat(100),
  }),
  fc.record({
    kind: fc.constant('confirm' as const),
    id: fc.string(),
    digest: fc.string(),
    approves: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('set_level' as const),
    scope: fc.constantFrom('daemon', 'agent'),
    name: fc.string(),
    level: fc.constantFrom(...LEVELS),
  }),
  fc.record({ kind: fc.constant('clear_penalties' as const), source: fc.option(fc.string()) }),
  fc.record({ kind: fc.constant('reload' as const) }),
  fc.record({ kind: fc.constant('drain' as const) }),
  fc.record({ kind: fc.constant('terminate' as const), instance: fc.string() }),
  fc.record({
    kind: fc.constantFrom('enroll' as const),
    name: fc.string(),
    role: fc.constantFrom('agent' as const, 'operator' as const),
    capability: fc.string(),
    key: fc.string(),
  }),
  fc.record({ kind: fc.constant('rotate_key' as const), name: fc.string(), key: fc.string() }),
  fc.record({ kind: fc.constant('take_handoff' as const), id: fc.string() }),
  fc.record({ kind: fc.constant('take_handoff' as const), id: fc.string(), artifact: fc.string() }),
  fc.record({
    kind: fc.constant('submit_envelope' as const),
    to: fc.string(),
    digest: fc.string(),
    bytes: fc.nat(),
  }),
  fc.record({ kind: fc.constant('take_envelope' as const), id: fc.string() }),
  fc.record({ kind: fc.constant('run_plan' as const), digest: fc.string() }),
  fc.record({
    kind: fc.constant('settle_envelope' as const),
    name: fc.string(),
    releases: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('handoff' as const),
    ...{ to: fc.string(), isListed: fc.boolean(), from: fc.string(), digest: fc.string() },
    ...{ sealed: fc.string(), task: fc.string(), criticality: fc.nat(4), classification: fc.nat(3) },
    claims: fc.option(fc.string()),
    declared: fc.option(fc.string()),
    confidence: fc.option(fc.nat(1_000)),
    priorScore: fc.option(fc.nat(1_000)),
    persistent: fc.array(fc.string()),
    artifacts: fc.array(fc.record({ path: fc.string(), real: fc.string(), isThere: fc.boolean() })),
    previous: fc.oneof(
      fc.constantFrom('unknown' as const, null),
      fc.record({
        ...{ id: fc.string(), task: fc.string(), criticality: fc.nat(4), classification: fc.nat(3) },
        ...{ persistent: fc.array(fc.string()), depth: fc.nat(3) },
      }),
    ),
    injection: fc.nat(1_000),
    hidden: fc.nat(9),
    rounds: fc.nat(11),
  }),
  fc.record({
    kind: fc.constant('invite' as const),
    name: fc.string(),
    role: fc.constantFrom('agent' as const, 'operator' as const),
    capability: fc.string(),
    ttlSeconds: fc.nat(),
  }),
  fc.record({
    kind: fc.constant('delegate' as const),
    worker: fc.string(),
    tools: fc.array(fc.string(), { maxLength: 3 }),
    commands: fc.array(fc.string(), { maxLength: 3 }),
    paths: fc.array(fc.string(), { maxLength: 3 }),
    seconds: fc.nat(),
  }),
  fc.record({ kind: fc.constant('purge' as const), session: fc.string() }),
)

export const anyToolList = fc.array(fc.constantFrom(...TOOLS, ALL_TOOLS), { maxLength: 5 })

export const anyKnown = fc.record({
  kind: fc.constant('known' as const),
  name: fc.string(),
  role: fc.constantFrom('agent' as const, 'operator' as const),
  capability: fc.constantFrom('default', 'other', 'absent', '__proto__', 'toString'),
  tier: fc.constantFrom(...TIER_NAMES),
  tools: anyToolList,
  delegation: fc.option(
    fc.record({
      chain: fc.array(
        fc.record({
          name: fc.string(),
          capability: fc.constantFrom('default', 'other', 'absent'),
          tools: anyToolList,
        }),
        { maxLength: 2 },
      ),
      hops: fc.nat(3),
    }),
    { nil: undefined },
  ),
  instance: fc.option(fc.string(), { nil: undefined }),
})

const anyApprovals = fc.array(
  fc.record({
    rule: fc.constantFrom(
      ...['sensitive_files', 'internal_addresses', 'default.allowed_commands', 'level.checkpoint'],
      ...['toxic.untrusted-secret-outward', 'quota.ticks_per_task', 'quota.tokens_per_session'],
    ),
    outcome: fc.constantFrom('approved' as const, 'denied' as const, 'timed_out' as const),
  }),
  { maxLength: 3 },
)

export const anyFacts: fc.Arbitrary<Facts> = fc.record({
  cycle: fc.nat(),
  source: fc.record({
    transport: fc.constantFrom('tls' as const, 'admin' as const),
    address: fc.string(),
    isLoopback: fc.boolean(),
    isAllowed: fc.boolean(),
    isPenalised: fc.boolean(),
    isSuspect: fc.boolean(),
    crowd: fc.option(fc.record({ waiting: fc.nat(30), draw: fc.nat(99) }), { nil: undefined }),
  }),
  transport: fc.option(
    fc.record({
      version: fc.constantFrom('TLSv1.3', 'TLSv1.2', ''),
      suite: fc.constantFrom('TLS_AES_256_GCM_SHA384', 'TLS_AES_128_GCM_SHA256', ''),
      alpn: fc.constantFrom(ALPN_PROTOCOL, 'h2', ''),
      hasExporter: fc.boolean(),
      frameProblem: fc.option(fc.string(), { nil: undefined }),
    }),
    { nil: undefined },
  ),
  identity: fc.oneof(
    fc.record({
      kind: fc.constant('none' as const),
      dismissed: fc.constantFrom('no' as const, 'grace' as const, 'crowd' as const),
    }),
    fc.record({
      kind: fc.constant('failed' as const),
      code: fc.constantFrom('AUTH_INVALID' as const, 'AUTH_KEY_NOT_FOUND' as const),
      why: fc.string(),
    }),
    anyKnown,
  ),
  session: fc.option(
    fc.record({
      id: fc.string(),
      state: fc.constantFrom('live' as const, 'expired' as const, 'unproven' as const, 'unknown' as const),
    }),
    { nil: undefined },
  ),
  request: fc.option(
    fc.record({
      method: fc.oneof(fc.constantFrom('Execute', 'FileUpload', 'FileDownload', 'Signal'), fc.string()),
      audience: fc.constantFrom('anyone' as const, 'operator' as const),
      problems: fc.constantFrom('', 'command is missing'),
      overExpanded: fc.boolean(),
      challenge: fc.constantFrom(...(['none', 'none', 'passed', 'failed', 'late', 'unknown'] as const)),
      approvals: anyApprovals,
      task: fc.constantFrom(undefined, 'aa'),
    }),
    { nil: undefined },
  ),
  action: fc.option(anyAction, { nil: undefined }),
  realPaths: fc.array(
    fc.record({
      path: place,
      real: fc.constantFrom('/etc/shadow', '/srv/work/secret/y', '/var/lib/edge/x', '/tmp'),
    }),
    { maxLength: 2 },
  ),
})

const PARTS = ['source', 'transport', 'identity', 'session', 'request', 'action', 'realPaths'] as const

/** Facts that every layer passes but for a few parts: so that the later layers are reached often. */
export const mostlyGoodFacts: fc.Arbitrary<Facts> = fc
  .tuple(anyFacts, fc.subarray([...PARTS]))
  .map(([any, parts]) => ({ ...FACTS, ...Object.fromEntries(parts.map((part) => [part, any[part]])) }))

/** Command lines that many a layer has something to say about. */
const typical = fc.constantFrom(
  ['ls', '-l'],
  ['cat', '.env'],
  ['cat', 'secret/x'],
  ['curl', 'http://127.0.0.1/'],
  ['curl', 'https://example.com/'],
  ['rm', '-rf', 'x'],
  ['env', 'rm', 'x'],
  ['sh', '-c', 'ls; rm x'],
  ['git', 'push'],
  ['git', 'status'],
  ['deny-high'],
  ['challenge-high'],
)

/** A known caller's command, and nothing wrong around it. */
export const anyCommandFacts: fc.Arbitrary<Facts> = fc
  .tuple(fc.constantFrom(AGENT, AGENT, OPERATOR), anyExecute, fc.option(typical, { freq: 3 }), anyFacts)
  .map(([identity, action, argv, { realPaths, cycle }]) => ({
    ...FACTS,
    cycle,
    identity,
    action: argv === null ? action : executing(argv),
    realPaths: argv === null ? realPaths : [],
  }))

const patterns = fc.array(fc.constantFrom('*', 'ls', 'git push', 'git status', '/usr/bin/*', 'b*h', 'rm'), {
  maxLength: 3,
})
const places = fc.array(fc.constantFrom('*', '/', '/srv/work', '/srv/work/secret'), { maxLength: 3 })

export const anySet: fc.Arbitrary<CapabilitySet> = fc.record({
  allowed_commands: patterns,
  denied_commands: patterns,
  allowed_paths: places,
  denied_paths: places,
  max_concurrent: fc.nat(3),
  timeout_seconds: fc.option(fc.nat()),
  max_file_size_bytes: fc.nat(),
  allowed_env: fc.constant([]),
  output_bytes: fc.option(fc.nat()),
})

const measure = fc.constantFrom('deny' as const, 'ask' as const, 'audit' as const, 'allow' as const)

export const anySecurity: fc.Arbitrary<Policy['security']> = fc.record({
  allowShell: fc.boolean(),
  allowedCommands: fc.oneof(fc.constant(['*']), patterns),
  blockedCommands: fc.array(fc.constantFrom('rm -rf', ':(){:|:&};:', 'git push'), { maxLength: 2 }),
  confirmsUnlisted: fc.boolean(),
  sensitiveFiles: measure,
  toxicCombinations: measure,
  toxicRegistry: fc.constantFrom(SECURITY.toxicRegistry, [], [['secret', 'change']] as const),
  opaque: fc.constantFrom('deny' as const, 'ask' as const, 'allow' as const),
  knownPrograms: fc.constantFrom([], ['plantctl']),
  pins: fc.constantFrom({}, { '/usr/bin/ls': 'aa' }),
  pinnedOnly: fc.boolean(),
})

export const anyPolicy: fc.Arbitrary<Policy> = fc
  .record({
    capabilities: fc.oneof(
      fc.constant({}),
      fc.record({ default: anySet, other: anySet }),
      fc.constant({ default: OPEN_SET, other: OPEN_SET }),
    ),
    security: anySecurity,
    quota: fc.record({
      ticksPerTask: fc.constantFrom(null, 2),
      tokensPerSession: fc.constantFrom(null, 2),
      sessionsPerCaller: fc.nat(3),
    }),
    deceives: fc.boolean(),
  })
  .map((change) => ({ ...POLICY, ...change }))

export const anyLedger: fc.Arbitrary<Ledger> = fc.record({
  tarpitsFree: fc.nat(2),
  executionsFree: fc.nat(2),
  executionsOfCaller: fc.nat(3),
  transfersFree: fc.boolean(),
  sessionsFree: fc.boolean(),
  sessionsOfCaller: fc.nat(3),
  queueFree: fc.boolean(),
  challengesFree: fc.boolean(),
  confirmationsFree: fc.boolean(),
  deceptionsFree: fc.boolean(),
  level: fc.oneof(
    { arbitrary: fc.constant('NORMAL' as const), weight: 4 },
    { arbitrary: fc.constantFrom(...LEVELS), weight: 1 },
  ),
  ticks: fc.nat(3),
  tokens: fc.nat(3),
  toxic: fc.subarray([...TOXIC_PROPERTIES]),
})
