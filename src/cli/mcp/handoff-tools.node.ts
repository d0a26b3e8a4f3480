/**
 * The tools `handoff_send`, `handoff_list` and `handoff_take`: work that goes from agent to agent of a device. What
 * another agent wrote is from outside like everything that is read from the device.
 * Rules: docs/handoffs.md; docs/mcp.md.
 * @module
 */
import type { Handoff, HandoffArtifact } from '../../client/client.node.ts'
import { answered } from './answered.node.ts'
import { type Tool, waitingWords } from './call.node.ts'
import { count, shownText } from './tool-text.ts'
import type { ToolArguments } from './tools.ts'

const timeText = (seconds: number): string => new Date(seconds * 1_000).toISOString().replace('.000', '')

function artifactData({ path, size, sha256, why }: HandoffArtifact): Readonly<Record<string, unknown>> {
  return sha256 === undefined ? { path, not_brought: why } : { path, size, sha256 }
}

function dataOf(handoff: Handoff): Readonly<Record<string, unknown>> {
  const { id, from, to, criticality, depth, sentAt, expiresAt, digest, previous } = handoff
  return {
    ...{ id, from, to, criticality: `C${criticality}`, depth },
    ...{ sent_at: timeText(sentAt), expires_at: timeText(expiresAt), digest },
    ...{ taken: handoff.isTaken, marked: handoff.isMarked, hidden_secrets: handoff.hidden },
    ...(previous === undefined ? {} : { previous }),
    ...(handoff.artifacts.length === 0 ? {} : { artifacts: handoff.artifacts.map(artifactData) }),
  }
}

function lineOf({ id, from, criticality, depth, isTaken, isMarked }: Handoff): string {
  const state = `${isTaken ? 'taken' : 'waits'}${isMarked ? ', marked' : ''}`
  return `${id}  from ${shownText(from)}  C${criticality}  hop ${depth}  ${state}`
}

/** What the device has done with the text. */
function doneWords({ id, hidden, isMarked, artifacts }: Handoff): string {
  const brought = artifacts.filter(({ sha256 }) => sha256 !== undefined).length
  return [
    ...(artifacts.length === 0
      ? []
      : [` It has brought ${brought} of ${count(artifacts.length, 'artifact')}: read with handoff ${id}.`]),
    ...(hidden === 0 ? [] : [` ${count(hidden, 'secret')} in it ${hidden === 1 ? 'is' : 'are'} hidden.`]),
    ...(isMarked ? [' It is marked: it reads as if it gave orders to whoever reads it.'] : []),
  ].join('')
}

export const handoffSend: Tool<ToolArguments<'handoff_send'>> = async (call, args) => {
  const sent = await answered(call, ({ waits }) =>
    call.client.handoffs.send(args, (what) => {
      waits()
      call.progress({ progress: 0, message: waitingWords(what) })
    }),
  )
  const text = `Handoff ${sent.id} waits for ${shownText(sent.to)}.${doneWords(sent)}`
  return { text, data: dataOf(sent), isError: false }
}

export const handoffList: Tool<ToolArguments<'handoff_list'>> = async (call) => {
  const { handoffs, total } = await answered(call, () => call.client.handoffs.list())
  return {
    text: [`${count(total, 'handoff')} of the last day.`, ...handoffs.map(lineOf)].join('\n'),
    data: { total, handoffs: handoffs.map(dataOf) },
    isError: false,
  }
}

export const handoffTake: Tool<ToolArguments<'handoff_take'>> = async (call, { id }) => {
  const taken = await answered(call, () => call.client.handoffs.take(id))
  const { content, source } = taken
  return {
    text: `${lineOf(taken)}.${doneWords(taken)}`,
    outside: shownText(JSON.stringify(JSON.parse(content), null, 2)),
    data: { ...dataOf(taken), content, content_source: source },
    isError: false,
  }
}
