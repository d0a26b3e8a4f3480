import t from 'tap'
import { METHODS, type MethodName, methodByNumber, methodNamed } from '../../src/wire/methods.ts'

/** docs/protocol.md, section 3: number, name, request, further requests, further responses, last response. */
const TABLE: readonly (readonly [number, MethodName, string, string, string, string])[] = [
  [1, 'Execute', 'ExecuteRequest', '', 'StreamResponse', 'ExecuteResponse'],
  [2, 'ExecuteStream', 'ExecuteRequest', 'StdinChunk', 'StreamResponse', 'StreamResponse'],
  [3, 'Cancel', 'ExecutionReference', '', 'StreamResponse', 'Outcome'],
  [4, 'Signal', 'SignalRequest', '', 'StreamResponse', 'Outcome'],
  [5, 'FileUpload', 'FileChunk', 'FileChunk', 'StreamResponse', 'FileOutcome'],
  [6, 'FileDownload', 'FileDownloadRequest', '', 'FileChunk', 'FileDownloadEnd'],
  [7, 'RawFileTransfer', 'FileChunk', 'FileChunk', 'StreamResponse', 'FileOutcome'],
  [8, 'Authenticate', 'AuthRequest', '', 'StreamResponse', 'AuthResponse'],
  [9, 'CognitiveChallenge', 'ChallengeAnswer', '', 'StreamResponse', 'ChallengeResult'],
  [10, 'SecurityStatus', 'Empty', '', 'StreamResponse', 'SecurityStatus'],
  [11, 'Ping', 'Empty', '', 'StreamResponse', 'PingResponse'],
  [12, 'RenewSession', 'Empty', '', 'StreamResponse', 'Renewal'],
  [13, 'GetCapabilities', 'Empty', '', 'StreamResponse', 'Capabilities'],
  [14, 'GetAuditPublicKey', 'Empty', '', 'StreamResponse', 'AuditPublicKey'],
  [16, 'ListExecutions', 'Empty', '', 'StreamResponse', 'ExecutionList'],
  [17, 'ShowChanges', 'ChangesRequest', '', 'StreamResponse', 'BranchDiffEnd'],
  [18, 'RotateKey', 'KeyRotation', '', 'StreamResponse', 'Outcome'],
  [19, 'Delegate', 'DelegateRequest', '', 'StreamResponse', 'Delegation'],
  [20, 'ShowRules', 'Empty', '', 'StreamResponse', 'RulesTold'],
  [24, 'SendHandoff', 'HandoffRequest', '', 'StreamResponse', 'HandoffEntry'],
  [25, 'ListHandoffs', 'Empty', '', 'StreamResponse', 'HandoffList'],
  [26, 'TakeHandoff', 'HandoffReference', '', 'StreamResponse', 'HandoffContent'],
  [70, 'RunPlan', 'PlanRequest', '', 'StreamResponse', 'PlanState'],
  [71, 'PlanStatus', 'PlanReference', '', 'StreamResponse', 'PlanState'],
  [72, 'ShowTools', 'Empty', '', 'StreamResponse', 'ToolList'],
  [32, 'ListConfirmations', 'Empty', '', 'StreamResponse', 'ConfirmationList'],
  [33, 'AnswerConfirmation', 'ConfirmationAnswer', '', 'StreamResponse', 'Outcome'],
  [34, 'ShowLevels', 'Empty', '', 'StreamResponse', 'LevelList'],
  [35, 'SetLevel', 'LevelChange', '', 'StreamResponse', 'Outcome'],
  [36, 'ListPenalties', 'Empty', '', 'StreamResponse', 'PenaltyList'],
  [37, 'ClearPenalties', 'PenaltyClear', '', 'StreamResponse', 'Outcome'],
  [38, 'Explain', 'WhyRequest', '', 'StreamResponse', 'Explanation'],
  [39, 'Reload', 'Empty', '', 'StreamResponse', 'Outcome'],
  [40, 'Purge', 'PurgeRequest', '', 'StreamResponse', 'Outcome'],
  [41, 'ListBranches', 'BranchListRequest', '', 'StreamResponse', 'BranchList'],
  [42, 'DiffBranch', 'BranchDiffRequest', '', 'StreamResponse', 'BranchDiffEnd'],
  [43, 'MergeBranch', 'BranchMergeRequest', '', 'StreamResponse', 'BranchOutcome'],
  [44, 'UndoMerge', 'BranchReference', '', 'StreamResponse', 'BranchOutcome'],
  [45, 'DropBranch', 'BranchReference', '', 'StreamResponse', 'Outcome'],
  [46, 'CheckpointBranch', 'BranchCheckpoint', '', 'StreamResponse', 'Outcome'],
  [47, 'ListCheckpoints', 'BranchReference', '', 'StreamResponse', 'CheckpointList'],
  [48, 'ShowMetrics', 'Empty', '', 'StreamResponse', 'MetricsText'],
  [49, 'Drain', 'Empty', '', 'StreamResponse', 'Outcome'],
  [50, 'InviteAgent', 'InviteRequest', '', 'StreamResponse', 'Invitation'],
  [51, 'Terminate', 'Termination', '', 'StreamResponse', 'Outcome'],
  [64, 'SubmitEnvelope', 'EnvelopePiece', '', 'StreamResponse', 'EnvelopeReceipt'],
  [65, 'ListEnvelopes', 'Empty', '', 'StreamResponse', 'EnvelopeList'],
  [66, 'TakeEnvelope', 'EnvelopeReference', '', 'StreamResponse', 'EnvelopeContent'],
  [67, 'ListQuarantine', 'QuarantineRequest', '', 'StreamResponse', 'QuarantineList'],
  [68, 'SettleQuarantine', 'QuarantineSettling', '', 'StreamResponse', 'Outcome'],
  [80, 'Decide', 'DecideRequest', '', 'StreamResponse', 'Decided'],
]

t.test('the methods are those of the protocol page', async (t) => {
  t.strictSame(
    METHODS.map((method) => [
      method.number,
      method.name,
      method.request.name,
      method.requestMore?.name ?? '',
      method.responseMore?.name ?? '',
      method.response.name,
    ]),
    TABLE,
  )
  for (const [number, name] of TABLE) {
    t.equal(methodNamed(name).number, number)
    t.equal(methodByNumber(number)?.name, name)
  }
  for (const number of [-1, 0, 15, 21, 31, 52, 63, 96, 1.5]) t.equal(methodByNumber(number), undefined)
  t.throws(() => methodNamed('Shell' as MethodName), RangeError)
})

t.test('the operator’s methods are those of 32 to 63 and of the quarantine, and no other', async (t) => {
  for (const { number, audience } of METHODS) {
    const isOperators = (number >= 32 && number < 64) || number === 67 || number === 68
    t.equal(audience, isOperators ? 'operator' : 'anyone')
  }
})

t.test('credit counts the data of each message that carries some', async (t) => {
  const keyOf = (type: { fields: Record<string, { key: number }> } | undefined) => type?.fields['data']?.key
  for (const method of METHODS) {
    t.equal(method.requestDataKey, keyOf(method.requestMore), `${method.name}, from the client`)
    t.equal(method.responseDataKey, keyOf(method.responseMore), `${method.name}, from the daemon`)
  }
  t.equal(methodNamed('ExecuteStream').moreKey, methodNamed('ExecuteStream').request.fields.stdin.key)
})

t.test('the table cannot be changed', async (t) => {
  t.ok(Object.isFrozen(METHODS))
  t.ok(METHODS.every((method) => Object.isFrozen(method)))
})
