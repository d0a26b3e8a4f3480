/**
 * What is fuzzed of the decision: the adjudicator over facts of every kind, answers to challenges, and what operators
 * send, each with what must hold whatever it is given.
 * @module
 */
import { type CborValue, encodeCbor, openCbor } from '../../src/base/encoding/cbor.ts'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import { ALL_TOOLS, TIER_NAMES, TOOLS } from '../../src/base/tool-name.ts'
import { TOXIC_PROPERTIES } from '../../src/base/toxic-property.ts'
import { adjudicate } from '../../src/defense/adjudicator.ts'
import type { Action, Facts, Identity, Ledger } from '../../src/defense/facts.ts'
import type { Policy } from '../../src/defense/layer.ts'
import { LEVELS } from '../../src/defense/level.ts'
import { LAYER_NAMES, RESPONSES } from '../../src/defense/verdict.ts'
import { Warrant } from '../../src/defense/warrant.ts'
import { createChallenges } from '../../src/session/callers/challenges.ts'
import { answerChallenge } from '../../src/wire/challenge.ts'
import * as m from '../../src/wire/messages.ts'
import { METHODS, type MethodName, methodNamed } from '../../src/wire/methods.ts'
import { readMessage } from '../../src/wire/schema.ts'
import * as s from '../../src/wire/status-messages.ts'
import { AGENT, executing, FACTS, LEDGER, OPEN_SET, OPERATOR, POLICY, SET } from '../defense/staged-facts.ts'
import { authOf, connect, exporterOf, stageClock, stageRandom, stageRooms } from '../session/stage.ts'
import type { FuzzTarget } from './engine.ts'
import { latin, must, text } from './inputs.ts'

/** Choices that follow from the bytes: equal bytes are equal facts, and a changed byte is a changed choice. */
function chooser(input: Uint8Array) {
  let at = 0
  const byte = (): number => input[at++] ?? 0
  return {
    of: <T>(choices: readonly [T, ...T[]]): T => choices[byte() % choices.length] ?? choices[0],
    some: <T>(choices: readonly T[]): readonly T[] => {
      const bits = byte()
      return choices.filter((_, index) => ((bits >> (index % 8)) & 1) === 1)
    },
    /** Mostly as it is when all is well, so that the later layers are reached. */
    mostly: <T>(usual: T, others: readonly T[]): T => {
      const choice = byte()
      return choice < 192 ? usual : (others[choice % Math.max(1, others.length)] ?? usual)
    },
    rest: () => input.subarray(at),
  }
}

type Chooser = ReturnType<typeof chooser>
const BOOLEANS = [false, true] as const
const PLACES = ['/', '/srv/work', '/srv/work/secret/x', '/etc'] as const

function chooseAction(choose: Chooser, argv: readonly string[]): Action | undefined {
  const id = 'cd'.repeat(16)
  const command: Action = {
    ...executing(argv, argv[0] ?? '', choose.mostly('/srv/work', PLACES)),
    environment: choose.mostly([], [['LD_PRELOAD=./x'], ['PAGER=rm x', 'A=']]),
    terminal: choose.of(BOOLEANS),
    stdin: choose.of(BOOLEANS),
  }
  return choose.mostly<Action | undefined>(command, [
    undefined,
    { kind: 'connect', address: '192.0.2.1' },
    { kind: 'authenticate', name: 'bot', isNew: choose.of(BOOLEANS) },
    { kind: 'deceive', argv },
    { kind: 'attach', executionId: id, stdin: true },
    { kind: 'signal', executionId: id, signal: 9 },
    { kind: 'set_level', scope: 'daemon', name: '', level: 'HALT' },
    {
      kind: 'upload',
      path: `/${argv[0] ?? ''}`,
      real: `/${argv[1] ?? ''}`,
      what: choose.of(['file', 'directory', 'link'] as const),
      target: argv[2] ?? null,
      size: 1,
      mode: null,
      sha256: null,
      offset: 0,
    },
    { kind: 'download', path: `/${argv[0] ?? ''}`, real: `/${argv[1] ?? ''}`, size: null, offset: 0 },
    { kind: 'reload' },
    { kind: 'drain' },
  ])
}

