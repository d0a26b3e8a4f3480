/**
 * The thread that speaks the Model Context Protocol, with the SDK's server: lines of the host come in, messages for it go
 * out, and what a tool is to do is left to the main thread, which has the connection. It touches nothing else.
 * Also runs as CommonJS text made by the bundler, so nothing here waits at the top or asks for `import.meta`.
 * Rules: Model Context Protocol 2025-11-25; docs/mcp.md.
 * @module
 */
import { parentPort, workerData } from 'node:worker_threads'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js'
import type { Order, Progress, Report, ThreadStart, ToolResult } from './thread-messages.ts'
import { delimited } from './tool-text.ts'
import { checkArguments, isToolName, listTools } from './tools.ts'

const SHOWN_CHARS = 200

type Transport = Parameters<Server['connect']>[0]
type Underway = {
  readonly resolve: (result: ToolResult) => void
  readonly tell: (progress: Progress) => void
}

function report(message: Report): void {
  parentPort?.postMessage(message)
}

/** What the host sent is no message of the protocol. Where it has an id, whoever waits for that is told. */
function refuse(code: number, message: string, id?: string | number): void {
  report({ kind: 'note', text: message })
  report({
    kind: 'send',
    text: JSON.stringify({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), error: { code, message } }),
  })
}

function idOf(value: unknown): string | number | undefined {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : undefined
  return typeof id === 'string' || typeof id === 'number' ? id : undefined
}

/** One message; undefined where it is none, which has been said. */
function readLine(text: string): JSONRPCMessage | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    refuse(ErrorCode.ParseError, 'A line of the host is no JSON, so it was not read.')
    return undefined
  }
  const read = JSONRPCMessageSchema.safeParse(value)
  if (read.success) return read.data
  const sentence = 'A line of the host is no message of JSON-RPC 2.0, so it was not read.'
  refuse(ErrorCode.InvalidRequest, sentence, idOf(value))
  return undefined
}

function toolResult({ text, outside, data, isError }: ToolResult, marker: string): CallToolResult {
  const marked = outside === undefined ? text : `${text}\n${delimited(outside, marker)}`
  return {
    content: [{ type: 'text', text: marked }],
    structuredContent: data,
    ...(isError ? { isError } : {}),
  }
}

function badArguments(problem: string): ToolResult {
  const error = 'USAGE'
  const message = `The arguments do not fit the tool, so nothing was done: ${problem}`
  return { text: message, data: { error, message, outcome: 'not_started' }, isError: true }
}

function start({ version, instructions, marker }: ThreadStart): void {
  const underway = new Map<number, Underway>()
  let calls = 0
  const transport: Transport = {
    start: () => Promise.resolve(),
    async send(message) {
      report({ kind: 'send', text: JSON.stringify(message) })
    },
    close: () => Promise.resolve(),
  }
  const server = new Server(
    { name: 'sass-edge', title: 'sass-edge', version },
    { capabilities: { tools: {} }, instructions },
  )
  server.onerror = ({ message }) => report({ kind: 'note', text: message.slice(0, SHOWN_CHARS) })
  const tools = listTools()
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, sendNotification }) => {
    const { name } = params
    if (!isToolName(name))
      throw new McpError(
        ErrorCode.InvalidParams,
        `There is no tool ${JSON.stringify(name.slice(0, SHOWN_CHARS))}.`,
      )
    const checked = checkArguments(name, params.arguments)
    if (!checked.ok) return toolResult(badArguments(checked.problem), marker)
    const call = ++calls
    const progressToken = params._meta?.progressToken
    const cancel = () => report({ kind: 'cancel', call })
    try {
      const result = await new Promise<ToolResult>((resolve) => {
        const tell = (progress: Progress) => {
          if (progressToken === undefined || signal.aborted) return
          const notification = {
            method: 'notifications/progress',
            params: { progressToken, ...progress },
          } as const
          sendNotification(notification).catch(() => {})
        }
        underway.set(call, { resolve, tell })
        signal.addEventListener('abort', cancel, { once: true })
        report({ kind: 'call', call, name, args: checked.args })
      })
      return toolResult(result, marker)
    } finally {
      signal.removeEventListener('abort', cancel)
      underway.delete(call)
    }
  })

  parentPort?.on('message', (order: Order) => {
    switch (order.kind) {
      case 'line': {
        const message = order.text === undefined ? undefined : readLine(order.text)
        if (order.text === undefined) refuse(ErrorCode.ParseError, order.problem)
        if (message !== undefined) transport.onmessage?.(message)
        return report({ kind: 'taken' })
      }
      case 'progress': {
        const { progress, total, message } = order
        return underway
          .get(order.call)
          ?.tell({ progress, message, ...(total === undefined ? {} : { total }) })
      }
      case 'result':
        return underway.get(order.call)?.resolve(order.result)
    }
  })
  void server.connect(transport)
}

start(workerData as ThreadStart)
