/**
 * Runs lines in a world, looks at it afterwards, and where something has come of them finds out of which: they are run
 * again in a new world, with a look after each.
 * @module
 */
import type { Raised, Task, Told } from './driver-protocol.ts'
import type { Line } from './lines.node.ts'
import { changes, hurt, type Look, look } from './looks.node.ts'
import { OUTSIDE_ADDRESS, type Seen, writtenForms } from './outside-protocol.ts'
import { placeSentinels, type Sentinels } from './sentinels.node.ts'
import {
  EGRESS,
  type Event,
  LISTED_PORTS,
  openStage,
  type Place,
  type Setting,
  type Stage,
} from './stage.node.ts'

/** What came of lines: something on the host, packets to what is not listed, a secret that left. */
export type HitKind = 'host' | 'network' | 'canary'
export type Hit = { readonly kind: HitKind; readonly what: string }
export type NamedHit = Hit & {
  readonly lines: readonly Line[]
  /** False: it came of these together, once, and not again. */
  readonly again: boolean
}
export type Judged = Told & {
  /** What decided on it: R1 to R6, and rules. */
  readonly responses: readonly string[]
  /** What its session wanted to reach and the gate refused. */
  readonly notReached: readonly string[]
}
export type Measured = {
  readonly told: ReadonlyMap<number, Judged>
  readonly hits: readonly NamedHit[]
  readonly raised: readonly Raised[]
}

/** How long a line may take, and how many run at once. */
export type Pace = { readonly seconds: number; readonly parallel: number }
/** How lines are run. */
export type Manner = Pace & {
  readonly setting: Setting
  /** So many between two looks. */
  readonly batch: number
  /** A world serves so many lines. */
  readonly worldLines: number
}

const SETTLE_MS = 100
/** Of lines that something came of: 256 are taken apart in two goes. */
const PARTS = 16

type Live = {
  readonly stage: Stage
  readonly sentinels: Sentinels
  last: Look
  hurt: readonly string[]
  noted: number
  lines: number
}

async function openLive(place: Place, setting: Setting): Promise<Live> {
  const stage = await openStage(place, setting)
  try {
    const sentinels = await placeSentinels(stage.world)
    const last = await look(stage.world, stage.world.changed)
    await stage.seen()
    return { stage, sentinels, last, hurt: [], noted: 0, lines: 0 }
  } catch (error) {
    await stage.end()
    throw error
  }
}

/** What arrived outside that the list does not have. */
export function unlisted({ reached, questions, missed }: Seen): readonly string[] {
  const found = questions.filter((name) => !EGRESS.includes(name)).map((name) => `asked for the name ${name}`)
  for (const { protocol, address, port, name, packets } of reached) {
    const isDns = protocol === 'udp' && address === OUTSIDE_ADDRESS && port === 53
    const isListed = protocol === 'tcp' && EGRESS.includes(name ?? '') && LISTED_PORTS.includes(port)
    if (!isDns && !isListed)
      found.push(
        `${packets} packets to ${protocol} ${address}${name === undefined ? '' : ` (${name})`} port ${port}`,
      )
  }
  if (missed > 0) found.push(`${missed} packets came too fast to be looked at`)
  return [...new Set(found)]
}

async function findHits(live: Live): Promise<readonly Hit[]> {
  const { stage, sentinels } = live
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  const now = await look(stage.world, stage.world.changed)
  const seen = await stage.seen()
  const noted = sentinels.noted()
  const nowHurt = hurt(sentinels.all)
  const host = [
    ...changes(live.last, now),
    ...nowHurt.filter((what) => !live.hurt.includes(what)),
    ...noted.slice(live.noted).map((what) => `connected to ${what}`),
  ]
  live.last = now
  live.hurt = nowHurt
  live.noted = noted.length
  return [
    ...host.map((what) => ({ kind: 'host' as const, what })),
    ...unlisted(seen).map((what) => ({ kind: 'network' as const, what })),
    ...seen.canaries.map(({ place }) => ({ kind: 'canary' as const, what: `a secret in ${place}` })),
  ]
}

