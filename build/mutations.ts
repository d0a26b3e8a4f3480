/**
 * The mutations that `npm run mutate` makes: in a file that does what a row of docs/conformance.json says, one small
 * thing is made wrong, and a test that names the row must fail. A comparison is turned, a guard goes, a bound moves by
 * one, or something is done that must not be.
 * @module
 */

export type Mutation = {
  /** The row whose tests must find it. */
  readonly row: string
  readonly file: string
  /** Text that is in the file exactly once. */
  readonly find: string
  readonly replace: string
}

const at = (row: string, file: string, find: string, replace: string): Mutation => ({
  row,
  file,
  find,
  replace,
})

const SESSION = 'src/session'
const GATES = 'src/defense/gates'

export const MUTATIONS: readonly Mutation[] = [
  // Bounds.
  at('SS-24', 'src/base/ring.ts', 'offset < oldest()', 'offset <= oldest()'),
  at('SS-24', 'src/base/ring.ts', 'Math.max(0, total - sizeBytes)', 'Math.max(0, total - sizeBytes + 1)'),
  at('SS-24', 'src/base/ring.ts', 'offset + target.length > total)', 'offset + target.length > total + 1)'),
  at(
    'RX-31',
    'src/audit/journal.node.ts',
    'head.length > AUDIT_RECORD_CHARS',
    'head.length >= AUDIT_RECORD_CHARS',
  ),
  at(
    'RX-31',
    'src/audit/journal.node.ts',
    'head.length > AUDIT_RECORD_CHARS',
    'head.length > AUDIT_RECORD_CHARS + 1',
  ),
  at('OS-11', `${GATES}/quota.ts`, '!(ledger.ticks < ticksPerTask)', '!(ledger.ticks <= ticksPerTask)'),
  at(
    'OS-12',
    `${GATES}/quota.ts`,
    'ledger.tokens < tokensPerSession) return',
    'ledger.tokens < tokensPerSession * 2) return',
  ),
  at(
    'SS-12',
    `${SESSION}/callers/sessions.ts`,
    'if (sessions.size >= limits.maxSessions) {',
    'if (sessions.size > limits.maxSessions) {',
  ),
  at(
    'JF-087',
    `${SESSION}/standing/levels.ts`,
    'same >= VIOLATIONS_TO_CONTAIN',
    'same > VIOLATIONS_TO_CONTAIN',
  ),
  at(
    'JF-096',
    `${SESSION}/standing/levels.ts`,
    'containedAt.length >= CONTAINED_TO_HALT',
    'containedAt.length > CONTAINED_TO_HALT',
  ),
  at('SS-21', 'src/wire/payload-gate.ts', 'value.length > ARGUMENTS_MAX', 'value.length >= ARGUMENTS_MAX'),
  at(
    'JF-031',
    `${GATES}/rights.ts`,
    'chain.length > DELEGATION_DEPTH',
    'chain.length > DELEGATION_DEPTH + 1',
  ),
  // Guards.
  at(
    'SS-17',
    `${SESSION}/callers/sessions.ts`,
    'session?.caller.name !== caller.name || ',
    'session === undefined || ',
  ),
  at('SS-17', `${SESSION}/callers/sessions.ts`, ' || scopeOf(session.caller) !== scopeOf(caller)', ''),
  at(
    'SS-17',
    `${SESSION}/callers/sessions.ts`,
    'limits.bindAddress && session.address !== address',
    'limits.bindAddress && session.address === ""',
  ),
  at(
    'SS-12',
    `${SESSION}/callers/sessions.ts`,
    '!session.isHeld && session.running === 0',
    'session.running === 0',
  ),
  at('SS-16', `${SESSION}/callers/sessions.ts`, 'isIdle(session) &&\n          nowMs', 'nowMs'),
  at(
    'RX-03',
    'src/defense/warrant.ts',
    "if (warrant.#redeemed) throw new SassError('INTERNAL', 'A warrant was used twice; nothing was done.')",
    '',
  ),
  at('RX-25', 'src/defense/warrant.ts', 'if (warrant.#lapsed)', 'if (false as boolean)'),
  at('RX-25', 'src/defense/warrant.ts', 'if (warrant.sessionId !== sessionId)', 'if (false as boolean)'),
  at(
    'RX-22',
    'src/defense/adjudicator.ts',
    "if (authority === undefined) return denyOnError('capability', facts)",
    '',
  ),
  at(
    'JF-030',
    `${GATES}/rights.ts`,
    'if (missing.length === 0) return undefined',
    'if (missing.length <= 1) return undefined',
  ),
  at(
    'RX-23',
    `${GATES}/rights.ts`,
    "request.audience === 'operator' && who.role !== 'operator'",
    "request.audience === 'operator' && who.role === 'operator'",
  ),
  at('OS-07', `${GATES}/rights.ts`, 'if (policy.security.allowShell) return undefined', 'return undefined'),
  at('SS-36', `${GATES}/connection.ts`, 'if (!source.isAllowed) {', 'if (source.isAllowed === undefined) {'),
  at(
    'SS-10',
    `${GATES}/session.ts`,
    "!source.isSuspect || identity.kind !== 'known'",
    "source.isSuspect || identity.kind !== 'known'",
  ),
  at('SS-14', `${GATES}/session.ts`, "if (held?.state === 'unknown') {", "if (held?.state === 'expired') {"),
  at(
    'SS-41',
    `${SESSION}/callers/challenges.ts`,
    "isPlaintext && isBound ? 'passed'",
    "isPlaintext || isBound ? 'passed'",
  ),
  at(
    'SS-41',
    `${SESSION}/callers/challenges.ts`,
    'entry.endsAtMs <= clock.monotonicMs() ? undefined',
    'entry.endsAtMs > clock.monotonicMs() ? undefined',
  ),
  at(
    'JF-059',
    `${SESSION}/standing/confirmations.ts`,
    "if (encodeHex(entry.pending.digest) !== digest) return 'other_digest'",
    '',
  ),
  at(
    'JF-F16',
    'src/base/internal-range.ts',
    'forms.some((form) => reachable.some',
    'forms.every((form) => reachable.every',
  ),
  at(
    'JF-065',
    'src/egress/lists/address-check.ts',
    '!refusesInternal || !isInternalAddress',
    'refusesInternal || !isInternalAddress',
  ),
  at(
    'SA-45',
    'src/edge/state/key-file.node.ts',
    'if (mode !== PRIVATE_MODE) {',
    'if ((mode & 0o007) !== 0) {',
  ),
  at(
    'SA-48',
    'src/edge/state/key-file.node.ts',
    'result.bytes.length === KEY_FILE_BYTES',
    'result.bytes.length <= KEY_FILE_BYTES',
  ),
  at(
    'JF-038',
    'src/defense/toxic.ts',
    'if (listed !== undefined) return',
    'if (listed === undefined) return undefined\n  if (added.length > 9) return',
  ),
  // Order, and what decides.
  at(
    'SS-33',
    'src/defense/adjudicator.ts',
    '!isStricter(finding, held.finding)) continue',
    'isStricter(finding, held.finding)) continue',
  ),
  at(
    'JF-077',
    'src/defense/adjudicator.ts',
    '!isStricter(finding, held.finding)) continue',
    'isStricter(finding, held.finding)) continue',
  ),
  at(
    'SS-43',
    `${SESSION}/standing/tarpits.ts`,
    'if (place === -1) return undefined',
    'if (place < -1) return undefined',
  ),
  // What must not be done.
  at(
    'RX-05',
    'src/edge/record/replay-chain.node.ts',
    "import { join } from 'node:path'\n",
    "import { writeFileSync } from 'node:fs'\nimport { join } from 'node:path'\nwriteFileSync(import.meta.filename + '.out', '')\n",
  ),
  at(
    'JF-N11',
    'src/edge/policy/policy-file.node.ts',
    'if (!result.ok) throw invalid(path, result.problems)',
    'if (!result.ok) return rulesOfText(\'{"rules": []}\', path)',
  ),
  at('SS-26', 'src/base/ring.ts', 'Math.max(0, total - sizeBytes)', 'Math.max(0, total - sizeBytes + 1)'),
  at(
    'SS-41',
    'src/base/crypto/hash.ts',
    'for (let at = 0; at < a.length; at += 1) difference |=',
    'for (let at = 0; at < a.length && difference === 0; at += 1) difference |=',
  ),
]
