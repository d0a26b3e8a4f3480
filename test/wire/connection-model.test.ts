/**
 * Two engines back to back: whatever both sides do within the rules, and wherever the transport cuts the bytes, no
 * connection breaks and every message arrives once and in order, unless its receiver has left the stream.
 */
import fc from 'fast-check'
import t from 'tap'
import { type Connection, type ConnectionEvent, createConnection } from '../../src/wire/connection.ts'
import { fileChunk } from '../../src/wire/file-messages.ts'
import { executeRequest, stdinChunk, streamResponse } from '../../src/wire/messages.ts'
import { methodNamed } from '../../src/wire/methods.ts'
import type { Role } from '../../src/wire/phases.ts'

type Step = {
  readonly does: 'open' | 'send' | 'end' | 'reset' | 'fail' | 'grant' | 'ping' | 'go away' | 'deliver'
  readonly role: Role
  /** Which stream, how many bytes. */
  readonly which: number
  readonly bytes: number
}

const steps: fc.Arbitrary<Step> = fc.record({
  does: fc.oneof(
    { weight: 12, arbitrary: fc.constant('deliver' as const) },
    { weight: 8, arbitrary: fc.constant('send' as const) },
    { weight: 4, arbitrary: fc.constant('open' as const) },
    { weight: 6, arbitrary: fc.constantFrom('grant', 'end') as fc.Arbitrary<Step['does']> },
    { weight: 2, arbitrary: fc.constantFrom('reset', 'fail', 'ping') as fc.Arbitrary<Step['does']> },
  ),
  role: fc.constantFrom('client', 'daemon') as fc.Arbitrary<Role>,
  which: fc.nat({ max: 40 }),
  bytes: fc.oneof(fc.nat({ max: 40 }), fc.nat({ max: 3_000 })),
})

type End = {
  readonly engine: Connection
  /** On their way to this end. */
  readonly incoming: number[]
  readonly received: Map<number, number[]>
  readonly sent: Map<number, number[]>
  /** Streams that this end has left before the other had ended them. */
  readonly left: Set<number>
  readonly closed: Map<number, number>
  isBroken: boolean
  pongs: number
  pings: number
}

const WINDOW_BYTES = 4_096

function note(map: Map<number, number[]>, id: number, size: number): void {
  const list = map.get(id) ?? []
  list.push(size)
  map.set(id, list)
}

function createEnd(role: Role, other: () => End): End {
  const end: End = {
    engine: createConnection(
      role,
      (frame, taken) => {
        other().incoming.push(...frame)
        taken?.()
      },
      take,
    ),
    incoming: [],
    received: new Map(),
    sent: new Map(),
    left: new Set(),
    closed: new Map(),
    isBroken: false,
    pongs: 0,
    pings: 0,
  }
  function take(event: ConnectionEvent): void {
    switch (event.kind) {
      case 'opened':
        note(end.received, event.stream, event.message.ok ? -1 : -2)
        return
      case 'message':
        note(end.received, event.stream.id, event.message.ok ? event.dataBytes : -2)
        return
      case 'ended':
      case 'status':
      case 'reset':
        end.closed.set(event.stream.id, (end.closed.get(event.stream.id) ?? 0) + 1)
        return
      case 'pong':
        end.pongs++
        return
      case 'fatal':
      case 'unknown_method':
        end.isBroken = true
        return
      default:
        return
    }
  }
  end.engine.becomeOpen(WINDOW_BYTES)
  return end
}

function requestFor(which: number): { open: (engine: Connection) => number } {
  const run = executeRequest.encode({ command: 'x', stdin: which % 4 === 0 })
  switch (which % 4) {
    case 0:
      return { open: (engine) => engine.open(methodNamed('ExecuteStream'), run, true) }
    case 1:
      return { open: (engine) => engine.open(methodNamed('ExecuteStream'), run, false) }
    case 2:
      return { open: (engine) => engine.open(methodNamed('FileUpload'), fileChunk.encode({}), true) }
    default:
      return { open: (engine) => engine.open(methodNamed('Execute'), run, false) }
  }
}

function deliver(end: End, count: number): void {
  end.engine.receive(Uint8Array.from(end.incoming.splice(0, count)))
}

function pick(end: End, which: number): number | undefined {
  const ids = [...end.engine.streams()].map(({ id }) => id)
  return ids.length === 0 ? undefined : ids[which % ids.length]
}

