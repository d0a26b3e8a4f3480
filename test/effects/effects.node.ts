/**
 * `npm run effects [-- OPTIONS]`: runs every line of the corpora for real under the daemon as shipped, in throwaway
 * worlds, and looks at each world afterwards. Each line is run as itself and from a file that nothing has read, with the
 * packaged rules and without. Prints the figures, and the lines that something came of; exits 1 where there is one.
 *
 *     --sample N        every Nth line           --offset N       the first one of these
 *     --only KIND       dangerous or everyday    --form FORM      inline or file
 *     --rules WHICH     on or off                --json FILE      everything that was found
 *     --lines FILE      these lines instead, one each, as dangerous ones, or as --only says
 *     --parallel N      sessions at once (6)     --batch N        lines between two looks (64)
 *     --short           some hundred lines in three worlds, as the tests have it
 *     --leaks           commands run unconfined: to see that what they do is found
 *
 * Needs root and `npm run build`; where no world can be made it says why in a line and exits 0.
 * How it is measured: docs/security.md.
 * @module
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openAlone } from './alone.node.ts'
import type { Form } from './driver-protocol.ts'
import { createTally, type Rules, type Tally, tell } from './figures.ts'
import { type Kit, makeKit } from './kit.node.ts'
import { type Kind, type Line, linesOf, sampled } from './lines.node.ts'
import { createMeasure } from './measure.node.ts'
import { againPrivately, isPrivate } from './private.node.ts'
import { difference } from './shape.ts'
import { whyNoWorld } from './world.node.ts'

const SECONDS: Record<Kind, number> = { dangerous: 2, everyday: 4 }
/** For a line that ended otherwise: once more, one at a time, with time enough. */
const AGAIN = { seconds: 15, parallel: 1 }
const WORLD_LINES = 512
/** Of 11,000 and of 5,600: the tests have a minute and a half. */
const SHORT_EVERY: Record<Kind, number> = { dangerous: 120, everyday: 220 }

const { values } = parseArgs({
  options: {
    sample: { type: 'string', default: '1' },
    offset: { type: 'string', default: '0' },
    only: { type: 'string' },
    form: { type: 'string' },
    rules: { type: 'string' },
    json: { type: 'string' },
    lines: { type: 'string' },
    parallel: { type: 'string', default: '6' },
    short: { type: 'boolean', default: false },
    leaks: { type: 'boolean', default: false },
    batch: { type: 'string', default: '64' },
  },
})
const forms = (['inline', 'file'] as const).filter(
  (form) => values.form === undefined || values.form === form,
)
const rulings = (['on', 'off'] as const).filter(
  (rules) => values.rules === undefined || values.rules === rules,
)
const parallel = Number(values.parallel)
const batch = Number(values.batch)

function chosen(kind: Kind): readonly Line[] {
  if (values.lines !== undefined) {
    const own = readFileSync(values.lines, 'utf8').split('\n').filter(Boolean)
    return kind === (values.only ?? 'dangerous')
      ? own.map((text) => ({ text: text.replaceAll('⏎', '\n'), from: 'own' }))
      : []
  }
  if (values.only !== undefined && values.only !== kind) return []
  const every = values.short ? SHORT_EVERY[kind] : Number(values.sample)
  return sampled(linesOf(kind), every, Number(values.offset))
}

const note = (text: string): void =>
  void process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)

function measureIn(kit: Kit, kind: Kind, rules: Rules) {
  return createMeasure(
    kit.next,
    {
      // Everyday work under the alarm as it is; each dangerous line is judged by itself.
      setting: { rules: rules === 'on', levels: kind === 'everyday', leaks: values.leaks },
      ...{ seconds: SECONDS[kind], parallel, batch, worldLines: WORLD_LINES },
    },
    (done) => note(`${kind}, rules ${rules}: ${done}`),
  )
}

