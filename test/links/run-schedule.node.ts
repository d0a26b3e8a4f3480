/**
 * Runs one schedule against a device: a plain client on a link of its own, its jobs, and what the link does; then a
 * perfect link, the end of every job, and the questions that come after it.
 * @module
 */
import { sleep } from '../integration/daemon.node.ts'
import type { Device } from './device.node.ts'
import type { HistoryClient } from './history-client.ts'
import { type JobState, newState, type Outcome } from './job-state.ts'
import { type Job, outputBytes } from './jobs.ts'
import { type Lab, startLab } from './lab.node.ts'
import { createLibraryClient } from './library-client.node.ts'
import { createPlainClient } from './plain-client.node.ts'
import { openPlain } from './plain-connection.node.ts'
import { attend } from './plain-job.node.ts'
import type { Schedule, Step } from './schedule.ts'

export type Run = {
  readonly seed: number
  readonly states: readonly JobState[]
  /** Each job that was asked for again when it was over, from its end and from its beginning. */
  readonly again: readonly JobState[]
  readonly problems: readonly string[]
  readonly history: readonly string[]
  /** Connections that it took, and bytes each way. */
  readonly connections: number
  readonly bytes: number
}

/** A job is stuck where it takes longer, on a link that has been perfect for a while. */
const STUCK_MS = 160_000
const SILENCE_MS = 700
const HISTORY_LINES = 400

async function takeOver(device: Device, schedule: Schedule, job: Job): Promise<void> {
  const agent = device.agent(schedule.seed)
  const connection = await openPlain({
    ...device.at(),
    ...agent,
    windowBytes: 4_096,
    resumeSession: undefined,
    silenceMs: SILENCE_MS,
  }).catch(() => undefined)
  if (connection === undefined) return
  // It reads and types nothing.
  const state = { ...newState({ ...job, stdinBytes: undefined }), hasStarted: true }
  await Promise.race([attend(state, connection, () => undefined), sleep(20)])
  // In order, where nothing runs: nothing of it must stay.
  await connection.close()
}

async function take(lab: Lab, device: Device, schedule: Schedule, step: Step): Promise<void> {
  const { link } = lab
  switch (step.kind) {
    case 'cut':
      return link.cut(step.how)
    case 'cut-after': {
      const connection = Math.max(0, lab.counts().connections - 1)
      const bytes = lab.countsOf(connection)[step.direction] + step.bytes
      return link.cutAfter({ direction: step.direction, bytes, connection, how: step.how })
    }
    case 'half-open':
      // The library looks into a silence after many seconds: its own test waits for that.
      return link.halfOpen(schedule.client === 'library' ? 'client' : step.told)
    case 'stall':
      link.stall()
      await sleep(step.ms)
      return link.go()
    case 'rate':
      return link.setRate(step.bytesPerSecond)
    case 'delay':
      return link.setDelay(step.ms, step.jitterMs)
    case 'refuse':
      return link.refuse(step.count)
    case 'take-over': {
      const job = schedule.jobs[step.job]?.job
      // Whoever lost a command to somebody else has to know itself how far its stdin was: the library does not say.
      const isTyping = schedule.client === 'library' && job?.stdinBytes !== undefined
      return job === undefined || job.kind === 'unary' || isTyping
        ? undefined
        : takeOver(device, schedule, job)
    }
    case 'perfect':
      return perfect(lab)
  }
}

function perfect({ link }: Lab): void {
  link.setRate(undefined)
  link.setDelay(0)
  link.go()
  link.admit()
}

/** Once more for what is over, from where it ended and from 0: the same end, and the same bytes or a declared gap. */
async function askAgain(client: HistoryClient, states: readonly JobState[]): Promise<JobState[]> {
  const answers: JobState[] = []
  for (const state of states) {
    const { kind } = state.outcome ?? { kind: 'denied' }
    if (kind === 'denied' || kind === 'mistake') continue
    if (state.job.kind !== 'unary') answers.push(await client.again(state, state.received))
    answers.push(await client.again(state, [0, 0]))
  }
  return answers
}

async function oneByOne<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (const item of items) results.push(await work(item))
  return results
}

