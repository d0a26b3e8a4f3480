/**
 * The rooms of sessions and of executions with what they stand on, joined: they know each other by what ends them, and
 * both are on the record.
 * @module
 */
import { join } from 'node:path'
import type { Journal } from '../../audit/journal.node.ts'
import { createRing } from '../../base/ring.ts'
import type { Config } from '../../config/config.ts'
import { SCREENED_GROWTH } from '../../defense/firewall/limits.ts'
import { PIPE_READ_BYTES } from '../../limits.ts'
import type { AuditEvent, Clock, FactsSink, LineFile, Log } from '../../ports.ts'
import { createSessions } from '../../session/callers/sessions.ts'
import type { Rooms } from '../../session/common/rooms.ts'
import type { Execution, RingPair } from '../../session/executions/execution.ts'
import { createExecutions } from '../../session/executions/executions.ts'
import { exitEvent, lostEvent } from '../../session/executions/exit-event.ts'
import {
  injectionEvent,
  injectionFindings,
  releaseQuestion,
  suspectedIn,
} from '../../session/executions/injection-event.ts'
import { createKeptResults } from '../../session/executions/kept-results.ts'
import { hiddenIn, redactedEvent } from '../../session/executions/redacted-event.ts'
import type { ConfirmationOutcome, Question } from '../../session/standing/confirmations.ts'
import { type Counts, outcomeOf } from '../../session/standing/counts.ts'
import { createHandoffs } from '../../session/standing/handoffs.ts'
import { createProposals } from '../../session/standing/proposals.ts'
import type { SpareTime } from '../host/spare-time.node.ts'
import { loadLaw } from '../intent/constitution.node.ts'
import { createFirewall } from './firewall.node.ts'
import { createKeptCopies } from './kept-copies.node.ts'
import { createReadText } from './read-text.node.ts'
import type { Sandbox } from './sandbox.node.ts'

/** What they are made of. */
export type WorkGround = {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly audit: Journal
  readonly facts: FactsSink
  readonly sandbox: Sandbox
  readonly spareTime: SpareTime
  readonly kept: LineFile
  readonly sent: LineFile
}

/** Both rings of every execution that may run, in memory that the kernel gives only where it is touched. */
function makeRings(count: number, ringBytes: number): RingPair[] {
  return Array.from({ length: count }, () => ({
    stdout: createRing(new Uint8Array(ringBytes)),
    stderr: createRing(new Uint8Array(ringBytes)),
  }))
}

/** What has happened has happened whatever can be written; until that is, the next decision is refused. */
export function record(audit: Journal, log: Log, event: AuditEvent): void {
  try {
    audit.past(event)
  } catch (cause) {
    log.write('error', 'audit_failed', { reason: cause instanceof Error ? cause.message : 'unknown' })
  }
}

