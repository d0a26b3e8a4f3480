/**
 * An AI host for tests: the SDK's own client over stdin and stdout of a real `sass-edge mcp`, and a bare one that sends
 * what no SDK would.
 * @module
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { CallToolResult, Progress } from '@modelcontextprotocol/sdk/types.js'
import { type Daemon, type Ended, environment, isAlive, PROGRAM, type Scope, until } from './daemon.node.ts'

export type Result = {
  readonly text: string
  readonly data: Readonly<Record<string, unknown>>
  readonly isError: boolean
}
export type CallOptions = {
  readonly signal?: AbortSignal
  readonly onprogress?: (progress: Progress) => void
  readonly timeout?: number
}
export type Host = {
  readonly client: Client
  readonly pid: number
  stderr(): string
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<Result>
  close(): Promise<void>
}

export function resultOf(result: unknown): Result {
  const { content, structuredContent, isError } = result as CallToolResult
  const [first] = content
  return {
    text: first?.type === 'text' ? first.text : '',
    data: (structuredContent ?? {}) as Record<string, unknown>,
    isError: isError === true,
  }
}

/** Starts `sass-edge mcp ARGS` as a host does, and says hello. */
export async function startHost(
  t: Scope,
  { directory }: Pick<Daemon, 'directory'>,
  args: readonly string[] = [],
): Promise<Host> {
  const transport = new StdioClientTransport({
    command: PROGRAM,
    args: ['mcp', ...args],
    cwd: directory,
    env: environment(directory),
    stderr: 'pipe',
  })
  let stderr = ''
  transport.stderr?.on('data', (bytes: Buffer) => {
    stderr += bytes.toString()
  })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  t.teardown(() => client.close())
  // The client checks results against the schemas that it was given.
  await client.listTools()
  return {
    client,
    get pid() {
      return transport.pid ?? 0
    },
    stderr: () => stderr,
    call: async (name, args_ = {}, options = {}) =>
      resultOf(await client.callTool({ name, arguments: args_ }, undefined, { timeout: 60_000, ...options })),
    close: () => client.close(),
  }
}

/** The text of an output in a result. */
export function outputOf(result: Result, name: 'stdout' | 'stderr'): string {
  return String((result.data[name] as { content?: string } | undefined)?.content)
}

export type BareHost = {
  readonly child: ChildProcessWithoutNullStreams
  readonly ended: Promise<Ended>
  /** Whole messages so far. */
  messages(): Record<string, unknown>[]
  stdout(): string
  stderr(): string
  send(message: unknown): void
  /** The answer to that id. */
  answer(id: number): Promise<Record<string, unknown>>
}

export const HELLO = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bare', version: '1' } },
} as const

/** `sass-edge mcp ARGS` with nobody between. */
export function startBare(
  t: Scope,
  { directory }: Pick<Daemon, 'directory'>,
  args: readonly string[] = [],
): BareHost {
  const child = spawn(PROGRAM, ['mcp', ...args], { cwd: directory, env: environment(directory) })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (bytes: Buffer) => {
    stdout += bytes.toString()
  })
  child.stderr.on('data', (bytes: Buffer) => {
    stderr += bytes.toString()
  })
  child.stdin.on('error', () => {})
  const ended = new Promise<Ended>((resolve) =>
    child.once('close', (code, signal) => resolve({ code, signal })),
  )
  t.teardown(() => child.kill('SIGKILL'))
  const messages = () =>
    stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  return {
    ...{ child, ended, messages },
    stdout: () => stdout,
    stderr: () => stderr,
    send: (message) => void child.stdin.write(`${JSON.stringify(message)}\n`),
    async answer(id) {
      await until(`answer ${id}`, () => messages().some((message) => message['id'] === id))
      return messages().find((message) => message['id'] === id) ?? {}
    },
  }
}

/** Processes of this machine, zombies left out, whose command line has that word. */
export function processesWith(word: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(join('/proc', String(pid), 'cmdline'), 'utf8')
          .split('\0')
          .includes(word)
      } catch {
        return false
      }
    })
    .filter(isAlive)
}
