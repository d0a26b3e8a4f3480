/**
 * What a cycle leaves behind, as the lines of five streams: what was observed, what was proposed and decided, what each
 * gate and the selection have said, and what was executed. Everything that is needed to decide again is in them, the
 * citations of every candidate and the text that it came in as well. A line that is longer than a log takes is written in
 * parts, and none is left out.
 * Each cycle ends with one summary of what was written, and with the hash of everything up to there.
 * Rules: docs/proposals.md, section on the streams.
 * @module
 */
import { sha256 } from '../../base/crypto/hash.ts'
import { canonicalize } from '../../base/encoding/canonical-json.ts'
import { decodeHex, encodeHex } from '../../base/encoding/hex.ts'
import type { Json } from '../../base/encoding/strict-json.ts'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import type { Constitution } from './constitution.ts'
import type { CycleInput, Decided } from './decide.ts'
import { LINE_PART_UNITS } from './limits.ts'

export const STREAMS = Object.freeze([
  'observations',
  'artifacts',
  'admission_trace',
  'selector_trace',
  'execution_trace',
] as const)

export type StreamName = (typeof STREAMS)[number]
export type StreamLines = Readonly<Record<StreamName, readonly string[]>>

/** What became of a warrant. */
export type ExecutionEvent = {
  readonly type: 'execution_event'
  readonly warrant_id: string
  readonly tool: string
  readonly result: 'committed' | 'failed'
  readonly detail: string
}

/** One warrant for lines of a log, as the summary has it. */
export type WrittenLines = {
  readonly warrant_id: string
  readonly log_name: string
  readonly line_count: number
  readonly lines_sha256: string
}

/** Of the program that decides; a change of any rule of this room changes it. */
const KERNEL = 'sass-edge-proposals-1'

/** What the hash of the first cycle follows from, lower-case hex. */
export function genesis({ digest }: Constitution): string {
  return encodeHex(sha256(encodeUtf8(`${KERNEL}\n${digest}\n`)))
}

/** SHA-256 of the lines as a file of them has them, lower-case hex. */
export function linesDigest(lines: readonly string[]): string {
  return encodeHex(sha256(encodeUtf8(lines.map((line) => `${line}\n`).join(''))))
}

/** The hash of a cycle: of the one before, and of what each stream says of it. */
export function stateHash(before: string, lines: StreamLines): string {
  const parts = [before, ...STREAMS.map((name) => linesDigest(lines[name]))]
  return encodeHex(sha256(...parts.map((hex) => decodeHex(hex) ?? new Uint8Array(0))))
}

/** Where a part may end: not within a character of two units. */
function partEnd(text: string, begin: number): number {
  const end = Math.min(begin + LINE_PART_UNITS, text.length)
  const isSplit = end < text.length && (text.charCodeAt(end) & 0xfc00) === 0xdc00
  return isSplit ? end - 1 : end
}

function partsOf(text: string): readonly string[] {
  const parts: string[] = []
  for (let at = 0; at < text.length; ) {
    const end = partEnd(text, at)
    parts.push(text.slice(at, end))
    at = end
  }
  return parts
}

/** One line of a stream, or its parts where it has more characters than a line may. */
function lineOf(
  head: { readonly [key: string]: Json },
  value: { readonly [key: string]: Json },
  max: number,
) {
  const whole = canonicalize({ ...head, ...value })
  if (whole.length <= max) return [whole]
  const texts = partsOf(whole)
  return texts.map((text, part) => canonicalize({ ...head, part, parts: texts.length, text }))
}

/** The lines of a stream with their parts put together again; undefined: a part is missing or out of its place. */
export function wholeLines(lines: readonly Json[]): readonly string[] | undefined {
  const whole: string[] = []
  let open: { readonly parts: number; readonly texts: string[] } | undefined
  for (const line of lines) {
    const { part, parts, text } = line as { readonly [key: string]: Json }
    if (part === undefined) {
      if (open !== undefined) return undefined
      whole.push(canonicalize(line))
      continue
    }
    open ??= { parts: Number(parts), texts: [] }
    if (typeof text !== 'string' || part !== open.texts.length || parts !== open.parts) return undefined
    open.texts.push(text)
    if (open.texts.length === open.parts) {
      whole.push(open.texts.join(''))
      open = undefined
    }
  }
  return open === undefined ? whole : undefined
}

/** What was decided, as an artifact. */
export function artifactOf({ decision }: Pick<Decided, 'decision'>): Json {
  const artifact =
    decision.type === 'ACTION'
      ? decision.warrant
      : decision.type === 'REFUSE'
        ? decision.refusal
        : decision.exit
  return artifact as unknown as Json
}

export type Run = { readonly id: string; readonly constitution: Constitution }

/** The lines of a cycle without its summary. */
export function cycleLines(
  { id, constitution }: Run,
  input: CycleInput,
  decided: Decided,
  executed: readonly ExecutionEvent[],
): StreamLines {
  const { observations, candidates, admission, selection, decision } = decided
  const head = { cycle_id: input.cycle, run_id: id }
  const lines = (values: readonly { readonly [key: string]: Json }[]) =>
    values.flatMap((value) => lineOf(head, value, constitution.log.lineChars))
  const event = (value: unknown) => ({ event: value as Json })
  const artifact = (value: unknown) => ({ artifact: value as Json })
  return {
    observations: lines([
      ...observations.map((value) => ({ observation: value as unknown as Json })),
      { paths: input.realPaths },
      // What could not be read is kept as it came: without it the same would not be decided again.
      ...(observations.length < input.observations.length ? [{ unread: input.observations }] : []),
    ]),
    artifacts: lines([
      // Over the budget and after a risk to integrity nothing is read, and what is not read decides nothing.
      ...(candidates.length === 0 ? [] : [{ proposed: input.proposed }]),
      ...candidates.flatMap((candidate) =>
        candidate.ok
          ? [
              artifact(candidate.bundle.action_request),
              ...(candidate.bundle.scope_claim === null ? [] : [artifact(candidate.bundle.scope_claim)]),
              ...(candidate.bundle.justification === null ? [] : [artifact(candidate.bundle.justification)]),
              { authority_citations: candidate.bundle.authority_citations },
            ]
          : [],
      ),
      artifact(artifactOf(decided)),
    ]),
    admission_trace: lines(admission.map(event)),
    selector_trace: lines(selection === null ? [] : [event(selection)]),
    execution_trace: lines([{ decision: decision.type }, ...executed.map(event)]),
  }
}

/** The one line that stands for everything that was written of a cycle, and is not itself summed up. */
export function summaryLine(
  { id }: Run,
  cycle: number,
  { written, state }: { readonly written: readonly WrittenLines[]; readonly state: string },
): string {
  return canonicalize({
    cycle_id: cycle,
    run_id: id,
    event: {
      type: 'log_commit_summary',
      cycle_index: cycle,
      state_hash: state,
      streams_written: [...new Set(written.map(({ log_name }) => log_name))],
      total_lines_written: written.reduce((sum, { line_count }) => sum + line_count, 0),
      warrants: written as unknown as Json,
    },
  })
}
