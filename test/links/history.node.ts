/**
 * The history checker. Rounds of random schedules run against one device, some of them with daemons that are killed;
 * then everything must add up:
 * - output is complete, or what is missing of it is declared and the sums are right;
 * - every id starts at most once, and once where it has an exit;
 * - every exit is told once, and again whenever somebody asks;
 * - the chain verifies, and has a record of every start, every end and every refusal, and of nothing else;
 * - no process, no descriptor and no memory is left over.
 * @module
 */
import type { Json, Scope } from '../integration/daemon.node.ts'
import { sleep } from '../integration/daemon.node.ts'
import { type Device, newDevice } from './device.node.ts'
import type { JobState } from './job-state.ts'
import { judge, type Run, runSchedule } from './run-schedule.node.ts'
import { drawRound, drawSchedule, type Round, type Schedule } from './schedule.ts'

export type Violation = {
  readonly seed: number | undefined
  readonly what: string
  readonly schedule?: Schedule
  readonly history?: readonly string[]
}

export type Tally = {
  schedules: number
  jobs: number
  connections: number
  bytes: number
  gaps: number
  /** The most anonymous memory that a daemon had after a round, more than after its first one. */
  grownKib: number
  kills: number
  records: number
  /** By what became of them. */
  readonly outcomes: Record<string, number>
  readonly violations: Violation[]
}

export function newTally(): Tally {
  return {
    schedules: 0,
    jobs: 0,
    connections: 0,
    bytes: 0,
    gaps: 0,
    grownKib: 0,
    kills: 0,
    records: 0,
    outcomes: {},
    violations: [],
  }
}

/** What V8 keeps of work that is over, and of the results that a daemon must keep. */
const MEMORY_SLACK_KIB = 24 * 1_024
/** Rounds of a daemon before what it has is held against it. */
const WARM_ROUNDS = 2
const SETTLE_MS = 15_000

async function settles(what: string, holds: () => boolean): Promise<string[]> {
  for (const end = performance.now() + SETTLE_MS; performance.now() < end; await sleep(20))
    if (holds()) return []
  return [what]
}

/** Records of one execution, by what they are. */
function recordsById(records: readonly Json[]): Map<string, Json[]> {
  const byId = new Map<string, Json[]>()
  for (const record of records) {
    const id = record['execution']
    if (typeof id !== 'string') continue
    const list = byId.get(id)
    if (list === undefined) byId.set(id, [record])
    else list.push(record)
  }
  return byId
}

function count(records: readonly Json[], fits: (record: Json) => boolean): number {
  return records.filter(fits).length
}

/** What the chain must have of a job: asked is what came through, no less than was answered, no more than was sent. */
function missingRecords(
  state: JobState,
  questions: { readonly sent: number; readonly answered: number },
  records: readonly Json[],
  starts: number,
  wasKilled: boolean,
): string[] {
  const decisions = records.filter(({ type, action }) => type === 'decision' && action !== 'signal')
  const permitted = count(decisions, ({ action, response }) => action === 'execute' && response === 'R1')
  const notStarted = count(records, ({ type }) => type === 'execution_not_started')
  const ended = count(records, ({ type }) => type === 'execution_ended')
  const found: string[] = []
  const begun = permitted - notStarted
  if (decisions.length < questions.answered && !wasKilled)
    found.push(`${questions.answered} answers and ${decisions.length} decisions`)
  if (decisions.length > questions.sent)
    found.push(`${questions.sent} questions and ${decisions.length} decisions`)
  if (begun < starts) found.push(`${starts} starts and ${begun} records of one`)
  const vain = count(records, ({ type, state: how }) => type === 'execution_ended' && how === 'not_started')
  if (begun - vain > 1 && !wasKilled)
    found.push(`permitted ${permitted} times and given up ${notStarted} times`)
  if (state.job.kind === 'denied') {
    const refused = count(decisions, ({ response }) => response === 'R4')
    if (refused === 0 || permitted > 0) found.push(`refused ${refused} times, permitted ${permitted} times`)
  } else if (!wasKilled && ended !== begun) found.push(`${begun} begun and ${ended} ended`)
  return found.map((what) => `${state.job.kind} ${state.job.id}, records: ${what}`)
}

function described({ type, action, response, layer, rule, state, reason }: Json): string {
  return [type, action, response, layer, rule, state, reason].filter((part) => part != null).join(' ')
}

function questionsAbout(run: Run, id: string): { sent: number; answered: number } {
  const all = [...run.states, ...run.again].filter((state) => state.job.id === id)
  return {
    sent: all.reduce((sum, state) => sum + state.sent, 0),
    answered: all.reduce((sum, state) => sum + state.answered, 0),
  }
}

/** How often somebody else asked for it. */
const takeOvers = ({ steps }: Schedule) => steps.filter(({ step }) => step.kind === 'take-over').length

export type History = {
  readonly device: Device
  readonly tally: Tally
  /** Runs schedules beside each other, and judges them; the daemon is killed when `kills` says so. */
  run(
    schedules: readonly Schedule[],
    kills?: Round['kills'],
    start?: (schedule: Schedule, index: number) => Promise<Run>,
  ): Promise<void>
  /** After the last round: the chain. */
  finish(): Promise<void>
}

