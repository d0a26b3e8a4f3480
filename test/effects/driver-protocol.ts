/**
 * What is asked of the client that sends lines to the daemon of a world, and what it answers.
 * @module
 */

/** inline: as `bash -c LINE`; file: from a file that nothing has read. */
export type Form = 'inline' | 'file'

export type Task = {
  readonly id: number
  readonly text: string
  readonly form: Form
  readonly seconds: number
}

/** How a line ended: as a program does, or by what the daemon answered in its place. */
export type Told = {
  readonly id: number
  /** As records name it. */
  readonly session: string
  readonly kind: 'ended' | 'refused' | 'stuck'
  readonly exitCode: number | undefined
  readonly signal: number | undefined
  readonly timedOut: boolean
  /** The code of a refusal; of what is stuck, what it waits for. */
  readonly code: string | undefined
  /** A human was asked about it, or about what it wanted to reach. */
  readonly asked: boolean
  readonly stdout: string
  readonly stderr: string
}

export type Connection = {
  readonly port: number
  readonly pin: string
  readonly agentKey: string
  readonly operatorKey: string
}

export type Raised = { readonly scope: string; readonly level: string; readonly why: string }

export type ToDriver =
  | ({ readonly kind: 'connect' } & Connection)
  | { readonly kind: 'run'; readonly tasks: readonly Task[]; readonly parallel: number }
  | { readonly kind: 'levels' }
export type FromDriver =
  | { readonly kind: 'ready' }
  | { readonly kind: 'told'; readonly told: readonly Told[] }
  | { readonly kind: 'levels'; readonly raised: readonly Raised[] }
  | { readonly kind: 'failed'; readonly message: string }
