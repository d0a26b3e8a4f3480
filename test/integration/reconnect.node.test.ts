/**
 * The client library over links that are cut, go silent and come back, with a real daemon: every byte once, every start
 * once, every signal once, one exit.
 * @module
 */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type ConnectOptions, connect, type LinkEvent } from '../../src/client/client.node.ts'
import { createRandom } from '../fuzz/engine.ts'
import { type Lab, startLab } from '../links/lab.node.ts'
import {
  changeConfig,
  type Daemon,
  install,
  ON_REAL_FILES,
  startDaemon,
  startNew,
  temporary,
  until,
} from './daemon.node.ts'

const MIB = 1_048_576
const SEED = 26
const daemon = await startNew(t, {
  ...ON_REAL_FILES,
  capabilities: { default: { max_concurrent: 16, allowed_paths: ['*'] } },
})
const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const random = createRandom(SEED)
const draw = (below: number) => random.below(below)

type Linked = {
  readonly lab: Lab
  readonly device: Awaited<ReturnType<typeof connect>>
  readonly events: LinkEvent[]
}

/** A client over a link of its own. */
async function linked(t: Test, to: Daemon = daemon, more: Partial<ConnectOptions> = {}): Promise<Linked> {
  const lab = await startLab({ target: { host: '127.0.0.1', port: to.port }, seed: SEED })
  const events: LinkEvent[] = []
  const device = await connect({
    host: '127.0.0.1',
    port: lab.port,
    agent: 'agent',
    privateKey: to.seed(),
    pin: to.fingerprint,
    onLink: (event) => events.push(event),
    ...more,
  })
  t.teardown(async () => {
    await device.close()
    await lab.close()
  })
  return { lab, device, events }
}

const backs = (events: readonly LinkEvent[]) => events.filter(({ kind }) => kind === 'back').length

/** This connection and the next ones each break after some bytes; their handshake takes up to 4 KB. */
function cutNext(lab: Lab, count: number, direction: 'up' | 'down', mostBytes: number): void {
  const first = lab.counts().connections
  for (let connection = first - 1; connection < first + count; connection++)
    lab.link.cutAfter({ direction, bytes: 4_000 + draw(mostBytes), connection })
}

t.test('output arrives once and in order, wherever the link is cut', { timeout: 90_000 }, async (t) => {
  // How much compressed output takes, and so how often it is cut, would hang on how it falls into pieces; a link to a
  // machine with much to do seems slow, and gets it compressed unless asked.
  const { lab, device, events } = await linked(t, daemon, { compression: 'never' })
  // All of it fits the ring: whoever is away loses nothing.
  cutNext(lab, 12, 'down', 150_000)
  const parts: Buffer[] = []
  let end = 0
  const running = device.stream('seq', ['1', '150000'], {
    output(_source, bytes, offset) {
      t.equal(offset, end) || t.bailout()
      end += bytes.length
      parts.push(Buffer.from(bytes))
    },
  })
  t.match(await running.exit, { exitCode: 0, truncated: false })
  const whole = Array.from({ length: 150_000 }, (_, index) => `${index + 1}\n`).join('')
  t.ok(Buffer.concat(parts).toString() === whole, 'all of it')
  t.ok(backs(events) > 3, `${backs(events)} times back`)
})

t.test(
  'a reader that stops gets every byte once over any number of links',
  { timeout: 90_000 },
  async (t) => {
    const { lab, device, events } = await linked(t)
    const parts: Buffer[] = []
    let go = () => {}
    const stopped = new Promise<void>((resolve) => {
      go = resolve
    })
    let tail = stopped
    const running = device.stream('sh', ['-c', 'seq 1 60000; echo err >&2'], {
      output(source, bytes) {
        const own = Buffer.from(bytes)
        tail = tail.then(() => void (source === 'stdout' && parts.push(own)))
        return tail
      },
    })
    await running.started
    for (let round = 1; round <= 3; round++) {
      lab.link.cut(round % 2 === 0 ? 'fin' : 'rst')
      await until('a link again', () => backs(events) === round)
    }
    go()
    t.match(await running.exit, { exitCode: 0 })
    await tail
    const whole = Array.from({ length: 60_000 }, (_, index) => `${index + 1}\n`).join('')
    t.ok(Buffer.concat(parts).toString() === whole, 'all of it')
  },
)

