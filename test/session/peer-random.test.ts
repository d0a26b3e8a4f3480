/**
 * Connections under whatever order of events: nothing throws, no byte is lost or sent twice, nothing is left over.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { LEVELS } from '../../src/defense/level.ts'
import { OUTPUT_BUFFERS } from '../../src/limits.ts'
import { confirmationAnswer, executeRequest, levelChange, stdinChunk } from '../../src/wire/messages.ts'
import { type Client, challengeOn, connect, enter, type Heard, meet, run, stageRooms } from './stage.ts'

const RING_BYTES = 256
const KINDS = [
  ...['start', 'unary', 'again', 'output', 'output', 'output', 'error', 'exit', 'fail', 'spawned'],
  ...['credit', 'reset', 'close', 'return', 'take', 'slow', 'stdin', 'cancel', 'refused', 'time', 'garbage'],
  ...['ask', 'challenged', 'meet', 'meet', 'mistaken', 'answer', 'answer', 'forbidden', 'operate', 'typed'],
  ...['stranger', 'local', 'second'],
] as const
type Step = { readonly kind: (typeof KINDS)[number]; readonly which: number; readonly size: number }

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    kind: fc.constantFrom(...KINDS),
    which: fc.nat(5),
    size: fc.integer({ min: 1, max: RING_BYTES }),
  }),
  { maxLength: 60 },
)

/** The first place where the output of a stream has a gap or a repetition, or a byte that is not at its offset. */
function gap(heard: readonly Heard[]): string | undefined {
  const next: (number | undefined)[] = [undefined, undefined]
  for (const { value } of heard) {
    const data = value?.['data']
    if (typeof data !== 'string' || data.startsWith('\u001b') || value?.['source'] === 2) continue
    const [source, offset] = [Number(value?.['source']), Number(value?.['offset'])]
    if (next[source] !== undefined && next[source] !== offset) return `${offset} after ${next[source]}`
    for (let index = 0; index < data.length; index++)
      if (data.charCodeAt(index) !== (offset + index) % 251) return `byte at ${offset + index}`
    next[source] = offset + data.length
  }
  return undefined
}

