/**
 * Facts, policies and ledgers for the tests of the decision: one that every layer passes, and arbitraries over all.
 * @module
 */
import fc from 'fast-check'
import type { CapabilitySet } from '../../src/defense/capability.ts'
import type { Action, Facts, Identity, Ledger, RequestFacts, SessionFacts } from '../../src/defense/facts.ts'
import type { Policy } from '../../src/defense/layers.ts'
import { ALPN_PROTOCOL } from '../../src/limits.ts'

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

export const POLICY: Policy = { capabilities: { default: SET }, allowShell: false }

export const LEDGER: Ledger = {
  tarpitsFree: 1,
  executionsFree: 1,
  executionsOfCaller: 0,
  sessionsFree: true,
}

export const AGENT: Identity = { kind: 'known', name: 'bot', role: 'agent', capability: 'default' }
export const OPERATOR: Identity = { kind: 'known', name: 'boss', role: 'operator', capability: 'default' }
export const NOBODY: Identity = { kind: 'none', dismissed: 'no' }

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
}

export const SESSION: SessionFacts = { id: 'ab'.repeat(16), state: 'live' }

/** `ls` in the workspace, found as /usr/bin/ls. */
export function executing(argv: readonly string[] = ['ls'], path = '/usr/bin/ls', cwd = '/srv/work'): Action {
  return {
    kind: 'execute',
    executionId: 'cd'.repeat(16),
    argv,
    executable: { path, device: '1', inode: '2' },
    cwd,
    terminal: false,
    timeoutSeconds: null,
    outputBytes: null,
  }
}

/** Every layer passes these. */
export const FACTS: Facts = {
  cycle: 7,
  source: { transport: 'tls', address: '192.0.2.1', isLoopback: false, isAllowed: true },
  transport: TRANSPORT,
  identity: AGENT,
  session: SESSION,
  request: REQUEST,
  action: executing(),
}

const word = fc.oneof(
  fc.constantFrom('ls', 'git', 'status', 'push', '*', '/usr/bin/env', 'bash'),
  fc.string(),
)
const path = fc.constantFrom('/', '/srv/work', '/srv/work/a', '/srv/work/secret/x', '/srv/workshop', '/etc')

export const anyAction: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ kind: fc.constant('connect' as const), address: fc.string() }),
  fc.record({ kind: fc.constant('authenticate' as const), name: fc.string(), isNew: fc.boolean() }),
  fc.record({
    kind: fc.constant('execute' as const),
    executionId: fc.string(),
    argv: fc.array(word, { maxLength: 4 }),
    executable: fc.option(fc.record({ path: word, device: fc.string(), inode: fc.string() })),
    cwd: path,
    terminal: fc.boolean(),
    timeoutSeconds: fc.option(fc.nat()),
    outputBytes: fc.option(fc.nat()),
  }),
  fc.record({ kind: fc.constant('attach' as const), executionId: fc.string() }),
  fc.record({ kind: fc.constant('signal' as const), executionId: fc.string(), signal: fc.nat() }),
  fc.record({ kind: fc.constant('cancel' as const), executionId: fc.string() }),
  fc.record({ kind: fc.constant('read' as const), method: fc.string() }),
  fc.record({ kind: fc.constant('renew' as const) }),
)

export const anyFacts: fc.Arbitrary<Facts> = fc.record({
  cycle: fc.nat(),
  source: fc.record({
    transport: fc.constantFrom('tls' as const, 'admin' as const),
    address: fc.string(),
    isLoopback: fc.boolean(),
    isAllowed: fc.boolean(),
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
    fc.record({
      kind: fc.constant('known' as const),
      name: fc.string(),
      role: fc.constantFrom('agent' as const, 'operator' as const),
      capability: fc.constantFrom('default', 'absent', '__proto__', 'toString'),
    }),
  ),
  session: fc.option(
    fc.record({
      id: fc.string(),
      state: fc.constantFrom('live' as const, 'expired' as const, 'unknown' as const),
    }),
    { nil: undefined },
  ),
  request: fc.option(
    fc.record({
      method: fc.string(),
      audience: fc.constantFrom('anyone' as const, 'operator' as const),
      problems: fc.constantFrom('', 'command is missing'),
      overExpanded: fc.boolean(),
    }),
    { nil: undefined },
  ),
  action: fc.option(anyAction, { nil: undefined }),
})

const PARTS = ['source', 'transport', 'identity', 'session', 'request', 'action'] as const

/** Facts that every layer passes but for a few parts: so that the later layers are reached often. */
export const mostlyGoodFacts: fc.Arbitrary<Facts> = fc
  .tuple(anyFacts, fc.subarray([...PARTS]))
  .map(([any, parts]) => ({ ...FACTS, ...Object.fromEntries(parts.map((part) => [part, any[part]])) }))

const patterns = fc.array(fc.constantFrom('*', 'ls', 'git push', 'git status', '/usr/bin/*', 'b*h'), {
  maxLength: 3,
})
const paths = fc.array(fc.constantFrom('*', '/', '/srv/work', '/srv/work/secret'), { maxLength: 3 })

export const anySet: fc.Arbitrary<CapabilitySet> = fc.record({
  allowed_commands: patterns,
  denied_commands: patterns,
  allowed_paths: paths,
  denied_paths: paths,
  max_concurrent: fc.nat(3),
  timeout_seconds: fc.option(fc.nat()),
  max_file_size_bytes: fc.nat(),
  allowed_env: fc.constant([]),
  output_bytes: fc.option(fc.nat()),
})

export const anyPolicy: fc.Arbitrary<Policy> = fc.record({
  capabilities: fc.oneof(
    fc.constant({}),
    anySet.map((set) => ({ default: set })),
  ),
  allowShell: fc.boolean(),
})

export const anyLedger: fc.Arbitrary<Ledger> = fc.record({
  tarpitsFree: fc.nat(2),
  executionsFree: fc.nat(2),
  executionsOfCaller: fc.nat(3),
  sessionsFree: fc.boolean(),
})
