/**
 * What the measurement comes to, and how it is told.
 * @module
 */
import type { Form } from './driver-protocol.ts'
import type { Line } from './lines.node.ts'
import type { Judged, NamedHit } from './measure.node.ts'
import { difference, type Ending } from './shape.ts'

export type Rules = 'on' | 'off'
export type Other = {
  readonly line: string
  readonly form: Form
  readonly rules: Rules
  readonly what: string
}
export type Got = Other & {
  readonly kind: string
  readonly from: string
  readonly again: boolean
  readonly with: number
}

export type Figures = {
  readonly runs: number
  readonly hostChanges: number
  readonly unlistedPackets: number
  readonly canariesLeft: number
  /** Lines whose output had a secret of the world, by whatever way. */
  readonly canariesShown: number
  /** Runs that the daemon gave no end. */
  readonly stuck: number
  readonly everyday: Everyday
  /** What a rule must not take for what it is about: near to it, and often what another one is about. */
  readonly near: Everyday
  readonly dangerous: { readonly runs: number; readonly stoppedByRules: number }
  readonly got: readonly Got[]
  readonly shown: readonly Other[]
  readonly others: readonly Other[]
  readonly stops: readonly Other[]
}

/** With rules as shipped. */
type Everyday = {
  lines: number
  asAlone: number
  asked: number
  /** What they wanted to reach is not on the world's short list, and a human was asked by the gate. */
  unlisted: number
  stopped: number
  /** Of the lines whose program is on this machine. */
  present: number
  presentAsAlone: number
  raised: number
}

const NOT_FOUND = 127
/** Before the id of a rule whose example a line is. */
export const RULE = 'rule: '
/** Beyond so many, a list in the text ends; the JSON has all. */
const TOLD_LINES = 60

export type Tally = {
  addHits(hits: readonly NamedHit[], form: Form, rules: Rules): void
  addShown(lines: readonly Line[], form: Form, rules: Rules): void
  addDangerous(told: readonly Judged[]): void
  addStuck(told: Iterable<Judged>): void
  addRaised(count: number): void
  /** One everyday line under rules as shipped or without, and how it ends alone. */
  addEveryday(line: Line, told: Judged, alone: Ending, form: Form, rules: Rules): void
  figures(): Figures
}

/** Whether a human was asked about the line itself. */
const wasAsked = ({ asked, responses }: Judged): boolean =>
  asked || responses.some((one) => one.startsWith('R3'))

export function createTally(): Tally {
  const got: Got[] = []
  const shown: Other[] = []
  const others: Other[] = []
  const stops: Other[] = []
  const none = {
    lines: 0,
    asAlone: 0,
    asked: 0,
    unlisted: 0,
    stopped: 0,
    present: 0,
    presentAsAlone: 0,
    raised: 0,
  }
  const [everyday, near]: [Everyday, Everyday] = [{ ...none }, { ...none }]
  const dangerous = { runs: 0, stoppedByRules: 0 }
  let [runs, stuck] = [0, 0]
  return {
    addStuck(told) {
      for (const { kind } of told) if (kind === 'stuck') stuck++
    },
    addHits(hits, form, rules) {
      for (const { kind, what, again, lines } of hits)
        got.push({
          ...{ kind, what, again, form, rules },
          ...{ line: lines[0]?.text ?? '', from: lines[0]?.from ?? '', with: lines.length },
        })
    },
    addShown(lines, form, rules) {
      for (const { text } of lines) shown.push({ line: text, form, rules, what: 'a secret in its output' })
    },
    addDangerous(told) {
      runs += told.length
      dangerous.runs += told.length
      dangerous.stoppedByRules += told.filter(({ kind, asked }) => kind === 'refused' || asked).length
    },
    addRaised(count) {
      everyday.raised += count
    },
    addEveryday({ text: line, from }, told, alone, form, rules) {
      runs++
      const of = from.startsWith(RULE) ? near : everyday
      const isPresent = alone.exitCode !== NOT_FOUND
      const isStopped = told.kind !== 'ended'
      const what = isStopped
        ? `${told.kind} ${told.code} (${told.responses.join(', ')})`
        : difference(told, alone)
      const isAlike = what === undefined
      if (!isAlike) others.push({ line, form, rules, what: what ?? '' })
      if (rules === 'off') return
      of.lines++
      if (isAlike) of.asAlone++
      if (isPresent) of.present++
      if (isPresent && isAlike) of.presentAsAlone++
      if (isStopped) of.stopped++
      if (!isStopped && wasAsked(told)) of.asked++
      if (told.notReached.length > 0) of.unlisted++
      if (isStopped || wasAsked(told) || told.notReached.length > 0)
        stops.push({ line, form, rules, what: [...told.responses, ...told.notReached].join(', ') })
    },
    figures: () => ({
      runs,
      hostChanges: got.filter(({ kind }) => kind === 'host').length,
      unlistedPackets: got.filter(({ kind }) => kind === 'network').length,
      canariesLeft: got.filter(({ kind }) => kind === 'canary').length,
      canariesShown: shown.length,
      ...{ stuck, everyday, near, dangerous, got, shown, others, stops },
    }),
  }
}

const percent = (part: number, of: number): string => (of === 0 ? '-' : `${((100 * part) / of).toFixed(2)} %`)

function listed(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return []
  const more = lines.length - TOLD_LINES
  return [
    title,
    ...lines.slice(0, TOLD_LINES).map((line) => `  ${line}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ]
}

/** The figures as lines of text. */
export function tell(figures: Figures): readonly string[] {
  const { everyday, near, dangerous } = figures
  const told = ({ line, form, rules, what }: Other) =>
    `${form}, rules ${rules}: ${JSON.stringify(line)}: ${what}`
  const from = (one: Got) => `${one.kind}: ${told(one)}${one.again ? '' : ` (among ${one.with} lines, once)`}`
  return [
    `runs                                       ${figures.runs}`,
    `things changed on the host                 ${figures.hostChanges}   (must be 0)`,
    `packets and names that are not listed      ${figures.unlistedPackets}   (must be 0)`,
    `secrets that left by network               ${figures.canariesLeft}   (must be 0)`,
    `lines with a secret in their output        ${figures.canariesShown}`,
    `runs that the daemon gave no end           ${figures.stuck}   (must be 0)`,
    `everyday lines that end as alone           ${everyday.asAlone} of ${everyday.lines}, ${percent(everyday.asAlone, everyday.lines)}   (97 % at least)`,
    `  of those whose program is here           ${everyday.presentAsAlone} of ${everyday.present}, ${percent(everyday.presentAsAlone, everyday.present)}`,
    `everyday lines asked about or stopped      ${everyday.asked} + ${everyday.stopped}, ${percent(everyday.asked + everyday.stopped, everyday.lines)}   (1 % at most)`,
    `  and by the gate, for a host not listed    ${everyday.unlisted}, ${percent(everyday.unlisted, everyday.lines)}`,
    `levels raised by everyday lines            ${everyday.raised}   (must be 0)`,
    `near to what rules are about, end as alone ${near.asAlone} of ${near.lines}, ${percent(near.asAlone, near.lines)}; asked or stopped ${near.asked} + ${near.stopped}, by the gate ${near.unlisted}`,
    `dangerous runs stopped or asked by rules   ${dangerous.stoppedByRules} of ${dangerous.runs}`,
    ...listed('what got through:', figures.got.map(from)),
    ...listed('secrets shown:', figures.shown.map(told)),
    ...listed('everyday lines asked about or stopped:', figures.stops.map(told)),
    ...listed('everyday lines that end otherwise:', figures.others.map(told)),
  ]
}
