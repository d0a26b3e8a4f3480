/**
 * `sass-edge confirm list|approve|deny`: the questions that wait for a human, and the answers. What is answered is
 * bound to what was shown: the digest is taken of that, and of nothing that the device says about it.
 * Rules: docs/responses.md, on asking a human.
 * @module
 */

import { hostSha256 } from '../../base/crypto/sha256.node.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import { visible } from '../../base/text/visible.ts'
import type { Confirmation, Confirmations } from '../../client/operator-client.ts'
import { misuse, SassError } from '../../errors.ts'
import { ask } from '../common/ask.node.ts'
import { egressEdits, writeEdited } from '../common/config-writer.node.ts'
import { localConfig, takeWords } from '../common/local-config.node.ts'
import { asOperator, doneMessage, OPERATOR_OPTIONS } from '../common/operator.node.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { alignColumns, pickId, shortDuration, shortIds } from '../words/listing.ts'
import { askedLine, judgedBy, questionLines, reachedPlace, shownValue } from '../words/question.ts'

const QUESTION = Object.freeze({ name: 'question', listedBy: 'sass-edge confirm list' })

function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000)
}

function toObject(confirmation: Confirmation, now: number): object {
  return {
    id: confirmation.id,
    agent: confirmation.agent,
    session: confirmation.sessionId,
    layer: confirmation.layer,
    rule: confirmation.rule,
    reason: confirmation.reason,
    ...judgedBy(confirmation),
    shown: shownValue(confirmation),
    digest: confirmation.digest,
    asked_at: confirmation.askedAt,
    expires_at: confirmation.expiresAt,
    waits_seconds: Math.max(0, confirmation.expiresAt - now),
  }
}

/** The options that say which device: the next command must be for the same one. */
function deviceWords(context: CommandContext): string {
  const { options } = context.arguments
  return ['config', 'target', 'agent', 'key']
    .flatMap((name) => (options.get(name) ?? []).map((value) => ` --${name} ${visible(value)}`))
    .join('')
}

function listLines(context: CommandContext, { confirmations, total }: Confirmations, now: number): string[] {
  const [first] = confirmations
  if (first === undefined) return ['Nothing waits for an answer.']
  const short = shortIds(confirmations.map(({ id }) => id))
  const heads = alignColumns([
    ['ID', 'AGENT', 'WAITS', 'RULE'],
    ...confirmations.map(({ id, agent, expiresAt, layer, rule }) => [
      short(id),
      visible(agent),
      shortDuration(Math.max(0, expiresAt - now)),
      visible(`${layer} ${rule}`),
    ]),
  ])
  const details = confirmations.map((confirmation) => [
    `    ${askedLine(confirmation)}`,
    `    ${visible(confirmation.reason)}`,
  ])
  const more = total - confirmations.length
  return [
    heads[0] ?? '',
    ...details.flatMap((lines, index) => [heads[index + 1] ?? '', ...lines]),
    ...(more > 0 ? [`${more} more wait; they are listed when these are answered.`] : []),
    '',
    `Answer with: sass-edge confirm approve ${short(first.id)}${deviceWords(context)}   (or deny)`,
  ]
}

async function list(context: CommandContext): Promise<number> {
  const found = await asOperator(context, ({ operator }) => operator.confirmations())
  const now = nowSeconds()
  return context.output.result(
    { confirmations: found.confirmations.map((each) => toObject(each, now)), total: found.total },
    listLines(context, found, now),
  )
}

/**
 * What `--always` writes: the place that is asked about, into the list of the device and, where it has one, that of the
 * agent's capability set. Read and checked before anything is answered.
 * @throws SassError USAGE for any other question; what is wrong with the configuration
 */
function listing(
  context: CommandContext,
  question: Confirmation,
): {
  readonly place: string
  readonly path: string
  readonly lists: readonly string[]
  write(): void
} {
  const place = reachedPlace(question)
  if (place === undefined)
    throw misuse(
      '--always is for what a session wants to reach, and this asks for something else; answer it without --always.',
    )
  const loaded = localConfig(context)
  const { capability } = loaded.config.agents.find(({ name }) => name === question.agent) ?? {}
  const hasOwn = capability !== undefined && (loaded.config.capabilities[capability]?.egress ?? null) !== null
  const edits = egressEdits(loaded, place, hasOwn ? capability : undefined)
  return {
    place,
    path: loaded.path,
    lists: edits.lists,
    write: () => writeEdited(loaded, edits.text),
  }
}

/** Shows the question and has it answered; `text` begins its id. */
async function answer(context: CommandContext, text: string, approve: boolean): Promise<number> {
  const { output } = context
  const isSure = context.arguments.options.has('yes')
  if (output.json && !isSure)
    throw misuse('With --json nobody is shown what is asked: give --yes if you have seen it.')
  const { confirmations } = await asOperator(context, ({ operator }) => operator.confirmations())
  const ids = confirmations.map(({ id }) => id)
  const id = pickId(text, ids, QUESTION)
  const question = confirmations.find((each) => each.id === id)
  if (question === undefined) throw new SassError('INTERNAL', 'A question that was listed is not there.')
  for (const line of questionLines(question, nowSeconds())) output.note(line)
  if (!isSure && !ask(approve ? 'Shall it be done?' : 'Shall it be refused?'))
    throw misuse(
      'Nobody said yes, so nothing was answered and the question still waits; answer it at a terminal, or with --yes.',
    )
  const saves = context.arguments.options.has('always') ? listing(context, question) : undefined
  const digest = encodeHex(hostSha256(encodeUtf8(question.shown)))
  // A new connection: whoever looks at a question for long does not keep one alive.
  const outcome = await asOperator(context, ({ operator }) =>
    operator.answerConfirmation(id, approve, digest),
  )
  const message = doneMessage(outcome, 'PROCESS_NOT_FOUND')
  const lines = [message]
  if (saves !== undefined) {
    saves.write()
    lines.push(doneMessage(await asOperator(context, ({ operator }) => operator.reload()), 'CONFIG_INVALID'))
    lines.push(`${saves.place} is in ${saves.lists.join(' and ')} of ${saves.path} from now on.`)
  }
  const listed = saves === undefined ? {} : { listed: saves.place, lists: saves.lists }
  return output.result(
    { ...toObject(question, nowSeconds()), approved: approve, digest, message, ...listed },
    lines,
  )
}

export const command: Command = {
  usage: ['confirm list', 'confirm approve ID [--always]', 'confirm deny ID'],
  options: {
    ...OPERATOR_OPTIONS,
    '--always': 'approve: what is to be reached is listed in the configuration from now on',
  },
  examples: {
    'sass-edge confirm list': 'what waits, for how long, and why',
    'sass-edge confirm approve 5f3a9c12': 'shows it once more, asks, and lets it go on',
    'sass-edge confirm approve 5f3a --always':
      'lets a session reach it, and lists it in sandbox.egress, so that nobody is asked again',
    'sass-edge confirm deny 5f3a --yes': 'refuses it without asking back',
  },
  async run(context) {
    const [action, id] = takeWords(context, 2)
    if (action === 'list' && id === undefined) return list(context)
    if (action === 'deny' && context.arguments.options.has('always'))
      throw misuse('--always is for approve: what is refused is asked about again.')
    if ((action === 'approve' || action === 'deny') && id !== undefined)
      return answer(context, id, action === 'approve')
    throw misuse('confirm can list, approve ID and deny ID: the ids are in sass-edge confirm list.')
  },
}
