/**
 * What a step of a level does to commands, connections, the record and the state that outlives a restart.
 * @module
 */
import t from 'tap'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import {
  createLevelSteps,
  type LevelSteps,
  type LevelStepsGround,
} from '../../../src/session/decisions/level-steps.ts'
import type { LevelStep } from '../../../src/session/standing/levels.ts'

const HASH = new Uint8Array(32).fill(0xcd)
type Staged = {
  readonly steps: LevelSteps
  readonly done: string[]
  /** Runs what waits for time to pass. */
  pass(): void
}

function stage(incident?: string, failing = false): Staged {
  const done: string[] = []
  const waiting: (() => void)[] = []
  const commands = [
    { owner: 'ci', sessionId: 's1' },
    { owner: 'bo', sessionId: 's2' },
    { owner: 'helper', sessionId: 's3' },
    { owner: 'worker', sessionId: 's4' },
    { owner: 'worker', sessionId: 's5' },
  ]
  const holder = (id: string, name: string, address: string) => ({
    ...{ id, address, caller: { name } },
    dismissHolder: () => done.push(`reset ${name}`),
  })
  const rooms = {
    executions: {
      endWhere: (fits: (execution: (typeof commands)[number]) => boolean) =>
        done.push(...commands.filter(fits).map(({ owner }) => `kill ${owner}`)),
      endAll: (how: string) => done.push(`${how} all`),
    },
    sessions: {
      all: () => [
        holder('s1', 'ci', '192.0.2.7'),
        holder('s0', 'operator', 'local'),
        { ...holder('s2', 'bo', '::1'), dismissHolder: undefined },
        { ...holder('s3', 'helper', '::1'), dismissHolder: undefined },
        {
          ...{ ...holder('s4', 'worker', '::1'), dismissHolder: undefined },
          handed: { by: 'ci', session: 's1' },
        },
        { ...holder('s5', 'worker', '::1'), dismissHolder: undefined },
      ],
    },
    confirmations: {
      refuseWhere: (fits: (pending: { agent: string; sessionId: string }) => boolean, by: string) =>
        done.push(
          ...commands.flatMap(({ owner: agent, sessionId }) =>
            fits({ agent, sessionId }) ? [`no to ${agent} by ${by}`] : [],
          ),
        ),
    },
    queue: {
      recall: (fits: (caller: string) => boolean) =>
        done.push(...commands.flatMap(({ owner }) => (fits(owner) ? [`recall ${owner}`] : []))),
    },
    branches: { preserve: (id: string, { level }: { level: string }) => done.push(`save ${id} ${level}`) },
    identities: { find: (name: string) => ({ delegatedBy: name === 'helper' ? 'ci' : undefined }) },
    levels: { kept: () => ({ entries: [] }) },
    clock: {
      after(_ms: number, callback: () => void) {
        waiting.push(callback)
        return () => {}
      },
    },
    log: { write: (_level: string, event: string) => done.push(`log ${event}`) },
    audit: { head: { sequence: 3, hash: HASH } },
  } as unknown as ReturnType<LevelStepsGround['rooms']>
  const steps = createLevelSteps({
    incident,
    record: ({ type }) => done.push(`record ${type}`),
    save({ incident: kept }) {
      if (failing) throw new Error('the disk is full')
      done.push(`save ${kept === undefined ? 'none' : kept.slice(0, 4)}`)
    },
    rooms: () => rooms,
  })
  return {
    steps,
    done,
    pass() {
      for (const callback of waiting.splice(0)) callback()
    },
  }
}

function step(change: Partial<LevelStep>): LevelStep {
  return {
    scope: 'agent',
    name: 'ci',
    from: 'NORMAL',
    to: 'CONTAIN',
    why: 'w',
    by: '',
    instance: null,
    ...change,
  }
}