/** On `lab` where one is given, else on a perfect link of its own. */
export async function runSchedule(device: Device, schedule: Schedule, lab?: Lab): Promise<Run> {
  const began = performance.now()
  const history: string[] = []
  const problems: string[] = []
  const note = (what: string) => {
    if (history.length < HISTORY_LINES) history.push(`${(performance.now() - began).toFixed(0)} ms ${what}`)
  }
  const link =
    lab ?? (await startLab({ target: { host: '127.0.0.1', port: device.at().port }, seed: schedule.seed }))
  const client = (schedule.client === 'plain' ? createPlainClient : createLibraryClient)({
    ...device.agent(schedule.seed),
    at() {
      const { port, pin } = device.at()
      link.aim({ host: '127.0.0.1', port })
      return { port: link.port, pin }
    },
    windowBytes: schedule.windowBytes,
    compression: schedule.compression,
    silenceMs: SILENCE_MS,
    resumes: schedule.resumes,
    note,
  })
  const runJob = async ({ afterMs, job }: Schedule['jobs'][number]) => {
    await sleep(afterMs)
    const state = await client.run(job)
    note(`${job.kind} ${job.id.slice(0, 8)} is over: ${JSON.stringify(state.outcome)}`)
    return state
  }
  const jobs = schedule.inTurn ? oneByOne(schedule.jobs, runJob) : Promise.all(schedule.jobs.map(runJob))
  for (const { afterMs, step } of schedule.steps) {
    await sleep(afterMs)
    note(JSON.stringify(step))
    await take(link, device, schedule, step)
  }
  if (schedule.steps.length > 0) await sleep(50)
  perfect(link)
  note('a perfect link')
  const stuck = Symbol('stuck')
  const limit = async <T>(work: Promise<T>) => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<symbol>((resolve) => {
      timer = setTimeout(() => resolve(stuck), STUCK_MS)
    })
    return Promise.race([work, late]).finally(() => clearTimeout(timer))
  }
  const states = await limit(jobs)
  const again = typeof states === 'symbol' ? [] : await limit(askAgain(client, states as JobState[]))
  if (typeof states === 'symbol') problems.push(`stuck: ${client.states.map(stateOf).join('; ')}`)
  else if (typeof again === 'symbol') problems.push('a question about a job that is over is stuck')
  else if (typeof (await limit(client.close())) === 'symbol') problems.push('an end is stuck')
  client.abandon()
  const { connections, up, down } = link.counts()
  if (lab === undefined) await link.close()
  return {
    seed: schedule.seed,
    states: typeof states === 'symbol' ? [] : (states as JobState[]),
    again: typeof again === 'symbol' ? [] : (again as JobState[]),
    problems,
    history,
    connections,
    bytes: up + down,
  }
}

function stateOf({
  job,
  hasStarted,
  received,
  sent,
  stdinSent,
  signals,
  signalsDone,
  outcome,
}: JobState): string {
  return `${job.kind} ${JSON.stringify({ hasStarted, received, sent, stdinSent, signals: signals.length, signalsDone, outcome })}`
}

function sameOutcome(a: Outcome | undefined, b: Outcome | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

const isExit = (outcome: Outcome | undefined) => outcome?.kind === 'exited' || outcome?.kind === 'signalled'

function isExpected({ outcome, job }: JobState): boolean {
  const { expected } = job
  if (outcome?.kind !== expected.kind) return false
  return (
    JSON.stringify({ ...outcome, errno: undefined }) === JSON.stringify({ ...expected, errno: undefined })
  )
}

/** Output is complete, gaps that were declared included. */
function incomplete({ job, received }: JobState): string[] {
  return ([job.stdout, job.stderr] as const).flatMap((output, source) =>
    received[source] === outputBytes(output)
      ? []
      : [`stream ${source} ended at ${received[source]} of ${outputBytes(output)}`],
  )
}

function violationsOf(state: JobState, starts: number, wasKilled: boolean): string[] {
  const { job, outcome } = state
  const found = [...state.problems]
  const isLost = outcome?.kind === 'unknown' || outcome?.kind === 'not-known'
  if (isLost && !wasKilled) found.push(`the daemon lost it: ${outcome?.kind}`)
  else if (!isLost && !isExpected(state)) found.push(`ended ${JSON.stringify(outcome)}`)
  if (isExit(outcome)) found.push(...incomplete(state))
  const due = isExit(job.expected as Outcome) ? 1 : 0
  if (starts > due) found.push(`started ${starts} times`)
  if (isExit(outcome) && starts !== 1) found.push(`has an exit, and started ${starts} times`)
  return found.map((what) => `${job.kind} ${job.id}: ${what}`)
}

/** What does not hold of a schedule that ran. */
export function judge(run: Run, starts: ReadonlyMap<string, number>, wasKilled: boolean): string[] {
  const before = new Map(run.states.map((state) => [state.job.id, state]))
  const later = run.again.flatMap((state) => {
    const { job, outcome } = state
    const found = [...state.problems]
    const first = before.get(job.id)?.outcome
    if (!sameOutcome(outcome, first)) found.push(`${JSON.stringify(outcome)} after ${JSON.stringify(first)}`)
    if (isExit(outcome)) found.push(...incomplete(state))
    return found.map((what) => `${job.kind} ${job.id}, asked again: ${what}`)
  })
  return [
    ...run.problems,
    ...run.states.flatMap((state) => violationsOf(state, starts.get(state.job.id) ?? 0, wasKilled)),
    ...later,
  ]
}