/** Runs the steps; returns what went wrong. */
function play(list: readonly Step[]): string | undefined {
  const stage = stageRooms({
    ringBytes: RING_BYTES,
    executions: 3,
    capability: { max_concurrent: 3 },
    queue: 6,
    maxSessions: 100,
    rules: [
      { action: 'challenge', severity: 'high', argv: { program: ['halt'] } },
      { action: 'deny', severity: 'medium', argv: { program: ['mount'] } },
    ],
    penalties: { enabled: false },
  })
  const { rooms, spawner, clock } = stage
  let client = enter(stage, { window: 4_096 })
  const clients = [client]
  const strangers: Client[] = []
  const boss = enter(stage, { name: 'boss', seed: 3 })
  const alive = new Set<number>()
  const written: [number, number][] = []
  let seen = 0

  const idOf = (which: number) => new Uint8Array(16).fill(which + 1)
  const ask = (command: string, which: number, unary: boolean, stdin = false) =>
    client.open(
      unary ? 'Execute' : 'ExecuteStream',
      executeRequest.encode({ command, execution_id: idOf(which), stdin: !unary && stdin }),
      !unary && stdin,
    )
  const emit = (which: number, source: 0 | 1, size: number) => {
    const [index] = [...alive].slice(which % Math.max(1, alive.size))
    if (index === undefined) return
    const counts = written[index] ?? [0, 0]
    written[index] = counts
    const from = counts[source]
    counts[source] += size
    spawner.children[index]?.events.output(
      source,
      new Uint8Array(size).map((_, at) => (from + at) % 251),
    )
  }
  const end = (which: number, isFailure: boolean) => {
    const [index] = [...alive].slice(which % Math.max(1, alive.size))
    if (index === undefined || (isFailure && written[index] !== undefined)) return
    alive.delete(index)
    if (isFailure) spawner.children[index]?.events.failed(2)
    else spawner.children[index]?.events.exited({ kind: 'exited', code: 0 })
  }
  const streams = () => [...client.connection.streams()]

  for (const { kind, which, size } of list) {
    const stream = streams()[which % Math.max(1, streams().length)]
    if (streams().length > 25) client.connection.reset(stream?.id ?? 1)
    if (kind === 'start') ask('run', which, false, size % 2 === 0)
    else if (kind === 'unary' || kind === 'again') ask('run', which, kind === 'unary')
    else if (kind === 'refused') ask('rm', 100 + which, size % 2 === 0)
    else if (kind === 'output' || kind === 'error') emit(which, kind === 'error' ? 1 : 0, size)
    else if (kind === 'exit' || kind === 'fail') end(which, kind === 'fail')
    else if (kind === 'spawned') {
      const [index] = alive
      if (index !== undefined) spawner.children[index]?.events.spawned(index)
    } else if (kind === 'credit' && stream !== undefined) client.connection.grant(stream.id, size * 8)
    else if (kind === 'reset' && stream !== undefined) client.connection.reset(stream.id)
    else if (kind === 'cancel') client.open('Cancel', new Map([[1, idOf(which)]]))
    else if (kind === 'stdin' && stream?.localOpen) {
      const bytes = Math.min(size, client.connection.credit(stream.id))
      client.connection.message(stream.id, new Map([[1, new Uint8Array(bytes)]]), bytes)
    } else if (kind === 'slow') client.transport.takesAtOnce = false
    else if (kind === 'take') {
      client.transport.takesAtOnce = true
      for (const write of client.transport.writes.splice(0)) write.taken?.()
    } else if (kind === 'time') {
      clock.pass(size * 1_000)
      stage.peers.tick()
      rooms.sessions.tick(clock.monotonicMs())
      rooms.challengeRates.tick(clock.monotonicMs())
    } else if (kind === 'ask') run(client, 'cat', { args: ['/etc/shadow'], stdin: size % 2 === 0 })
    else if (kind === 'challenged') run(client, 'halt', { execution_id: idOf(which), stdin: size % 2 === 0 })
    else if (kind === 'forbidden') run(client, 'mount')
    else if (kind === 'meet' || kind === 'mistaken') {
      const waiting = streams().filter(({ id }) => challengeOn(client, id) !== undefined)
      const one = waiting[which % Math.max(1, waiting.length)]
      const wrong = kind === 'mistaken' ? { plaintext: new Uint8Array(64) } : {}
      if (one !== undefined) meet(client, challengeOn(client, one.id), wrong)
    } else if (kind === 'answer') {
      const asked = rooms.confirmations.list()
      const pending = asked[which % Math.max(1, asked.length)]
      if (pending === undefined) continue
      const digest = size % 5 === 0 ? new Uint8Array(32) : pending.digest
      const answer = { id: pending.idBytes, digest, approve: size % 2 === 0 }
      boss.open('AnswerConfirmation', confirmationAnswer.encode(answer))
    } else if (kind === 'operate') {
      // Not HALT: it would be the end of everything that is still to happen.
      const level = LEVELS[Math.max(0, which - 2)] ?? 'NORMAL'
      boss.open('SetLevel', levelChange.encode({ scope: 'agent', name: 'bot', level }))
      for (const method of ['ListConfirmations', 'ShowLevels', 'ListPenalties', 'Reload'] as const)
        (size % 3 === 0 ? client : boss).open(method, new Map())
    } else if (kind === 'typed' && stream?.localOpen) {
      client.connection.message(stream.id, stdinChunk.encode({ resize: { rows: which + 1, cols: size } }))
      if (size % 3 === 0) client.connection.end(stream.id)
    } else if (kind === 'stranger' || kind === 'local') {
      const stranger = connect(stage, { remoteAddress: kind === 'local' ? '127.0.0.1' : '192.0.2.9' })
      strangers.push(stranger)
      run(stranger, ['cat', 'df', 'rm'][which % 3] ?? 'cat', {
        args: which % 3 === 0 ? ['/etc/hostname'] : [],
      })
      if (size % 2 === 0) stranger.events.closed()
    } else if (kind === 'second') {
      client = enter(stage, { window: 4_096 })
      clients.push(client)
    } else if (kind === 'garbage') client.events.data(new Uint8Array([0xff, size & 0xff]))
    if (
      kind === 'close' ||
      kind === 'garbage' ||
      kind === 'return' ||
      client.transport.deeds.includes('reset') ||
      // Noise: nothing else pauses a connection here.
      client.transport.deeds.includes('pause')
    ) {
      if (kind !== 'return') client.events.closed()
      client = enter(stage, { window: 4_096, resume: client.sessionId })
      clients.push(client)
    }
    for (; seen < spawner.children.length; seen++) alive.add(seen)
    if (rooms.executions.running !== alive.size) return `${rooms.executions.running} run, not ${alive.size}`
  }

  // Either the commands end first or the connections do.
  if (list.length % 2 === 0) for (const one of [...clients, ...strangers]) one.events.closed()
  for (;;) {
    // What ends may let something begin that has waited for its turn.
    for (; seen < spawner.children.length; seen++) alive.add(seen)
    if (alive.size === 0) break
    end(0, false)
  }
  for (const one of clients) {
    one.transport.takesAtOnce = true
    for (const write of one.transport.writes.splice(0)) write.taken?.()
    one.events.closed()
    for (const { id } of [...Array(200).keys()].map((index) => ({ id: 2 * index + 1 }))) {
      const problem = gap(one.on(id))
      if (problem !== undefined) return `stream ${id}: ${problem}`
    }
  }
  for (const one of [...strangers, boss]) one.events.closed()
  // What a containment ends is ended once the decision is over.
  clock.pass(0)
  if (clock.timers !== 0) return `${clock.timers} timers run`
  if (rooms.queue.size !== 0) return `${rooms.queue.size} requests wait for their turn`
  if (rooms.confirmations.list().length !== 0) return 'a question waits for a human'
  if (rooms.deceptions.free !== 2) return 'a stranger holds a place'
  if (rooms.tarpits.held !== 0) return 'a tarpit is held'
  clock.pass(3_600_000)
  if (rooms.executions.running !== 0 || rooms.executions.free !== 3)
    return `${rooms.executions.free} places are free`
  if (rooms.buffers.free !== OUTPUT_BUFFERS) return `${rooms.buffers.free} buffers are free`
  if (rooms.viHolds.size !== 0) return 'a screen holds a slot'
  if (stage.peers.size !== 0 || stage.peers.waiting !== 0) return 'a connection is left'
  if (rooms.executions.present().some(({ watcher }) => watcher !== undefined)) return 'a watcher is left'
  for (const session of rooms.sessions.all())
    if (session.running !== 0) return `a session counts ${session.running} running`
  if (stage.logged.some(({ level }) => level === 'error')) return JSON.stringify(stage.logged.at(-1))
  return undefined
}

t.test('whatever happens in whatever order, output stays whole and everything is given back', (t) => {
  fc.assert(
    fc.property(steps, (list) => {
      const problem = play(list)
      if (problem !== undefined) throw new Error(problem)
    }),
    { numRuns: 120 },
  )
  t.pass('for every one of them')
  t.end()
})
