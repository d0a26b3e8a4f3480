/**
 * The table of methods: what each takes and gives, who may call it, and which key holds the bytes that credit
 * counts. Numbers 1 to 14 are the reference's; 16 to 31 are this profile's own for every caller, 32 to 63 the
 * operator's, 64 to 95 signed intent's. docs/protocol.md, section 3.
 * @module
 */
import * as f from './file-messages.ts'
import * as h from './handoff-messages.ts'
import * as i from './identity-messages.ts'
import * as n from './intent-messages.ts'
import * as m from './messages.ts'
import * as p from './plan-messages.ts'
import * as r from './proposal-messages.ts'
import type { AnyMessage } from './schema.ts'
import * as s from './status-messages.ts'

export type MethodName =
  | 'Execute'
  | 'ExecuteStream'
  | 'Cancel'
  | 'Signal'
  | 'FileUpload'
  | 'FileDownload'
  | 'RawFileTransfer'
  | 'Authenticate'
  | 'CognitiveChallenge'
  | 'SecurityStatus'
  | 'Ping'
  | 'RenewSession'
  | 'GetCapabilities'
  | 'GetAuditPublicKey'
  | 'ListExecutions'
  | 'ShowChanges'
  | 'RotateKey'
  | 'Delegate'
  | 'ListConfirmations'
  | 'AnswerConfirmation'
  | 'ShowLevels'
  | 'SetLevel'
  | 'ListPenalties'
  | 'ClearPenalties'
  | 'Purge'
  | 'Explain'
  | 'Reload'
  | 'Drain'
  | 'ListBranches'
  | 'DiffBranch'
  | 'MergeBranch'
  | 'UndoMerge'
  | 'DropBranch'
  | 'CheckpointBranch'
  | 'ListCheckpoints'
  | 'ShowMetrics'
  | 'InviteAgent'
  | 'Terminate'
  | 'ShowRules'
  | 'SendHandoff'
  | 'ListHandoffs'
  | 'TakeHandoff'
  | 'RunPlan'
  | 'PlanStatus'
  | 'ShowTools'
  | 'SubmitEnvelope'
  | 'ListEnvelopes'
  | 'TakeEnvelope'
  | 'ListQuarantine'
  | 'SettleQuarantine'
  | 'Decide'

export type Method = {
  readonly number: number
  readonly name: MethodName
  readonly audience: 'anyone' | 'operator'
  readonly request: AnyMessage
  /** Messages after OPEN from the client: undefined means OPEN also ends the client's side. */
  readonly requestMore: AnyMessage | undefined
  /** The request key of a boolean that says whether more follows; undefined with `requestMore`: always. */
  readonly moreKey: number | undefined
  /** Messages before END from the daemon. */
  readonly responseMore: AnyMessage | undefined
  readonly response: AnyMessage
  /** Key of the bytes that count against credit, in what the client sends and in what the daemon sends. */
  readonly requestDataKey: number | undefined
  readonly responseDataKey: number | undefined
}

type Unary = {
  number: number
  name: MethodName
  request: AnyMessage
  response: AnyMessage
  audience?: 'operator'
}

function unary({ number, name, request, response, audience }: Unary): Method {
  return Object.freeze({
    number,
    name,
    audience: audience ?? 'anyone',
    request,
    requestMore: undefined,
    moreKey: undefined,
    // What a request waits for is told ahead of its answer: a challenge, a place in a queue, a human.
    responseMore: m.streamResponse,
    response,
    requestDataKey: undefined,
    responseDataKey: 2,
  })
}

const upload = {
  audience: 'anyone',
  request: f.fileChunk,
  requestMore: f.fileChunk,
  moreKey: undefined,
  responseMore: m.streamResponse,
  response: f.fileOutcome,
  requestDataKey: 2,
  responseDataKey: 2,
} as const

