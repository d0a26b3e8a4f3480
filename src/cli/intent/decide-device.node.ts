/**
 * `sass-edge decide --device`: the proposals go to a device, which observes, decides and does what it permits. What it
 * has read for them, or said to their agent, goes to stdout; what was decided stands beside it.
 * Rules: docs/proposals.md, section on the daemon.
 * @module
 */

import { type Json, parseStrictJson } from '../../base/encoding/strict-json.ts'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import { visible } from '../../base/text/visible.ts'
import type { DecidedProposal } from '../../client/client.node.ts'
import { misuse } from '../../errors.ts'
import { isObject } from '../../intent/proposals/fields.ts'
import { asAgent } from '../common/operator.node.ts'
import { optionValue } from '../words/arguments.ts'
import type { CommandContext } from '../words/command.ts'

/** An artifact as the device has written it. */
function artifactOf(text: string): Readonly<Record<string, Json>> {
  const parsed = parseStrictJson(encodeUtf8(text), { size: text.length * 3 })
  return parsed.ok && isObject(parsed.value) ? parsed.value : {}
}

/**
 * Has a device decide, and says how.
 * @param text `{"candidates": [...]}`: what was observed, which cycle it is and where paths lead are the device's own
 * @throws SassError where its own rules do not permit what the constitution does
 */
export async function decideOnDevice(
  context: CommandContext,
  text: string,
): Promise<DecidedProposal['decision']> {
  const { options } = context.arguments
  const foreign = ['logs', 'replay', 'run', 'directory', 'constitution', 'pin'].find((name) =>
    options.has(name),
  )
  if (foreign !== undefined) throw misuse(`--${foreign} is for decisions without a device: leave it out.`)
  const said = optionValue(options, 'said')
  const decided = await asAgent(context, ({ proposals }) =>
    proposals.decide({ candidates: text, ...(said === undefined ? {} : { said }) }),
  )
  const { decision, cycle, state, content, hidden, injection } = decided
  const artifact = artifactOf(decided.artifact)
  const { action_type: type, reason_code: reason, failed_gate: gate } = artifact
  const what = decision === 'ACTION' ? `${type}  warrant ${artifact['warrant_id']}` : String(reason)
  context.output.note(
    `${decision}  ${visible(what)}${decision === 'REFUSE' ? `  at ${visible(String(gate))}` : ''}`,
  )
  context.output.result(
    { decision, cycle, artifact, state_hash: state, content: content ?? null, hidden, injection },
    content === undefined ? [] : [content],
  )
  return decision
}
