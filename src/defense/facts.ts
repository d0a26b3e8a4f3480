/**
 * Everything that a decision is made from, as plain data: no sockets, no clock, no handles. What is not known yet
 * is undefined, and the layer that would ask for it has not been reached.
 * Rules: docs/responses.md, section 1.
 * @module
 */
import type { Code } from '../errors.ts'

export type Source = {
  readonly transport: 'tls' | 'admin'
  /** Canonical text of the address; `local` on the admin socket. */
  readonly address: string
  readonly isLoopback: boolean
  /** In the allow-list; always true on the admin socket, whose peer the kernel names. */
  readonly isAllowed: boolean
}

export type TransportFacts = {
  readonly version: string
  readonly suite: string
  readonly alpn: string
  readonly hasExporter: boolean
  /** Set when a frame was malformed or out of phase. */
  readonly frameProblem: string | undefined
}

export type Identity =
  /** Nothing has been tried yet; `dismissed` says why it will not be waited for any longer. */
  | { readonly kind: 'none'; readonly dismissed: 'no' | 'grace' | 'crowd' }
  | { readonly kind: 'failed'; readonly code: Code; readonly why: string }
  | {
      readonly kind: 'known'
      readonly name: string
      readonly role: 'agent' | 'operator'
      readonly capability: string
    }

export type SessionFacts = {
  readonly id: string
  readonly state: 'live' | 'expired' | 'unknown'
}

/** What would be done. Exact: a warrant is bound to the digest of this. */
export type Action =
  | { readonly kind: 'connect'; readonly address: string }
  | { readonly kind: 'authenticate'; readonly name: string; readonly isNew: boolean }
  | {
      readonly kind: 'execute'
      readonly executionId: string
      readonly argv: readonly string[]
      /** The file that will run, with the inode that was looked at; null when none was found. */
      readonly executable: { readonly path: string; readonly device: string; readonly inode: string } | null
      readonly cwd: string
      readonly terminal: boolean
      readonly timeoutSeconds: number | null
      readonly outputBytes: number | null
    }
  | { readonly kind: 'attach'; readonly executionId: string }
  | { readonly kind: 'signal'; readonly executionId: string; readonly signal: number }
  | { readonly kind: 'cancel'; readonly executionId: string }
  | { readonly kind: 'read'; readonly method: string }
  | { readonly kind: 'renew' }

export type RequestFacts = {
  readonly method: string
  readonly audience: 'anyone' | 'operator'
  /** Every bad path of the message, joined; empty when it is complete. */
  readonly problems: string
  /** The payload expanded past its limit: the connection ends. */
  readonly overExpanded: boolean
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
}

/** What the daemon holds at the moment of the decision. */
export type Ledger = {
  readonly tarpitsFree: number
  readonly executionsFree: number
  readonly executionsOfCaller: number
  /** Whether one more session finds a place. */
  readonly sessionsFree: boolean
}