export const METHODS: readonly Method[] = Object.freeze([
  // More output than one frame holds comes ahead of END in StreamResponse messages, and counts against credit.
  Object.freeze({
    ...unary({ number: 1, name: 'Execute', request: m.executeRequest, response: m.executeResponse }),
  }),
  Object.freeze({
    number: 2,
    name: 'ExecuteStream',
    audience: 'anyone',
    request: m.executeRequest,
    requestMore: m.stdinChunk,
    moreKey: 13,
    responseMore: m.streamResponse,
    response: m.streamResponse,
    requestDataKey: 1,
    responseDataKey: 2,
  } as const),
  unary({ number: 3, name: 'Cancel', request: m.executionReference, response: m.outcome }),
  unary({ number: 4, name: 'Signal', request: m.signalRequest, response: m.outcome }),
  Object.freeze({ number: 5, name: 'FileUpload', ...upload } as const),
  Object.freeze({
    ...unary({
      number: 6,
      name: 'FileDownload',
      request: f.fileDownloadRequest,
      response: f.fileDownloadEnd,
    }),
    responseMore: f.fileChunk,
    responseDataKey: 2,
  }),
  Object.freeze({ number: 7, name: 'RawFileTransfer', ...upload } as const),
  unary({ number: 8, name: 'Authenticate', request: m.authRequest, response: m.authResponse }),
  unary({ number: 9, name: 'CognitiveChallenge', request: m.challengeAnswer, response: m.challengeResult }),
  unary({ number: 10, name: 'SecurityStatus', request: m.empty, response: s.securityStatus }),
  unary({ number: 11, name: 'Ping', request: m.empty, response: m.pingResponse }),
  unary({ number: 12, name: 'RenewSession', request: m.empty, response: m.renewal }),
  unary({ number: 13, name: 'GetCapabilities', request: m.empty, response: m.capabilities }),
  unary({ number: 14, name: 'GetAuditPublicKey', request: m.empty, response: m.auditPublicKey }),
  unary({ number: 16, name: 'ListExecutions', request: m.empty, response: m.executionList }),
  // The text comes ahead of END in StreamResponse messages, and counts against credit.
  unary({ number: 17, name: 'ShowChanges', request: m.changesRequest, response: m.branchDiffEnd }),
  unary({ number: 18, name: 'RotateKey', request: i.keyRotation, response: m.outcome }),
  unary({ number: 19, name: 'Delegate', request: i.delegateRequest, response: i.delegation }),
  unary({ number: 20, name: 'ShowRules', request: m.empty, response: i.rulesTold }),
  unary({ number: 24, name: 'SendHandoff', request: h.handoffRequest, response: h.handoffEntry }),
  unary({ number: 25, name: 'ListHandoffs', request: m.empty, response: h.handoffList }),
  unary({ number: 26, name: 'TakeHandoff', request: h.handoffReference, response: h.handoffContent }),
  // What the calls print comes ahead of END in StreamResponse messages, and counts against credit.
  unary({ number: 70, name: 'RunPlan', request: p.planRequest, response: p.planState }),
  unary({ number: 71, name: 'PlanStatus', request: p.planReference, response: p.planState }),
  unary({ number: 72, name: 'ShowTools', request: m.empty, response: p.toolList }),
  ...(
    [
      { number: 32, name: 'ListConfirmations', request: m.empty, response: m.confirmationList },
      { number: 33, name: 'AnswerConfirmation', request: m.confirmationAnswer, response: m.outcome },
      { number: 34, name: 'ShowLevels', request: m.empty, response: m.levelList },
      { number: 35, name: 'SetLevel', request: m.levelChange, response: m.outcome },
      { number: 36, name: 'ListPenalties', request: m.empty, response: m.penaltyList },
      { number: 37, name: 'ClearPenalties', request: m.penaltyClear, response: m.outcome },
      { number: 38, name: 'Explain', request: s.whyRequest, response: s.explanation },
      { number: 39, name: 'Reload', request: m.empty, response: m.outcome },
      { number: 40, name: 'Purge', request: m.purgeRequest, response: m.outcome },
      { number: 41, name: 'ListBranches', request: m.branchListRequest, response: m.branchList },
      // The text comes ahead of END in StreamResponse messages, and counts against credit.
      { number: 42, name: 'DiffBranch', request: m.branchDiffRequest, response: m.branchDiffEnd },
      { number: 43, name: 'MergeBranch', request: m.branchMergeRequest, response: m.branchOutcome },
      { number: 44, name: 'UndoMerge', request: m.branchReference, response: m.branchOutcome },
      { number: 45, name: 'DropBranch', request: m.branchReference, response: m.outcome },
      { number: 46, name: 'CheckpointBranch', request: m.branchCheckpoint, response: m.outcome },
      { number: 47, name: 'ListCheckpoints', request: m.branchReference, response: m.checkpointList },
      { number: 48, name: 'ShowMetrics', request: m.empty, response: s.metricsText },
      { number: 49, name: 'Drain', request: m.empty, response: m.outcome },
      { number: 50, name: 'InviteAgent', request: i.inviteRequest, response: i.invitation },
      { number: 51, name: 'Terminate', request: i.termination, response: m.outcome },
    ] as const
  ).map((method) => unary({ ...method, audience: 'operator' })),
  unary({ number: 64, name: 'SubmitEnvelope', request: n.envelopePiece, response: n.envelopeReceipt }),
  unary({ number: 65, name: 'ListEnvelopes', request: m.empty, response: n.envelopeList }),
  unary({ number: 66, name: 'TakeEnvelope', request: n.envelopeReference, response: n.envelopeContent }),
  unary({
    ...{ number: 67, name: 'ListQuarantine', audience: 'operator' },
    ...{ request: n.quarantineRequest, response: n.quarantineList },
  }),
  unary({
    ...{ number: 68, name: 'SettleQuarantine', audience: 'operator' },
    ...{ request: n.quarantineSettling, response: m.outcome },
  }),
  unary({ number: 80, name: 'Decide', request: r.decideRequest, response: r.decided }),
])

const BY_NUMBER: ReadonlyMap<number, Method> = new Map(METHODS.map((method) => [method.number, method]))

export function methodByNumber(number: number): Method | undefined {
  return BY_NUMBER.get(number)
}

/** The method of that name. Total: every MethodName is in the table, which a test proves. */
export function methodNamed(name: MethodName): Method {
  const found = METHODS.find((method) => method.name === name)
  if (found === undefined) throw new RangeError(`No method ${name}.`)
  return found
}