function chooseIdentity(choose: Chooser): Identity {
  const known: Identity = {
    ...choose.of([AGENT, OPERATOR]),
    tier: choose.mostly('T5', TIER_NAMES),
    tools: choose.mostly<readonly string[]>([ALL_TOOLS], [[], choose.some(TOOLS)]) as typeof AGENT.tools,
    capability: choose.mostly('default', ['open', 'absent', '__proto__']),
    delegation: choose.mostly<(typeof AGENT)['delegation']>(undefined, [
      { chain: [{ name: 'a', capability: 'open', tools: choose.some(TOOLS) }], hops: choose.of([0, 1, 3]) },
      { chain: [], hops: 0 },
    ]),
  }
  return choose.mostly<Identity>(known, [
    { kind: 'none', dismissed: choose.of(['no', 'grace', 'crowd']) },
    { kind: 'failed', code: 'AUTH_INVALID', why: '' },
  ])
}

function chooseFacts(choose: Chooser): Facts {
  const request = FACTS.request
  const source = {
    ...FACTS.source,
    transport: choose.mostly<'tls' | 'admin'>('tls', ['admin']),
    isLoopback: choose.of(BOOLEANS),
    isAllowed: choose.mostly(true, [false]),
    isPenalised: choose.mostly(false, [true]),
    isSuspect: choose.mostly(false, [true]),
    crowd: choose.mostly<Facts['source']['crowd']>(undefined, [{ waiting: 15, draw: 3 }]),
  }
  const identity = chooseIdentity(choose)
  const session = choose.mostly<Facts['session']>(FACTS.session, [
    undefined,
    { id: 'x', state: choose.of(['live', 'expired', 'unproven', 'unknown'] as const) },
  ])
  const asked = request && {
    ...request,
    method: choose.mostly('Execute', ['FileUpload', 'Signal', 'constructor', '']),
    audience: choose.mostly<'anyone' | 'operator'>('anyone', ['operator']),
    problems: choose.mostly('', ['command is missing']),
    overExpanded: choose.mostly(false, [true]),
    challenge: choose.mostly<'none' | 'passed' | 'failed' | 'late' | 'unknown'>('none', [
      ...(['passed', 'failed', 'late', 'unknown'] as const),
    ]),
    approvals: choose
      .some(['sensitive_files', 'level.checkpoint', 'default.allowed_commands', 'quota.ticks_per_task'])
      .map((rule) => ({ rule, outcome: choose.of(['approved', 'denied', 'timed_out'] as const) })),
    task: choose.of([undefined, 'aa']),
  }
  const frameProblem = choose.mostly<string | undefined>(undefined, ['a tag'])
  const realPaths = choose.mostly<Facts['realPaths']>(
    [],
    [[{ path: '/srv/work', real: '/var/lib/edge/key' }]],
  )
  const transport = FACTS.transport && { ...FACTS.transport, frameProblem }
  const argv = latin(choose.rest().subarray(24)).split('\0')
  const action = chooseAction(choose, argv)
  return {
    ...{ cycle: 1, source, transport: choose.mostly(transport, [undefined]), identity, session },
    ...{ request: choose.mostly(asked, [undefined]), action, realPaths },
  }
}

function chooseWorld(choose: Chooser): { readonly policy: Policy; readonly ledger: Ledger } {
  const measure = ['deny', 'ask', 'audit', 'allow'] as const
  const policy: Policy = {
    ...POLICY,
    capabilities: { default: choose.of([OPEN_SET, SET]), open: OPEN_SET },
    security: {
      ...POLICY.security,
      allowShell: choose.of([true, false]),
      confirmsUnlisted: choose.of(BOOLEANS),
      sensitiveFiles: choose.of(measure),
      toxicCombinations: choose.of(measure),
      opaque: choose.of(['deny', 'ask', 'allow'] as const),
      blockedCommands: choose.mostly<readonly string[]>([], [['rm -rf']]),
      pinnedOnly: choose.mostly(false, [true]),
    },
    quota: { ...POLICY.quota, ticksPerTask: choose.of([null, 2]), tokensPerSession: choose.of([null, 2]) },
    deceives: choose.of(BOOLEANS),
  }
  const ledger: Ledger = {
    ...LEDGER,
    tarpitsFree: choose.of([1, 0]),
    executionsFree: choose.mostly(1, [0]),
    executionsOfCaller: choose.mostly(0, [9]),
    sessionsFree: choose.mostly(true, [false]),
    queueFree: choose.of(BOOLEANS),
    challengesFree: choose.of(BOOLEANS),
    confirmationsFree: choose.of(BOOLEANS),
    deceptionsFree: choose.of(BOOLEANS),
    level: choose.mostly('NORMAL', LEVELS),
    ticks: choose.mostly(0, [2]),
    tokens: choose.mostly(0, [2]),
    toxic: choose.some(TOXIC_PROPERTIES),
  }
  return { policy, ledger }
}

