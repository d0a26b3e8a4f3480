/**
 * A recorded session cut at every byte of either direction: a command with stdin and output, an answer in one piece,
 * signals, one that is left and gone back to, and one that cannot start, each after the other on one connection. That
 * connection is lost after so many bytes, and so is the one after it at times; then everything must add up.
 * @module
 */
import { createRandom } from '../fuzz/engine.ts'
import { sleep } from '../integration/daemon.node.ts'
import type { Device } from './device.node.ts'
import type { History } from './history.node.ts'
import { drawJob, type JobKind, outputBytes } from './jobs.ts'
import { type Direction, type Lab, startLab } from './lab.node.ts'
import { type Run, runSchedule } from './run-schedule.node.ts'
import type { Schedule } from './schedule.ts'

const SCRIPT: readonly JobKind[] = ['stdin', 'unary', 'detached', 'signals', 'missing']
/** Runs beside each other. */
const BATCH = 24
/** Sizes differ a little from run to run: records of TLS are made when there is something to send. */
const MARGIN_BYTES = 100
const MOST_OUTPUT_BYTES = 250

export type Position = { readonly direction: Direction; readonly bytes: number }

/** Small jobs, so that a session has as many different places as bytes that matter. */
function recorded(seed: number): Schedule {
  const random = createRandom(seed)
  const jobs = SCRIPT.map((kind) => {
    let job = drawJob(random, kind)
    while (outputBytes(job.stdout) + outputBytes(job.stderr) > MOST_OUTPUT_BYTES) job = drawJob(random, kind)
    return { afterMs: 0, job }
  })
  return {
    seed,
    client: seed % 2 === 0 ? 'plain' : 'library',
    compression: 'auto',
    windowBytes: 65_536,
    resumes: true,
    inTurn: true,
    jobs,
    steps: [],
  }
}

/** What a session that is not cut takes each way, on its one connection. */
export async function measureSession(device: Device): Promise<Record<Direction, number>> {
  const lab = await startLab({ target: { host: '127.0.0.1', port: device.at().port }, seed: 1 })
  const run = await runSchedule(device, recorded(0x7fff_ffff), lab)
  await lab.close()
  if (run.connections !== 1) throw new Error('A session on a perfect link took more than one connection.')
  return lab.countsOf(0)
}

/** Every `every`th position of both directions, from `first`. */
export function positions(bytes: Record<Direction, number>, every: number, first = 0): Position[] {
  const all: Position[] = []
  for (const direction of ['up', 'down'] as const)
    for (let at = first; at < bytes[direction] + MARGIN_BYTES; at += every) all.push({ direction, bytes: at })
  return all
}

function arm({ link }: Lab, { direction, bytes }: Position, seed: number): void {
  const random = createRandom(seed)
  link.cutAfter({ direction, bytes, connection: 0, how: random.below(2) === 0 ? 'rst' : 'fin' })
  // At times the one that goes back is cut as well, anywhere.
  if (random.below(3) > 0) return
  const other = random.below(2) === 0 ? 'up' : 'down'
  link.cutAfter({ direction: other, bytes: random.below(bytes + 2_000), connection: 1, how: 'rst' })
}

async function cutRun(device: Device, schedule: Schedule, position: Position): Promise<Run> {
  const lab = await startLab({ target: { host: '127.0.0.1', port: device.at().port }, seed: schedule.seed })
  arm(lab, position, schedule.seed)
  try {
    const run = await runSchedule(device, schedule, lab)
    return { ...run, history: [`cut ${position.direction} after ${position.bytes} bytes`, ...run.history] }
  } finally {
    await lab.close()
  }
}

/** Cuts sessions at `where`, many beside each other. */
export async function cutSessions(
  history: History,
  where: readonly Position[],
  said: () => void = () => undefined,
): Promise<void> {
  for (let at = 0; at < where.length; at += BATCH) {
    const batch = where.slice(at, at + BATCH)
    await history.run(
      batch.map((_, index) => recorded(1_000_000 + at + index)),
      [],
      async (schedule, index) => {
        // Not all in the same moment: a device has other things to do than handshakes.
        await sleep(index * 3)
        return cutRun(history.device, schedule, batch[index] ?? { direction: 'up', bytes: 0 })
      },
    )
    said()
  }
}
