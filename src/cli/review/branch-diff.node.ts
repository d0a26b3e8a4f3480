/**
 * `sass-edge branch diff|merge`: what a branch would change, shown whole, and its way into the real files. A merge is
 * bound to what was shown by the digest of the whole list: of a branch that has changed since, nothing is merged.
 * All that is shown of files and their names comes from the agent: nothing of it steers a terminal.
 * Rules: docs/sandbox.md (review and merge).
 * @module
 */
import { isatty } from 'node:tty'
import { hostSha256 } from '../../base/crypto/sha256.node.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { visible } from '../../base/text/visible.ts'
import type { BranchOutcome, DiffForm, DiffResult, TalkedTo, ToldPath } from '../../client/branch-client.ts'
import type { Client } from '../../client/client.node.ts'
import { misuse, SassError } from '../../errors.ts'
import { shownPath } from '../../sandbox/branch/threads/chosen-paths.ts'
import { ask } from '../common/ask.node.ts'
import { asOperator } from '../common/operator.node.ts'
import { writeAll } from '../common/output.node.ts'
import { isGiven, optionValue, optionValues } from '../words/arguments.ts'
import type { CommandContext } from '../words/command.ts'
import { sizeText } from '../words/copy-place.ts'
import { EXIT } from '../words/exit-codes.ts'
import { chooseBranch } from './branch-choice.node.ts'

const STDOUT_FD = 1
const STDERR_FD = 2
/** Hosts that are named before the rest is counted. */
const HOSTS_SHOWN = 8
const DIGEST = /^[0-9a-f]{64}$/

/** Shows text line by line as it comes, each made safe for a terminal. */
function createLines(write: (line: string) => void): { take(bytes: Uint8Array): void; end(): void } {
  const decoder = new TextDecoder()
  let rest = ''
  return {
    take(bytes) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) write(visible(line.replaceAll('\t', '    ')))
    },
    end() {
      rest += decoder.decode()
      if (rest !== '') write(visible(rest))
    },
  }
}

function hostText({ host = '', port, protocol }: TalkedTo): string {
  const place = `${host.includes(':') ? `[${host}]` : visible(host)}:${port}`
  return protocol === 'udp' ? `${place}/udp` : place
}

/** Whom the work has talked to: the most bytes first, and the rest as one. */
function talkedLine(all: readonly TalkedTo[]): string[] {
  if (all.length === 0) return []
  const named = all.filter(({ host }) => host !== undefined).slice(0, HOSTS_SHOWN)
  const rest = all.filter((one) => !named.includes(one))
  const carried = (some: readonly TalkedTo[]): string => {
    const [out, back] = [0, 0].map((_, index) =>
      some.reduce((sum, one) => sum + (index === 0 ? one.sentBytes : one.receivedBytes), 0),
    )
    return `(${sizeText(out ?? 0)} out, ${sizeText(back ?? 0)} in)`
  }
  const places = named.map((one) => `${hostText(one)} ${carried([one])}`)
  return [
    `This work talked to: ${[...places, ...(rest.length === 0 ? [] : [`others ${carried(rest)}`])].join(', ')}`,
  ]
}

function summary({
  changes,
  conflicts,
  heldBack,
  isPreview,
  digest,
  stopped,
  talkedTo,
}: DiffResult): string[] {
  const more = [
    ...(conflicts > 0 ? [`${conflicts} in conflict`] : []),
    ...(heldBack > 0 ? [`${heldBack} merged only by name`] : []),
  ]
  return [
    `${changes === 1 ? '1 change' : `${changes} changes`}${more.length === 0 ? '' : `, ${more.join(', ')}`}; digest ${digest}`,
    ...(stopped === undefined ? [] : [visible(stopped)]),
    ...(isPreview ? ['Commands run in the branch: this may change before they have ended.'] : []),
    ...talkedLine(talkedTo),
  ]
}

function formOf(context: CommandContext): DiffForm {
  const { options } = context.arguments
  const given = (['stat', 'patch'] as const).filter((name) => isGiven(options, name))
  const [form] = given
  if (given.length > 1 || (form !== undefined && context.output.json))
    throw misuse('Only one of --stat, --patch and --json can be shown at a time.')
  return context.output.json ? 'json' : (form ?? 'text')
}

/** The whole list as it was sent: its digest is made here, and not believed. */
async function jsonDiff(
  client: Client,
  id: string,
  paths: readonly string[],
): Promise<{ result: DiffResult; value: object }> {
  const pieces: Buffer[] = []
  const result = await client.branches.diff(
    id,
    'json',
    (bytes) => void pieces.push(Buffer.from(bytes)),
    paths,
  )
  const bytes = Buffer.concat(pieces)
  if (paths.length === 0 && encodeHex(hostSha256(bytes)) !== result.digest)
    throw new SassError(
      'FRAME_MALFORMED',
      'The list of changes that the device sent is not the one that it names, so nothing of it can be relied on.',
    )
  return { result, value: JSON.parse(bytes.toString('utf8')) as object }
}

/** What a device shows where none of the changes is among those that are asked for. */
const NOTHING = 'No changes.\n'

