/**
 * Everything that a decision is made from, as plain data: no sockets, no clock, no handles. What is not known yet
 * is undefined, and the layer that would ask for it has not been reached.
 * Rules: docs/responses.md, section 1.
 * @module
 */

import type { Tier, ToolList } from '../base/tool-name.ts'
import type { ToxicProperty } from '../base/toxic-property.ts'
import type { Code } from '../errors.ts'
import type { Level } from './level.ts'

export type Source = {
  /** `intent`: nobody is connected, the work came signed. */
  readonly transport: 'tls' | 'admin' | 'intent'
  /** Canonical text of the address; `local` on the admin socket, `intent` where nobody is connected. */
  readonly address: string
  readonly isLoopback: boolean
  /** In the allow-list; always true on the admin socket, whose peer the kernel names. */
  readonly isAllowed: boolean
  /** Under a penalty for what it did before. */
  readonly isPenalised: boolean
  /** Has done something lately that is not enough for a penalty. */
  readonly isSuspect: boolean
  /** At accept: how many wait to authenticate, and a number from 0 to 99 drawn for this connection. */
  readonly crowd: { readonly waiting: number; readonly draw: number } | undefined
}

export type TransportFacts = {
  readonly version: string
  readonly suite: string
  readonly alpn: string
  readonly hasExporter: boolean
  /** Set when a frame was malformed or out of phase. */
  readonly frameProblem: string | undefined
}

/** What was handed on with a token: no more than this, whatever the worker and the orchestrator may. */
export type HandedOn = {
  /** Who made the orchestrator a caller: an operator by name, or the configuration. */
  readonly user: string
  /** The session that has handed it on, which records of a version before do not have, and its instance. */
  readonly session?: string
  readonly orchestrator: string
  readonly allowed_commands: readonly string[]
  readonly allowed_paths: readonly string[]
}

/** Who a caller acts for. The chain is counted by the daemon from its own list, never declared by the caller. */
export type Delegation = {
  /** The nearest first. */
  readonly chain: readonly { readonly name: string; readonly capability: string; readonly tools: ToolList }[]
  /** How often the work has been handed on. */
  readonly hops: number
  /** Of a session that began with a token. */
  readonly handed?: HandedOn
}

/** What became of the token that a worker names. */
export type TokenState = 'open' | 'unknown' | 'used' | 'expired' | 'not_its' | 'orchestrator_gone' | 'twice'

export type Identity =
  /** Nothing has been tried yet; `dismissed` says why it will not be waited for any longer. */
  | { readonly kind: 'none'; readonly dismissed: 'no' | 'grace' | 'crowd' }
  | { readonly kind: 'failed'; readonly code: Code; readonly why: string }
  | {
      readonly kind: 'known'
      readonly name: string
      readonly role: 'agent' | 'operator'
      readonly capability: string
      readonly tier: Tier
      readonly tools: ToolList
      readonly delegation: Delegation | undefined
      /** The session's own name for this instance of the agent; undefined before there is one. */
      readonly instance: string | undefined
    }

export type SessionFacts = {
  readonly id: string
  /** `unproven`: authenticated, and the challenge that came with it is not answered yet. */
  readonly state: 'live' | 'expired' | 'unproven' | 'unknown'
}

/**
 * Why a command is not as far from the device as it could be: it runs on the real files; it has the device's network;
 * a place of its view is bound and not an overlay, so that sockets there can be reached; a device, or a Unix socket of
 * the device, is given to it; nothing bounds its processes.
 */
export const WEAKNESSES = Object.freeze([
  'real_files',
  'host_network',
  'covered_view',
  'devices',
  'sockets',
  'unbounded',
] as const)
export type Weakness = (typeof WEAKNESSES)[number]

/** How far from the device a command runs. */
export type Confinement = {
  /** The first 128 bits of the SHA-256, hex, of all that its session may see, reach and take. */
  readonly digest: string
  /** None: whatever it does reaches nothing but what the lists have. */
  readonly weak: readonly Weakness[]
}