/** A device that has done everything once, so that what it has then is what it must come back to. */
export async function startHistory(scope: Scope, tally: Tally, isBranched = false): Promise<History> {
  const device = await newDevice(scope, isBranched)
  let base:
    | { pid: number; rounds: number; descriptors: number; open: readonly string[]; anonymousKib: number }
    | undefined
  let seen = 0

  function report(violation: Violation): void {
    tally.violations.push(violation)
  }

  async function nothingIsLeft(wasKilled: boolean): Promise<string[]> {
    const { daemon } = device
    // Without a sandbox nothing ends the commands of a daemon that was killed; whoever kills it has to.
    if (wasKilled && !device.isBranched) device.endProcesses()
    const found = await settles('', () => device.processes().length === 0)
    const left = found.length > 0 ? [`processes are left: ${device.processes().slice(0, 5).join('; ')}`] : []
    // What a daemon opens when it is first wanted is its own: its second round has seen all of that.
    if (base?.pid !== daemon.pid || base.rounds < WARM_ROUNDS) {
      const rounds = base?.pid === daemon.pid ? base.rounds + 1 : 1
      const { pid } = daemon
      base = {
        pid,
        rounds,
        descriptors: daemon.descriptors(),
        open: device.openFiles(),
        anonymousKib: daemon.anonymousKib(),
      }
      return left
    }
    const { descriptors, open, anonymousKib } = base
    const news = () => device.openFiles().filter((line) => !open.includes(line))
    left.push(
      ...(await settles('descriptors', () => daemon.descriptors() <= descriptors)).map(
        () =>
          `${daemon.descriptors()} descriptors, and ${descriptors} before: ${news().join(', ')} in place of ${open.filter((line) => !device.openFiles().includes(line)).join(', ')}`,
      ),
      ...(await settles('memory', () => daemon.anonymousKib() <= anonymousKib + MEMORY_SLACK_KIB)).map(
        () => `${daemon.anonymousKib()} KiB, and ${anonymousKib} before`,
      ),
    )
    tally.grownKib = Math.max(tally.grownKib, daemon.anonymousKib() - anonymousKib)
    return left
  }

  function addUp(run: Run): void {
    tally.schedules += 1
    tally.connections += run.connections
    tally.bytes += run.bytes
    for (const { outcome, gaps } of run.states) {
      tally.jobs += 1
      tally.gaps += gaps.length
      const kind = outcome?.kind ?? 'none'
      tally.outcomes[kind] = (tally.outcomes[kind] ?? 0) + 1
    }
  }

  return {
    device,
    tally,
    async run(schedules, kills = [], start = (schedule) => runSchedule(device, schedule)) {
      const killsBefore = device.kills
      const killing = (async () => {
        for (const { afterMs, awayMs } of kills) {
          await sleep(afterMs)
          await device.kill(awayMs)
        }
      })()
      const runs = await Promise.all(schedules.map(start))
      await killing
      const wasKilled = device.kills > killsBefore
      tally.kills += device.kills - killsBefore
      for (const what of await nothingIsLeft(wasKilled))
        report({ seed: schedules[0]?.seed, what: `round: ${what}` })
      const starts = device.starts()
      const records = device.records()
      const byId = recordsById(records.slice(wasKilled ? 0 : seen))
      seen = records.length
      runs.forEach((run, index) => {
        const schedule = schedules[index]
        if (schedule === undefined) return
        addUp(run)
        const found = judge(run, starts, wasKilled)
        const told: string[] = []
        for (const state of run.states) {
          const { id } = state.job
          const { sent, answered } = questionsAbout(run, id)
          // The library tells nobody how often it asks.
          const isTold = schedule.client === 'plain'
          const questions = isTold
            ? { sent: sent + takeOvers(schedule), answered }
            : { sent: Number.POSITIVE_INFINITY, answered: 1 }
          const own = byId.get(state.executionId ?? id) ?? []
          told.push(...own.map((record) => `${state.job.kind} ${described(record)}`))
          found.push(...missingRecords(state, questions, own, starts.get(id) ?? 0, wasKilled))
        }
        for (const what of found)
          report({ seed: run.seed, what, schedule, history: [...run.history, ...told] })
      })
    },
    async finish() {
      const verified = await device.verifies()
      tally.records += device.records().length
      if (verified['ok'] !== true)
        report({ seed: undefined, what: `the chain does not verify: ${JSON.stringify(verified)}` })
    },
  }
}

/** Rounds from `first` on, against one device. */
export async function runRounds(
  scope: Scope,
  first: number,
  rounds: number,
  tally: Tally,
  isBranched: boolean,
  said: () => void = () => undefined,
): Promise<void> {
  const history = await startHistory(scope, tally, isBranched)
  for (let number = first; number < first + rounds; number++) {
    const round = drawRound(number)
    await history.run(round.seeds.map(drawSchedule), round.kills)
    said()
  }
  await history.finish()
}
