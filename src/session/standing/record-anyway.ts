/**
 * The record of what has happened already: it cannot be undone, so it goes on whatever can be written, and the log says
 * where the record could not be. What is yet to be done is written first, by the decision about it.
 * Rules: docs/security.md.
 * @module
 */
import { reasonOf } from '../../errors.ts'
import type { AuditEvent, AuditSink, Log } from '../../ports.ts'

/** Appends the event; never throws for a record that cannot be written. */
export function recordAnyway(
  { audit, log }: { readonly audit: Pick<AuditSink, 'append'>; readonly log: Log },
  event: AuditEvent,
): void {
  try {
    audit.append(event, true)
  } catch (cause) {
    log.write('error', 'audit_failed', { reason: reasonOf(cause) })
  }
}