/** What would be done. Exact: a warrant is bound to the digest of this. */
export type Action =
  | { readonly kind: 'connect'; readonly address: string }
  /** `token`: it names what was handed on to it; absent: it acts as it is listed. */
  | {
      readonly kind: 'authenticate'
      readonly name: string
      readonly isNew: boolean
      readonly token?: TokenState
    }
  /** Work is handed on: whoever is named may begin one session that may do no more than this. */
  | {
      readonly kind: 'delegate'
      readonly worker: string
      readonly tools: readonly string[]
      readonly commands: readonly string[]
      readonly paths: readonly string[]
      readonly seconds: number
    }
  /** Whoever has an invitation is listed with that key from then on. */
  | {
      readonly kind: 'enroll'
      readonly name: string
      readonly role: 'agent' | 'operator'
      readonly capability: string
      readonly key: string
    }
  | { readonly kind: 'rotate_key'; readonly name: string; readonly key: string }
  | {
      readonly kind: 'invite'
      readonly name: string
      readonly role: 'agent' | 'operator'
      readonly capability: string
      readonly ttlSeconds: number
    }
  | {
      readonly kind: 'execute'
      readonly executionId: string
      readonly argv: readonly string[]
      /**
       * The file that will run, with the inode that was looked at; null when none was found. `sha256` is there where
       * the file is pinned, and is the digest of that very inode.
       */
      readonly executable: {
        readonly path: string
        readonly device: string
        readonly inode: string
        readonly sha256: string | null
      } | null
      readonly cwd: string
      /** The variables that the caller set, `NAME=value`. */
      readonly environment: readonly string[]
      readonly terminal: boolean
      readonly stdin: boolean
      readonly timeoutSeconds: number | null
      readonly outputBytes: number | null
      /** Where it runs; absent where that is not known yet. */
      readonly place?: {
        readonly branch: string
        readonly confinement: Confinement
        readonly level: 'overlay' | 'copy' | 'none'
        /** What it leaves running stays in its session. */
        readonly keepsBackground: boolean
      }
      /** The call of a signed plan that it is; absent: it was asked for by itself. `sha256`: what its file must be. */
      readonly plan?: {
        readonly call: string
        readonly id: string
        readonly issuer: string
        readonly sha256: string
        readonly tool: string
      }
    }
  /** Paths are absolute; the real one is where the host found that it leads. */
  | {
      readonly kind: 'upload'
      readonly path: string
      readonly real: string
      readonly what: 'file' | 'directory' | 'link'
      /** Of a link: what it would hold. */
      readonly target: string | null
      readonly size: number
      /** The bits that it would get; null: those of what is there, or the usual ones. */
      readonly mode: number | null
      readonly sha256: string | null
      readonly offset: number
    }
  /** `size` as it was looked at; null: there is nothing, or it is no file. */
  | {
      readonly kind: 'download'
      readonly path: string
      readonly real: string
      readonly size: number | null
      readonly offset: number
    }
  /** A stranger's read, answered with what is not true. */
  | { readonly kind: 'deceive'; readonly argv: readonly string[] }
  /** `stdin`: to feed it as well, and not only to see what it prints. */
  | { readonly kind: 'attach'; readonly executionId: string; readonly stdin: boolean }
  | { readonly kind: 'signal'; readonly executionId: string; readonly signal: number }
  | { readonly kind: 'cancel'; readonly executionId: string }
  | { readonly kind: 'read'; readonly method: string }
  | { readonly kind: 'renew' }
  | { readonly kind: 'confirm'; readonly id: string; readonly digest: string; readonly approves: boolean }
  | { readonly kind: 'set_level'; readonly scope: string; readonly name: string; readonly level: Level }
  | { readonly kind: 'clear_penalties'; readonly source: string | null }
  | { readonly kind: 'reload' }
  | { readonly kind: 'drain' }
  /** Ends that session for good: no session has that instance again. */
  | { readonly kind: 'terminate'; readonly instance: string }
  | { readonly kind: 'purge'; readonly session: string }
  | BranchAction
  | HandoffAction
  | ProposalAction
  /** `artifact`: a file that came with it, by its path there; absent: the handoff itself. */
  | { readonly kind: 'take_handoff'; readonly id: string; readonly artifact?: string }
  | EnvelopeAction
  /** `digest`: SHA-256, hex, of the plan as it was given. Each of its calls is decided by itself. */
  | { readonly kind: 'run_plan'; readonly digest: string }