const decision: FuzzTarget = {
  name: 'adjudicator',
  seeds: [
    new Uint8Array(64),
    ...['rm\0-rf\0/', 'deny-critical', 'challenge-high', 'sh\0-c\0cat .env', 'curl\0http://10.0.0.1/'].map(
      (argv) => Uint8Array.of(...new Uint8Array(90), ...text(argv)),
    ),
  ],
  pieces: ['\0', 'rm', 'cat', '.env', 'deny-low', 'sh\0-c\0', '/var/lib/edge/', 'a\u202eb'].map(text),
  run(input) {
    const choose = chooser(input)
    const { policy, ledger } = chooseWorld(choose)
    const facts = chooseFacts(choose)
    const verdict = adjudicate(facts, policy, ledger)
    must(
      JSON.stringify(adjudicate(facts, policy, ledger)) === JSON.stringify(verdict),
      'the same facts give another verdict',
    )
    if (verdict.kind === 'status') return `status ${verdict.rule}`
    must(RESPONSES.includes(verdict.response), 'none of the six')
    const warrant = 'warrant' in verdict ? verdict.warrant : undefined
    must(
      (verdict.response === 'EXECUTE') === warrant instanceof Warrant,
      'a warrant without R1, or none with it',
    )
    must(verdict.layer === 'all' || LAYER_NAMES.includes(verdict.layer), 'decided by no layer')
    // The types of these facts are right, so no layer may find its own data missing; without an action there is none.
    must(verdict.rule !== 'deny_on_error' || isIncomplete(facts), 'a layer could not decide')
    return `${verdict.response} ${verdict.layer} ${verdict.rule}`
  },
}

function isIncomplete({ action, request, session, transport }: Facts): boolean {
  return action === undefined || request === undefined || session === undefined || transport === undefined
}

const CHALLENGE_SESSION = new Uint8Array(16).fill(3)

/** A challenge as it is issued first, always the same one, and what is right for it. */
function issueChallenge() {
  const clock = stageClock()
  const exportKeyingMaterial = exporterOf('one')
  const challenges = createChallenges({ exportKeyingMaterial }, clock, stageRandom(), () => 60_000)
  const settled: string[] = []
  const issued = challenges.issue(CHALLENGE_SESSION, (outcome) => settled.push(outcome))
  const ekm = exportKeyingMaterial(44, 'EXPORTER-sakissh-chacha20-v14', CHALLENGE_SESSION)
  if (issued === undefined || ekm === undefined) throw new Error('nothing was issued')
  const right = answerChallenge(ekm, CHALLENGE_SESSION, issued)
  if (right === undefined) throw new Error('it cannot be opened')
  return { clock, challenges, settled, issued, right }
}

const first = issueChallenge()
const rightAnswer = {
  decrypted_plaintext: first.right.plaintext,
  client_ekm_hmac: first.right.hmac,
  challenge_id: first.issued.challenge_id,
}

const challengeAnswers: FuzzTarget = {
  name: 'challenge-answer',
  seeds: [
    encodeCbor(m.challengeAnswer.encode(rightAnswer)),
    encodeCbor(m.challengeAnswer.encode({ ...rightAnswer, client_ekm_hmac: new Uint8Array(32) })),
    encodeCbor(m.challengeAnswer.encode({ ...rightAnswer, challenge_id: new Uint8Array(16) })),
  ],
  run(input) {
    const opened = openCbor(input, { depth: 4, items: 32 })
    if (!opened.ok) return opened.problem
    const read = readMessage(m.challengeAnswer, opened.value, 'strict')
    if (!read.ok) return 'no answer'
    const { challenges, settled, clock, right, issued } = issueChallenge()
    const { outcome, settle } = challenges.answer(read.value)
    settle()
    const isRight =
      encodeHex(read.value.decrypted_plaintext) === encodeHex(right.plaintext) &&
      encodeHex(read.value.client_ekm_hmac) === encodeHex(right.hmac)
    const isKnown = encodeHex(read.value.challenge_id) === encodeHex(issued.challenge_id)
    must(outcome === (isKnown ? (isRight ? 'passed' : 'failed') : 'unknown'), `it is ${outcome}`)
    must(challenges.answer(read.value).outcome === 'unknown', 'an answer counts twice')
    clock.pass(60_000)
    must(settled.join() === (isKnown ? outcome : 'late'), `told ${settled.join()}`)
    must(clock.timers === 0, 'something still waits')
    return outcome
  },
}

