/**
 * How the weights of src/defense/firewall/injections/model.ts are learnt: logistic regression by stochastic gradient
 * descent over stretches of MODEL_TOKENS words, with a generator that is seeded, so that the same samples give the same
 * bytes. A sample of a long text gives a few stretches; those of one kind together weigh as much as those of the other.
 * @module
 */
import { foldTable } from '../src/defense/firewall/injections/fold.ts'
import { INJECTION_WINDOW_BYTES } from '../src/defense/firewall/injections/limits.ts'
import {
  MODEL_TOKENS,
  MODEL_WEIGHTS,
  newFeatures,
  readFeatures,
  scoreOf,
} from '../src/defense/firewall/injections/model.ts'
import { copyPlain, newNormalised, readText } from '../src/defense/firewall/injections/normalise.ts'

export interface Sample {
  readonly text: string
  readonly attack: boolean
  /** How much it counts beside others of its kind. */
  readonly weight: number
}

/** A stretch of a sample as places of the table. */
interface Stretch {
  readonly places: Uint16Array
  readonly attack: boolean
  readonly weight: number
}

const STRETCHES_MAX = 6
const EPOCHS = 14
const RATE = 0.03
/** Of each weight, after every epoch. */
const DECAY = 0.04

/** xorshift32: numbers from 0 to below 1. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

/** Reads texts into features, one after the other. */
export function featureReader(): (text: string) => ReturnType<typeof newFeatures> {
  const fold = foldTable()
  const normalised = newNormalised()
  const features = newFeatures()
  return (text) => {
    const bytes = new TextEncoder().encode(text)
    const end = Math.min(bytes.length, INJECTION_WINDOW_BYTES)
    if (!copyPlain(normalised, bytes, 0, end)) readText(normalised, fold, bytes, 0, end, false)
    readFeatures(features, normalised.codes, normalised.length)
    return features
  }
}

function stretchesOf(sample: Sample, read: ReturnType<typeof featureReader>): readonly Stretch[] {
  const { indexes, ends, tokens } = read(sample.text)
  const count = Math.min(STRETCHES_MAX, Math.max(1, Math.round(tokens / MODEL_TOKENS)))
  const stretches: Stretch[] = []
  for (let index = 0; index < count; index += 1) {
    const first = Math.min(Math.floor((index * tokens) / count), Math.max(0, tokens - MODEL_TOKENS))
    const last = Math.min(tokens, first + MODEL_TOKENS)
    const places = indexes.slice(first === 0 ? 0 : ends[first - 1], ends[last - 1])
    if (last > first) stretches.push({ places, attack: sample.attack, weight: sample.weight / count })
  }
  return stretches
}

function shuffle(items: unknown[], random: () => number): void {
  for (let at = items.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1))
    const item = items[at]
    items[at] = items[other]
    items[other] = item
  }
}

/** @returns MODEL_WEIGHTS weights of -127 to 127 */
export function trainWeights(samples: readonly Sample[], seed: number): Int8Array {
  const read = featureReader()
  const random = seededRandom(seed)
  const stretches = samples.flatMap((sample) => stretchesOf(sample, read))
  const total = (attack: boolean) =>
    stretches.reduce((sum, stretch) => sum + (stretch.attack === attack ? stretch.weight : 0), 0)
  const share = { attacks: total(true) / stretches.length, others: total(false) / stretches.length }
  const weights = new Float64Array(MODEL_WEIGHTS)
  let bias = 0
  for (let epoch = 0; epoch < EPOCHS; epoch += 1) {
    shuffle(stretches, random)
    const rate = RATE / (1 + epoch / 4)
    for (const { places, attack, weight } of stretches) {
      let score = bias
      for (const place of places) score += weights[place] ?? 0
      const error = (attack ? 1 : 0) - 1 / (1 + Math.exp(-score))
      const step = error * rate * Math.min(4, weight / (2 * (attack ? share.attacks : share.others)))
      bias += step
      for (const place of places) weights[place] = (weights[place] ?? 0) + step
    }
    for (let place = 0; place < MODEL_WEIGHTS; place += 1)
      weights[place] = (weights[place] ?? 0) * (1 - DECAY)
  }
  const sorted = weights.map(Math.abs).sort()
  const scale = 100 / (sorted[MODEL_WEIGHTS - 100] || 1)
  return Int8Array.from(weights, (weight) => Math.max(-127, Math.min(127, Math.round(weight * scale))))
}

/** The score of a text by weights. */
export function scorer(weights: Int8Array): (text: string) => number {
  const read = featureReader()
  return (text) => scoreOf(read(text), weights)
}
