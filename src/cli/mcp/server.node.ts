/**
 * Joins stdin and stdout of this process to the thread that speaks the protocol, and that one to the tools. stdout carries
 * the protocol and nothing else; a host that does not read is not read either; a host that has gone ends it all.
 * @module
 */
import { Worker } from 'node:worker_threads'
import { brotliDecompressSync } from 'node:zlib'
import { visible } from '../../base/text/visible.ts'
import { createSink } from '../common/stdio.node.ts'
import { MCP_CLOSE_MS, MCP_HEAP_MIB, MCP_LINE_BYTES, MCP_UNREAD_BYTES } from './bounds.ts'
import { createCalls } from './calls.node.ts'
import type { Device } from './device.node.ts'
import { createHostLines } from './host-lines.ts'
import type { Order, Report, ThreadStart } from './thread-messages.ts'

declare const MCP_SOURCE: string | undefined

const STDOUT_FD = 1
/** From source Node's type stripper runs in it first. */
const HEAP_FROM_SOURCE_MIB = 2 * MCP_HEAP_MIB
/** Lines that the thread has not taken yet. */
const UNTAKEN_LINES = 64
const NOTE_CHARS = 300

export type ServerOptions = {
  readonly device: Device
  readonly start: ThreadStart
  readonly warn: (sentence: string) => void
}

function startThread(workerData: ThreadStart): Worker {
  // Whatever the thread might print would be taken for the protocol.
  const shared = { execArgv: ['--no-warnings'], env: {}, name: 'mcp', stdout: true, stderr: true, workerData }
  const limits = { maxYoungGenerationSizeMb: 16, stackSizeMb: 4 }
  if (typeof MCP_SOURCE !== 'string')
    return new Worker(new URL('./server-thread.node.ts', import.meta.url), {
      ...shared,
      resourceLimits: { ...limits, maxOldGenerationSizeMb: HEAP_FROM_SOURCE_MIB },
    })
  return new Worker(brotliDecompressSync(Buffer.from(MCP_SOURCE, 'base64')).toString(), {
    ...shared,
    eval: true,
    resourceLimits: { ...limits, maxOldGenerationSizeMb: MCP_HEAP_MIB },
  })
}

/** Serves until the host hangs up. @throws whatever ended the thread */
export async function serve({ device, start, warn }: ServerOptions): Promise<void> {
  const { stdin } = process
  const thread = startThread(start)
  const lines = createHostLines(MCP_LINE_BYTES)
  let untaken = 0
  let unreadBytes = 0
  let hangUp = () => {}
  const hungUp = new Promise<void>((resolve) => {
    hangUp = resolve
  })
  const stdout = createSink(STDOUT_FD, hangUp)
  const order = (what: Order) => thread.postMessage(what)
  const calls = createCalls({
    device,
    warn,
    // What the host does not read makes way for what it waits for.
    progress: (call, what) => {
      if (unreadBytes === 0) order({ kind: 'progress', call, ...what })
    },
    result: (call, result) => order({ kind: 'result', call, result }),
  })

  function pace(): void {
    if (untaken >= UNTAKEN_LINES || unreadBytes >= MCP_UNREAD_BYTES) stdin.pause()
    else stdin.resume()
  }

  function send(text: string): void {
    const bytes = Buffer.from(`${text}\n`)
    unreadBytes += bytes.length
    void stdout.write(bytes).then(() => {
      unreadBytes -= bytes.length
      pace()
    })
    pace()
  }

  thread.on('message', (report: Report) => {
    switch (report.kind) {
      case 'taken':
        untaken--
        return pace()
      case 'send':
        return send(report.text)
      case 'call':
        return calls.begin(report.call, report.name, report.args)
      case 'cancel':
        return calls.cancel(report.call)
      case 'note':
        return warn(visible(report.text.slice(0, NOTE_CHARS)))
    }
  })
  const broken = new Promise<never>((_, reject) => {
    thread.once('error', reject)
    thread.once('exit', () => reject(new Error('the thread that speaks the protocol has ended')))
  })
  thread.stdout.resume()
  thread.stderr.on('data', (bytes: Buffer) => warn(visible(bytes.toString().slice(0, NOTE_CHARS))))
  stdin.on('data', (bytes: Buffer) => {
    for (const line of lines(bytes)) {
      untaken++
      order({ kind: 'line', ...line })
    }
    pace()
  })
  for (const event of ['end', 'error', 'close']) stdin.once(event, hangUp)
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, hangUp)

  try {
    await Promise.race([hungUp, broken])
  } finally {
    stdin.pause()
    broken.catch(() => {})
    const late = new Promise((resolve) => setTimeout(resolve, MCP_CLOSE_MS))
    await Promise.race([calls.endAll(), late])
    await Promise.race([device.close(), late])
    await Promise.race([stdout.flushed(), late])
    await thread.terminate()
  }
}
