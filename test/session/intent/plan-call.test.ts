/**
 * What one call of a plan comes to, by what the decision, the device and the program do; each once.
 * @module
 */
import t from 'tap'
import { scopeOf } from '../../../src/session/callers/identities.ts'
import type { Execution } from '../../../src/session/executions/execution.ts'
import { executionOf, outcomeOf } from '../../../src/session/intent/plan-call.ts'
import { enter, run, type StageOptions } from '../stage.ts'
import { stageCall, stagePlans, TOOL } from './staged-plan.ts'

const ID = executionOf('p1', 'c0')

t.test('the id of a call follows from plan and call, and from nothing else', (t) => {
  t.match(ID, /^[0-9a-f]{32}$/)
  t.equal(executionOf('p1', 'c0'), ID)
  t.equal(new Set([ID, executionOf('p1', 'c1'), executionOf('p2', 'c0'), executionOf('p', '1\nc0')]).size, 4)
  t.end()
})

t.test('how an execution ended is said as the plan has it, and one that runs has not', (t) => {
  const of = (more: Partial<Execution>) => {
    const execution = { state: 'finished', errno: 0, timedOut: false, outputBytes: [3, 4], ...more }
    return outcomeOf(execution as Execution)
  }
  const sizes = { stdoutBytes: 3, stderrBytes: 4 }
  t.match(of({ exit: { kind: 'exited', code: 2 } }), { kind: 'exited', number: 2, why: '', ...sizes })
  t.match(of({ exit: { kind: 'signalled', signal: 9 }, why: 'ended by us' }), {
    ...{ kind: 'signalled', number: 9, why: 'ended by us' },
    ...sizes,
  })
  t.match(of({ exit: { kind: 'signalled', signal: 15 }, timedOut: true }), { why: /longer than its time/ })
  t.match(of({ exit: { kind: 'exited', code: 0 }, timedOut: true }), {
    ...{ kind: 'refused', number: 0, why: /longer than its time/ },
    ...sizes,
  })
  t.match(of({ exit: { kind: 'exited', code: 4 }, timedOut: true }), { kind: 'exited', number: 4 })
  t.match(of({ state: 'not_started', errno: 2 }), { kind: 'not_started', number: 2, stdoutBytes: 0 })
  t.match(of({ state: 'unknown', why: 'erased' }), { kind: 'unknown', number: 0, why: 'erased' })
  t.equal(of({ state: 'running' }), undefined)
  t.end()
})

t.test('a call starts the file of its manifest with its words, and has the head of what it prints', (t) => {
  const ground = stagePlans()
  const { results } = stageCall(ground)
  const [child] = ground.staged.spawner.children
  t.match(child?.plan, { file: TOOL.executable, argv: [TOOL.executable, '--', '0'] })
  child?.events.output(0, Buffer.from('made\n'))
  child?.events.output(1, Buffer.alloc(20_000, 'e'))
  t.same(results, [], 'not before its end')
  child?.events.exited({ kind: 'exited', code: 0 })
  t.match(results, [{ kind: 'exited', number: 0, stdoutBytes: 5, stderrBytes: 20_000 }])
  t.equal(Buffer.from(results[0]?.stdout ?? []).toString(), 'made\n')
  t.equal(results[0]?.stderr.length, 16_384)
  t.equal(ground.staged.rooms.executions.find('', ID), undefined, 'it is its caller’s alone')
  t.end()
})

t.test('what cannot be started did not run', (t) => {
  const ground = stagePlans()
  const { results } = stageCall(ground)
  ground.staged.spawner.children[0]?.events.failed(8)
  t.match(results, [{ kind: 'not_started', number: 8 }])

  const refusing = stagePlans()
  refusing.staged.spawner.refusal = new Error('no more processes')
  t.match(stageCall(refusing).results, [{ kind: 'refused', why: /^SANDBOX_UNAVAILABLE / }])
  t.match(refusing.staged.audit.events.at(-1), { type: 'execution_not_started', execution: ID })
  t.match(JSON.stringify(refusing.staged.logged), /plan_call_failed/)
  t.end()
})

