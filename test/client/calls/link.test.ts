import t, { type Test } from 'tap'
import { type Caller, createCaller } from '../../../src/client/calls/caller.ts'
import { type Connected, createLink, type LinkEvent } from '../../../src/client/calls/link.ts'
import { createRunning } from '../../../src/client/calls/running.ts'
import {
  RECONNECT_PAUSE_MAX_MS,
  RECONNECT_PAUSE_MS,
  REFUSED_MS,
  REFUSED_TRIES,
} from '../../../src/client/limits.ts'
import { type Code, SassError } from '../../../src/errors.ts'
import { type Connection, type ConnectionEvent, createConnection } from '../../../src/wire/connection.ts'
import { pingResponse, streamResponse } from '../../../src/wire/messages.ts'

const ID = new Uint8Array(16).fill(7)
const HEX = '07'.repeat(16)

/** One connection to the daemon's real engine, and what is known of it. */
type Line = {
  readonly connected: Connected
  readonly daemon: Connection
  readonly asked: ConnectionEvent[]
  cut(): void
}

function line(sessionId: string): Line {
  const asked: ConnectionEvent[] = []
  let close = () => {}
  const closed = new Promise<void>((resolve) => {
    close = resolve
  })
  const caller: Caller = createCaller(
    (frame) => daemon.receive(frame),
    () => 0,
    () => cut(),
  )
  const daemon: Connection = createConnection(
    'daemon',
    (frame) => caller.receive(frame),
    (event) => asked.push(event),
  )
  caller.authenticated(65_536)
  daemon.becomeOpen(65_536)
  const cut = () => {
    caller.lost(new Error('cut'))
    close()
  }
  const connected = {
    caller,
    sessionId,
    recordProblem: undefined,
    accept: 0,
    closed,
    end: cut,
    destroy: cut,
    watch() {},
    poke() {},
  }
  return { connected, daemon, asked, cut }
}

/** A link whose every next try ends as `next` says; time passes only in its pauses. */
function staged(next: (tries: number) => Line | SassError, giveUpMs = Number.POSITIVE_INFINITY) {
  const first = line('first')
  const events: LinkEvent[] = []
  const pauses: number[] = []
  let nowMs = 0
  let tries = 0
  const link = createLink({
    first: first.connected,
    async dial() {
      const made = next(++tries)
      if (made instanceof SassError) throw made
      return made.connected
    },
    giveUpMs,
    nowMs: () => nowMs,
    async pause(ms) {
      pauses.push(ms)
      nowMs += ms
      await new Promise((resolve) => setImmediate(resolve))
    },
    chance: () => 1,
    onLink: (event) => events.push(event),
  })
  const running = (onGap?: (source: string, from: number, to: number) => void) => {
    const parts: [string, number, number][] = []
    const made = createRunning(
      HEX,
      { command: 'x', execution_id: ID },
      {
        output: (source, bytes, offset) => void parts.push([source, offset, bytes.length]),
        isNew: true,
        comesBack: true,
        onGap,
      },
      () => link.leave(made.member),
    )
    made.execution.exit.catch(() => {})
    link.add(made.member)
    return { ...made.execution, parts }
  }
  return { link, first, events, pauses, running }
}

const turn = async () => {
  for (let round = 0; round < 20; round++) await new Promise((resolve) => setImmediate(resolve))
}
const unreachable = () => new SassError('CONNECT_FAILED', 'Nobody is there.')
const opened = ({ asked }: Line) =>
  asked.flatMap((event) => (event.kind === 'opened' && event.message.ok ? [event.message.value] : []))

t.test('pauses grow twofold up to the longest, and a return begins anew', async (t) => {
  const lines: Line[] = []
  const { first, link, pauses, running } = staged((tries) => {
    if (tries < 9) return unreachable()
    const made = line('first')
    lines.push(made)
    return made
  })
  running()
  first.cut()
  for (let round = 0; round < 5; round++) await turn()
  t.strictSame(
    pauses,
    Array.from({ length: 9 }, (_, index) =>
      Math.min(RECONNECT_PAUSE_MS * 2 ** index, RECONNECT_PAUSE_MAX_MS),
    ),
  )
  t.ok(link.isUp)
  pauses.length = 0
  lines[0]?.cut()
  await turn()
  t.strictSame(pauses, [RECONNECT_PAUSE_MS])
})

