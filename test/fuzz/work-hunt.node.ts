/**
 * `node test/fuzz/work-hunt.node.ts [SECONDS [SEED [FILE]]]`: hunts for command lines that take long to decide. The thousand
 * that cost the most steps, and as many that take the most time for each, are kept and changed again, doubled and
 * joined. Prints the worst of both kinds, and writes a line of Base64 for each of the slowest into FILE; exits 1 where a bound of a decision does not hold.
 * @module
 */
import { writeFileSync } from 'node:fs'
import { createRandom, mutate, workedMs } from './engine.ts'
import { WORK_INPUT_BYTES, WORK_SEEDS, workOf, workTarget } from './work-target.ts'

const KEPT = 1_000
/** Of less time a clock says nothing. */
const LEAST_MS = 4
const MEASUREMENTS = 4
const SHOWN = 8

type Found = { readonly input: Uint8Array; readonly steps: number; readonly ms: number }

const [seconds = '600', given, file] = process.argv.slice(2)
const seed = given === undefined ? Date.now() >>> 0 : Number(given)
const random = createRandom(seed)
console.log(`seed ${seed}`)

function measured(input: Uint8Array): Found {
  let ms = Number.POSITIVE_INFINITY
  let steps = 0
  for (let left = MEASUREMENTS; left > 0; left--) {
    const startMs = workedMs()
    ;({ steps } = workOf(input))
    ms = Math.min(ms, workedMs() - startMs)
    if (ms < LEAST_MS) break
  }
  return { input, steps, ms }
}

const usPerStep = ({ ms, steps }: Found) => (ms < LEAST_MS ? 0 : (ms * 1_000) / (steps + 1_000))
const bySteps: Found[] = []
const byTime: Found[] = []
const bySlowness: Found[] = []

function keep(list: Found[], found: Found, worth: (found: Found) => number): void {
  if (list.length >= KEPT && worth(found) <= worth(list.at(-1) as Found)) return
  const at = list.findIndex((other) => worth(other) < worth(found))
  list.splice(at === -1 ? list.length : at, 0, found)
  if (list.length > KEPT) list.pop()
}

function feed(input: Uint8Array): void {
  const found = measured(input)
  keep(bySteps, found, ({ steps }) => steps)
  keep(byTime, found, ({ ms }) => ms)
  if (usPerStep(found) > 0) keep(bySlowness, found, usPerStep)
}

/** Mostly one of the worst, changed; sometimes a part of it over and over, up to what fits. */
function next(): Uint8Array {
  const lists = [bySteps, byTime, bySlowness].filter((list) => list.length > 0)
  const list = lists[random.below(lists.length)] ?? bySteps
  const pick = () =>
    list[random.below(Math.min(list.length, 1 + random.below(KEPT)))]?.input ?? new Uint8Array()
  let input = pick()
  for (let left = 1 + random.below(4); left > 0; left--)
    input = mutate(input, pick(), workTarget.pieces ?? [], random)
  if (random.below(3) > 0 || input.length === 0) return input.slice(0, WORK_INPUT_BYTES)
  const from = random.below(input.length)
  const part = input.subarray(from, from + 1 + random.below(random.below(2) === 0 ? 16 : 200))
  const times = Math.min(1 + random.below(4_096), Math.floor(WORK_INPUT_BYTES / part.length))
  const filled = new Uint8Array(from + part.length * times + (input.length - from))
  filled.set(input.subarray(0, from))
  for (let count = 0; count < times; count++) filled.set(part, from + count * part.length)
  filled.set(input.subarray(from), from + part.length * times)
  return filled.slice(0, WORK_INPUT_BYTES)
}

const endMs = workedMs() + Number(seconds) * 1_000
let inputs = 0
try {
  for (const input of WORK_SEEDS) feed(input)
  for (; workedMs() < endMs; inputs++) feed(next())
} catch (cause) {
  console.error(cause)
  process.exitCode = 1
}

const show = (input: Uint8Array) => JSON.stringify(Buffer.from(input).toString('latin1')).slice(0, 100)
console.log(`${inputs} inputs`)
for (const [what, list] of [
  ['steps', bySteps],
  ['time', byTime],
  ['time a step', bySlowness],
] as const) {
  console.log(`the worst by ${what}:`)
  for (const found of list.slice(0, SHOWN)) {
    const { input, steps, ms } = measured(found.input)
    console.log(`  ${ms.toFixed(1)} ms, ${steps} steps, ${input.length} bytes: ${show(input)}`)
  }
}
if (file !== undefined)
  writeFileSync(file, byTime.map(({ input }) => `${Buffer.from(input).toString('base64')}\n`).join(''))