/** Room of sessions and executions, which know each other by what ends them. */
export function createWork(
  { config, clock, log, audit, facts, sandbox, spareTime, kept, sent }: WorkGround,
  counts: Counts,
  ended: {
    session(id: string, instance: string): void
    freed(): void
    /** A human is asked, as `askMeanwhile` does. */
    ask(question: Question, answer: (outcome: ConfirmationOutcome) => void): () => void
    /** So much was sealed on behalf of that agent. */
    sealed(agent: string, bytes: number): void
  },
): Pick<Rooms, 'sessions' | 'executions' | 'handoffs' | 'proposals' | 'readText' | 'firewall'> {
  const sessions = createSessions(
    {
      maxSessions: config.session.max_sessions,
      maxDurationMs: config.session.max_duration_seconds * 1_000,
      bindAddress: config.session.bind_ip,
    },
    ({ session, from, to }) => {
      // ACTIVE and EXECUTING change with the decision that starts and the end that stops: those records say so.
      if (from === 'CREATED' || to === 'EXPIRED' || to === 'DESTROYED' || from === 'EXPIRED') {
        record(audit, log, {
          type: 'session',
          session: session.id,
          agent: session.caller.name,
          instance: session.instance,
          source: session.address,
          from,
          to,
        })
      }
      if (to !== 'DESTROYED') return
      executions.sessionEnded(session.id)
      void sandbox.places.close(session.id)
      ended.session(session.id, session.instance)
    },
  )
  /** What the firewall has found in its output: the words are sealed, and charged to its agent. */
  function recordFound(
    execution: Execution,
    found: object | undefined,
    event: (execution: Execution, sealed: string) => AuditEvent,
  ): void {
    if (found === undefined) return
    const before = facts.sealedBytes
    try {
      record(audit, log, event(execution, facts.seal(execution.sessionId, found)))
    } catch (cause) {
      log.write('error', 'audit_failed', { reason: cause instanceof Error ? cause.message : 'unknown' })
    }
    ended.sealed(execution.owner, facts.sealedBytes - before)
  }

  const results = createKeptResults({
    file: kept,
    clock,
    lost(start) {
      counts.lost++
      record(audit, log, lostEvent(start))
    },
    damaged(lines) {
      log.write('warn', 'executions_damaged', { lines })
      record(audit, log, { type: 'recovered', what: 'executions', lines })
    },
  })
  const places = {
    secretsFile: config.defense.firewall.known_secrets,
    canariesFile: config.defense.firewall.canaries,
    stateDirectory: config.state_directory,
    workspaceRoot: config.security.workspace_root,
    environment: process.env,
  }
  const firewall = createFirewall({
    places,
    settings: config.defense.firewall,
    monotonicMs: clock.monotonicMs,
    later: spareTime.later,
    record: (event) => record(audit, log, event),
  })
  const executions = createExecutions({
    spawner: sandbox.spawner,
    clock,
    results,
    output: {
      // Whoever is asked to release it may read it: an operator's own is marked alone.
      openScreen: ({ scope }) => firewall.open(scope !== ''),
      askRelease: (execution, held, answer) =>
        ended.ask(releaseQuestion(execution, held), (outcome) => answer(outcome === 'approved')),
    },
    // No smaller than what one read may bring, and what stands for the secrets in it: a client that is attached must
    // lose nothing of it.
    rings: makeRings(
      config.execution.max_concurrent,
      Math.max(config.session.ring_bytes, SCREENED_GROWTH * PIPE_READ_BYTES),
    ),
    // While a new command runs there is time: its client waits for it and not for us.
    begun() {
      counts.started++
      sandbox.bounds.wake()
      spareTime.spend()
    },
    freed: ended.freed,
    processesIn: sandbox.places.processesIn,
    leftEnded: ({ sessionId }) => void sessions.executionEnded(sessionId, clock.monotonicMs()),
    ended(execution) {
      counts.ended[outcomeOf(execution)]++
      const { sessionId } = execution
      // To its session one that has left something is at work until that is gone.
      const state = executions.hasLeft(execution)
        ? sessions.stateOf(sessionId)
        : sessions.executionEnded(sessionId, clock.monotonicMs())
      // Nobody waits for the record of what has already happened.
      spareTime.later(() => {
        recordFound(execution, suspectedIn(execution), injectionEvent)
        recordFound(execution, hiddenIn(execution), redactedEvent)
        const findings = injectionFindings(execution)
        if (findings.length > 0) execution.findings = findings
        execution.screened = undefined
        record(audit, log, {
          type: 'execution_ended',
          session_state: state ?? null,
          ...exitEvent(execution),
        })
      })
    },
  })
  const handoffs = createHandoffs({
    file: sent,
    copies: createKeptCopies(join(config.state_directory, 'handoffs', 'files')),
    clock,
    damaged(lines) {
      log.write('warn', 'handoffs_damaged', { lines })
      record(audit, log, { type: 'recovered', what: 'handoffs', lines })
    },
  })
  const proposals = createProposals(loadLaw)
  return { sessions, executions, handoffs, proposals, readText: createReadText(firewall), firewall }
}
