/**
 * Schedules of what happens to a session: which jobs it runs and what its link does meanwhile, and when whole rounds of
 * them lose their daemon. All of it follows from a seed.
 * @module
 */
import { createRandom, type Random } from '../fuzz/engine.ts'
import { drawJob, type Job } from './jobs.ts'

export type Step =
  | { readonly kind: 'cut'; readonly how: 'rst' | 'fin' }
  /** So many bytes from now. */
  | {
      readonly kind: 'cut-after'
      readonly direction: 'up' | 'down'
      readonly bytes: number
      readonly how: 'rst' | 'fin'
    }
  /** `told`: the side that hears of it. */
  | { readonly kind: 'half-open'; readonly told?: 'client' | 'daemon' }
  | { readonly kind: 'stall'; readonly ms: number }
  | { readonly kind: 'rate'; readonly bytesPerSecond: number }
  | { readonly kind: 'delay'; readonly ms: number; readonly jitterMs: number }
  | { readonly kind: 'refuse'; readonly count: number }
  /** Somebody else with the same key reads one of the jobs for a moment. */
  | { readonly kind: 'take-over'; readonly job: number }
  | { readonly kind: 'perfect' }

export type Schedule = {
  readonly seed: number
  /** Which client: the one that is made from docs/protocol.md, or the product's library. */
  readonly client: 'plain' | 'library'
  readonly windowBytes: number
  /** Of the library's. */
  readonly compression: 'auto' | 'always' | 'never'
  /** Goes back to its session, or begins a new one each time. */
  readonly resumes: boolean
  /** Each job begins when the one before it is over. */
  readonly inTurn: boolean
  readonly jobs: readonly { readonly afterMs: number; readonly job: Job }[]
  readonly steps: readonly { readonly afterMs: number; readonly step: Step }[]
}

const WINDOWS = [4_096, 16_384, 65_536, 262_144]

function drawHalfOpen(random: Random): Step {
  const told = (['client', 'daemon', undefined] as const)[random.below(3)]
  return told === undefined ? { kind: 'half-open' } : { kind: 'half-open', told }
}

function drawStep(random: Random, jobs: number): Step {
  const how = random.below(2) === 0 ? 'rst' : 'fin'
  const direction = random.below(2) === 0 ? 'up' : 'down'
  switch (random.below(14)) {
    case 0:
    case 1:
      return { kind: 'cut', how }
    case 2:
    case 3:
    case 4:
    case 5:
      return {
        kind: 'cut-after',
        direction,
        bytes: 1 + random.below(random.below(2) === 0 ? 400 : 40_000),
        how,
      }
    case 6:
    case 7:
      return drawHalfOpen(random)
    case 8:
      return { kind: 'stall', ms: 10 + random.below(300) }
    case 9:
      return { kind: 'rate', bytesPerSecond: 20_000 + random.below(400_000) }
    case 10:
      return { kind: 'delay', ms: random.below(60), jitterMs: random.below(40) }
    case 11:
      return { kind: 'refuse', count: 1 + random.below(4) }
    case 12:
      return { kind: 'take-over', job: random.below(jobs) }
    default:
      return { kind: 'perfect' }
  }
}

export function drawSchedule(seed: number): Schedule {
  const random = createRandom(seed)
  const jobs = Array.from({ length: 1 + random.below(4) }, () => ({
    afterMs: random.below(2) * random.below(200),
    job: drawJob(random),
  }))
  const steps = Array.from({ length: 1 + random.below(6) }, () => ({
    afterMs: random.below(120),
    step: drawStep(random, jobs.length),
  }))
  return {
    seed,
    client: random.below(2) === 0 ? 'plain' : 'library',
    compression: (['auto', 'always', 'never'] as const)[random.below(3)] ?? 'auto',
    windowBytes: WINDOWS[random.below(WINDOWS.length)] ?? 65_536,
    resumes: random.below(4) > 0,
    inTurn: false,
    jobs,
    steps,
  }
}

/** Schedules that run beside each other, against one daemon: whatever kills it happens to all of them. */
export const ROUND_SCHEDULES = 32

export type Round = {
  readonly number: number
  readonly seeds: readonly number[]
  /** When the daemon is killed, from the beginning of the round, and how long it stays away. */
  readonly kills: readonly { readonly afterMs: number; readonly awayMs: number }[]
}

/** Every third round loses its daemon, once or twice. */
export function drawRound(number: number): Round {
  const random = createRandom(number * 7_919 + 1)
  const kills = number % 3 === 1 ? 1 + random.below(2) : 0
  return {
    number,
    seeds: Array.from({ length: ROUND_SCHEDULES }, (_, index) => number * ROUND_SCHEDULES + index),
    kills: Array.from({ length: kills }, () => ({
      afterMs: 50 + random.below(900),
      awayMs: random.below(300),
    })),
  }
}