const ADMIN = {
  kind: 'admin',
  remoteAddress: 'local',
  agreement: { version: '', suite: '', alpn: '' },
  exportKeyingMaterial: () => undefined,
  peerUserId: 0,
} as const
/** Signing takes longer than everything else here; the kernel says who is there, so one message fits every stage. */
const authenticate = authOf()

const OPERATOR_METHODS = METHODS.filter(({ audience }) => audience === 'operator')

/** The method's place, then the request. */
function request(name: MethodName, value: CborValue = new Map()): Uint8Array {
  return Uint8Array.of(OPERATOR_METHODS.indexOf(methodNamed(name)), ...encodeCbor(value))
}

const id = new Uint8Array(16)
const setLevel = (level: string, scope: string, name: string) =>
  request('SetLevel', m.levelChange.encode({ scope, name, level, why: 'odd' }))
const operatorRequests = [
  request('ListConfirmations'),
  request(
    'AnswerConfirmation',
    m.confirmationAnswer.encode({ id, digest: new Uint8Array(32), approve: true }),
  ),
  request('ShowLevels'),
  setLevel('RESTRICT', 'agent', 'bot'),
  setLevel('CONTAIN', 'session', '00'.repeat(16)),
  setLevel('HALT', 'daemon', ''),
  request('ListPenalties'),
  request('ShowMetrics'),
  request('Purge', m.purgeRequest.encode({ session_id: new Uint8Array(16) })),
  request('ClearPenalties', m.penaltyClear.encode({ source: '192.0.2.1' })),
  request('Explain', s.whyRequest.encode({ seq: 1 })),
  request('Reload'),
  request('Drain'),
]

/** What they do takes longer than a turn: they answer later, which their own tests wait for. */
const ANSWERED_LATER: readonly MethodName[] = [
  'Reload',
  'Purge',
  'DiffBranch',
  'MergeBranch',
  'UndoMerge',
  'DropBranch',
  'CheckpointBranch',
  'ListCheckpoints',
]

const operatorMessages: FuzzTarget = {
  name: 'operator',
  seeds: operatorRequests,
  pieces: ['daemon', 'agent', 'session', 'bot', 'NORMAL', 'CHECKPOINT', '192.0.2.1'].map(text),
  run(input) {
    const method = OPERATOR_METHODS[(input[0] ?? 0) % OPERATOR_METHODS.length]
    const opened = openCbor(input.subarray(1), { depth: 4, items: 64 })
    if (!opened.ok || method === undefined) return 'no request'
    const stage = stageRooms({ ringBytes: 64, executions: 1 })
    const client = connect(stage, ADMIN)
    client.open('Authenticate', authenticate)
    client.connection.becomeOpen(4_096)
    // What is no map is no request, and ends the connection before the method is looked at.
    const isMap = opened.value instanceof Map
    const stream = client.open(method.name, opened.value as CborValue)
    const [answer] = client.on(stream)
    must(stage.spawner.children.length === 0, 'an operator’s message starts a command')
    if (isMap && !ANSWERED_LATER.includes(method.name))
      must(answer !== undefined || client.transport.deeds.includes('reset'), 'there is no answer')
    client.events.closed()
    const last = stage.audit.events.at(-1)
    return `${method.name} ${answer?.kind} ${answer?.code ?? ''} ${last?.type} ${last?.['rule']}`
  },
}

export const DECISION_TARGETS: readonly FuzzTarget[] = Object.freeze([
  decision,
  challengeAnswers,
  operatorMessages,
])
