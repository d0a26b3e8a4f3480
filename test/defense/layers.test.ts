/**
 * The layers of the decision: every finding of every layer, and the order in which they are asked.
 * @module
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { adjudicate } from '../../src/defense/adjudicator.ts'
import type { CapabilitySet } from '../../src/defense/capability.ts'
import type { Facts, Ledger } from '../../src/defense/facts.ts'
import { LAYERS, type Policy } from '../../src/defense/layers.ts'
import { LAYER_NAMES, type Verdict } from '../../src/defense/verdict.ts'
import {
  AGENT,
  executing,
  FACTS,
  LEDGER,
  NOBODY,
  OPERATOR,
  POLICY,
  REQUEST,
  SESSION,
  SET,
  TRANSPORT,
} from './staged-facts.ts'

type Cell = {
  readonly name: string
  readonly facts?: Partial<Facts>
  readonly policy?: Partial<Policy>
  readonly ledger?: Partial<Ledger>
  /** response or `mistake`, code, layer, rule, severity */
  readonly gives: readonly [string, string | undefined, string, string, string]
}

const PASSED = ['EXECUTE', undefined, 'all', 'all_passed', 'info'] as const
const SHELLS = ['sh', 'ash', 'bash', 'csh', 'dash', 'fish', 'ksh', 'mksh', 'rbash', 'tcsh', 'yash', 'zsh']
const ALL: CapabilitySet = {
  ...SET,
  allowed_commands: ['*'],
  allowed_paths: ['*'],
  denied_commands: [],
  denied_paths: [],
}
const all = (set: Partial<CapabilitySet> = {}) => ({ capabilities: { default: { ...ALL, ...set } } })
const before: Partial<Facts> = { identity: NOBODY, session: undefined }
const arrives: Partial<Facts> = {
  ...before,
  request: undefined,
  action: { kind: 'connect', address: '192.0.2.1' },
}
const admin = { transport: 'admin', address: 'local', isLoopback: true, isAllowed: true } as const

