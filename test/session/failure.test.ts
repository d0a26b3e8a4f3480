/**
 * What fails stays where it is: whichever step of a command fails, whoever asked is told with a code, no later step is
 * taken, and everybody else goes on.
 * @module
 */
import t from 'tap'
import { CODES, SassError } from '../../src/errors.ts'
import { enter, run, type Stage, stageRooms } from './stage.ts'

const defect = () => {
  throw new TypeError('a defect')
}

/** The steps of a command in their order, and how each is made to fail. */
const STEPS: Readonly<Record<string, (stage: Stage) => () => void>> = {
  'the look at the device': ({ rooms }) => {
    const { finder } = rooms.planner
    Object.assign(rooms.planner, { finder: { ...finder, find: defect } })
    return () => Object.assign(rooms.planner, { finder })
  },
  'the decision': ({ rooms }) => {
    const { policy } = rooms
    rooms.policy = { ...policy, rules: { ...policy.rules, strictest: defect } }
    return () => {
      rooms.policy = policy
    }
  },
  'the facts of the record': ({ rooms }) => {
    const { seal } = rooms.facts
    rooms.facts.seal = defect
    return () => {
      rooms.facts.seal = seal
    }
  },
  'the record': ({ audit }) => {
    audit.failure = new SassError('STATE_UNWRITABLE', 'The disk is full, so nothing was done.')
    return () => {
      audit.failure = undefined
    }
  },
  'the start': ({ spawner }) => {
    spawner.refusal = new SassError('INTERNAL', 'No process can be made.')
    return () => {
      spawner.refusal = undefined
    }
  },
}

const RECORDING: readonly string[] = ['the facts of the record', 'the record']

t.test(
  'whatever fails of a command is told with a code, nothing behind it is done, and others go on (JF-R34)',
  (t) => {
    for (const [step, fail] of Object.entries(STEPS)) {
      const stage = stageRooms()
      const { spawner, rooms, logged } = stage
      const [bystander, client] = [enter(stage, { name: 'other', seed: 2 }), enter(stage)]
      const running = run(bystander, 'sleep')
      const mend = fail(stage)
      const failed = run(client, 'ls')
      mend()
      t.equal(spawner.children.length, 1, `${step}: nothing was started`)
      t.equal(rooms.executions.runningOf('bot'), 0)
      t.match(logged.at(-1), { level: /error|warn/, fields: { method: 'ExecuteStream', reason: /./ } })
      if (step === 'the decision') {
        t.match(logged.at(-1)?.fields, { layer: '13policy', rule: 'deny_on_error' })
        t.match(client.on(failed), [
          { kind: 'status', code: CODES.INTERNAL.number, text: /could not decide/ },
        ])
      } else
        t.match(client.on(failed), [
          { kind: 'status', code: CODES.SANDBOX_UNAVAILABLE.number, text: /nothing was done/ },
        ])

      // Without a record nobody does anything: that is no failure of one command.
      if (RECORDING.includes(step)) {
        t.equal(rooms.levels.daemon, 'HALT')
        continue
      }
      t.strictSame(spawner.children[0]?.deeds, [], `${step}: what another one runs goes on`)
      t.strictSame(rooms.levels.list(), [])
      run(bystander, 'ls')
      t.equal(spawner.children.length, 2, `${step}: and so does whatever it asks for`)
      const [child] = spawner.children
      child?.events.spawned(1)
      child?.events.exited({ kind: 'exited', code: 0 })
      t.match(bystander.on(running).at(-1), { kind: 'ended', value: { exit_code: 0 } })
      run(client, 'ls')
      t.equal(spawner.children.length, 3, `${step}: and the next command of the same caller`)
    }
    t.end()
  },
)