export async function diff(context: CommandContext, words: readonly string[]): Promise<number> {
  const { output } = context
  const form = formOf(context)
  return asOperator(context, async (client) => {
    const { id, words: paths } = await chooseBranch(client, words, { takesPaths: true })
    if (form === 'json') {
      const { result, value } = await jsonDiff(client, id, paths)
      const { digest, changes, conflicts, heldBack, isPreview, stopped, talkedTo } = result
      return output.result(
        {
          ...{ ...value, digest, total: changes, conflicts, held_back: heldBack, preview: isPreview },
          ...(stopped === undefined ? {} : { stopped }),
          talked_to: talkedTo.map(({ host, port, protocol, connections, sentBytes, receivedBytes }) => ({
            ...(host === undefined ? { others: true } : { host, port, protocol }),
            ...{ connections, sent_bytes: sentBytes, received_bytes: receivedBytes },
          })),
        },
        [],
      )
    }
    // Bytes for whoever applies them, safe text for an eye.
    const isRaw = form === 'patch' && !isatty(STDOUT_FD)
    const lines = createLines((line) => writeAll(STDOUT_FD, `${line}\n`))
    let isShown = false
    const result = await client.branches.diff(
      id,
      form,
      (bytes) => {
        isShown ||= bytes.length > 0 && Buffer.from(bytes).toString('latin1') !== NOTHING
        if (isRaw) writeAll(STDOUT_FD, bytes)
        else lines.take(bytes)
      },
      paths,
    )
    lines.end()
    for (const line of summary(result)) output.note(line)
    if (!isShown && paths.length > 0)
      output.warn(
        `The branch changes nothing at ${paths.map((path) => shownPath(Buffer.from(path))).join(', ')}: see sass-edge branch diff ${id.slice(0, 8)} for all that it changes.`,
      )
    if (result.changes > 0 && form !== 'patch')
      output.note(`Merge it with: sass-edge branch merge ${id.slice(0, 8)}`)
    return EXIT.OK
  })
}

function toldObject({ path, what }: ToldPath, key: string): object {
  const text = Buffer.from(path)
  const isText = text.equals(Buffer.from(text.toString('utf8')))
  return {
    path: isText ? text.toString('utf8') : shownPath(path),
    ...(isText ? {} : { path_base64: text.toString('base64') }),
    [key]: what,
  }
}

function outcomeObject(id: string, outcome: BranchOutcome): Record<string, unknown> {
  return {
    session: id,
    merged: outcome.merged,
    bytes: outcome.bytes,
    conflicts: outcome.conflicts.map((each) => toldObject(each, 'conflict')),
    conflicts_total: outcome.conflictsTotal,
    left_out: outcome.leftOut.map((each) => toldObject(each, 'flags')),
    left_out_total: outcome.leftOutTotal,
    message: outcome.message,
  }
}

function toldLines(paths: readonly ToldPath[], total: number): string[] {
  const more = total - paths.length
  return [
    ...paths.map(({ path, what }) => `  ${shownPath(path)}${what === '' ? '' : `  (${visible(what)})`}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ]
}

/** The lists and the sentence of what came of it. @throws SassError BRANCH_REFUSED where nothing was done */
export function finish(context: CommandContext, id: string, outcome: BranchOutcome): number {
  const { output } = context
  for (const line of [
    ...toldLines(outcome.conflicts, outcome.conflictsTotal),
    ...toldLines(outcome.leftOut, outcome.leftOutTotal),
  ])
    output.note(line)
  const object = outcomeObject(id, outcome)
  if (!outcome.success)
    throw new SassError('BRANCH_REFUSED', visible(outcome.message), {
      ...object,
      ...(outcome.digest === undefined ? {} : { digest: outcome.digest }),
    })
  return output.result(object, [visible(outcome.message)])
}

/** Shows what would be merged on stderr, and gives the digest of it. */
async function show(
  context: CommandContext,
  client: Client,
  id: string,
  paths: readonly string[],
): Promise<string> {
  if (context.output.json) return (await client.branches.diff(id, 'text', () => {}, paths)).digest
  const lines = createLines((line) => writeAll(STDERR_FD, `${line}\n`))
  const result = await client.branches.diff(id, 'text', lines.take, paths)
  lines.end()
  for (const line of summary(result)) context.output.note(line)
  return result.digest
}

export async function merge(context: CommandContext, words: readonly string[]): Promise<number> {
  const { options } = context.arguments
  const named = optionValue(options, 'digest')
  if (named !== undefined && !DIGEST.test(named))
    throw misuse('--digest takes the 64 digits that sass-edge branch diff has shown.')
  const isSure = isGiven(options, 'yes')
  if (context.output.json && !isSure)
    throw misuse('With --json nobody is shown what is merged: give --yes if you have seen it.')
  const [choice, digest] = await asOperator(context, async (client) => {
    const chosen = await chooseBranch(client, words, { takesPaths: true })
    // Who has looked before is not shown it again.
    if (named !== undefined && isSure) return [chosen, named] as const
    return [chosen, await show(context, client, chosen.id, chosen.words)] as const
  })
  if (named !== undefined && named !== digest)
    throw new SassError(
      'BRANCH_REFUSED',
      'The branch would not change what that digest is of any more, so nothing was merged: look at it again with sass-edge branch diff.',
      { digest },
    )
  if (!isSure && !ask('Shall this be merged into the real files?'))
    throw misuse(
      'Nobody said yes, so nothing was merged and the branch is as it was; answer at a terminal, or with --yes.',
    )
  // A new connection: whoever looks at it for long does not keep one alive.
  const outcome = await asOperator(context, (client) =>
    client.branches.merge(choice.id, digest, {
      paths: choice.words,
      force: optionValues(options, 'force'),
      heldBack: isGiven(options, 'with-special'),
    }),
  )
  return finish(context, choice.id, outcome)
}
