/**
 * What `npm audit --json` says of the packages that ship: nothing critical is known, something is, or nobody could say.
 * Only a report that is one counts: whatever else npm prints, an error of the registry for one, says nothing.
 * Sources: npm-audit(1), report of version 2 (`auditReportVersion`, `vulnerabilities`, `metadata`).
 * @module
 */

export type Vulnerabilities =
  | { readonly kind: 'none'; readonly lesser: number }
  | { readonly kind: 'critical'; readonly packages: readonly string[] }
  | { readonly kind: 'unknown'; readonly why: string }

type Report = {
  readonly auditReportVersion?: unknown
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity?: unknown }>>
  readonly message?: unknown
  readonly error?: { readonly summary?: unknown; readonly code?: unknown }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The first of these that is a text with something in it, its first line. */
function firstText(...values: readonly unknown[]): string {
  const found = values.find((value): value is string => typeof value === 'string' && value.trim() !== '')
  return found?.trim().split('\n')[0] ?? 'npm gave no report'
}

function parsed(text: string): Report | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Never throws. @param printed what npm has written to its standard output */
export function readAudit(printed: string): Vulnerabilities {
  const report = parsed(printed)
  if (report === undefined) return { kind: 'unknown', why: firstText(printed) }
  const { auditReportVersion, vulnerabilities, message, error } = report
  if (auditReportVersion !== 2 || !isRecord(vulnerabilities))
    return { kind: 'unknown', why: firstText(error?.summary, message, error?.code) }
  const found = Object.entries(vulnerabilities)
  const packages = found.filter(([, { severity }]) => severity === 'critical').map(([name]) => name)
  return packages.length > 0 ? { kind: 'critical', packages } : { kind: 'none', lesser: found.length }
}
