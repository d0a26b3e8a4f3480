/**
 * What one more request costs the daemon, counted in blocks of the program that are run through: the same at any time
 * of a session, and the same among fifty agents as among five.
 * @module
 */
import t from 'tap'
import { countedWork } from '../counted-work.ts'
import { type Client, enter, run, type Stage, stageRooms } from './stage.ts'

/** A program for each of twenty kinds of tools: readers, writers, builders, clients, interpreters. */
const KINDS: readonly (readonly [string, readonly string[]])[] = [
  ...[
    ['ls'],
    ['cat', 'a'],
    ['grep', 'a', 'b'],
    ['find', '.'],
    ['touch', 'a'],
    ['mkdir', 'd'],
    ['cp', 'a', 'b'],
  ],
  ...[['sed', '-i', 's/a/b/', 'a'], ['tar', 'cf', 'a.tar', 'd'], ['git', 'status'], ['make'], ['gcc', 'a.c']],
  ...[['npm', 'test'], ['python3', 'a.py'], ['curl', 'https://example.com/'], ['ps'], ['df'], ['sort', 'a']],
  ...[
    ['sh', '-c', 'ls | wc -l'],
    ['diff', 'a', 'b'],
  ],
].map(([program = '', ...args]) => [program, args] as const)

/** From the request to the end of what it runs. */
function request({ spawner }: Stage, client: Client, [program, args]: (typeof KINDS)[number]): void {
  const before = spawner.children.length
  run(client, program, { args })
  if (spawner.children.length === before) throw new Error(`${program} was not started`)
  spawner.children.at(-1)?.events.exited({ kind: 'exited', code: 0 })
}

/** Of what is counted so much may come from where a ring, a map or a day begins anew. */
const NOISE = 1.05

t.test('a request costs what it costs, whatever its session has done before (JF-N03)', (t) => {
  const stage = stageRooms()
  const client = enter(stage)
  const [first = KINDS[0]] = KINDS
  if (first === undefined) throw new Error('There are kinds.')
  const cost = () => countedWork(() => request(stage, client, first))
  for (const kind of KINDS) request(stage, client, kind)
  const early = cost()
  for (let count = 0; count < 50; count++) for (const kind of KINDS) request(stage, client, kind)
  const late = cost()
  t.ok(late <= early * NOISE, `${early} blocks, and ${late} after a thousand requests`)
  t.end()
})

t.test(
  'fifty agents with twenty kinds of tools each cost ten times what five do, and no more (JF-N07)',
  (t) => {
    const cost = (count: number) => {
      const names = Array.from({ length: count }, (_, index) => ({ name: `agent${index}`, seed: 10 + index }))
      const agents = Object.fromEntries(names.map(({ name, seed }) => [name, { seed }]))
      const stage = stageRooms({ agents, maxSessions: count })
      const clients = names.map((agent) => enter(stage, agent))
      const round = () => {
        for (const client of clients) for (const kind of KINDS) request(stage, client, kind)
      }
      round()
      return countedWork(round)
    }
    t.equal(KINDS.length, 20)
    const [five, fifty] = [cost(5), cost(50)]
    t.ok(fifty <= 10 * five * NOISE, `${five} blocks, and ${fifty}`)
    t.end()
  },
)