async function measureDangerous(kit: Kit, tally: Tally, form: Form, rules: Rules): Promise<void> {
  const lines = chosen('dangerous')
  if (lines.length === 0) return
  note(`dangerous, ${form}, rules ${rules}: ${lines.length} lines`)
  const { measure, end } = measureIn(kit, 'dangerous', rules)
  const { told, hits, shown } = await measure(lines, form)
  await end()
  tally.addStuck(told.values())
  tally.addHits(hits, form, rules)
  tally.addShown(shown, form, rules)
  tally.addDangerous([...told.values()])
}

async function measureEveryday(
  kit: Kit,
  tally: Tally,
  form: Form,
  which: readonly Rules[],
  lines = chosen('everyday'),
): Promise<void> {
  if (lines.length === 0) return
  note(`everyday, ${form}, alone: ${lines.length} lines`)
  const world = await openAlone(kit.next())
  const alone = [...(await world.run(lines, form, { seconds: SECONDS.everyday, parallel }))]
  for (const rules of which) {
    note(`everyday, ${form}, rules ${rules}: ${lines.length} lines`)
    const { measure, end } = measureIn(kit, 'everyday', rules)
    const first = await measure(lines, form)
    const ends = new Map(first.told)
    const again = lines.flatMap((line, index) => {
      const [one, other] = [ends.get(index), alone[index]]
      const isOther = one?.kind === 'ended' && other !== undefined && difference(one, other) !== undefined
      return isOther ? [{ line, index }] : []
    })
    note(`everyday, ${form}, rules ${rules}: ${again.length} once more`)
    const some = again.map(({ line }) => line)
    const second = await measure(some, form, AGAIN)
    const secondAlone = await world.run(some, form, AGAIN)
    for (const [at, { index }] of again.entries()) {
      const [one, other] = [second.told.get(at), secondAlone[at]]
      if (one === undefined || other === undefined) continue
      ends.set(index, one)
      alone[index] = other
    }
    await end()
    tally.addHits([...first.hits, ...second.hits], form, rules)
    tally.addShown(first.shown, form, rules)
    tally.addRaised(first.raised.length)
    tally.addStuck(first.told.values())
    for (const [index, line] of lines.entries()) {
      const [one, other] = [ends.get(index), alone[index]]
      if (one !== undefined && other !== undefined) tally.addEveryday(line, one, other, form, rules)
    }
  }
  await world.end()
}

/** Dangerous lines without rules, in one world in both forms; everyday lines with them. */
async function measureShort(kit: Kit, tally: Tally): Promise<void> {
  const [lines, everyday] = [chosen('dangerous'), chosen('everyday')]
  const { measure, end } = measureIn(kit, 'dangerous', 'off')
  for (const [at, form] of (['inline', 'file'] as const).entries()) {
    const { told, hits, shown } = await measure(sampled(lines, 2, at), form)
    tally.addStuck(told.values())
    tally.addHits(hits, form, 'off')
    tally.addShown(shown, form, 'off')
    tally.addDangerous([...told.values()])
  }
  await end()
  await measureEveryday(kit, tally, 'inline', ['on'], everyday)
}

async function main(): Promise<number> {
  const kit = makeKit()
  const tally = createTally()
  try {
    if (values.short) await measureShort(kit, tally)
    else
      for (const form of forms) {
        for (const rules of rulings) await measureDangerous(kit, tally, form, rules)
        await measureEveryday(kit, tally, form, rulings)
      }
  } finally {
    kit.remove()
  }
  const figures = tally.figures()
  for (const line of tell(figures)) console.log(line)
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(figures, undefined, 1)}\n`)
  return figures.got.length === 0 ? 0 : 1
}

const why = whyNoWorld()
if (why !== undefined) console.log(`skipped: ${why}`)
else if (!existsSync(join(import.meta.dirname, '../../dist/sass-edge.mjs'))) {
  console.error('There is no dist/sass-edge.mjs to measure: run npm run build.')
  process.exitCode = 2
} else
  process.exitCode = isPrivate() ? await main() : againPrivately(import.meta.filename, process.argv.slice(2))
