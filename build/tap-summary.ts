/**
 * Reads TAP 14 as the test runner writes it, a line at a time, and says what a person wants to see of it: a line a
 * file, every failure with its reason, what was skipped, and the counts.
 * What counts as one test: a point at the top level of a test file, so a `t.test` or a bare assertion outside of one.
 * A file that fails without a failing point (it crashed, or hung) counts as one failed test.
 * Format: https://testanything.org/tap-version-14-specification.html
 * @module
 */

export interface TapCounts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** What was skipped and why, in order, each once. */
  readonly skips: readonly string[]
}

export interface TapSummary {
  /** Takes one line without its line end; returns the lines to show for it, mostly none. */
  line(text: string): string[]
  counts(): TapCounts
}

/** Indentation of a point of the runner (a file) and of the top level of a file, in spaces. */
const FILE_INDENT = 0
const TEST_INDENT = 4

type Point = {
  readonly indent: number
  readonly ok: boolean
  readonly name: string
  readonly directive: string | undefined
  readonly reason: string
  readonly time: string
}

function parsePoint(text: string): Point | undefined {
  const match = /^( *)(not )?ok(?: \d+)?(?: - )?(.*)$/.exec(text)
  if (match === null) return undefined
  const [, indent = '', not, rest = ''] = match
  const time = / # time=([\d.]+)ms$/.exec(rest)
  const named = time === null ? rest : rest.slice(0, time.index)
  const directive = / # (SKIP|TODO)\b ?(.*)$/i.exec(named)
  return {
    indent: indent.length,
    ok: not === undefined,
    name: (directive === null ? named : named.slice(0, directive.index)).replaceAll('\\#', '#'),
    directive: directive?.[1]?.toUpperCase(),
    reason: directive?.[2] ?? '',
    time: time === null ? '' : `${(Number(time[1]) / 1000).toFixed(1)} s`,
  }
}

/** A reader at the beginning of a TAP document. */
export function createTapSummary(): TapSummary {
  const total = { passed: 0, failed: 0, skipped: 0 }
  const inFile = { passed: 0, failed: 0, skipped: 0 }
  const skips = new Set<string>()
  /** Names of the subtests that are open, and how many failures had been shown when each began; by depth. */
  const open: { name: string; shownBefore: number }[] = []
  let shown = 0
  /** Indentation of the diagnostics that belong to a failure just shown. */
  let diagnostics: number | undefined

  const filePoint = (point: Point): string[] => {
    if (!point.ok && point.directive === undefined && inFile.failed === 0) inFile.failed += 1
    if (point.directive === 'SKIP' && inFile.passed + inFile.failed + inFile.skipped === 0) {
      inFile.skipped += 1
      skips.add(`${point.name}: ${point.reason || 'no reason given'}`)
    }
    const parts = [`${inFile.passed} passed`]
    if (inFile.failed > 0) parts.push(`${inFile.failed} failed`)
    if (inFile.skipped > 0) parts.push(`${inFile.skipped} skipped`)
    for (const key of ['passed', 'failed', 'skipped'] as const) {
      total[key] += inFile[key]
      inFile[key] = 0
    }
    return [
      `${point.ok ? 'ok  ' : 'FAIL'} ${point.name} (${[...parts, point.time].filter(Boolean).join(', ')})`,
    ]
  }

  const takePoint = (point: Point): string[] => {
    const depth = point.indent / TEST_INDENT
    const subtest = open[depth]?.name === point.name ? open[depth] : undefined
    open.length = Math.min(open.length, depth)
    const lines: string[] = []
    // A parent of a failure that was shown already adds nothing.
    if (!point.ok && point.directive === undefined && shown === (subtest?.shownBefore ?? shown)) {
      shown += 1
      diagnostics = point.indent + 2
      lines.push(`not ok: ${[...open.map(({ name }) => name), point.name].join(' > ')}`)
    }
    if (point.indent === TEST_INDENT) {
      if (point.directive === 'SKIP') {
        inFile.skipped += 1
        skips.add(`${open[0]?.name ?? ''} > ${point.name}: ${point.reason || 'no reason given'}`)
      } else if (point.ok) inFile.passed += 1
      else inFile.failed += 1
    }
    if (point.indent === FILE_INDENT) lines.push(...filePoint(point))
    return lines
  }

  return {
    line(text) {
      if (diagnostics !== undefined) {
        const belongs = text.length - text.trimStart().length >= diagnostics
        if (belongs && text.trim() === '...') diagnostics = undefined
        if (belongs)
          return text.trim() === '---' || text.trim() === '...' ? [] : [`  ${text.slice(FILE_INDENT)}`]
        if (text.trim() !== '') diagnostics = undefined
      }
      const subtest = /^( *)# Subtest: (.*)$/.exec(text)
      if (subtest !== null) {
        const [, indent = '', name = ''] = subtest
        open.length = Math.min(open.length, indent.length / TEST_INDENT)
        open.push({ name: name.replaceAll('\\#', '#'), shownBefore: shown })
        return []
      }
      const skipped = /^ +# (skipped: .*)$/.exec(text)
      if (skipped !== null) {
        skips.add(`${open[0]?.name ?? ''} > ${skipped[1]}`)
        return []
      }
      const bail = /^ *Bail out!(.*)$/.exec(text)
      if (bail !== null) {
        total.failed += 1
        return [text.trim()]
      }
      const point = parsePoint(text)
      return point === undefined ? [] : takePoint(point)
    },
    counts: () => ({ ...total, skips: [...skips] }),
  }
}
