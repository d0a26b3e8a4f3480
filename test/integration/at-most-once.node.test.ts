/**
 * The real daemon, killed while commands start and end under load, and asked for every id again: each ran at most once,
 * what is told of it is what happened, and only what was under way has no outcome. Then what ids and results outlive
 * otherwise: an orderly stop; and what they do not: a purge, and the key that they belong to.
 * `SASS_EDGE_KILLS=500 node test/integration/at-most-once.node.test.ts` is the long form.
 * @module
 */
import { randomBytes } from 'node:crypto'
import { copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CODES } from '../../src/errors.ts'
import { FRAME_BYTES } from '../../src/limits.ts'
import { createDeframer } from '../../src/wire/deframer.ts'
import { encodeFrame, readFrame } from '../../src/wire/frame.ts'
import { executeRequest } from '../../src/wire/messages.ts'
import { authenticateFrame, tls } from './connections.node.ts'
import {
  changeConfig,
  type Daemon,
  install,
  ON_REAL_FILES,
  sassEdge,
  sleep,
  startDaemon,
  until,
} from './daemon.node.ts'

const KILLS = Number(process.env['SASS_EDGE_KILLS'] ?? 12)
const TIMEOUT_MS = 60_000 + KILLS * 3_000
/** Commands at a time. */
const BUSY = 6
const EXECUTE_STREAM = 2
const [UNKNOWN, NOT_FOUND] = [CODES.EXECUTION_OUTCOME_UNKNOWN.number, CODES.PROCESS_NOT_FOUND.number]

/** The exit, a STATUS, or nothing more: the connection went. */
type Answer = { readonly exit: number } | { readonly status: number } | 'cut'
type Asking = {
  ask(id: string, isReattach?: boolean): Promise<Answer>
  close(): void
}

/** Appends its id, whole and at once, and exits with a number that the id says. */
const exitOf = (id: string): number => Number.parseInt(id.slice(0, 2), 16)
const requestOf = (id: string, isReattach: boolean) =>
  executeRequest.encode({
    command: 'sh',
    args: ['-c', `echo ${id} >> ran; exit ${exitOf(id)}`],
    execution_id: Buffer.from(id, 'hex'),
    is_reattach: isReattach,
  })

/** A connection that asks and tells what it hears, without any cleverness of a client's. */
async function asking(daemon: Daemon): Promise<Asking> {
  const { socket } = await tls(daemon.port)
  const waiting = new Map<number, (answer: Answer) => void>()
  // It was killed before it had let anybody in.
  let isGone = socket.destroyed
  const settle = (stream: number, answer: Answer) => {
    waiting.get(stream)?.(answer)
    waiting.delete(stream)
  }
  const deframer = createDeframer(
    () => FRAME_BYTES,
    (event) => {
      const read = event.kind === 'body' ? readFrame(event.body.slice()) : undefined
      if (read?.ok !== true) return
      const { stream, kind, payload } = read.frame
      const fields = payload instanceof Map ? payload : new Map()
      if (kind === 'END') settle(stream, { exit: fields.get(3) })
      else if (kind === 'STATUS') settle(stream, { status: fields.get(1) })
    },
  )
  socket.on('data', (bytes: Buffer) => deframer.push(bytes))
  socket.on('close', () => {
    isGone = true
    for (const stream of [...waiting.keys()]) settle(stream, 'cut')
  })
  let next = 3
  const send = (stream: number, frame: Uint8Array) =>
    new Promise<Answer>((resolve) => {
      if (isGone) return resolve('cut')
      waiting.set(stream, resolve)
      socket.write(frame)
    })
  if (!isGone) await send(1, authenticateFrame(socket, 'agent', daemon.seed()))
  return {
    ask(id, isReattach = false) {
      const stream = next
      next += 2
      return send(stream, encodeFrame(stream, 'OPEN', requestOf(id, isReattach), EXECUTE_STREAM))
    },
    close: () => socket.destroy(),
  }
}

/** Keeps the daemon busy until it is gone; what was heard of each id, and meanwhile that it serves, and that one ended. */
async function busy(daemon: Daemon, told: (what: 'serves' | 'ended') => void): Promise<Map<string, Answer>> {
  const { ask } = await asking(daemon)
  told('serves')
  const heard = new Map<string, Answer>()
  const one = async () => {
    for (;;) {
      const id = randomBytes(16).toString('hex')
      const answer = await ask(id)
      heard.set(id, answer)
      if (answer === 'cut') return
      told('ended')
    }
  }
  await Promise.all(Array.from({ length: BUSY }, one))
  return heard
}