/** What the record says of each line. */
function judged(told: readonly Told[], events: readonly Event[]): readonly Judged[] {
  return told.map((one) => {
    const own = events.filter(({ session, branch }) => session === one.session || branch === one.session)
    const responses = own
      .filter(({ type }) => type === 'decision')
      .map(({ response, rule }) => `${response}${rule === undefined || rule === null ? '' : ` ${rule}`}`)
    const notReached = own
      .filter(({ type, what }) => type === 'egress' && what === 'refused')
      .map(({ name, address, port, reason }) => `${name ?? address}:${port} ${reason}`)
    return { ...one, responses: [...new Set(responses)], notReached: [...new Set(notReached)] }
  })
}

/** Whether a line's output has the secret of its world. */
export function shows(told: Told, canary: string): boolean {
  return writtenForms(canary).some((form) => told.stdout.includes(form) || told.stderr.includes(form))
}

export type Measure = (
  lines: readonly Line[],
  form: Task['form'],
  pace?: Pace,
) => Promise<Measured & { readonly shown: readonly Line[] }>

/**
 * Measures with worlds of `next`; whoever calls it ends with `end`. `heard` is told after each batch how many are done.
 */
export function createMeasure(
  next: () => Place,
  { setting, batch, worldLines, ...usual }: Manner,
  heard: (done: number) => void = () => {},
): { readonly measure: Measure; end(): Promise<void> } {
  let live: Live | undefined
  const end = async (): Promise<void> => {
    await live?.stage.end()
    live = undefined
  }
  const open = (): Promise<Live> =>
    openLive(next(), setting).catch((error: unknown) => {
      process.stderr.write(`once more, since a world did not come about: ${(error as Error).message}\n`)
      return openLive(next(), setting)
    })

  /** Runs them; a daemon that ends meanwhile is a hit. */
  async function runBatch(
    lines: readonly Line[],
    form: Task['form'],
    first: number,
    { seconds, parallel }: Pace,
  ): Promise<{ told: readonly Judged[]; hits: readonly Hit[]; shown: readonly number[] }> {
    const tasks = lines.map(({ text }, index) => ({ id: first + index, text, form, seconds }))
    if (live !== undefined && live.lines + tasks.length > worldLines) await end()
    live ??= await open()
    live.lines += tasks.length
    const { canary } = live.stage.world
    try {
      const told = await live.stage.run(tasks, parallel)
      const hits = await findHits(live)
      const all = judged(told, live.stage.events())
      return { told: all, hits, shown: told.filter((one) => shows(one, canary)).map(({ id }) => id) }
    } catch (error) {
      await end()
      const what = `the daemon or its world is gone: ${(error as Error).message}`
      return { told: [], hits: [{ kind: 'host', what }], shown: [] }
    }
  }

  /**
   * Which lines the hits come of: each part of them is run in a new world, and of one that something comes of each part
   * again. What does not come again of any part is told of the lines that it came of.
   */
  async function guilty(
    lines: readonly Line[],
    form: Task['form'],
    hits: readonly Hit[],
    pace: Pace,
    again = false,
  ): Promise<readonly NamedHit[]> {
    if (lines.length === 1 && again) return hits.map((hit) => ({ ...hit, lines, again }))
    process.stderr.write(`once more, ${lines.length} lines: ${hits.map(({ what }) => what).join('; ')}\n`)
    const named: NamedHit[] = []
    const size = Math.ceil(lines.length / PARTS)
    for (let first = 0; first < lines.length; first += size) {
      const some = lines.slice(first, first + size)
      await end()
      const { hits: own } = await runBatch(some, form, 0, pace)
      if (own.length > 0) named.push(...(await guilty(some, form, own, pace, true)))
    }
    await end()
    return named.length > 0 ? named : hits.map((hit) => ({ ...hit, lines, again }))
  }

  const measure: Measure = async (lines, form, pace = usual) => {
    const told = new Map<number, Judged>()
    const hits: NamedHit[] = []
    const shown: Line[] = []
    const raised: Raised[] = []
    for (let first = 0; first < lines.length; first += batch) {
      const some = lines.slice(first, first + batch)
      const ran = await runBatch(some, form, first, pace)
      for (const one of ran.told) told.set(one.id, one)
      for (const id of ran.shown) {
        const line = lines[id]
        if (line !== undefined) shown.push(line)
      }
      if (live !== undefined && ran.told.length > 0)
        raised.push(...(await live.stage.raised().catch(() => [])))
      if (ran.hits.length > 0) hits.push(...(await guilty(some, form, ran.hits, pace)))
      heard(first + some.length)
    }
    return { told, hits, raised, shown }
  }
  return { measure, end }
}