/** A branch has the name of the session that it was made for; digests are of what a human was shown. */
export type BranchAction =
  | {
      readonly kind: 'merge'
      readonly branch: string
      readonly digest: string
      /** Empty: everything. */
      readonly paths: readonly string[]
      /** Merged although the real file was changed since. */
      readonly force: readonly string[]
      /** With what is merged only by name otherwise. */
      readonly heldBack: boolean
    }
  | { readonly kind: 'undo_merge'; readonly branch: string }
  | { readonly kind: 'drop_branch'; readonly branch: string }
  | {
      readonly kind: 'checkpoint'
      readonly branch: string
      readonly what: 'make' | 'restore' | 'remove'
      /** make: 0. */
      readonly number: number
      readonly label: string
    }

/** Signed envelopes: one is handed in, taken by its receiver, or let go or thrown away out of quarantine. */
export type EnvelopeAction =
  /** `digest`: SHA-256 of its bytes, hex. What it says is for the checks, not for this decision. */
  | {
      readonly kind: 'submit_envelope'
      readonly to: string
      readonly digest: string
      readonly bytes: number
    }
  | { readonly kind: 'take_envelope'; readonly id: string }
  | { readonly kind: 'settle_envelope'; readonly name: string; readonly releases: boolean }

/**
 * What an agent has proposed and what the constitution of proposals has decided about it, before anything is done. The
 * texts are RFC 8785 JSON: whoever has this can decide it once more.
 */
export type ProposalAction = {
  readonly kind: 'propose'
  /** Of the run of the session. */
  readonly cycle: number
  /** What the cycle was given. */
  readonly input: string
  /** SHA-256 of the constitution, hex. */
  readonly constitution: string
  readonly decision: 'ACTION' | 'REFUSE' | 'EXIT'
  /** Of an ACTION: what it would do. */
  readonly tool: string | null
  /** The warrant, the refusal or the exit record. */
  readonly artifact: string
}

/** What one agent would hand to another: by numbers and digests, which is all that is decided upon. */
export type HandoffAction = {
  readonly kind: 'handoff'
  /** The name of an agent, and whether one is listed under it. */
  readonly to: string
  readonly isListed: boolean
  /** The instance that sends it, and whom the message names as its sender; null: nobody. */
  readonly from: string
  readonly claims: string | null
  /** SHA-256, hex, of the message as it would be delivered. */
  readonly digest: string
  /** SHA-256 of RFC 8785 of task, success_criteria and criticality; and what the message says that it is, if it does. */
  readonly sealed: string
  readonly declared: string | null
  /** The same of task and success_criteria alone. */
  readonly task: string
  /** 1 to 4. */
  readonly criticality: number
  /** 0 to 3: not said, public, internal, sensitive. */
  readonly classification: number
  /** Per mille; null: not said. */
  readonly confidence: number | null
  readonly priorScore: number | null
  /** SHA-256 of each blocker that must be kept. */
  readonly persistent: readonly string[]
  readonly artifacts: readonly { readonly path: string; readonly real: string; readonly isThere: boolean }[]
  /** What it follows from; null: it begins a chain; unknown: the sender was given no such one. */
  readonly previous: HandoffBefore | 'unknown' | null
  /** Per mille of certainty that it gives orders to whoever reads it. */
  readonly injection: number
  /** Secrets that were hidden in it. */
  readonly hidden: number
  /** How often its sender has given its recipient this task already; absent: nobody has counted. */
  readonly rounds?: number
}