function timesRun(daemon: Daemon): Map<string, number> {
  const path = join(daemon.workspace, 'ran')
  const times = new Map<string, number>()
  for (const id of existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [])
    times.set(id, (times.get(id) ?? 0) + 1)
  return times
}

const statusOf = (answer: Answer) =>
  typeof answer === 'object' && 'status' in answer ? answer.status : undefined
const isExitOf = (answer: Answer, id: string) =>
  typeof answer === 'object' && 'exit' in answer && answer.exit === exitOf(id)

/** Asks the next daemon for all of it; gives what is wrong, and how many had no outcome. */
async function askAgain(
  t: Test,
  daemon: Daemon,
  heard: ReadonlyMap<string, Answer>,
): Promise<{ unknown: number; never: string[] }> {
  const { ask, close } = await asking(daemon)
  const never: string[] = []
  let unknown = 0
  for (const [id, before] of heard) {
    const told = await ask(id, true)
    const again = await ask(id)
    const wasCut = before === 'cut'
    if (!wasCut && !isExitOf(before, id)) t.fail(`${id} ended with ${JSON.stringify(before)}`)
    if (statusOf(told) === NOT_FOUND) never.push(id)
    else if (statusOf(told) === UNKNOWN) unknown++
    else if (!isExitOf(told, id)) t.fail(`${id} is said to be ${JSON.stringify(told)}`)
    if (!wasCut && !isExitOf(told, id)) t.fail(`${id} had ended, and is said to be ${JSON.stringify(told)}`)
    const isSame = statusOf(told) === NOT_FOUND ? isExitOf(again, id) : `${told}` === `${again}`
    if (!isSame) t.fail(`${id}: ${JSON.stringify(told)}, then ${JSON.stringify(again)}`)
  }
  close()
  return { unknown, never }
}

/** Kills it again and again under load; everything that must hold, of every id. */
async function killAgainAndAgain(t: Test, kills: number, fsync: string): Promise<void> {
  const audit = { segment_bytes: 1_073_741_824, fsync }
  const directory = await install(t, { ...ON_REAL_FILES, acl: { penalties: { enabled: false } }, audit })
  const all = new Map<string, Answer>()
  let [unknown, never] = [0, 0]
  for (let kill = 0; kill < kills; kill++) {
    const daemon = await startDaemon(t, directory)
    const moments = { serves: Promise.withResolvers<void>(), ended: Promise.withResolvers<void>() }
    const load = busy(daemon, (what) => moments[what].resolve())
    // Mostly in the middle of work, and now and then before the first of it has ended, or there is any.
    if (kill % 4 !== 0) await moments[kill % 4 === 1 ? 'serves' : 'ended'].promise
    await sleep(30 + Math.random() * 250)
    daemon.signal('SIGKILL')
    const heard = await load
    await daemon.ended
    const ranBefore = timesRun(daemon)
    const next = await startDaemon(t, directory)
    const found = await askAgain(t, next, heard)
    for (const id of found.never) if (ranBefore.has(id)) t.fail(`${id} ran, and is not known`)
    unknown += found.unknown
    never += found.never.length
    for (const [id, answer] of heard) all.set(id, answer)
    const lost = next.audit().filter(({ type }) => type === 'execution_lost').length
    if (lost !== unknown) t.fail(`the record says ${lost} were lost, not ${unknown}`)
    if (kill % 2 === 0) next.signal('SIGKILL')
    await (kill % 2 === 0 ? next.ended : next.stop())
  }
  const times = timesRun(await startDaemon(t, directory))
  const twice = [...times].filter(([, count]) => count > 1)
  t.strictSame(twice, [], 'nothing ran twice')
  const ended = [...all].filter(([, answer]) => answer !== 'cut')
  const cut = all.size - ended.length
  // A few kills may all come before the first command, or between two of them.
  const hasSeenAll = (unknown > 0 && ended.length > 0) || kills < 10
  t.ok(cut <= kills * BUSY, `${all.size} ids, ${ended.length} ended`)
  t.ok(hasSeenAll && unknown + never <= cut, `${unknown} unknown, ${never} never started`)
  const unseen = ended.filter(([id]) => !times.has(id))
  t.strictSame(unseen, [], 'what ended has run')
  const verified = await sassEdge(['audit', 'verify', '--json'], { cwd: directory })
  t.equal(JSON.parse(verified.stdout.toString()).ok, true)
}

