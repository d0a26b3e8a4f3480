/**
 * Trains the weights of the injection model and writes firewall/injection-weights.json: `npm run train [-- SEED]`.
 * Attacks are the vectors in ../shared/vectors/prompt-injection but those that are orders without a mark, questions, and
 * records with a line in them; the rest is their benign texts, the documents, sources and rules of this repository, and
 * logs and tables that are made here. The same files and seed give the same bytes; the SHA-256 of all inputs is kept.
 * Where a score begins to say something comes of five folds: above the highest of any benign text that was not trained on.
 * @module
 */
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { encodeBase64 } from '../src/base/encoding/base64.ts'
import { type Sample, scorer, seededRandom, trainWeights } from './injection-training.ts'

const ROOT = join(import.meta.dirname, '..')
const VECTORS = join(ROOT, '../shared/vectors/prompt-injection')
const ATTACK_TIERS = ['override', 'jailbreak', 'mixed', 'system_mode', 'few_shot_attack', 'persuasion']
const FOLDS = 5
/** What a document of the repository counts beside a benign vector, and how much of one is read. */
const OWN_WEIGHT = 0.3
const HARD_WEIGHT = 3
const OWN_BYTES = 40_000
const PIECE_BYTES = 2_000
const MADE_TEXTS = 200
/** Of the highest benign score, in per cent, and what is said from there on. */
const LEVELS: readonly (readonly [number, number])[] = [
  [110, 200],
  [160, 600],
  [220, 750],
]
/** Words that speak to a reader: a text with fewer is not looked at. */
const ADDRESS_MIN = 4

interface Grouped extends Sample {
  /** Near copies of each other are in one group, and never on both sides of a fold. */
  readonly group: string
  readonly isVector: boolean
}

interface Vector {
  readonly id: string
  readonly tier: string
  readonly text: string
  readonly template?: string
}

function vectors(name: string): readonly Vector[] {
  const text = gunzipSync(readFileSync(join(VECTORS, `${name}_quarter.jsonl.gz`))).toString()
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Vector)
}

function groupOf({ id, template }: Vector): string {
  if (template !== undefined) return template
  const [kind = '', number = ''] = id.split('-')
  return kind === 'whois' || kind === 'pi' ? `${kind}-${number}` : id
}

function gather(seed: number): readonly Grouped[] {
  const attacks = vectors('attack')
    .filter(({ id, tier }) => ATTACK_TIERS.includes(tier) && !id.startsWith('whois'))
    .map((vector) => ({ text: vector.text, attack: true, weight: 1, group: groupOf(vector), isVector: true }))
  const benign = vectors('benign').map((vector) => ({
    text: vector.text,
    attack: false,
    weight: vector.tier === 'hard-benign' ? HARD_WEIGHT : 1,
    group: groupOf(vector),
    isVector: true,
  }))
  const own = globSync(['docs/*.md', '{src,test,build}/**/*.ts', 'policy/*.json'], { cwd: ROOT })
    .filter((path) => !path.includes('injection') && !path.includes('firewall'))
    .sort()
    .flatMap((path) => {
      const text = readFileSync(join(ROOT, path), 'latin1').slice(0, OWN_BYTES)
      const count = Math.ceil(text.length / PIECE_BYTES)
      return Array.from({ length: count }, (_, index) => ({
        text: text.slice(index * PIECE_BYTES, (index + 1) * PIECE_BYTES),
        attack: false,
        weight: OWN_WEIGHT,
        group: path,
        isVector: false,
      }))
    })
  return [...attacks, ...benign, ...own, ...made(seed)]
}

/** Logs and tables as programs print them, with names and numbers of no meaning. */
function made(seed: number): readonly Grouped[] {
  const random = seededRandom(seed ^ 0x10c5)
  const number = (below: number) => Math.floor(random() * below)
  const pick = (words: string) => words.split(' ')[number(words.split(' ').length)] ?? ''
  const units = 'sshd systemd kernel cron nginx dockerd networkd postgres worker mqtt bluetoothd'
  const levels = 'INFO WARN ERROR DEBUG notice warning'
  const events =
    'started stopped accepted closed failed timed-out restarted mounted loaded received sent connected refused'
  const things = 'session connection request device service job user message file socket unit system prompt'
  return Array.from({ length: MADE_TEXTS }, (_, index) => ({
    text: Array.from({ length: 20 }, () =>
      index % 2 === 0
        ? `2026-11-${10 + number(20)}T0${number(10)}:${10 + number(50)}:00Z ${pick(levels)} ${pick(units)}[${number(9_999)}]: ${pick(things)} ${number(999)} ${pick(events)} in ${number(900)} ms`
        : `${pick(units)}\t${number(9_999)}\t${pick(events)}\t${pick(things)}-${number(99)}\t${number(100)}%`,
    ).join('\n'),
    attack: false,
    weight: OWN_WEIGHT,
    group: `made-${index}`,
    isVector: false,
  }))
}

function foldOf(group: string): number {
  return (createHash('sha256').update(group).digest()[0] ?? 0) % FOLDS
}

/** The highest score of a benign vector by weights that never saw its group. */
function benignTop(samples: readonly Grouped[], seed: number): number {
  let top = 0
  for (let fold = 0; fold < FOLDS; fold += 1) {
    const score = scorer(
      trainWeights(
        samples.filter(({ group }) => foldOf(group) !== fold),
        seed,
      ),
    )
    for (const { text, attack, group, isVector } of samples)
      if (isVector && !attack && foldOf(group) === fold) top = Math.max(top, score(text))
  }
  return top
}

if (!existsSync(VECTORS)) {
  console.error(`${VECTORS} is not here: the weights stay as they are.`)
  process.exitCode = 1
} else {
  const seed = Number(process.argv[2] ?? 1)
  const samples = gather(seed)
  const inputs = createHash('sha256').update(JSON.stringify(samples)).digest('hex')
  const top = benignTop(samples, seed)
  const file = {
    version: 1,
    about: `Written by "npm run train" from ${samples.length} texts; the SHA-256 is that of all of them.`,
    seed,
    inputs,
    levels: LEVELS.map(([percent, permille]) => [Math.round((top * percent) / 100), permille]),
    addressMin: ADDRESS_MIN,
    weights: encodeBase64(new Uint8Array(trainWeights(samples, seed).buffer)),
  }
  writeFileSync(join(ROOT, 'firewall/injection-weights.json'), `${JSON.stringify(file, undefined, 2)}\n`)
  console.log(
    `${samples.length} texts; highest benign score of a fold ${top}; levels ${JSON.stringify(file.levels)}`,
  )
}