t.test(
  'a link that ends in order between the last byte sent and its arrival loses nothing',
  { timeout: 90_000 },
  async (t) => {
    const { lab, device, events } = await linked(t, daemon, { compression: 'never' })
    const parts: Buffer[] = []
    const running = device.stream('sh', ['-c', 'sleep 0.3; seq 1 5000'], {
      output: (_source, bytes) => void parts.push(Buffer.from(bytes)),
    })
    await running.started
    lab.link.stall('down')
    await until('the end of the command', async () => {
      const { stdout } = await daemon.cli(['jobs', '--all', '--json'])
      const { jobs } = JSON.parse(stdout.toString()) as { jobs: { id: string; state: string }[] }
      return jobs.some(({ id, state }) => id === running.id && state === 'finished')
    })
    t.equal(parts.length, 0, 'nothing has arrived, and all of it was sent')
    lab.link.cut('fin')
    lab.link.go()
    await until('a link again', () => backs(events) === 1)
    t.match(await running.exit, { exitCode: 0 })
    const whole = Array.from({ length: 5_000 }, (_, index) => `${index + 1}\n`).join('')
    t.ok(Buffer.concat(parts).toString() === whole, 'all of it')
  },
)

t.test('an orderly end does not take what nobody has read', { timeout: 90_000 }, async (t) => {
  const { device } = await linked(t, daemon, { reconnect: false })
  const running = device.stream('sh', ['-c', 'echo out; echo err >&2; sleep 0.3; exit 7'], { output() {} })
  await running.started
  running.exit.catch(() => {})
  const { sessionId } = device
  // With its stream open, and then with none: as a relay ends it that has lost the client.
  await device.close()
  await until('its end', async () => {
    const { stdout } = await daemon.cli(['jobs', '--all', '--json'])
    const { jobs } = JSON.parse(stdout.toString()) as { jobs: { id: string; state: string }[] }
    return jobs.some(({ id, state }) => id === running.id && state === 'finished')
  })
  const back = async () => (await linked(t, daemon, { resumeSessionId: sessionId, reconnect: false })).device
  const nothing = await back()
  t.equal(nothing.sessionId, sessionId)
  await nothing.close()
  const reader = await back()
  t.equal(reader.sessionId, sessionId, 'it is still there')
  let said = ''
  const read = reader.attach(running.id, {
    output(_source, bytes) {
      said += Buffer.from(bytes).toString()
    },
  })
  t.match(await read.exit, { exitCode: 7 })
  t.equal(said, 'out\nerr\n')
  await reader.close()
  const late = await back()
  t.not(late.sessionId, sessionId, 'nothing is left to tell')
})

t.test('stdin reaches the command once and in order, its end too', { timeout: 90_000 }, async (t) => {
  const { lab, device, events } = await linked(t)
  cutNext(lab, 10, 'up', 900_000)
  const bytes = randomBytes(4 * MIB)
  let said = ''
  const running = device.stream('sha256sum', [], {
    stdin: true,
    output(_source, part) {
      said += Buffer.from(part).toString()
    },
  })
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + draw(100_000)
    if (!running.write(new Uint8Array(bytes.subarray(at, at + length)))) await running.drained()
    at += length
  }
  running.end()
  t.match(await running.exit, { exitCode: 0 })
  t.equal(said, `${digest(bytes)}  -\n`)
  t.ok(backs(events) > 3, `${backs(events)} times back`)
})

t.test('a terminal session goes on: keys once, its screen once, its size as it is now', async (t) => {
  const { lab, device, events } = await linked(t)
  let screen = ''
  const running = device.stream(
    'sh',
    ['-c', 'stty -echo; echo ready; while read -r line; do echo "<$line>"; done; stty size'],
    {
      stdin: true,
      terminal: { rows: 24, columns: 80 },
      output(_source, bytes) {
        screen += Buffer.from(bytes).toString()
      },
    },
  )
  await until('the terminal', () => screen.includes('ready'))
  const expected: string[] = []
  for (let round = 0; round < 8; round++) {
    const before = backs(events)
    running.write(Buffer.from(`before ${round}\n`))
    lab.link.cut()
    running.write(Buffer.from(`away ${round}\n`))
    running.resize(30 + round, 100)
    await until('a link again', () => backs(events) > before)
    expected.push(`<before ${round}>`, `<away ${round}>`)
    await until('what was typed', () => screen.includes(expected.at(-1) ?? ''))
  }
  running.write(Uint8Array.of(4))
  t.match(await running.exit, { exitCode: 0 })
  t.strictSame(screen.split('\r\n').filter(Boolean), ['ready', ...expected, '37 100'])
})