t.test('each refusal is told with its code, and each deception is told to nobody', (t) => {
  const rule = (action: 'deny' | 'challenge', severity: 'medium' | 'critical') => ({
    rules: [{ argv: { program: ['md'] }, action, severity }],
  })
  for (const [options, kind, why, unanswered] of [
    [{ capability: { denied_commands: ['md'] } }, 'refused', /^CAPABILITY_CMD_DENIED /, []],
    [{ finder: { pin: () => undefined } }, 'refused', /not the file that the tool/, []],
    [rule('challenge', 'medium'), 'refused', /^RESPONSE_CHALLENGE_REQUIRED .*a plan cannot meet/, []],
    [rule('deny', 'medium'), 'unanswered', '', ['VI_SWAP']],
    [rule('deny', 'critical'), 'unanswered', '', ['TARPIT']],
  ] as const) {
    const ground = stagePlans(options as unknown as StageOptions)
    const call = stageCall(ground)
    t.match(call.results, [{ kind, why }], String(why))
    t.same(call.unanswered, unanswered)
    t.same(ground.staged.spawner.children, [])
  }
  t.end()
})

t.test('a call whose output was withheld has failed, whatever its exit code', (t) => {
  for (const [held, code, kind] of [
    ['withheld', 0, 'refused'],
    ['withheld', 3, 'exited'],
    ['released', 0, 'exited'],
  ] as const) {
    const ground = stagePlans()
    const call = stageCall(ground)
    const execution = ground.staged.rooms.executions.find(scopeOf(ground.runner.caller), ID)
    if (execution === undefined) return void t.fail('it does not run')
    const screened = { push() {}, finish: (done: () => void) => done(), giveUp() {}, screens: [{ held }] }
    execution.screened = screened as unknown as NonNullable<Execution['screened']>
    ground.staged.spawner.children[0]?.events.exited({ kind: 'exited', code })
    t.match(call.results, [{ kind, number: code, why: kind === 'refused' ? /was withheld/ : '' }], held)
  }
  t.end()
})

t.test('a call that must wait says so, and is given up without having started', (t) => {
  const ground = stagePlans({ capability: { max_concurrent: 1 } })
  const busy = enter(ground.staged)
  run(busy, 'sleep')
  const waiting = stageCall(ground)
  t.equal(waiting.waited.length, 1, 'its place in the queue')
  t.same(waiting.results, [])
  waiting.giveUp()
  waiting.giveUp()
  t.match(waiting.results, [{ kind: 'refused', why: /stopped before the call had started/ }])
  ground.staged.spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
  t.equal(ground.staged.spawner.children.length, 1, 'and never does')
  t.end()
})

t.test('where no place is left it is refused at once', (t) => {
  const ground = stagePlans({ capability: { max_concurrent: 1 }, queue: 0 })
  run(enter(ground.staged), 'sleep')
  t.match(stageCall(ground).results, [{ kind: 'refused', why: /^RESPONSE_THROTTLED / }])
  t.end()
})

t.test('what runs is not given up, and its end is told', (t) => {
  const ground = stagePlans()
  const call = stageCall(ground)
  call.giveUp()
  t.same(call.results, [])
  ground.staged.spawner.children[0]?.events.exited({ kind: 'signalled', signal: 15 })
  t.match(call.results, [{ kind: 'signalled', number: 15 }])
  t.end()
})

t.test('a call whose execution was started before is not started again', (t) => {
  const ground = stagePlans()
  const first = stageCall(ground)
  ground.staged.spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
  const again = stageCall(ground)
  t.match(first.results, [{ kind: 'exited' }])
  t.match(again.results, [{ kind: 'unknown', why: /was started before/ }])
  t.equal(ground.staged.spawner.children.length, 1)
  t.match(ground.staged.audit.events.at(-1), { type: 'execution_not_started', execution: ID })
  t.end()
})

t.test('somebody who attaches to it takes the output, and the plan has the end all the same', (t) => {
  const ground = stagePlans()
  const call = stageCall(ground)
  const client = enter(ground.staged)
  const execution_id = Buffer.from(ID, 'hex')
  run(client, '', { is_reattach: true, execution_id })
  ground.staged.clock.pass(1_000)
  t.same(call.results, [])
  ground.staged.spawner.children[0]?.events.exited({ kind: 'exited', code: 4 })
  ground.staged.clock.pass(250)
  t.match(call.results, [{ kind: 'exited', number: 4 }])
  t.end()
})
