/**
 * What became of a command, as a result: its state, its exit code, and the part of its output that was asked for, with
 * how to get the rest.
 * @module
 */
import type { RemoteExit } from '../../client/calls/call-words.ts'
import { findingsSentence } from '../words/findings.ts'
import type { Keeper, Kept } from './kept-output.ts'
import type { ToolResult } from './thread-messages.ts'
import { contentOf, count, shownText } from './tool-text.ts'

export type Ran = {
  readonly id: string
  /** Undefined: it runs. */
  readonly exit: RemoteExit | undefined
  readonly stdout: Keeper
  readonly stderr: Keeper
  /** Output that the device no longer had. */
  readonly lostBytes: number
  /** The name of a signal, without SIG. */
  readonly signalName: (signal: number) => string
}

type Shown = { readonly words: readonly string[]; readonly data: Readonly<Record<string, unknown>> }

function shownOutput(name: 'stdout' | 'stderr', kept: Kept, id: string, isRunning: boolean): Shown {
  const after = kept.offset + kept.bytes.length
  const content = contentOf(kept, kept.offset > 0, isRunning || after < kept.total)
  const { offset, bytes, encoding } = content
  const data = { ...content, total_bytes: kept.total }
  if (kept.total === 0) return { words: [], data }
  const isAll = offset === 0 && offset + bytes === kept.total
  const place = isAll
    ? count(bytes, 'byte')
    : `bytes ${offset} to ${offset + bytes} of ${count(kept.total, 'byte')}; for the rest: job_status with id ${id} and ${name}_offset ${offset === 0 ? offset + bytes : 0}`
  const form = encoding === 'base64' ? ', not UTF-8, so in base64' : ''
  return { words: [`--- ${name}: ${place}${form}`, shownText(content.content).replace(/\n$/, '')], data }
}

function stateWords({ id, exit, signalName }: Ran): string {
  if (exit === undefined) return `It runs; go on with it by job_status with id ${id}.`
  const { exitCode, signal } = exit
  if (exit.timedOut) return `Error EXECUTION_TIMEOUT: its time was over, and the device ended it (id ${id}).`
  return signal === undefined
    ? `Exit code ${exitCode ?? 0} (id ${id}).`
    : `Ended by signal ${signalName(signal)} (id ${id}).`
}

export function ranResult(ran: Ran): ToolResult {
  const { id, exit, lostBytes, signalName } = ran
  const isRunning = exit === undefined
  const stdout = shownOutput('stdout', ran.stdout.kept(), id, isRunning)
  const stderr = shownOutput('stderr', ran.stderr.kept(), id, isRunning)
  const why = exit?.why === undefined ? undefined : shownText(exit.why)
  const refused = exit?.refused === undefined ? undefined : shownText(exit.refused)
  const found = findingsSentence(exit?.findings)
  const notice = exit?.notice === undefined ? undefined : shownText(exit.notice)
  const isTimeOver = exit?.timedOut === true
  const words = [...stdout.words, ...stderr.words]
  const message = 'The time of the command was over, and the device ended it; nothing of it runs any more.'
  return {
    text: [
      stateWords(ran),
      ...(why === undefined ? [] : [`The device ended it: ${why}`]),
      ...(refused === undefined ? [] : [`The network: ${refused}`]),
      ...(found === undefined ? [] : [found]),
      ...(notice === undefined ? [] : [`From the device: ${notice}`]),
      ...(exit?.truncated === true
        ? ['Its output went over the limit of the device; the rest was dropped.']
        : []),
      ...(lostBytes > 0 ? [`${count(lostBytes, 'byte')} of its output are no longer on the device.`] : []),
    ].join('\n'),
    outside: words.length === 0 ? undefined : words.join('\n'),
    data: {
      id,
      state: isRunning ? 'running' : exit.signal === undefined ? 'exited' : 'signalled',
      ...(exit?.exitCode === undefined ? {} : { exit_code: exit.exitCode }),
      ...(exit?.signal === undefined ? {} : { signal: signalName(exit.signal) }),
      ...(why === undefined ? {} : { why }),
      ...(refused === undefined ? {} : { refused }),
      ...(exit?.source === undefined ? {} : { source: exit.source }),
      ...(exit?.findings === undefined ? {} : { findings: exit.findings }),
      ...(notice === undefined ? {} : { notice }),
      stdout: stdout.data,
      stderr: stderr.data,
      ...(lostBytes > 0 ? { lost_bytes: lostBytes } : {}),
      ...(isTimeOver ? { error: 'EXECUTION_TIMEOUT', message, outcome: 'ended' } : {}),
    },
    isError: isTimeOver,
  }
}