t.test(
  'an agent that is contained loses its commands, with those of whoever acts for it, and no other',
  async (t) => {
    const { steps, done, pass } = stage()
    steps.took(step({}))
    const ended = ['kill ci', 'kill helper', 'kill worker']
    const saved = ['save s1 CONTAIN', 'save s3 CONTAIN', 'save s4 CONTAIN']
    t.strictSame(done, ['record level', 'log level', ...ended, ...saved, 'save none'])
    done.length = 0
    pass()
    const asked = ['no to ci by CONTAIN', 'no to helper by CONTAIN', 'no to worker by CONTAIN']
    t.strictSame(done.slice(0, 3), asked, 'of the worker what it was handed, and not what it does for itself')
  },
)

t.test('with a session that is contained goes what it has handed on', async (t) => {
  const { steps, done } = stage()
  steps.took(step({ scope: 'session', name: 's1' }))
  const ended = ['kill ci', 'kill worker']
  t.strictSame(done, ['record level', 'log level', ...ended, 'save s1 CONTAIN', 'save s4 CONTAIN'])
})

t.test('a session that is contained loses its own commands, and nothing is kept of it', async (t) => {
  const { steps, done } = stage()
  steps.took(step({ scope: 'session', name: 's2' }))
  t.strictSame(done, ['record level', 'log level', 'kill bo', 'save s2 CONTAIN'])
})

t.test(
  'what a session at a checkpoint has changed is saved, and its commands go on to their end',
  async (t) => {
    const { steps, done } = stage()
    steps.took(step({ scope: 'session', name: 's2', to: 'CHECKPOINT' }))
    t.strictSame(done, ['record level', 'log level', 'save s2 CHECKPOINT'])
  },
)

t.test('a milder level ends nothing', async (t) => {
  for (const to of ['NORMAL', 'RESTRICT'] as const) {
    const { steps, done } = stage()
    steps.took(step({ to }))
    t.strictSame(done, ['record level', 'log level', 'save none'], to)
  }
})

t.test('HALT of the daemon ends all commands and connections, and leaves an incident', async (t) => {
  const { steps, done, pass } = stage()
  steps.took(step({ scope: 'daemon', name: '', to: 'HALT', by: 'operator' }))
  t.strictSame(done, ['record level', 'log level', 'kill all', 'record exit', 'log halted', 'save cdcd'])
  t.equal(steps.incident, encodeHex(HASH), 'the hash of the record that says why')
  done.length = 0
  pass()
  t.strictSame(
    done.filter((what) => what.startsWith('reset')),
    ['reset ci'],
    'the admin socket is the way back',
  )
})

t.test('HALT of one agent is no incident of the daemon', async (t) => {
  const { steps, done } = stage()
  steps.took(step({ to: 'HALT' }))
  t.strictSame(done, ['record level', 'log level', 'kill ci', 'kill helper', 'kill worker', 'save none'])
  t.equal(steps.incident, undefined)
})

t.test('an incident is acknowledged by its name alone, once', async (t) => {
  const { steps } = stage('ab12')
  t.equal(steps.acknowledge(''), false)
  t.equal(steps.acknowledge('AB12'), false)
  t.equal(steps.incident, 'ab12')
  t.equal(steps.acknowledge('ab12'), true)
  t.equal(steps.incident, undefined)
  t.equal(steps.acknowledge('ab12'), false)
  t.equal(stage().steps.acknowledge(''), false)
})

t.test('when the daemon leaves HALT the incident is over', async (t) => {
  const { steps, done } = stage('ab12')
  steps.took(step({ scope: 'daemon', name: '', from: 'HALT', to: 'NORMAL' }))
  t.equal(steps.incident, undefined)
  t.equal(done.at(-1), 'save none')
})

t.test('what cannot be kept is told, and done all the same', async (t) => {
  const { steps, done } = stage(undefined, true)
  steps.took(step({}))
  const ended = ['kill ci', 'kill helper', 'kill worker']
  const saved = ['save s1 CONTAIN', 'save s3 CONTAIN', 'save s4 CONTAIN']
  t.strictSame(done, ['record level', 'log level', ...ended, ...saved, 'log levels_not_kept'])
})