const CELLS: readonly Cell[] = [
  { name: 'everything is in order', gives: PASSED },
  {
    name: 'acl: an address that is not listed',
    facts: { source: { ...FACTS.source, isAllowed: false } },
    gives: ['DROP', 'ACL_DENIED', 'acl', 'acl.allow', 'warning'],
  },
  {
    name: 'transport: a frame that is malformed',
    facts: { transport: { ...TRANSPORT, frameProblem: 'a tag' } },
    gives: ['DROP', 'FRAME_MALFORMED', 'transport', 'frame', 'warning'],
  },
  {
    name: 'transport: a malformed frame on the admin socket',
    facts: { source: admin, transport: { ...TRANSPORT, frameProblem: 'a tag' } },
    gives: ['DROP', 'FRAME_MALFORMED', 'transport', 'frame', 'warning'],
  },
  {
    name: 'transport: another version of TLS',
    facts: { transport: { ...TRANSPORT, version: 'TLSv1.2' } },
    gives: ['DROP', 'TLS_HANDSHAKE_FAILED', 'transport', 'tls', 'warning'],
  },
  {
    name: 'transport: a suite that is not offered',
    facts: { transport: { ...TRANSPORT, suite: 'TLS_AES_128_GCM_SHA256' } },
    gives: ['DROP', 'TLS_HANDSHAKE_FAILED', 'transport', 'tls', 'warning'],
  },
  {
    name: 'transport: another application protocol',
    facts: { transport: { ...TRANSPORT, alpn: 'h2' } },
    gives: ['DROP', 'TLS_HANDSHAKE_FAILED', 'transport', 'tls', 'warning'],
  },
  {
    name: 'transport: nothing to bind to',
    facts: { transport: { ...TRANSPORT, hasExporter: false } },
    gives: ['DROP', 'TLS_HANDSHAKE_FAILED', 'transport', 'tls', 'warning'],
  },
  {
    name: 'transport: the other suite passes',
    facts: { transport: { ...TRANSPORT, suite: 'TLS_CHACHA20_POLY1305_SHA256' } },
    gives: PASSED,
  },
  {
    name: 'transport: the admin socket agrees nothing and passes',
    facts: {
      source: admin,
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
  {
    name: 'identity: a request before Authenticate',
    facts: before,
    gives: ['TARPIT', 'AUTH_REQUIRED', 'identity', 'before_authenticate', 'warning'],
  },
  {
    name: 'identity: a request before Authenticate, and no tarpit free',
    facts: before,
    ledger: { tarpitsFree: 0 },
    gives: ['DROP', 'AUTH_REQUIRED', 'identity', 'before_authenticate', 'warning'],
  },
  {
    name: 'identity: an action other than arriving, without a request',
    facts: { ...arrives, action: { kind: 'renew' } },
    gives: ['TARPIT', 'AUTH_REQUIRED', 'identity', 'before_authenticate', 'warning'],
  },
  {
    name: 'identity: a failed proof',
    facts: { ...before, identity: { kind: 'failed', code: 'AUTH_SIGNATURE_INVALID', why: 'w' } },
    gives: ['TARPIT', 'AUTH_SIGNATURE_INVALID', 'identity', 'authenticate', 'critical'],
  },
  {
    name: 'identity: a failed proof, and no tarpit free',
    facts: { ...before, identity: { kind: 'failed', code: 'AUTH_INVALID', why: 'w' } },
    ledger: { tarpitsFree: 0 },
    gives: ['DROP', 'AUTH_INVALID', 'identity', 'authenticate', 'critical'],
  },
  {
    name: 'session: expired',
    facts: { session: { ...SESSION, state: 'expired' } },
    gives: ['CHALLENGE', 'SESSION_EXPIRED', 'session', 'session.expired', 'info'],
  },
  {
    name: 'session: unknown',
    facts: { session: { ...SESSION, state: 'unknown' } },
    gives: ['TARPIT', 'SESSION_NOT_FOUND', 'session', 'session.unknown', 'critical'],
  },
  {
    name: 'session: unknown, and no tarpit free',
    facts: { session: { ...SESSION, state: 'unknown' } },
    ledger: { tarpitsFree: 0 },
    gives: ['DROP', 'SESSION_NOT_FOUND', 'session', 'session.unknown', 'critical'],
  },
  { name: 'session: not there yet passes', facts: { session: undefined }, gives: PASSED },
  {
    name: 'completeness: a message with problems',
    facts: { request: { ...REQUEST, problems: 'command is missing' } },
    gives: ['mistake', 'FRAME_MALFORMED', 'completeness', 'message', 'info'],
  },
  {
    name: 'completeness: a payload that expands too far',
    facts: { request: { ...REQUEST, overExpanded: true } },
    gives: ['mistake', 'DECOMPRESSION_LIMIT_EXCEEDED', 'completeness', 'raw_payload', 'warning'],
  },
  {
    name: "capability: an agent with an operator's method",
    facts: { request: { ...REQUEST, audience: 'operator' } },
    gives: ['VI_SWAP', 'CAPABILITY_DENIED', 'capability', 'method.operator', 'critical'],
  },
  {
    name: "capability: an operator with an operator's method passes",
    facts: { identity: OPERATOR, request: { ...REQUEST, audience: 'operator' } },
    gives: PASSED,
  },
  {
    name: 'capability: a set that does not exist',
    policy: { capabilities: {} },
    gives: ['VI_SWAP', 'CAPABILITY_DENIED', 'capability', 'capability.missing', 'critical'],
  },
  {
    name: 'capability: the name of something that every object inherits',
    facts: { identity: { kind: 'known', name: 'bot', role: 'agent', capability: 'toString' } },
    gives: ['VI_SWAP', 'CAPABILITY_DENIED', 'capability', 'capability.missing', 'critical'],
  },
  {
    name: 'capability: a denied command, though a pattern allows it',
    facts: { action: executing(['git', 'push'], '/usr/bin/git') },
    policy: all({ denied_commands: ['git push'] }),
    gives: ['VI_SWAP', 'CAPABILITY_CMD_DENIED', 'capability', 'default.denied_commands', 'critical'],
  },
  {
    name: 'capability: an unlisted command',
    facts: { action: executing(['rm', '-rf', '/'], '/usr/bin/rm') },
    gives: ['VI_SWAP', 'CAPABILITY_CMD_DENIED', 'capability', 'default.allowed_commands', 'critical'],
  },
  {
    name: 'capability: no command at all',
    facts: { action: executing([], '/usr/bin/rm') },
    gives: ['VI_SWAP', 'CAPABILITY_CMD_DENIED', 'capability', 'default.allowed_commands', 'critical'],
  },
  {
    name: 'capability: a denied directory',
    facts: { action: executing(['ls'], '/usr/bin/ls', '/srv/work/secret/deep') },
    gives: ['VI_SWAP', 'CAPABILITY_PATH_DENIED', 'capability', 'default.denied_paths', 'critical'],
  },
  {
    name: 'capability: an unlisted directory',
    facts: { action: executing(['ls'], '/usr/bin/ls', '/srv/workshop') },
    gives: ['VI_SWAP', 'CAPABILITY_PATH_DENIED', 'capability', 'default.allowed_paths', 'critical'],
  },
  {
    name: 'capability: a program that was not found is judged by its name',
    facts: { action: { ...executing(), executable: null } as Facts['action'] },
    gives: PASSED,
  },
  ...SHELLS.flatMap((shell): Cell[] => [
    {
      name: `capability: ${shell} by name`,
      facts: { action: executing([shell, '-c', 'x'], `/bin/${shell}`) },
      policy: { ...all(), allowShell: false },
      gives: ['VI_SWAP', 'CAPABILITY_CMD_DENIED', 'capability', 'security.allow_shell', 'critical'],
    },
    {
      name: `capability: ${shell} behind another name`,
      facts: { action: executing(['/srv/work/harmless'], `/bin/${shell}`) },
      policy: { ...all(), allowShell: false },
      gives: ['VI_SWAP', 'CAPABILITY_CMD_DENIED', 'capability', 'security.allow_shell', 'critical'],
    },
    {
      name: `capability: ${shell} where shells are allowed passes`,
      facts: { action: executing([shell], `/bin/${shell}`) },
      policy: { ...all(), allowShell: true },
      gives: PASSED,
    },
  ]),
  {
    name: 'quota: as many executions as the caller may have',
    ledger: { executionsOfCaller: 2 },
    gives: ['THROTTLE', 'RESPONSE_THROTTLED', 'quota', 'default.max_concurrent', 'info'],
  },
  { name: 'quota: one fewer passes', ledger: { executionsOfCaller: 1 }, gives: PASSED },
  {
    name: 'quota: as many executions as the device has',
    ledger: { executionsFree: 0 },
    gives: ['THROTTLE', 'RESPONSE_THROTTLED', 'quota', 'execution.max_concurrent', 'info'],
  },
  {
    name: 'quota: a new session and no room for it',
    facts: { session: undefined, action: { kind: 'authenticate', name: 'bot', isNew: true } },
    ledger: { sessionsFree: false },
    gives: ['THROTTLE', 'SESSION_LIMIT', 'quota', 'session.max_sessions', 'warning'],
  },
  {
    name: 'quota: a session that is taken back needs no room',
    facts: { session: undefined, action: { kind: 'authenticate', name: 'bot', isNew: false } },
    ledger: { sessionsFree: false },
    gives: PASSED,
  },
  {
    name: 'quota: attaching, signalling and reading take no slot',
    facts: { action: { kind: 'attach', executionId: 'x' } },
    ledger: { executionsFree: 0, executionsOfCaller: 9 },
    gives: PASSED,
  },
]

function shapeOf(verdict: Verdict): Cell['gives'] {
  return [
    verdict.kind === 'response' ? verdict.response : verdict.kind,
    verdict.code,
    verdict.layer,
    verdict.rule,
    verdict.severity,
  ]
}

for (const { name, facts, policy, ledger, gives } of CELLS) {
  t.test(name, (t) => {
    const verdict = adjudicate({ ...FACTS, ...facts }, { ...POLICY, ...policy }, { ...LEDGER, ...ledger })
    t.strictSame(shapeOf(verdict), gives)
    t.equal(verdict.enhancedAudit, verdict.severity === 'critical')
    if (verdict.kind === 'mistake') t.equal(verdict.ends, verdict.code === 'DECOMPRESSION_LIMIT_EXCEEDED')
    t.end()
  })
}

t.test('the table has a cell for every rule that the layers name', (t) => {
  const code = readFileSync(join(import.meta.dirname, '../../src/defense/layers.ts'), 'utf8')
  const named = new Set<string>()
  for (const [, rule = ''] of code.matchAll(/rule: '([^']+)'/g)) named.add(rule)
  for (const [, rule = ''] of code.matchAll(/violation\(\s*'[A-Z_]+',\s*'([^']+)'/g)) named.add(rule)
  const tested = new Set(CELLS.map(({ gives }) => gives[3]))
  t.ok(named.size > 8, [...named].join(' '))
  t.strictSame(
    [...named].filter((rule) => !tested.has(rule)),
    [],
  )
  t.end()
})

t.test('denied wins over allowed with R4, and what no pattern matches is denied (SS-19)', (t) => {
  const response = (argv: readonly string[], cwd: string, set: Partial<CapabilitySet>) => {
    const [outcome, , , rule] = shapeOf(
      adjudicate(
        { ...FACTS, action: executing(argv, '/usr/bin/x', cwd) },
        { ...POLICY, ...all(set) },
        LEDGER,
      ),
    )
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
  const action = executing(['bash', '-c', 'true'], '/usr/bin/bash')
  const outcome = (allowShell: boolean, allowed_commands: string[]) =>
    shapeOf(adjudicate({ ...FACTS, action }, { ...all({ allowed_commands }), allowShell }, LEDGER))[0]
  t.equal(outcome(true, []), 'VI_SWAP')
  t.equal(outcome(true, ['ls']), 'VI_SWAP')
  t.equal(outcome(false, ['bash']), 'VI_SWAP')
  t.equal(outcome(true, ['bash']), 'EXECUTE')
  t.equal(
    shapeOf(adjudicate({ ...FACTS, action }, { capabilities: {}, allowShell: true }, LEDGER))[0],
    'VI_SWAP',
  )
  t.end()
})

t.test(
  'the layers are complete, in the order of docs/responses.md, and those that ask nothing say so',
  (t) => {
    t.strictSame(
      LAYERS.map(({ name }) => name),
      LAYER_NAMES,
    )
    t.ok(Object.isFrozen(LAYERS) && Object.isFrozen(LAYER_NAMES))
    const page = readFileSync(join(import.meta.dirname, '../../docs/responses.md'), 'utf8')
    const rows = [...page.matchAll(/^\| \d+ \| `([0-9a-z_]+)` \| (.*?) \|/gm)]
    t.strictSame(
      rows.map(([, name]) => name),
      LAYER_NAMES,
    )
    t.strictSame(
      rows.filter(([, , question = '']) => question.startsWith('asks nothing')).map(([, name]) => name),
      LAYERS.filter(({ check }) => check === undefined).map(({ name }) => name),
    )
    t.end()
  },
)

t.test('a known caller and nobody share no answer to a violation', (t) => {
  const violation = { ...FACTS, action: executing(['rm'], '/usr/bin/rm') }
  t.equal(shapeOf(adjudicate({ ...violation, identity: AGENT }, POLICY, LEDGER))[0], 'VI_SWAP')
  t.equal(shapeOf(adjudicate({ ...violation, ...before }, POLICY, LEDGER))[0], 'TARPIT')
  t.end()
})
