/**
 * What the thread that speaks the Model Context Protocol and the one that talks to the device say to each other.
 * Numbers of calls are the thread's own. All of it is data that can be cloned.
 * @module
 */

export type ToolName =
  | 'execute'
  | 'read'
  | 'write'
  | 'list'
  | 'branch_diff'
  | 'job_status'
  | 'job_kill'
  | 'handoff_send'
  | 'handoff_list'
  | 'handoff_take'

/** What a call gives: words for a model, and the same as data. */
export type ToolResult = {
  readonly text: string
  /** What commands printed and files hold: for the model's eyes, between marks that nothing in it can make. */
  readonly outside?: string | undefined
  readonly data: Readonly<Record<string, unknown>>
  readonly isError: boolean
}

export type Progress = {
  readonly progress: number
  readonly total?: number | undefined
  readonly message: string
}

/** From the main thread. */
export type Order =
  /** One line of the host, without its end; undefined: it was no text, or too long. */
  | { readonly kind: 'line'; readonly text: string | undefined; readonly problem: string }
  | ({ readonly kind: 'progress'; readonly call: number } & Progress)
  | { readonly kind: 'result'; readonly call: number; readonly result: ToolResult }

/** From the thread. */
export type Report =
  /** The last line has been taken. */
  | { readonly kind: 'taken' }
  /** One message for the host, without the end of the line. */
  | { readonly kind: 'send'; readonly text: string }
  /** `args` have been checked against the schema of the tool. */
  | { readonly kind: 'call'; readonly call: number; readonly name: ToolName; readonly args: unknown }
  | { readonly kind: 'cancel'; readonly call: number }
  /** For the log: what the host did that it should not. */
  | { readonly kind: 'note'; readonly text: string }

/** What the thread is told at its start, as `workerData`. */
export type ThreadStart = {
  readonly version: string
  readonly instructions: string
  /** What stands before and behind everything from outside; of this process alone. */
  readonly marker: string
}