t.test('what has begun is only gone back to, what is not known to have is asked as before', async (t) => {
  const second = line('first')
  const { first, running, events } = staged(() => second)
  const begun = running()
  const waiting = running()
  first.daemon.message(1, streamResponse.encode({ source: 2, execution_id: ID }))
  first.daemon.message(1, streamResponse.encode({ data: new Uint8Array(5), offset: 0 }), 5)
  first.cut()
  await turn()
  t.match(opened(second), [
    { is_reattach: true, resume_offset: 5, resume_offset_stderr: 0, command: '' },
    { is_reattach: false, command: 'x', resume_offset: 0 },
  ])
  t.match(events, [{ kind: 'lost' }, { kind: 'back', isSameSession: true }])
  // What is sent again is dropped, and what was left out declared by nobody here.
  second.daemon.message(1, streamResponse.encode({ source: 2, execution_id: ID }))
  second.daemon.message(1, streamResponse.encode({ data: new Uint8Array(8), offset: 2 }), 8)
  second.daemon.end(1, streamResponse.encode({ exit_code: 4 }))
  t.match(await begun.exit, { exitCode: 4 })
  t.strictSame(begun.parts, [
    ['stdout', 0, 5],
    ['stdout', 5, 5],
  ])
  second.daemon.end(3, streamResponse.encode({ exit_code: 5 }))
  t.match(await waiting.exit, { exitCode: 5 })
})

t.test(
  'offsets that are gone are asked for anew from where the ring begins, and then from wherever it does',
  async (t) => {
    const { first, running } = staged(() => unreachable())
    const gaps: [string, number, number][] = []
    const one = running((...gap) => gaps.push(gap))
    const fail = (stream: number, stdout: number, stderr: number) =>
      first.daemon.fail(
        stream,
        'RING_BUFFER_DATA_LOSS',
        'Gone.',
        new Map([
          [1, stdout],
          [2, stderr],
        ]),
      )
    fail(1, 100, 0)
    fail(3, 200, 30)
    fail(5, 300, 30)
    fail(7, 400, 30)
    t.match(opened(first), [
      { resume_offset: 0 },
      { resume_offset: 100, resume_offset_stderr: 0 },
      { resume_offset: 200, resume_offset_stderr: 30 },
      { resume_offset: 300 },
      { tail: 0xffff_ffff },
    ])
    first.daemon.message(9, streamResponse.encode({ data: new Uint8Array(10), offset: 450 }), 10)
    first.daemon.end(9, streamResponse.encode({ exit_code: 0 }))
    t.match(await one.exit, { exitCode: 0 })
    t.strictSame(gaps, [
      ['stdout', 0, 100],
      ['stdout', 100, 200],
      ['stderr', 0, 30],
      ['stdout', 200, 300],
      ['stdout', 300, 400],
      ['stdout', 400, 450],
    ])
    const stubborn = running(() => {})
    fail(11, 0, 0)
    await t.rejects(
      stubborn.exit,
      { code: 'RING_BUFFER_DATA_LOSS' },
      'who says nothing new is not asked again',
    )
  },
)

t.test(
  'what is gone that had begun is an unknown outcome; what another one took over is left to it',
  async (t) => {
    const second = line('second')
    const { first, running } = staged(() => second)
    const begun = running()
    const other = running()
    for (const stream of [1, 3])
      first.daemon.message(stream, streamResponse.encode({ source: 2, execution_id: ID }))
    first.cut()
    await turn()
    second.daemon.fail(1, 'PROCESS_NOT_FOUND', 'None.')
    second.daemon.reset(3)
    await t.rejects(begun.exit, { code: 'EXECUTION_OUTCOME_UNKNOWN', details: { id: HEX } })
    await t.rejects(other.exit, { code: 'CONNECTION_LOST', message: /Another client/ })
  },
)