t.test(
  'unary executes start once each, however often they have to be asked for',
  { timeout: 90_000 },
  async (t) => {
    const { lab, device, events } = await linked(t)
    const counter = join(daemon.workspace, 'unary')
    for (let round = 0; round < 12; round++) {
      const before = backs(events)
      const asked = device.execute('sh', [
        '-c',
        `echo ${round} >>unary; sleep 0.2; echo out ${round}; exit ${round}`,
      ])
      if (round % 2 === 0)
        await until(
          'its start',
          () => existsSync(counter) && readFileSync(counter, 'utf8').includes(`${round}\n`),
        )
      lab.link.cut(round % 3 === 0 ? 'fin' : 'rst')
      const { exitCode, stdout } = await asked
      t.strictSame([exitCode, Buffer.from(stdout).toString()], [round, `out ${round}\n`])
      t.ok(backs(events) > before)
    }
    t.equal(readFileSync(counter, 'utf8'), Array.from({ length: 12 }, (_, round) => `${round}\n`).join(''))
  },
)

t.test('a signal that was asked for is delivered once', { timeout: 90_000 }, async (t) => {
  const { lab, device, events } = await linked(t)
  let said = ''
  const running = device.stream(
    'sh',
    ['-c', 'trap "echo usr1" USR1; trap "exit 9" TERM; echo ready; while :; do sleep 0.05; done'],
    {
      output(_source, bytes) {
        said += Buffer.from(bytes).toString()
      },
    },
  )
  await until('the command', () => said.includes('ready'))
  for (let round = 1; round <= 6; round++) {
    const before = backs(events)
    // The answer is lost, or the question.
    lab.link.cutAfter(
      round % 2 === 0
        ? { direction: 'down', bytes: lab.countsOf(lab.counts().connections - 1).down + 5 }
        : { direction: 'up', bytes: lab.countsOf(lab.counts().connections - 1).up + 20 },
    )
    await device.signal(running.id, 10)
    t.ok(backs(events) > before, 'it took two links')
    await until('its effect', () => said.split('usr1').length - 1 >= round)
  }
  await device.signal(running.id, 15)
  t.match(await running.exit, { exitCode: 9 })
  t.equal(said.split('usr1').length - 1, 6, 'each once')
})

t.test('a link that falls silent is found out by whoever types', { timeout: 90_000 }, async (t) => {
  const { lab, device, events } = await linked(t)
  let said = ''
  const running = device.stream('cat', [], {
    stdin: true,
    output(_source, bytes) {
      said += Buffer.from(bytes).toString()
    },
  })
  await running.started
  lab.link.halfOpen()
  running.write(Buffer.from('is anybody there\n'))
  device.expectAnswer()
  await until('an answer', () => said === 'is anybody there\n')
  t.equal(backs(events), 1)
  running.end()
  t.match(await running.exit, { exitCode: 0 })
  lab.link.halfOpen()
  await device.close()
  t.notOk(device.isConnected, 'nobody waits for an end that never comes')
})

t.test(
  'what the ring has dropped is declared, and only that; without anybody to hear of it it is an error',
  async (t) => {
    const script = 'echo begin; until [ -e go ]; do sleep 0.05; done; seq 1 500000; echo end'
    for (const hears of [true, false]) {
      const { lab, device, events } = await linked(t)
      let size = 0
      let lost = 0
      let last = ''
      const running = device.stream('sh', ['-c', script.replaceAll('go', `go${hears}`)], {
        output(_source, bytes) {
          size += bytes.length
          last = Buffer.from(bytes).toString().slice(-4)
        },
        ...(hears
          ? {
              onGap: (_source, from, to) => {
                t.equal(from, size + lost)
                lost += to - from
              },
            }
          : {}),
      })
      await until('its beginning', () => size > 0)
      lab.link.refuse(1_000)
      lab.link.cut()
      writeFileSync(join(daemon.workspace, `go${hears}`), '')
      await until('its end', async () => {
        const { stdout } = await daemon.cli(['jobs', '--all', '--json'])
        const { jobs } = JSON.parse(stdout.toString()) as { jobs: { id: string; state: string }[] }
        return jobs.some(({ id, state }) => id === running.id && state === 'finished')
      })
      lab.link.admit()
      if (hears) {
        t.match(await running.exit, { exitCode: 0 })
        const all =
          'begin\n'.length +
          'end\n'.length +
          [...Array(500_000).keys()].reduce((sum, n) => sum + String(n + 1).length + 1, 0)
        t.equal(size + lost, all)
        t.ok(lost > MIB && size >= MIB)
        t.equal(last, 'end\n')
        t.equal(backs(events), 1)
      } else await t.rejects(running.exit, { code: 'RING_BUFFER_DATA_LOSS' })
    }
  },
)

