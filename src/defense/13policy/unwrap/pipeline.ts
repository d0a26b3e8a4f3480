/**
 * The commands of a script as they feed one another: where a standard input comes from, and who stands before and
 * after whom in a pipeline.
 * Rules: POSIX.1-2024, XCU 2.9.2 Pipelines.
 * @module
 */
import type { EffectiveCommand, Opaque, UsedPath } from '../effective.ts'
import type { ShellCommand } from '../shell/shell.ts'
import type { Stdin } from './inner.ts'
import { namesOf } from './names.ts'
import { parseArguments } from './options.ts'
import { formOf } from './programs.ts'
import { isStandardInput } from './shell-invocation.ts'
import { decodes } from './stream.ts'

/** Names in a pipeline that a command is told of. */
const NEIGHBOURS_MAX = 32

/** A command that is being put together. */
export type Draft = {
  -readonly [key in Exclude<keyof EffectiveCommand, 'paths' | 'opaque'>]: EffectiveCommand[key]
} & { readonly paths: UsedPath[]; readonly opaqueSet: Set<Opaque>; output: string | undefined }

export type Segment = {
  readonly place: number
  readonly start: number
  readonly end: number
  readonly output: string | undefined
}

export function isDecoder({ words }: ShellCommand): boolean {
  const program = words[0]
  if (program === undefined) return false
  const names = namesOf(program.text, undefined)
  return decodes({ names, options: parseArguments(words, formOf(names)).options })
}

/** Where the standard input of a command of a script comes from. */
export function stdinOf(
  drafts: readonly Draft[],
  command: ShellCommand,
  segments: readonly Segment[],
  base: { readonly stdin: Stdin; readonly isDecoded: boolean },
): Stdin {
  for (const { fd, kind, target } of command.redirects.toReversed()) {
    if (fd !== 0) continue
    if (kind === 'text') return { kind: 'text', word: target }
    if (kind === 'dup') return { kind: 'caller' }
    if (kind !== 'read') break
    if (target.opaque !== undefined) return { kind: 'pipe', output: undefined, isDecoded: base.isDecoded }
    return isStandardInput(target.text) ? base.stdin : { kind: 'closed' }
  }
  if (command.place === 0) return base.stdin
  const before = segments.filter(({ place }) => place < command.place)
  const nearest = before.filter(({ place }) => place === command.place - 1)
  const isDecoded = before.some(({ start, end }) => drafts.slice(start, end).some(decodes))
  const outputs = nearest.map(({ output }) => output)
  const isKnown = outputs.length > 0 && outputs.every((output) => output !== undefined)
  return { kind: 'pipe', output: isKnown ? outputs.join('') : undefined, isDecoded }
}

/** Tells the commands of a pipeline of those before and after them. */
export function connect(drafts: readonly Draft[], segments: readonly Segment[]): void {
  const namesAt = (wanted: Segment) => drafts.slice(wanted.start, wanted.end).flatMap(({ names }) => names)
  const last = Math.max(...segments.map(({ place }) => place))
  const byPlace: string[][] = Array.from({ length: last + 1 }, () => [])
  for (const segment of segments) byPlace[segment.place]?.push(...namesAt(segment))
  for (const { place, start, end } of segments) {
    const before = [...new Set(byPlace.slice(0, place).toReversed().flat())].slice(0, NEIGHBOURS_MAX)
    const after = [...new Set(byPlace.slice(place + 1).flat())].slice(0, NEIGHBOURS_MAX)
    for (const draft of drafts.slice(start, end)) {
      draft.pipedFrom = [...new Set([...draft.pipedFrom, ...before])]
      draft.pipedTo = [...new Set([...draft.pipedTo, ...after])]
    }
  }
}