function take(step: Step, end: End, isClient: boolean): void {
  const { engine } = end
  if (step.does === 'deliver') return deliver(end, step.bytes)
  if (step.does === 'ping') {
    end.pings = 1
    return engine.ping()
  }
  if (step.does === 'go away') return isClient ? undefined : engine.goAway('DAEMON_SHUTTING_DOWN', '')
  if (step.does === 'open') {
    if (!isClient || [...engine.streams()].length >= 32) return
    return note(end.sent, requestFor(step.which).open(engine), -1)
  }
  const id = pick(end, step.which)
  const stream = id === undefined ? undefined : engine.stream(id)
  if (id === undefined || stream === undefined) return
  switch (step.does) {
    case 'send': {
      const bytes = Math.min(step.bytes, engine.credit(id))
      const isUpload = stream.method.name === 'FileUpload'
      if (!stream.localOpen || (isUpload && !isClient)) return
      const data = new Uint8Array(bytes)
      const payload = isClient
        ? (isUpload ? fileChunk : stdinChunk).encode({ data })
        : streamResponse.encode({ data })
      engine.message(id, payload, bytes)
      return note(end.sent, id, bytes)
    }
    case 'grant':
      return engine.grant(id, step.bytes)
    case 'end':
      if (!isClient) end.left.add(id)
      return engine.end(id, isClient ? undefined : endOf(stream.method.name))
    case 'reset':
      end.left.add(id)
      return engine.reset(id)
    case 'fail':
      if (isClient) return
      end.left.add(id)
      return engine.fail(id, 'SPAWN_FAILED', 'no')
  }
}

function endOf(method: string) {
  if (method === 'ExecuteStream') return streamResponse.encode({ exit_code: 0 })
  return method === 'Execute' ? new Map([[4, new Uint8Array(16)]]) : new Map([[1, true]])
}

/** Received is what was sent, or its beginning where the receiver has left. */
function isFaithful(from: End, to: End): boolean {
  for (const [id, received] of to.received) {
    const sent = from.sent.get(id) ?? []
    const isWhole = !to.left.has(id)
    if (received.join() !== sent.slice(0, received.length).join()) return false
    if (isWhole && received.length !== sent.length) return false
  }
  for (const id of from.sent.keys()) if (!to.received.has(id) && !to.left.has(id)) return false
  // A stream ends for its receiver once, and a half-closed one a second time when the whole ends.
  if ([...to.closed.values()].some((count) => count > 2)) return false
  const open = (end: End) => [...end.engine.streams()].map(({ id }) => id)
  return open(from).join() === open(to).join()
}

function play(list: readonly Step[]): boolean {
  const client: End = createEnd('client', () => daemon)
  const daemon: End = createEnd('daemon', () => client)
  for (const step of list) {
    take(step, step.role === 'client' ? client : daemon, step.role === 'client')
    if (client.isBroken || daemon.isBroken) return false
  }
  while (client.incoming.length + daemon.incoming.length > 0) {
    deliver(client, 997)
    deliver(daemon, 997)
  }
  if (client.isBroken || daemon.isBroken) return false
  if (client.pongs < client.pings || daemon.pongs < daemon.pings) return false
  return isFaithful(client, daemon) && isFaithful(daemon, client)
}

t.test('two engines that keep the rules never break, and lose, double or reorder nothing', async (t) => {
  fc.assert(
    fc.property(fc.array(steps, { minLength: 20, maxLength: 150 }), (list) => play(list)),
    { numRuns: 400 },
  )
  t.pass()
})

t.test('nor do they when the daemon goes away in between', async (t) => {
  const away: Step = { does: 'go away', role: 'daemon', which: 0, bytes: 0 }
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 60 }), fc.array(steps, { maxLength: 60 }), (before, after) => {
      const client: End = createEnd('client', () => daemon)
      const daemon: End = createEnd('daemon', () => client)
      for (const step of [...before, away, ...after]) {
        take(step, step.role === 'client' ? client : daemon, step.role === 'client')
        if (client.isBroken || daemon.isBroken) return false
      }
      while (client.incoming.length + daemon.incoming.length > 0) {
        deliver(client, 61)
        deliver(daemon, 61)
      }
      // Opened too late: the daemon has never heard of it, and the client has been told.
      for (const id of client.sent.keys()) {
        if (daemon.received.has(id)) continue
        if (!client.closed.has(id) && !client.left.has(id)) return false
        daemon.left.add(id)
      }
      return (
        !client.isBroken &&
        !daemon.isBroken &&
        client.engine.phase === 'draining' &&
        isFaithful(client, daemon)
      )
    }),
    { numRuns: 200 },
  )
  t.pass()
})