t.setTimeout(3 * TIMEOUT_MS)

t.test(
  `killed ${KILLS} times, it never starts an id twice, and tells what happened`,
  { timeout: TIMEOUT_MS },
  (t) => killAgainAndAgain(t, KILLS, 'interval'),
)

t.test('likewise where every command waits until the disk has its id', { timeout: TIMEOUT_MS }, (t) =>
  killAgainAndAgain(t, Math.ceil(KILLS / 4), 'always'),
)

t.test('a daemon that is told to stop writes down how what it ends has ended', async (t) => {
  const directory = await install(t, { execution: { drain_seconds: 0 } })
  const daemon = await startDaemon(t, directory)
  const running = daemon.cli(['exec', '--', 'sleep', '50'])
  await until('it runs', async () => /running/.test((await daemon.cli(['jobs'])).stdout.toString()))
  await daemon.stop()
  await running
  const next = await startDaemon(t, directory)
  const { stdout } = await next.cli(['jobs', '--all', '--json'])
  t.match(JSON.parse(stdout.toString()), { jobs: [{ command: 'sleep', state: 'finished', signal: 15 }] })
  next.signal('SIGKILL')
  await next.ended
})

t.test('what no daemon saw the end of is told as that, and listed', async (t) => {
  const directory = await install(t)
  const daemon = await startDaemon(t, directory)
  // The next one is where its client looks for it.
  changeConfig(directory, { listen: { port: daemon.port } })
  const running = daemon.cli(['exec', '--', 'sleep', '50'])
  await until('it runs', async () => /running/.test((await daemon.cli(['jobs'])).stdout.toString()))
  daemon.signal('SIGKILL')
  await daemon.ended
  const next = await startDaemon(t, directory)
  const { code, stderr } = await running
  t.equal(code, 254)
  t.match(stderr, /was started, and how it ended is not known/)
  t.match((await next.cli(['jobs', '--all'])).stdout.toString(), /agent +outcome unknown +- .* sleep/)
  t.match((await next.cli(['jobs'])).stdout.toString(), /Nothing runs now; 1 have ended/)
  t.equal(next.audit().filter(({ type }) => type === 'execution_lost').length, 1)
})

t.test('a purge leaves nothing of what ran in the state directory', async (t) => {
  const directory = await install(t, { ...ON_REAL_FILES, security: { opaque: 'allow' } })
  const daemon = await startDaemon(t, directory)
  const canary = 'canary-40127'
  copyFileSync('/bin/true', join(daemon.workspace, canary))
  const { code, stderr } = await daemon.cli(['exec', '--', `./${canary}`])
  t.equal(code, 0, stderr)
  const place = join(directory, '.sass-edge/state/executions')
  const text = () => readdirSync(place).map((name) => readFileSync(join(place, name), 'latin1'))
  t.match(text().join(), canary)
  const session = daemon.audit().find(({ action }) => action === 'execute')?.['session']
  t.equal((await daemon.cli(['purge', String(session), '--yes'])).code, 0)
  t.notMatch(text().join(), new RegExp(`${canary}|${String(session)}`))
  t.match((await daemon.cli(['jobs', '--all'])).stdout.toString(), /outcome unknown/)
})

t.test('another key under the same name has none of the results', async (t) => {
  const directory = await install(t)
  const daemon = await startDaemon(t, directory)
  t.equal((await daemon.cli(['exec', '--', 'true'])).code, 0)
  const id = JSON.parse((await daemon.cli(['jobs', '--all', '--json'])).stdout.toString()).jobs[0]
    .id as string
  const before = await asking(daemon)
  t.same(await before.ask(id, true), { exit: 0 })
  before.close()
  const key = join(directory, '.sass-edge/keys/other')
  t.equal((await daemon.cli(['keygen', key])).code, 0)
  for (const words of [
    ['remove', 'agent'],
    ['add', 'agent', '--key', `${key}.pub`],
  ]) {
    const { code, stderr } = await daemon.cli(['agent', ...words])
    t.equal(code, 0, stderr)
  }
  await daemon.cli(['reload'])
  const after = await asking({ ...daemon, seed: () => new Uint8Array(readFileSync(`${key}.key`)) })
  t.same(await after.ask(id, true), { status: NOT_FOUND })
  after.close()
})
