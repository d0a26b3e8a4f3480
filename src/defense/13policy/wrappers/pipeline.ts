/**
 * The commands of a script as they feed one another: where a standard input comes from, and who stands before and
 * after whom in a pipeline.
 * Rules: POSIX.1-2024, XCU 2.9.2 Pipelines.
 * @module
 */
import { hold, spend, type Work } from '../../work.ts'
import type { Stdin } from '../arguments/inner.ts'
import type { EffectiveCommand, Opaque, UsedPath } from '../effective.ts'
import type { ShellCommand } from '../shell/shell.ts'
import { isStandardInput } from './shell-invocation.ts'

/** Names in a pipeline that a command is told of. */
const NEIGHBOURS_MAX = 32
/** What asking one of them costs. */
const NEIGHBOUR_STEPS = 2

/** A command that is being put together. */
export type Draft = {
  -readonly [key in Exclude<keyof EffectiveCommand, 'paths'>]: EffectiveCommand[key]
} & { readonly paths: UsedPath[]; output: string | undefined }

/** Most commands have no reason at all, and the others one or two. */
export function addOpaque(draft: Draft, reason: Opaque): void {
  if (!draft.opaque.includes(reason)) draft.opaque = [...draft.opaque, reason]
}

const NO_REDIRECT = Object.freeze({
  fd: -1,
  kind: 'dup',
  target: { text: '', isGlob: false, opaque: undefined },
} as const)

export type Segment = {
  readonly place: number
  readonly start: number
  readonly end: number
  readonly output: string | undefined
}

/** Where the standard input of a command of a script comes from. */
export function stdinOf(
  drafts: readonly Draft[],
  command: ShellCommand,
  segments: readonly Segment[],
  base: { readonly stdin: Stdin },
  work: Work,
): Stdin {
  for (let at = command.redirects.length - 1; at >= 0; at -= 1) {
    const { fd, kind, target } = command.redirects[at] ?? NO_REDIRECT
    if (fd !== 0) continue
    if (kind === 'text') return { kind: 'text', word: target }
    if (kind === 'dup') return { kind: 'caller' }
    if (kind !== 'read') break
    if (target.opaque !== undefined) return { kind: 'pipe', output: undefined }
    if (isStandardInput(target.text)) return base.stdin
    // Whoever takes a program from there runs a file that nobody has read.
    return target.text === '/dev/null' ? { kind: 'closed' } : { kind: 'caller' }
  }
  if (command.place === 0) return base.stdin
  spend(work, (drafts.length - (segments[0]?.start ?? 0) + segments.length) * NEIGHBOUR_STEPS)
  const before = segments.filter(({ place }) => place < command.place)
  const nearest = before.filter(({ place }) => place === command.place - 1)
  const outputs = nearest.map(({ output }) => output)
  hold(work, outputs.length < 2 ? 0 : outputs.reduce((sum, output) => sum + (output?.length ?? 0), 0))
  const isKnown = outputs.length > 0 && outputs.every((output) => output !== undefined)
  return { kind: 'pipe', output: isKnown ? outputs.join('') : undefined }
}

/** Tells the commands of a pipeline of those before and after them. */
export function connect(drafts: readonly Draft[], segments: readonly Segment[], work: Work): void {
  spend(work, segments.length * NEIGHBOURS_MAX * NEIGHBOUR_STEPS)
  const places: string[][] = []
  for (const { place, start, end } of segments) {
    while (places.length <= place) places.push([])
    const names = places[place]
    for (let at = start; at < end; at += 1) addNames(names, drafts[at]?.names)
  }
  for (const { place, start, end } of segments) {
    const before: string[] = []
    for (let at = place - 1; at >= 0 && before.length < NEIGHBOURS_MAX; at -= 1) addNames(before, places[at])
    const after: string[] = []
    for (let at = place + 1; at < places.length && after.length < NEIGHBOURS_MAX; at += 1)
      addNames(after, places[at])
    for (let at = start; at < end; at += 1) {
      const draft = drafts[at]
      if (draft === undefined) continue
      draft.pipedFrom = together(draft.pipedFrom, before)
      draft.pipedTo = together(draft.pipedTo, after)
    }
  }
}

/** Adds those of `names` that are not there, up to as many as a command is told of. */
function addNames(into: string[] | undefined, names: readonly string[] | undefined): void {
  if (into === undefined || names === undefined) return
  for (const name of names) if (into.length < NEIGHBOURS_MAX && !into.includes(name)) into.push(name)
}

function together(own: readonly string[], more: readonly string[]): readonly string[] {
  if (own.length === 0 || more.length === 0) return own.length === 0 ? more : own
  return [...new Set([...own, ...more])]
}

/** Through what a command of a script is reached, which itself is reached through `via`. */
export function viaOf(via: readonly string[], { isSubstitution }: ShellCommand): readonly string[] {
  return isSubstitution ? [...via, '$()'] : via
}
