/**
 * Lines become part of a log by warrants of their own, which the kernel alone asks for and issues: through the same
 * gates as everything else, as many lines and bytes at once as the constitution lets one warrant cover. What a gate does
 * not let through is named and not dropped: the cycle after it ends, as its record has a hole.
 * That lines were appended is not itself appended; one summary stands for it.
 * Rules: docs/proposals.md, section on the streams.
 * @module
 */
import { utf8Length } from '../../base/encoding/utf8.ts'
import { admit } from './admission.ts'
import { actionRequest, type Bundle } from './artifacts.ts'
import type { LogLimits } from './constitution.ts'
import { type Law, warrantFor } from './decide.ts'
import { Permit } from './permit.ts'
import { linesDigest, STREAMS, type StreamLines, type StreamName, type WrittenLines } from './streams.ts'

export type LogAppend = {
  readonly bundle: Bundle
  readonly permit: Permit
  readonly name: StreamName
  readonly lines: readonly string[]
}

export type LogAppends = {
  readonly appends: readonly LogAppend[]
  /** Lines that no warrant covers. */
  readonly uncovered: number
}

/** The lines in their order, as many together as one warrant covers. */
function batches(lines: readonly string[], { lines: most, bytes: mostBytes }: LogLimits) {
  const all: string[][] = []
  let batch: string[] = []
  let bytes = 0
  for (const line of lines) {
    const size = utf8Length(line) + 1
    if (batch.length > 0 && (batch.length === most || bytes + size > mostBytes)) {
      all.push(batch)
      batch = []
      bytes = 0
    }
    batch.push(line)
    bytes += size
  }
  return batch.length === 0 ? all : [...all, batch]
}

/** The kernel's own request for those lines. */
function bundleFor(name: StreamName, lines: readonly string[], prefix: string, at: string): Bundle {
  return {
    action_request: actionRequest('LogAppend', { jsonl_lines: lines, log_name: name }, 'kernel', at),
    scope_claim: null,
    justification: null,
    authority_citations: [`${prefix}@/telemetry_policy/required_logs`, `${prefix}#INV-REPLAY-DETERMINISM`],
  }
}

export type Appending = { readonly cycle: number; readonly session: string; readonly at: string }

/** Warrants for all lines of a cycle. */
export function logAppends(law: Law, lines: StreamLines, { cycle, session, at }: Appending): LogAppends {
  const ground = { ...law, observationIds: new Set<string>(), realPaths: {} }
  const bundles = STREAMS.flatMap((name) =>
    batches(lines[name], law.constitution.log).map((batch) => ({
      name,
      lines: batch,
      bundle: bundleFor(name, batch, law.index.prefix, at),
    })),
  )
  const appends = bundles.flatMap(({ name, lines: batch, bundle }) => {
    const isAdmitted = admit([{ ok: true, bundle }], ground).admitted.length === 1
    const warrant = warrantFor(bundle, law, { cycle, realPaths: {}, at })
    return isAdmitted ? [{ bundle, name, lines: batch, permit: Permit.issue(warrant, session) }] : []
  })
  const asked = STREAMS.reduce((sum, name) => sum + lines[name].length, 0)
  const covered = appends.reduce((sum, append) => sum + append.lines.length, 0)
  return { appends, uncovered: asked - covered }
}

/** What the summary of a cycle says of each of its warrants. */
export function writtenLines(appends: readonly LogAppend[]): readonly WrittenLines[] {
  return appends.map(({ permit, name, lines }) => ({
    warrant_id: permit.warrant.warrant_id,
    log_name: name,
    line_count: lines.length,
    lines_sha256: linesDigest(lines),
  }))
}
