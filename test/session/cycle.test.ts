/**
 * The order of what happens for one command, from the look at the device to the record of its end.
 * @module
 */
import t from 'tap'
import { enter, run, stageRooms } from './stage.ts'

t.test('a cycle observes, proposes, decides, executes and logs, in this order (RX-06)', (t) => {
  const order: string[] = []
  const staged = stageRooms({
    finder: {
      find(name) {
        order.push('observes')
        return { path: `/bin/${name}`, realPath: `/bin/${name}`, device: '1', inode: '2' }
      },
    },
  })
  const { rooms, audit, spawner } = staged
  const { policy, facts } = rooms
  rooms.policy = {
    ...policy,
    effective(action) {
      // What was observed is in what is proposed: the very file.
      if (action.executable?.inode === '2') order.push('proposes')
      return policy.effective(action)
    },
    rules: {
      ...policy.rules,
      strictest(effective) {
        order.push('decides')
        return policy.rules.strictest(effective)
      },
    },
  }
  const { seal } = facts
  facts.seal = (session, content) => {
    order.push('keeps what it was decided from')
    return seal(session, content)
  }
  const { spawn } = spawner
  spawner.spawn = (plan, events) => {
    const last = audit.events.at(-1)
    t.match(last, { type: 'decision', response: 'R1', action: 'execute' }, 'the decision is recorded by now')
    order.push('executes')
    return spawn(plan, events)
  }
  const client = enter(staged)
  order.length = 0
  run(client, 'ls')
  const [child] = spawner.children
  child?.events.spawned(1)
  t.strictSame(staged.endedExecutions, [])
  child?.events.exited({ kind: 'exited', code: 0 })
  t.equal(staged.endedExecutions.length, 1, 'its end is told to the record')
  const first = [...new Set(order)]
  t.strictSame(first, ['observes', 'proposes', 'decides', 'keeps what it was decided from', 'executes'])
  t.ok(order.lastIndexOf('decides') < order.indexOf('executes'), 'and nothing is decided behind it')
  t.end()
})