t.test(
  'a daemon that was killed: the outcome is unknown, and nothing starts again',
  { timeout: 90_000 },
  async (t) => {
    const directory = await install(t, ON_REAL_FILES)
    const first = await startDaemon(t, directory)
    const { lab, device, events } = await linked(t, first)
    let said = ''
    const running = device.stream('sh', ['-c', 'echo run >>runs; echo up; sleep 60'], {
      output(_source, bytes) {
        said += Buffer.from(bytes).toString()
      },
    })
    const unary = device.execute('sh', ['-c', 'echo unary >>runs; sleep 60'])
    unary.catch(() => {})
    await until(
      'both',
      () => said === 'up\n' && readFileSync(join(first.workspace, 'runs'), 'utf8').length === 10,
    )
    first.signal('SIGKILL')
    await first.ended
    const second = await startDaemon(t, directory)
    lab.aim({ host: '127.0.0.1', port: second.port })
    await t.rejects(running.exit, { code: 'EXECUTION_OUTCOME_UNKNOWN' })
    await t.rejects(unary, { code: 'EXECUTION_OUTCOME_UNKNOWN' })
    t.match(events.at(-1), { kind: 'back', isSameSession: false })
    t.match(await device.execute('cat', ['runs']), { exitCode: 0 }, 'the client goes on')
    t.equal(
      readFileSync(join(first.workspace, 'runs'), 'utf8').split('\n').filter(Boolean).sort().join(),
      'run,unary',
    )
  },
)

t.test(
  'a device that lets the key in no more is not asked for ever, another key not once',
  { timeout: 90_000 },
  async (t) => {
    const directory = await install(t)
    const one = await startDaemon(t, directory)
    const { lab, device, events } = await linked(t, one, { timeoutMs: 2_000 })
    const running = device.stream('sleep', ['60'], { output() {} })
    await running.started
    // Another device at the same address.
    lab.aim({ host: '127.0.0.1', port: daemon.port })
    lab.link.cut()
    await t.rejects(running.exit, {
      code: 'CONNECTION_LOST',
      details: { why: 'PIN_MISMATCH', id: running.id },
    })
    t.equal(events.filter(({ kind }) => kind === 'tried').length, 0)
    t.match(events.at(-1), { kind: 'gaveUp' })
    await device.closed
    await t.rejects(device.ping(), { code: 'PIN_MISMATCH' })

    const again = await linked(t, one, { timeoutMs: 2_000 })
    const other = again.device.stream('sleep', ['60'], { output() {} })
    await other.started
    changeConfig(directory, { agents: [] })
    t.equal((await one.cli(['reload'])).code, 0)
    await t.rejects(other.exit, { code: 'CONNECTION_LOST', message: /did not let this key in/ })
  },
)

t.test(
  'transfers go on by themselves where the link is cut, and end in one rename',
  { timeout: 90_000 },
  async (t) => {
    const here = temporary(t)
    const bytes = randomBytes(3 * MIB)
    writeFileSync(join(here, 'f'), bytes)
    const up = await linked(t)
    cutNext(up.lab, 12, 'up', 500_000)
    t.match(await up.device.upload(join(here, 'f'), 'big'), { sha256: digest(bytes) })
    t.ok(backs(up.events) > 3, `${backs(up.events)} times back`)
    t.ok(readFileSync(join(daemon.workspace, 'big')).equals(bytes))
    const down = await linked(t)
    cutNext(down.lab, 12, 'down', 500_000)
    t.match(await down.device.download('big', join(here, 'back')), { sha256: digest(bytes) })
    t.ok(backs(down.events) > 3, `${backs(down.events)} times back`)
    t.ok(readFileSync(join(here, 'back')).equals(bytes))
  },
)

t.test(
  'without reconnecting, and after giving up, what was asked says that its outcome is unknown',
  async (t) => {
    for (const reconnect of [false, { giveUpMs: 300 }] as const) {
      const { lab, device } = await linked(t, daemon, { reconnect })
      const running = device.stream('sleep', ['5'], { output() {} })
      await running.started
      lab.link.refuse(1_000)
      lab.link.cut()
      await t.rejects(running.exit, { code: 'CONNECTION_LOST' })
      await t.rejects(device.ping(), { code: 'CONNECT_FAILED' })
      await device.closed
    }
  },
)

t.test('who waits for nothing comes back only when it asks for something', async (t) => {
  const { lab, device, events } = await linked(t)
  await device.ping()
  lab.link.cut()
  await until('the loss', () => !device.isConnected)
  t.strictSame(events, [])
  t.match(await device.ping(), { os: String })
  t.strictSame(
    events.map(({ kind }) => kind),
    ['lost', 'back'],
  )
})