/** What holds of the handoff before in a chain. */
export type HandoffBefore = Pick<HandoffAction, 'task' | 'criticality' | 'classification' | 'persistent'> & {
  readonly id: string
  readonly depth: number
}

export type ExecuteAction = Extract<Action, { kind: 'execute' }>
/** One file that came with a handoff. */
export type TakenArtifact = Extract<Action, { kind: 'take_handoff' }> & { readonly artifact: string }
export type FileAction = Extract<Action, { kind: 'upload' | 'download' }>

/** What a human said to one question about this very action. */
export type Approval = {
  readonly rule: string
  readonly outcome: 'approved' | 'denied' | 'timed_out'
}

export type RequestFacts = {
  readonly method: string
  readonly audience: 'anyone' | 'operator'
  /** Every bad path of the message, joined; empty when it is complete. */
  readonly problems: string
  /** The payload expanded past its limit: the connection ends. */
  readonly overExpanded: boolean
  /** What became of the challenge that this request has met. */
  readonly challenge: 'none' | 'passed' | 'failed' | 'late' | 'unknown'
  readonly approvals: readonly Approval[]
  /** Digest of the goal that the caller declared: its ticks are counted. Undefined: none. */
  readonly task: string | undefined
}

export type Facts = {
  /** Counts the decisions of the daemon; with the session it names this one. */
  readonly cycle: number
  readonly source: Source
  readonly transport: TransportFacts | undefined
  readonly identity: Identity
  readonly session: SessionFacts | undefined
  readonly request: RequestFacts | undefined
  readonly action: Action | undefined
  /** Used paths of the action that lie somewhere else than they say, as the host found them: symbolic links. */
  readonly realPaths: readonly { readonly path: string; readonly real: string }[]
  /**
   * Where programs are pinned: the files of the programs that the command would start besides its own, each with the
   * digest that it has where it is pinned. Absent: nobody has looked.
   */
  readonly programs?: readonly { readonly path: string; readonly sha256: string | null }[]
}

/** What the host has looked up for one action. */
export type Look = Pick<Facts, 'realPaths' | 'programs'>

/** What the daemon holds at the moment of the decision. */
export type Ledger = {
  readonly tarpitsFree: number
  readonly executionsFree: number
  readonly executionsOfCaller: number
  /** Whether the caller may begin one more transfer of a file. */
  readonly transfersFree: boolean
  /** Whether one more session finds a place. */
  readonly sessionsFree: boolean
  readonly sessionsOfCaller: number
  /** Other sessions of the caller in which commands were asked to leave something running; absent: none. */
  readonly leavingOfCaller?: number
  /** Whether the caller has some of its share of the record left; absent: it has. */
  readonly recordFree?: boolean
  /** Whether a command that waits for its turn finds a place. */
  readonly queueFree: boolean
  /** Whether the caller may be challenged once more now. */
  readonly challengesFree: boolean
  /** Whether one more question to a human may wait for this session. */
  readonly confirmationsFree: boolean
  readonly deceptionsFree: boolean
  /** The strictest of the daemon's, the agent's and the session's. */
  readonly level: Level
  /** Decisions of this request's task so far. */
  readonly ticks: number
  /** Tokens delivered to the session so far. */
  readonly tokens: number
  /** What the session has done so far, in whatever order. */
  readonly toxic: readonly ToxicProperty[]
  /** Of a handoff alone: what its recipient has not taken, what its sender has tried in a minute, and what is kept. */
  readonly handoffs?: HandoffCounts
}

export type HandoffCounts = {
  readonly waiting: number
  readonly tried: number
  readonly ofSender: number
  readonly kept: number
}
