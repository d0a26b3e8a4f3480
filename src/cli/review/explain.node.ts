/**
 * What would happen to a command: the facts that the daemon would gather, the decision that it would make, and both in
 * words. Nothing is sent and nothing is run; what only a running daemon knows (levels, queues, what a session has done
 * before) is taken to be quiet.
 * @module
 */
import { realpathSync } from 'node:fs'
import { nearest } from '../../base/text/suggest.ts'
import { DEFAULT_CAPABILITY } from '../../config/caller-fields.ts'
import type { Config } from '../../config/config.ts'
import { tierUnsaid } from '../../config/profile.ts'
import { adjudicate } from '../../defense/adjudicator.ts'
import { type Described, describeDecision } from '../../defense/describe.ts'
import type { ExecuteAction, Facts, Identity, Ledger } from '../../defense/facts.ts'
import type { Policy } from '../../defense/layer.ts'
import type { Verdict } from '../../defense/verdict.ts'
import { currentUser } from '../../edge/host/current-user.node.ts'
import { loadPolicy, makePolicy } from '../../edge/policy/policy.node.ts'
import { networkOf } from '../../edge/setup/contradicting-networks.ts'
import { withEnrolled } from '../../edge/state/identity-book.node.ts'
import { misuse } from '../../errors.ts'
import { ALPN_PROTOCOL, TLS_CIPHERS } from '../../limits.ts'
import { makePlan } from '../../sandbox/places/plan.ts'
import { createProgramFinder } from '../../sandbox/places/program-finder.node.ts'
import { weaknessesOf } from '../../sandbox/places/weaknesses.ts'
import { createIdentities, factsOf } from '../../session/callers/identities.ts'
import { executeAction, smallest } from '../../session/standing/execute-action.ts'
import { lookUp } from '../../session/standing/real-paths.ts'
import { executeRequest } from '../../wire/messages.ts'
import { readMessage } from '../../wire/schema.ts'

export type Question = {
  readonly argv: readonly string[]
  /** Undefined: the first agent that is listed, or one that has the default capability set. */
  readonly agent: string | undefined
  readonly cwd: string | undefined
  readonly terminal: boolean
  readonly stdin: boolean
}

export type Answer = Described & { readonly code: string | null; readonly verdict: Verdict }

/** A daemon with nothing to do, asked by nobody else. */
const QUIET: Ledger = Object.freeze({
  tarpitsFree: 1,
  executionsFree: 1,
  executionsOfCaller: 0,
  transfersFree: true,
  sessionsFree: true,
  sessionsOfCaller: 0,
  leavingOfCaller: 0,
  queueFree: true,
  challengesFree: true,
  confirmationsFree: true,
  deceptionsFree: true,
  level: 'NORMAL',
  ticks: 0,
  tokens: 0,
  toxic: [],
})

function identityOf(config: Config, name: string | undefined): Identity {
  const identities = createIdentities(config.agents)
  const asked = name ?? config.agents.find(({ role }) => role === 'agent')?.name
  const caller = asked === undefined ? undefined : identities.find(asked)
  if (caller !== undefined) return factsOf(caller, identities, undefined)
  if (name !== undefined) {
    const names = config.agents.map((agent) => agent.name)
    const meant = nearest(name, names)
    throw misuse(
      `There is no agent of this name in the configuration: ${meant === undefined ? 'sass-edge agent list shows them' : `the nearest is ${meant}`}.`,
    )
  }
  return {
    kind: 'known',
    name: 'agent',
    role: 'agent',
    capability: DEFAULT_CAPABILITY,
    tier: tierUnsaid(config.security.founding_rules, 'agent'),
    tools: ['*'],
    delegation: undefined,
    instance: undefined,
  }
}

function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** What would happen where the program is installed: not every machine that is asked on has what the device has. */
function installed(action: ExecuteAction): ExecuteAction {
  const [name = ''] = action.argv
  if (action.executable !== null || name.includes('/')) return action
  return { ...action, executable: { path: `/usr/bin/${name}`, device: '0', inode: '0', sha256: null } }
}

/** Where it would run, as far as the configuration says it: what of the view this kernel can give is only seen there. */
function expectedPlace(config: Config, identity: Identity) {
  const { sandbox, capabilities } = config
  const { require: level, devices, sockets } = sandbox
  const set = identity.kind === 'known' ? capabilities[identity.capability] : undefined
  const network = set === undefined ? sandbox.network : networkOf(config, set)
  const weak = level === 'none' ? (['real_files'] as const) : weaknessesOf({ network, devices, sockets })
  return { branch: '', level, confinement: { digest: '', weak } }
}

/** @throws SassError for rules that cannot be used, an agent that is not listed, or a command that is no command */
export async function explainCommand(
  config: Config,
  configPath: string | undefined,
  question: Question,
): Promise<Answer> {
  const policy: Policy = await loadPolicy(await makePolicy(config, configPath), config)
  const identity = identityOf(withEnrolled(config), question.agent)
  const set = identity.kind === 'known' ? policy.capabilities[identity.capability] : undefined
  const [command = '', ...args] = question.argv
  const request = readMessage(
    executeRequest,
    executeRequest.encode({
      command,
      args,
      cwd: question.cwd,
      stdin: question.stdin,
      pty: question.terminal ? { rows: 24, cols: 80 } : undefined,
    }),
    'strict',
  )
  if (!request.ok)
    throw misuse(`This is no command that could be sent: ${request.problems[0]?.problem ?? ''}.`)
  const finder = createProgramFinder()
  const user = currentUser()
  const planner = {
    finder,
    workspaceRoot: real(config.security.workspace_root),
    base: { home: user.home, user: user.name },
  }
  const planned = makePlan(
    planner,
    undefined,
    request.value,
    question.argv,
    set?.allowed_env ?? [],
    policy.security.pins,
  )
  if (!planned.ok) throw misuse(`This is no command that could be sent: ${planned.problem}.`)
  const action = installed(
    executeAction(
      planned.planned,
      request.value,
      '0'.repeat(32),
      smallest(set?.timeout_seconds, config.quota.tool_timeout_seconds),
      smallest(set?.output_bytes, config.quota.output_bytes),
      expectedPlace(config, identity),
    ),
  )
  const facts: Facts = {
    cycle: 0,
    source: {
      transport: 'tls',
      address: '127.0.0.1',
      isLoopback: true,
      isAllowed: true,
      isPenalised: false,
      isSuspect: false,
      crowd: undefined,
    },
    transport: {
      version: 'TLSv1.3',
      suite: TLS_CIPHERS.split(':')[0] ?? '',
      alpn: ALPN_PROTOCOL,
      hasExporter: true,
      frameProblem: undefined,
    },
    identity,
    session: { id: '0'.repeat(32), state: 'live' },
    request: {
      method: 'ExecuteStream',
      audience: 'anyone',
      problems: '',
      overExpanded: false,
      challenge: 'none',
      approvals: [],
      task: undefined,
    },
    action,
    ...lookUp(policy.effective(action), finder, action.cwd, policy),
  }
  const verdict = adjudicate(facts, policy, QUIET)
  return { ...describeDecision(facts, verdict, policy), code: verdict.code ?? null, verdict }
}
