/**
 * Who somebody is and what it may is asked of the daemon's own lists at every decision: by the name that was proven and
 * the instance that its session has, and never remembered.
 * @module
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Identities } from '../../src/session/callers/identities.ts'
import { authOf, connect, enter, run, stageRooms } from './stage.ts'

t.test(
  'the gate asks the registry by name and instance at every decision, and goes by what it says (JF-073)',
  (t) => {
    const staged = stageRooms({ capability: { max_concurrent: 8 } })
    const { rooms, audit } = staged
    const before = rooms.identities
    const asked: string[] = []
    let change: (caller: NonNullable<ReturnType<Identities['find']>>) => ReturnType<Identities['find']> = (
      known,
    ) => known
    rooms.identities = {
      ...before,
      find(name) {
        asked.push(name)
        const known = before.find(name)
        return known === undefined ? undefined : change(known)
      },
    }
    const [one, other] = [enter(staged), enter(staged)]
    const outcome = (client: ReturnType<typeof enter>) => {
      asked.length = 0
      run(client, 'touch', { args: ['x'] })
      t.ok(asked.includes('bot'), 'it was asked for that name')
      const event = audit.events.findLast(({ type }) => type === 'decision')
      return [event?.['response'], event?.['rule'], event?.['instance']]
    }
    const [first, second] = [...rooms.sessions.all()]
    if (first === undefined || second === undefined) throw new Error('two sessions')
    t.not(first.instance, second.instance)
    t.strictSame(outcome(one), ['R1', 'all_passed', first.instance])
    t.strictSame(outcome(other), ['R1', 'all_passed', second.instance])

    change = (known) => ({ ...known, tier: 'T1' })
    t.match(outcome(one), ['R4', 'tools.T1', first.instance], 'its tier is another one now')
    change = () => undefined
    t.match(outcome(one)[0], 'R4', 'nobody is listed under that name any more')
    change = (known) => known

    rooms.levels.set('session', first.id, 'CONTAIN', 'looked at', 'boss')
    t.match(outcome(one), ['R4', 'level.contain', first.instance], 'one instance of it is contained')
    t.match(outcome(other), ['R1', 'all_passed', second.instance], 'the other one is not')
    t.end()
  },
)

t.test('one place makes, knows, proves, follows and ends the identities of agents (JF-025)', (t) => {
  const root = join(import.meta.dirname, '../..')
  const files = (pattern: RegExp) =>
    globSync('src/**/*.ts', { cwd: root }).filter((path) =>
      pattern.test(readFileSync(join(root, path), 'utf8')),
    )
  t.strictSame(
    files(/[^n] newInstance\(|\bsessions\.create\(/),
    ['src/session/callers/new-session.ts'],
    'it is made in one place',
  )
  const staged = stageRooms({ penalties: { enabled: false } })
  const { rooms, audit, changes, spawner } = staged
  t.strictSame([...rooms.sessions.all()], [])
  const forged = connect(staged)
  forged.open('Authenticate', authOf({ name: 'other' }))
  t.strictSame([...rooms.sessions.all()], [], 'without a proof there is none')
  const client = enter(staged)
  const [session] = rooms.sessions.all()
  t.match(session, { caller: { name: 'bot' }, state: 'ACTIVE', instance: /^bot-\d{8}T\d{6}Z-[0-9a-f]{8}$/ })
  run(client, 'ls')
  t.match(audit.events.at(-1), { agent: 'bot', instance: session?.instance }, 'what it does is followed')
  t.equal(session?.state, 'EXECUTING')
  client.events.ended()
  t.equal([...rooms.sessions.all()].length, 1, 'what still works is not ended with its connection')
  spawner.children[0]?.events.spawned(1)
  spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
  // It expires, and what is expired and at rest is ended.
  for (let count = 0; count < 2; count++) {
    staged.clock.pass(rooms.settings.viHoldMs * 2)
    rooms.sessions.tick(staged.clock.monotonicMs())
  }
  t.strictSame([...rooms.sessions.all()], [], 'and is ended when it has come to its end')
  t.match(changes.at(-1), { session: { instance: session?.instance }, to: 'DESTROYED' })
  t.end()
})
