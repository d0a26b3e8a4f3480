/**
 * The tool `execute`: one command, until it ends or its call has waited for long enough. A command lives no longer than
 * its call, unless the call has given its id back.
 * @module
 */
import { decodeBase64 } from '../../base/encoding/base64.ts'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import type { RunningExecution } from '../../client/client.node.ts'
import { misuse } from '../../errors.ts'
import { MCP_LINE_BYTES } from './bounds.ts'
import type { Tool } from './call.node.ts'
import { createCollector, endExecution, follow } from './follow.node.ts'
import { createKeeper } from './kept-output.ts'
import type { ToolArguments } from './tools.ts'

/** @throws SassError USAGE where it is not what it says */
export function bytesOf(content: string, encoding: 'utf8' | 'base64', what: string): Uint8Array {
  if (encoding === 'utf8') {
    // The other half of a lone surrogate is nowhere: no bytes are meant by it.
    if (content.isWellFormed()) return encodeUtf8(content)
    throw misuse(`${what} is no Unicode text, so nothing was sent; give it in base64.`)
  }
  const bytes = decodeBase64(content, MCP_LINE_BYTES)
  if (bytes !== undefined) return bytes
  throw misuse(`${what} is not in base64, so nothing was sent.`)
}

/** Resolves when the device has taken all of it, or never will. */
function feed(execution: RunningExecution, bytes: Uint8Array | undefined): Promise<void> {
  if (bytes === undefined) return Promise.resolve()
  execution.write(bytes)
  execution.end()
  return execution.drained()
}

export const execute: Tool<ToolArguments<'execute'>> = (call, args) => {
  const { command, cwd, env, stdin, stdin_encoding, timeout_seconds, wait_seconds, max_output_bytes } = args
  const [program = '', ...rest] = command
  const input = stdin === undefined ? undefined : bytesOf(stdin, stdin_encoding, 'stdin')
  const stdout = createKeeper(max_output_bytes)
  const stderr = createKeeper(max_output_bytes)
  const collector = createCollector(stdout, stderr)
  const execution = call.client.stream(program, rest, {
    ...{ cwd, environment: env, timeoutSeconds: timeout_seconds, stdin: input !== undefined },
    output: collector.output,
    onGap: collector.onGap,
    onWaiting: collector.onWaiting,
  })
  return follow(call, {
    ...{ execution, stdout, stderr, collector },
    waitSeconds: wait_seconds,
    // Whoever leaves before takes the rest of its input along.
    ready: Promise.all([execution.started, feed(execution, input)]),
    givenUp: () => endExecution(call, execution),
  })
}