t.test('what tells is asked again, what changes something is not, unless it was never sent', async (t) => {
  const second = line('first')
  const { first, link } = staged(() => second)
  const ping = link.call('Ping', new Map())
  const merge = link.call('MergeBranch', new Map())
  await turn()
  first.cut()
  const late = link.call('DropBranch', new Map())
  await t.rejects(merge, { code: 'CONNECTION_LOST' })
  await turn()
  const names = second.asked.map((event) => (event.kind === 'opened' ? event.method.name : ''))
  t.strictSame(names.sort(), ['DropBranch', 'Ping'])
  for (const event of second.asked)
    if (event.kind === 'opened')
      second.daemon.end(
        event.stream,
        event.method.name === 'Ping' ? pingResponse.encode({ daemon_version: '9', os: 'x' }) : new Map(),
      )
  t.match(await ping, { daemon_version: '9' })
  t.match(await late, { success: false })
})

t.test('who is to blame decides how long it is tried', async (t) => {
  const refused = (how: string) => new SassError('CONNECT_FAILED', 'Not let in.', { refused: how })
  async function triesOf(t: Test, error: SassError, giveUpMs?: number) {
    const { first, link, running, events, pauses } = staged(() => error, giveUpMs)
    const one = running()
    first.cut()
    await link.closed
    const asked = { code: 'CONNECTION_LOST', details: { why: error.code, id: HEX } }
    await t.rejects(one.exit, asked)
    await t.rejects(link.call('Ping', new Map()), { code: error.code })
    t.match(events.at(-1), { kind: 'gaveUp' })
    return { tries: pauses.length, spentMs: pauses.reduce((sum, ms) => sum + ms, 0) }
  }
  for (const code of ['PIN_MISMATCH', 'PIN_UNKNOWN', 'CHALLENGE_FAILED', 'USAGE'] satisfies Code[])
    t.equal((await triesOf(t, new SassError(code, 'No.'))).tries, 1, code)
  t.equal((await triesOf(t, refused('noise'))).tries, 1, 'no link makes noise')
  const silent = await triesOf(t, refused('silence'))
  t.ok(silent.tries > REFUSED_TRIES && silent.spentMs >= REFUSED_MS && silent.spentMs < 2 * REFUSED_MS)
  const away = await triesOf(t, unreachable(), 100_000)
  t.ok(away.spentMs >= 100_000 && away.spentMs <= 100_000 + RECONNECT_PAUSE_MAX_MS)
})

t.test('closed on purpose, nothing is tried and nobody waits', async (t) => {
  const { link, events } = staged(() => unreachable())
  await link.close()
  await link.closed
  await t.rejects(link.call('Ping', new Map()), { code: 'CONNECT_FAILED' })
  t.strictSame(events, [])
})

t.test('closed while something runs, its end is not known: whoever waits for it hears so', async (t) => {
  const { first, link, running } = staged(() => unreachable())
  const begun = running()
  await turn()
  const id = opened(first).length
  t.ok(id > 0)
  await link.close()
  await t.rejects(begun.exit, { code: 'CONNECTION_LOST' })

  const away = staged(() => unreachable())
  const lost = away.running()
  away.first.cut()
  await turn()
  await away.link.close()
  await t.rejects(lost.exit, { code: 'CONNECTION_LOST' })
})

t.test('a device that breaks the protocol is left for good', async (t) => {
  const { first, link, running, events } = staged(() => line('first'))
  const one = running()
  first.connected.caller.receive(Uint8Array.of(0xff))
  await link.closed
  await t.rejects(one.exit, { code: 'CONNECTION_LOST' })
  await t.rejects(link.call('Ping', new Map()), { code: 'FRAME_MALFORMED' })
  t.equal(events.filter(({ kind }) => kind === 'back').length, 0)
})

t.test(
  'what waited when the device went down is asked of the next daemon; what ran is gone back to',
  async (t) => {
    const next = line('second')
    const { link, first, events, running } = staged(() => next)
    const waits = running()
    await turn()
    first.daemon.fail(
      1,
      'DAEMON_SHUTTING_DOWN',
      'The device is going down; nothing was done.',
      new Map([[1, 9]]),
    )
    first.daemon.goAway('DAEMON_SHUTTING_DOWN', 'The device is going down.', new Map([[1, 9]]))
    await turn()
    t.same(events, [{ kind: 'leaving', withinSeconds: 9 }])
    first.cut()
    await turn()
    t.match(next.asked, [{ kind: 'opened', message: { value: { command: 'x', is_reattach: false } } }])
    next.daemon.end(1, streamResponse.encode({ source: 0, exit_code: 7, execution_id: ID }))
    t.match(await waits.exit, { exitCode: 7 })
    await link.close()
  },
)
