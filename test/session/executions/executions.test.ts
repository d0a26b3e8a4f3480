/**
 * Executions: an id starts once, output goes into rings, and nothing is done without a warrant.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { createRing } from '../../../src/base/ring.ts'
import type { Action } from '../../../src/defense/facts.ts'
import { Warrant } from '../../../src/defense/warrant.ts'
import { KEPT_RESULT_MS, KEPT_RESULTS_PER_KEY, TERM_TO_KILL_MS, TOLD_LINGER_MS } from '../../../src/limits.ts'
import type { SpawnPlan } from '../../../src/ports.ts'
import type { Execution, Permit, StartRequest, Watcher } from '../../../src/session/executions/execution.ts'
import { createExecutions } from '../../../src/session/executions/executions.ts'
import { createKeptResults } from '../../../src/session/executions/kept-results.ts'
import { executing } from '../../defense/staged-facts.ts'
import { type StagedChild, stageClock, stageLineFile, stageSpawner } from '../stage.ts'
import { UNSCREENED } from '../unscreened.ts'

const PLAN: SpawnPlan = {
  file: '/bin/echo',
  argv: ['/bin/echo', 'secret'],
  environment: [],
  cwd: '/',
  stdin: 'none',
  terminal: undefined,
}
const bytes = (text: string) => Buffer.from(text)

function watcher(): Watcher & { readonly heard: string[] } {
  const heard: string[] = []
  return {
    heard,
    started: () => heard.push('started'),
    output: (source) => heard.push(`output ${source}`),
    stdinDrained: () => heard.push('stdinDrained'),
    finished: () => heard.push('finished'),
    notStarted: () => heard.push('notStarted'),
    replaced: () => heard.push('replaced'),
  }
}

function stage(places = 2, ringBytes = 16) {
  const clock = stageClock()
  const spawner = stageSpawner()
  const ended: Execution[] = []
  const rings = Array.from({ length: places }, () => ({
    stdout: createRing(new Uint8Array(ringBytes)),
    stderr: createRing(new Uint8Array(ringBytes)),
  }))
  const file = stageLineFile()
  const results = createKeptResults({ file, clock, lost: () => {}, damaged: () => {} })
  const executions = createExecutions({
    spawner,
    clock,
    rings,
    results,
    output: UNSCREENED,
    ended: (one) => ended.push(one),
  })
  const request = (id: string, change: Partial<StartRequest> = {}): StartRequest => {
    const action: Action = executing([id])
    return {
      id,
      idBytes: new Uint8Array(16),
      owner: 'bot',
      scope: change.owner ?? 'bot',
      instance: 'bot-1',
      sessionId: 's',
      keepsHead: false,
      acceptBytes: Number.POSITIVE_INFINITY,
      timeoutMs: undefined,
      plan: PLAN,
      warrant: Warrant.mint(change.sessionId ?? 's', 1, action),
      action,
      ...change,
    }
  }
  const start = (id: string, change: Partial<StartRequest> = {}, who: Watcher = watcher()) => {
    const execution = executions.start(request(id, change), who)
    const child = spawner.children.at(-1) as StagedChild
    return { execution, child }
  }
  return { clock, spawner, ended, executions, results, file, request, start }
}

function permitFor(action: Action): Permit {
  return { warrant: Warrant.mint('s', 2, action), action, sessionId: 's' }
}

t.test('the warrant is spent before anything starts, and a bad one starts nothing (RX-03)', (t) => {
  const { executions, spawner, request, clock } = stage(1)
  const spent = request('a')
  Warrant.redeem(spent.warrant, spent.action, 's')
  const other = executing(['other'])
  for (const bad of [
    spent,
    request('a', { action: other }),
    { ...request('a'), sessionId: 'another' },
    request('a', { warrant: { ...spent.warrant } as Warrant }),
    request('a', { warrant: structuredClone(spent.warrant) }),
  ]) {
    t.throws(() => executions.start({ ...bad, timeoutMs: 5 }, watcher()), { code: 'INTERNAL' })
  }
  t.equal(spawner.children.length, 0)
  t.strictSame([executions.running, executions.free, executions.runningOf('bot')], [0, 1, 0])
  t.equal(executions.find('bot', 'a'), undefined)
  t.equal(clock.timers, 0)

  const good = request('a')
  const spawn = spawner.spawn
  spawner.spawn = (plan, events) => {
    t.throws(() => Warrant.redeem(good.warrant, good.action, 's'), { message: /used twice/ }, 'spent by now')
    return spawn(plan, events)
  }
  executions.start(good, watcher())
  t.equal(spawner.children.length, 1)

  for (const deed of ['signal', 'cancel'] as const) {
    const action: Action =
      deed === 'signal'
        ? { kind: 'signal', executionId: 'a', signal: 2 }
        : { kind: 'cancel', executionId: 'a' }
    const execution = executions.find('bot', 'a') as Execution
    const forged = { ...Warrant.mint('s', 2, action) } as Warrant
    const wrong: Action = { kind: 'cancel', executionId: 'b' }
    const run = (warrant: Warrant, what: Action) =>
      deed === 'signal'
        ? executions.signal(execution, 2, { warrant, action: what, sessionId: 's' })
        : executions.cancel(execution, { warrant, action: what, sessionId: 's' })
    t.throws(() => run(forged, action))
    t.throws(() => run(Warrant.mint('s', 2, wrong), action))
    t.strictSame(
      spawner.children[0]?.deeds.filter((did) => did !== 'signal 2'),
      [],
    )
    t.ok(run(permitFor(action).warrant, action))
  }
  t.strictSame(spawner.children[0]?.deeds, ['signal 2', 'killTree'])
  t.end()
})

t.test('an id starts at most once for its owner; another owner may use it too', (t) => {
  const { executions, spawner, start, request } = stage(3)
  const { execution, child } = start('a')
  t.throws(() => executions.start(request('a'), watcher()), { code: 'INTERNAL', message: /second time/ })
  child.events.spawned(1)
  child.events.exited({ kind: 'exited', code: 0 })
  t.throws(() => executions.start(request('a'), watcher()), { code: 'INTERNAL' }, 'also after its end')
  t.equal(spawner.children.length, 1)
  t.equal(executions.find('bot', 'a'), execution)
  t.equal(executions.find('other', 'a'), undefined)
  const theirs = start('a', { owner: 'other' }).execution
  t.equal(executions.find('other', 'a'), theirs)
  t.equal(executions.find('bot', 'a'), execution)
  t.ok(executions.findAnywhere('a'))
  t.equal(executions.findAnywhere('b'), undefined)
  t.strictSame(executions.recent('other', 8), { found: [theirs], total: 1 })
  t.equal(executions.recent(undefined, 8).total, 2)
  t.end()
})

t.test('it goes from starting to running to finished, and tells once that it has ended', (t) => {
  const { executions, ended, clock, start } = stage()
  const who = watcher()
  const { execution, child } = start('a', {}, who)
  t.strictSame(
    [execution.state, execution.command, executions.running, executions.free],
    ['starting', 'a', 1, 1],
  )
  child.events.spawned(7)
  t.equal(execution.state, 'running')
  child.events.output(0, bytes('out'))
  child.events.output(1, bytes('error'))
  child.events.stdinDrained()
  clock.pass(250)
  child.events.exited({ kind: 'signalled', signal: 9 })
  t.strictSame(who.heard, ['started', 'output 0', 'output 1', 'stdinDrained', 'finished'])
  t.strictSame(ended, [execution])
  t.match(execution, { state: 'finished', exit: { kind: 'signalled', signal: 9 }, child: undefined })
  t.equal(execution.endedAtMs - execution.startedAtMs, 250)
  t.strictSame(execution.outputBytes, [3, 5])
  t.strictSame([executions.running, executions.runningOf('bot')], [0, 0])
  t.end()
})

t.test('a program that does not start gives its rings back and keeps its errno', (t) => {
  const { executions, ended, start } = stage(1)
  const who = watcher()
  const { execution, child } = start('a', { timeoutMs: 10 }, who)
  t.equal(executions.free, 0)
  child.events.failed(2)
  t.match(execution, { state: 'not_started', errno: 2, rings: undefined })
  t.strictSame([who.heard, ended.length, executions.free, executions.running], [['notStarted'], 1, 1, 0])
  t.end()
})

t.test('a spawner that refuses leaves nothing behind, and the id may be tried again', (t) => {
  const { executions, spawner, ended, clock, request, start } = stage(1)
  spawner.refusal = new Error('going down')
  t.throws(() => executions.start(request('a', { timeoutMs: 10 }), watcher()), { message: 'going down' })
  t.strictSame([executions.running, executions.free, executions.runningOf('bot'), clock.timers], [0, 1, 0, 0])
  t.equal(executions.find('bot', 'a'), undefined)
  t.strictSame(ended, [])
  spawner.refusal = undefined
  t.equal(start('a').execution.state, 'starting')
  t.end()
})

t.test(
  'a finished execution gives up its rings to a new one, oldest first, unless somebody still reads them',
  (t) => {
    const { executions, spawner, request, start } = stage(2)
    const reader = watcher()
    const first = start('a', {}, reader)
    const second = start('b')
    for (const { child } of [first, second]) {
      child.events.spawned(1)
      child.events.output(0, bytes('kept'))
      child.events.exited({ kind: 'exited', code: 0 })
    }
    t.equal(executions.free, 0, 'both are still watched')
    t.throws(() => executions.start(request('c'), watcher()), { code: 'INTERNAL' })
    t.equal(spawner.children.length, 2, 'and nothing starts whose output could not be kept')
    const left = second.execution.watcher as Watcher
    executions.leave(second.execution, left)
    t.equal(executions.free, 1)
    const { stdout } = second.execution.rings ?? {}
    const third = start('c').execution
    t.equal(third.rings?.stdout, stdout, 'the very rings')
    t.equal(third.rings?.stdout.totalBytes, 0, 'emptied')
    t.equal(second.execution.rings, undefined)
    t.equal(first.execution.rings?.stdout.totalBytes, 4, 'the reader has lost nothing')
    t.strictSame(second.execution.outputBytes, [4, 0], 'its sizes are still known')
    t.end()
  },
)

t.test('of two finished executions the one that started first gives up its rings first', (t) => {
  const { executions, start } = stage(2)
  const runs = ['a', 'b'].map((id) => start(id))
  for (const { execution, child } of runs) {
    child.events.exited({ kind: 'exited', code: 0 })
    executions.leave(execution, execution.watcher as Watcher)
  }
  start('c')
  t.strictSame(
    runs.map(({ execution }) => execution.rings === undefined),
    [true, false],
  )
  t.end()
})

t.test('a watcher that takes over replaces the other, and only the one that is there can leave', (t) => {
  const { executions, start } = stage()
  const [first, second] = [watcher(), watcher()]
  const { execution, child } = start('a', {}, first)
  executions.watch(execution, first)
  t.strictSame(first.heard, [], 'itself is not replaced')
  executions.watch(execution, second)
  t.strictSame(first.heard, ['replaced'])
  executions.leave(execution, first)
  t.equal(execution.watcher, second)
  child.events.output(0, bytes('x'))
  t.strictSame([first.heard, second.heard], [['replaced'], ['output 0']])
  executions.leave(execution, second)
  t.equal(execution.watcher, undefined)
  child.events.output(0, bytes('y'))
  t.equal(execution.rings?.stdout.totalBytes, 2, 'it goes on without anybody')
  t.end()
})

t.test('holding pauses a source once, and whoever leaves lets both go on', (t) => {
  const { executions, start } = stage()
  const who = watcher()
  const { execution, child } = start('a', {}, who)
  executions.hold(execution, 0, true)
  executions.hold(execution, 0, true)
  executions.hold(execution, 1, true)
  executions.hold(execution, 1, false)
  t.strictSame(child.deeds, ['pause 0', 'pause 1', 'resume 1'])
  executions.leave(execution, who)
  t.strictSame(child.deeds, ['pause 0', 'pause 1', 'resume 1', 'resume 0'])
  t.end()
})

t.test('at the end of its time it gets SIGTERM, and 2 s later all of it is killed', (t) => {
  const { clock, start } = stage()
  const { execution, child } = start('a', { timeoutMs: 5_000 })
  child.events.spawned(1)
  clock.pass(4_999)
  t.strictSame(child.deeds, [])
  clock.pass(1)
  t.strictSame(child.deeds, ['signal 15'])
  t.ok(execution.timedOut)
  t.equal(TERM_TO_KILL_MS, 2_000)
  clock.pass(1_999)
  t.strictSame(child.deeds, ['signal 15'])
  clock.pass(1)
  t.strictSame(child.deeds, ['signal 15', 'killTree'])
  child.events.exited({ kind: 'signalled', signal: 9 })
  t.equal(clock.timers, 0)
  t.end()
})

t.test('what ends in time, or on SIGTERM, is not killed', (t) => {
  const { clock, start } = stage()
  const early = start('a', { timeoutMs: 5_000 })
  early.child.events.exited({ kind: 'exited', code: 0 })
  t.equal(clock.timers, 0)
  const obedient = start('b', { timeoutMs: 5_000 })
  clock.pass(5_000)
  obedient.child.events.exited({ kind: 'signalled', signal: 15 })
  clock.pass(60_000)
  t.strictSame([early.child.deeds, obedient.child.deeds], [[], ['signal 15']])
  t.strictSame([early.execution.timedOut, obedient.execution.timedOut], [false, true])
  t.end()
})

t.test('output past the cap is counted and dropped, each stream on its own', (t) => {
  const { start } = stage(1, 64)
  const who = watcher()
  const { execution, child } = start('a', { acceptBytes: 5 }, who)
  child.events.output(0, bytes('abc'))
  child.events.output(0, bytes('defg'))
  child.events.output(0, bytes('hij'))
  child.events.output(1, bytes('12345'))
  const kept = new Uint8Array(5)
  execution.rings?.stdout.copyOut(0, kept)
  t.equal(Buffer.from(kept).toString(), 'abcde', 'the head')
  t.strictSame([execution.outputBytes, execution.discardedBytes], [[5, 5], 5])
  t.strictSame(who.heard, ['output 0', 'output 0', 'output 1'], 'what is dropped is not told')
  t.end()
})

t.test('without a watcher the oldest output goes, and every byte is counted', (t) => {
  fc.assert(
    fc.property(fc.array(fc.nat(40), { maxLength: 12 }), (sizes) => {
      const { executions, start } = stage(1, 16)
      const who = watcher()
      const { execution, child } = start('a', {}, who)
      executions.leave(execution, who)
      let all = ''
      for (const [index, size] of sizes.entries()) {
        const part = String.fromCharCode(97 + index).repeat(size)
        all += part
        child.events.output(0, bytes(part))
      }
      const ring = execution.rings?.stdout
      if (ring === undefined) return false
      const kept = new Uint8Array(Math.min(16, all.length))
      ring.copyOut(ring.oldestOffset, kept)
      return (
        execution.outputBytes[0] === all.length &&
        ring.oldestOffset === Math.max(0, all.length - 16) &&
        Buffer.from(kept).toString() === all.slice(-16) &&
        child.deeds.length === 0
      )
    }),
    { numRuns: 200 },
  )
  t.pass('for every one of them')
  t.end()
})

t.test('results are kept for a day, at most a thousand an owner, newest first', (t) => {
  const { executions, clock, start } = stage(1)
  const finish = (id: string, owner: string) => {
    const { execution, child } = start(id, { owner })
    child.events.exited({ kind: 'exited', code: 0 })
    executions.leave(execution, execution.watcher as Watcher)
  }
  finish('theirs', 'other')
  for (let index = 0; index < KEPT_RESULTS_PER_KEY + 3; index++) finish(`${index}`, 'bot')
  executions.tick()
  t.equal(executions.recent('bot', 5_000).found.length, KEPT_RESULTS_PER_KEY)
  t.equal(executions.find('bot', '2'), undefined)
  t.ok(executions.find('bot', '3'))
  t.ok(executions.find('other', 'theirs'), 'nobody is pushed out by another')
  clock.pass(KEPT_RESULT_MS - 1)
  executions.tick()
  t.equal(executions.recent('bot', 0).total, KEPT_RESULTS_PER_KEY)
  clock.pass(1)
  executions.tick()
  t.strictSame(executions.recent(undefined, 8), { found: [], total: 0 })
  t.equal(executions.present().length, 0)
  t.equal(executions.free, 1)
  t.end()
})

t.test('what runs or is watched is never forgotten', (t) => {
  const { executions, clock, start } = stage(2)
  const watched = start('watched')
  watched.child.events.exited({ kind: 'exited', code: 0 })
  start('running')
  clock.pass(10 * KEPT_RESULT_MS)
  executions.tick()
  t.equal(executions.recent('bot', 8).found.length, 2)
  t.end()
})

t.test('the end of a session frees the rings of what it has finished, and keeps the results', (t) => {
  const { executions, start, clock } = stage(5)
  const done = start('done')
  done.child.events.output(0, bytes('abc'))
  done.child.events.exited({ kind: 'exited', code: 3 })
  executions.leave(done.execution, done.execution.watcher as Watcher)
  const running = start('running')
  const theirs = start('theirs', { sessionId: 'another' })
  theirs.child.events.exited({ kind: 'exited', code: 0 })
  executions.leave(theirs.execution, theirs.execution.watcher as Watcher)
  const lately = start('told lately')
  const read = start('read again')
  for (const { child, execution } of [lately, read]) {
    child.events.exited({ kind: 'exited', code: 0 })
    execution.toldAtMs = clock.monotonicMs()
  }
  executions.leave(lately.execution, lately.execution.watcher as Watcher)
  executions.leave(read.execution, read.execution.watcher as Watcher)
  executions.sessionEnded('s')
  t.equal(done.execution.rings, undefined)
  t.ok(lately.execution.rings, 'what was told a moment ago may not have arrived')
  const reader = watcher()
  executions.watch(read.execution, reader)
  clock.pass(TOLD_LINGER_MS - 1)
  executions.tick()
  t.ok(lately.execution.rings)
  clock.pass(1)
  executions.tick()
  t.equal(lately.execution.rings, undefined, 'by now it has')
  t.ok(read.execution.rings, 'whoever reads it again reads it to the end')
  executions.leave(read.execution, reader)
  executions.tick()
  t.equal(read.execution.rings, undefined)
  t.match(done.execution, { exit: { kind: 'exited', code: 3 }, outputBytes: [3, 0] })
  t.ok(running.execution.rings)
  t.ok(theirs.execution.rings)
  t.equal(executions.free, 4)
  t.end()
})

t.test('signals and cancelling tell whether there was anything to reach', (t) => {
  const { executions, start } = stage()
  const { execution, child } = start('a')
  const signal: Action = { kind: 'signal', executionId: 'a', signal: 10 }
  const cancel: Action = { kind: 'cancel', executionId: 'a' }
  t.equal(executions.signal(execution, 10, permitFor(signal)), true)
  t.equal(executions.cancel(execution, permitFor(cancel)), true)
  child.events.exited({ kind: 'signalled', signal: 9 })
  t.equal(executions.signal(execution, 10, permitFor(signal)), false)
  t.equal(executions.cancel(execution, permitFor(cancel)), false)
  t.strictSame(child.deeds, ['signal 10', 'killTree'])
  t.end()
})

t.test('at the end of the daemon everything that runs is asked to end, then killed', (t) => {
  const { executions, start } = stage(3)
  const [one, two, over] = [start('a'), start('b'), start('c')]
  two.child.events.spawned(1)
  over.child.events.exited({ kind: 'exited', code: 0 })
  executions.endAll('term', 'Down.')
  executions.endAll('kill', 'Down.')
  t.strictSame(
    [one.child.deeds, two.child.deeds, over.child.deeds],
    [['signal 15', 'killTree'], ['signal 15', 'killTree'], []],
  )
  t.end()
})

t.test('however starts, ends and leavings come, places and counts add up', (t) => {
  type Step = { readonly kind: 'start' | 'exit' | 'fail' | 'leave' | 'refuse'; readonly at: number }
  const step: fc.Arbitrary<Step> = fc.record({
    kind: fc.constantFrom('start', 'exit', 'fail', 'leave', 'refuse'),
    at: fc.nat(9),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { executions, spawner, request, start } = stage(3)
      const runs: { execution: Execution; child: StagedChild }[] = []
      for (const [index, { kind, at }] of steps.entries()) {
        const run = runs[at % Math.max(1, runs.length)]
        const isRunning = run?.execution.state === 'starting'
        if (kind === 'start' && executions.free > 0) runs.push(start(`${index}`))
        else if (kind === 'refuse') {
          spawner.refusal = new Error('no')
          try {
            executions.start(request(`${index}`), watcher())
          } catch {
            spawner.refusal = undefined
          }
        } else if (run !== undefined && kind === 'exit' && isRunning)
          run.child.events.exited({ kind: 'exited', code: 0 })
        else if (run !== undefined && kind === 'fail' && isRunning) run.child.events.failed(2)
        else if (run?.execution.watcher !== undefined && kind === 'leave')
          executions.leave(run.execution, run.execution.watcher)
        const running = runs.filter(({ execution }) => execution.state === 'starting').length
        const reading = runs.filter(
          ({ execution }) => execution.state === 'finished' && execution.watcher !== undefined,
        ).length
        if (executions.running !== running || executions.runningOf('bot') !== running) return false
        if (executions.free !== 3 - running - reading) return false
      }
      return true
    }),
    { numRuns: 300 },
  )
  t.pass('for every one of them')
  t.end()
})

t.test('what fits is killed with everything that descends from it, and only what still runs', (t) => {
  const { executions, start } = stage(3)
  const [one, two, ended] = [start('a'), start('b', { sessionId: 'other' }), start('c')]
  ended.child.events.exited({ kind: 'exited', code: 0 })
  executions.endWhere(({ sessionId }) => sessionId === 's', 'Over.')
  t.strictSame([one.child.deeds, two.child.deeds, ended.child.deeds], [['killTree'], [], []])
  t.strictSame(
    [one, two, ended].map(({ execution }) => execution.why),
    ['Over.', undefined, undefined],
  )
  executions.endWhere(() => false, 'Never.')
  t.strictSame(two.child.deeds, [])
  t.equal(executions.running, 2, 'its end is told by the process, as always')
  t.end()
})

t.test('whoever waits for a place hears of it when a command has ended, and when its output is read', (t) => {
  const clock = stageClock()
  const spawner = stageSpawner()
  const heard: string[] = []
  const results = createKeptResults({ file: stageLineFile(), clock, lost: () => {}, damaged: () => {} })
  const executions = createExecutions({
    spawner,
    clock,
    results,
    output: UNSCREENED,
    rings: [{ stdout: createRing(new Uint8Array(16)), stderr: createRing(new Uint8Array(16)) }],
    ended: () => heard.push(`ended, ${executions.free} free`),
    freed: () => heard.push(`freed, ${executions.free} free`),
  })
  const watching = watcher()
  const action: Action = executing(['ls'])
  const begin = (id: string) =>
    executions.start(
      {
        id,
        idBytes: new Uint8Array(16),
        owner: 'bot',
        scope: 'bot',
        instance: 'bot-1',
        sessionId: 's',
        keepsHead: false,
        acceptBytes: Number.POSITIVE_INFINITY,
        timeoutMs: undefined,
        plan: PLAN,
        warrant: Warrant.mint('s', 1, action),
        action,
      },
      watching,
    )
  const execution = begin('a')
  t.strictSame(heard, [])
  spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
  t.strictSame(heard, ['ended, 0 free', 'freed, 0 free'], 'somebody still reads it')
  executions.leave(execution, watching)
  t.strictSame(heard.slice(2), ['freed, 1 free'])
  begin('b')
  spawner.children[1]?.events.failed(2)
  t.strictSame(heard.slice(3), ['ended, 1 free', 'freed, 1 free'], 'what did not start frees its place too')
  t.end()
})
