/**
 * Fuzzing without coverage: inputs are mutated from a corpus, which grows by every input that has an outcome not seen
 * before. The random numbers come from a seed, so that a run can be repeated.
 * @module
 */

export type FuzzTarget = {
  readonly name: string
  /** Valid inputs to begin from. */
  readonly seeds: readonly Uint8Array[]
  /** Pieces that mean something to this target. */
  readonly pieces?: readonly Uint8Array[]
  /** Feeds one input; returns a short word for what came of it, and throws where an invariant does not hold. */
  run(input: Uint8Array, random: Random): string
}

export type Random = {
  /** An integer from 0 to `below` - 1. */
  below(below: number): number
}

export type FuzzReport = {
  readonly target: string
  readonly inputs: number
  readonly bytes: number
  readonly outcomes: ReadonlyMap<string, number>
  /** The slowest input, in milliseconds for each begun KiB. */
  readonly slowestMsPerKiB: number
  readonly failure: { readonly input: Uint8Array; readonly problem: string } | undefined
}

/** What an input may take, for each begun KiB of it. */
export const MS_PER_KIB = 50
const INPUT_BYTES = 4_096
const CORPUS_INPUTS = 400
/** A pause of the machine is not the input's: what was slow is measured again, and the best of these counts. */
const MEASUREMENTS = 4

/** The milliseconds that this thread has worked: what others do on the machine meanwhile does not count. */
export function workedMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** Mulberry32: 32 bits of state are enough for choosing mutations. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  return {
    below(below) {
      state = (state + 0x6d2b79f5) >>> 0
      let mixed = state
      mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
      return ((mixed ^ (mixed >>> 14)) >>> 0) % below
    },
  }
}

/** The random numbers that a target gets with an input: always the same, so that a failure can be repeated. */
export function randomFor(input: Uint8Array): Random {
  let hash = 0x811c9dc5
  for (const byte of input) hash = Math.imul(hash ^ byte, 0x01000193)
  return createRandom(hash)
}

/** Bytes at which parsers change their mind: heads, limits, delimiters. */
const TELLING: readonly number[] = [
  0, 1, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1f, 0x20, 0x22, 0x2d, 0x2e, 0x2f, 0x3a, 0x40, 0x58, 0x59, 0x5a,
  0x5b, 0x5c, 0x5f, 0x60, 0x7b, 0x7f, 0x80, 0x81, 0x9b, 0x9f, 0xa0, 0xa1, 0xbb, 0xbf, 0xc0, 0xd8, 0xed, 0xef,
  0xf4, 0xf5, 0xf6, 0xf7, 0xf9, 0xfa, 0xfb, 0xff,
]

function splice(bytes: Uint8Array, at: number, removed: number, added: Uint8Array): Uint8Array {
  const result = new Uint8Array(bytes.length - removed + added.length)
  result.set(bytes.subarray(0, at))
  result.set(added, at)
  result.set(bytes.subarray(at + removed), at + added.length)
  return result
}

function randomBytes(random: Random, count: number): Uint8Array {
  return Uint8Array.from({ length: count }, () => random.below(256))
}

/** One change of `bytes`, which may take something of `other` or of `pieces`. */
export function mutate(
  bytes: Uint8Array,
  other: Uint8Array,
  pieces: readonly Uint8Array[],
  random: Random,
): Uint8Array {
  const at = random.below(bytes.length + 1)
  const left = bytes.length - at
  const some = random.below(Math.min(left, 32) + 1)
  switch (random.below(9)) {
    case 0:
      return splice(bytes, at, Math.min(1, left), Uint8Array.of(random.below(256)))
    case 1:
      return splice(bytes, at, Math.min(1, left), Uint8Array.of(TELLING[random.below(TELLING.length)] ?? 0))
    case 2:
      return left === 0
        ? bytes
        : splice(bytes, at, 1, Uint8Array.of((bytes[at] ?? 0) ^ (1 << random.below(8))))
    case 3:
      return splice(bytes, at, some, new Uint8Array(0))
    case 4:
      return splice(bytes, at, 0, randomBytes(random, random.below(16)))
    case 5:
      return splice(bytes, at, 0, bytes.subarray(at, at + some))
    case 6:
      return splice(bytes, at, some, other.subarray(random.below(other.length + 1)))
    case 7:
      return bytes.subarray(0, at)
    default: {
      const piece = pieces.length === 0 ? randomBytes(random, 4) : pieces[random.below(pieces.length)]
      return splice(bytes, at, random.below(2) * some, piece ?? bytes)
    }
  }
}

function nextInput(corpus: readonly Uint8Array[], pieces: readonly Uint8Array[], random: Random): Uint8Array {
  if (random.below(50) === 0) return randomBytes(random, random.below(200))
  const pick = () => corpus[random.below(corpus.length)] ?? new Uint8Array(0)
  let input = pick()
  for (let left = 1 + random.below(5); left > 0; left--) input = mutate(input, pick(), pieces, random)
  return input.slice(0, INPUT_BYTES)
}

/**
 * Feeds `target` for `seconds`, or until something does not hold. `nowMs` is a monotonic clock, as `workedMs`.
 * @param leastInputs so many at least, however slow the machine is just now
 */
export function fuzz(
  target: FuzzTarget,
  seconds: number,
  seed: number,
  nowMs: () => number,
  leastInputs = 0,
): FuzzReport {
  const random = createRandom(seed)
  const corpus = [...target.seeds]
  const outcomes = new Map<string, number>()
  const endMs = nowMs() + seconds * 1_000
  let inputs = 0
  let bytes = 0
  let slowestMsPerKiB = 0

  /** Milliseconds that one run took. */
  function measure(input: Uint8Array): number {
    const startMs = nowMs()
    target.run(input, randomFor(input))
    return nowMs() - startMs
  }

  function feed(input: Uint8Array): string | undefined {
    const kib = Math.max(1, Math.ceil(input.length / 1_024))
    const startMs = nowMs()
    let outcome: string
    try {
      outcome = target.run(input, randomFor(input))
    } catch (error) {
      return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    }
    let msPerKiB = (nowMs() - startMs) / kib
    for (let left = MEASUREMENTS; msPerKiB > MS_PER_KIB / 10 && left > 0; left--)
      msPerKiB = Math.min(msPerKiB, measure(input) / kib)
    slowestMsPerKiB = Math.max(slowestMsPerKiB, msPerKiB)
    if (msPerKiB > MS_PER_KIB) return `took ${msPerKiB.toFixed(1)} ms for each KiB`
    const count = outcomes.get(outcome) ?? 0
    outcomes.set(outcome, count + 1)
    if (count === 0 && corpus.length < CORPUS_INPUTS) corpus.push(input)
    return undefined
  }

  function report(failure: FuzzReport['failure']): FuzzReport {
    return { target: target.name, inputs, bytes, outcomes, slowestMsPerKiB, failure }
  }

  for (const input of target.seeds) {
    const problem = feed(input)
    if (problem !== undefined) return report({ input, problem })
  }
  while (nowMs() < endMs || inputs < leastInputs) {
    const input = nextInput(corpus, target.pieces ?? [], random)
    inputs++
    bytes += input.length
    const problem = feed(input)
    if (problem !== undefined) return report({ input, problem })
  }
  return report(undefined)
}
