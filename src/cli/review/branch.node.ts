/**
 * `sass-edge branch`: what agents have changed and nobody has merged yet, and what becomes of it. Each command takes the
 * id of the session that a branch was made for, or nothing where only one branch waits.
 * Rules: docs/sandbox.md (review and merge).
 * @module
 */

import { visible } from '../../base/text/visible.ts'
import type { Branch, Checkpoint } from '../../client/branch-client.ts'
import type { Outcome } from '../../client/operator-client.ts'
import { misuse } from '../../errors.ts'
import { ask } from '../common/ask.node.ts'
import { CALLER_OPTIONS, LINK_OPTIONS } from '../common/device.node.ts'
import { asOperator, doneMessage, TARGET_OPTION, utcTime } from '../common/operator.node.ts'
import { isGiven, optionValue, wholeNumber } from '../words/arguments.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { alignColumns, shortDuration, shortIds } from '../words/listing.ts'
import { chooseBranch } from './branch-choice.node.ts'
import { diff, finish, merge } from './branch-diff.node.ts'

type Action = (context: CommandContext, words: readonly string[]) => Promise<number>

function stateOf({ running, sessions, isEmpty, canUndo, stopped }: Branch): string {
  if (stopped !== undefined) return 'stopped, to review'
  if (running > 0) return running === 1 ? 'a command runs' : `${running} commands run`
  if (canUndo && isEmpty) return 'merged'
  if (isEmpty) return sessions > 0 ? 'in use, nothing changed' : 'nothing changed'
  const waits = canUndo ? 'more to review' : 'to review'
  return sessions > 0 ? `${waits}, in use` : waits
}

const list: Action = async (context, words) => {
  refuseMore(words, 0)
  const { branches, total } = await asOperator(context, ({ branches: client }) => client.list())
  const short = shortIds(branches.map(({ id }) => id))
  const now = Math.floor(Date.now() / 1_000)
  const rows = branches.map((branch) => [
    short(branch.id),
    visible(branch.agent),
    visible(branch.level),
    shortDuration(Math.max(0, now - branch.openedAt)),
    stateOf(branch),
  ])
  const lines =
    rows.length === 0
      ? ['There is no branch: nothing waits to be reviewed.']
      : [
          ...alignColumns([['ID', 'AGENT', 'LEVEL', 'AGE', 'STATE'], ...rows]),
          ...branches.flatMap(({ id, stopped }) =>
            stopped === undefined ? [] : [`${short(id)}: ${visible(stopped)}`],
          ),
        ]
  return context.output.result(
    {
      branches: branches.map(
        ({ id, agent, level, openedAt, sessions, running, isEmpty, canUndo, stopped }) => ({
          session: id,
          agent,
          level,
          opened_at: openedAt,
          sessions,
          running,
          empty: isEmpty,
          can_undo: canUndo,
          ...(stopped === undefined ? {} : { stopped }),
        }),
      ),
      total,
    },
    lines,
  )
}

function refuseMore(words: readonly string[], most: number): void {
  const extra = words[most]
  if (extra === undefined) return
  throw misuse(`${JSON.stringify(extra.slice(0, 64))} is one word too many: see --help.`)
}

/** @throws SassError USAGE where nobody says yes */
function confirm(context: CommandContext, question: string, nothing: string): void {
  if (isGiven(context.arguments.options, 'yes') || ask(question)) return
  throw misuse(`Nobody said yes, so ${nothing}; answer at a terminal, or with --yes.`)
}

function done(context: CommandContext, id: string, outcome: Outcome): number {
  const message = doneMessage(outcome, 'BRANCH_REFUSED')
  return context.output.result({ session: id, message }, [message])
}

const undo: Action = async (context, words) => {
  const { id, words: rest } = await asOperator(context, (client) =>
    chooseBranch(client, words, { prefers: ({ canUndo }) => canUndo }),
  )
  refuseMore(rest, 0)
  confirm(context, 'Shall the last merge of this branch be taken back?', 'nothing was taken back')
  return finish(context, id, await asOperator(context, ({ branches }) => branches.undo(id)))
}

const drop: Action = async (context, words) => {
  const { id, words: rest } = await asOperator(context, (client) => chooseBranch(client, words))
  refuseMore(rest, 0)
  context.output.note(`What was changed in the branch ${id} and is not merged goes for good.`)
  confirm(context, 'Shall it be dropped?', 'the branch is as it was')
  return done(context, id, await asOperator(context, ({ branches }) => branches.drop(id)))
}

function numberOf(context: CommandContext, name: string): number | undefined {
  const text = optionValue(context.arguments.options, name)
  if (text === undefined) return undefined
  const number = wholeNumber(text, 0, Number.MAX_SAFE_INTEGER)
  if (number !== undefined) return number
  throw misuse(`--${name} takes the number of a checkpoint: see sass-edge branch checkpoint --list.`)
}

function checkpointLines(checkpoints: readonly Checkpoint[]): string[] {
  if (checkpoints.length === 0) return ['This branch has no checkpoint.']
  return alignColumns([
    ['NUMBER', 'MADE', 'FILES', 'BYTES', 'LABEL'],
    ...checkpoints.map(({ number, madeAt, files, bytes, label }) => [
      String(number),
      utcTime(madeAt),
      String(files),
      String(bytes),
      visible(label),
    ]),
  ])
}

const checkpoint: Action = async (context, words) => {
  const restore = numberOf(context, 'restore')
  const remove = numberOf(context, 'remove')
  const isList = isGiven(context.arguments.options, 'list')
  if ([restore, remove].filter((number) => number !== undefined).length + (isList ? 1 : 0) > 1)
    throw misuse('Only one of --list, --restore and --remove can be done at a time.')
  const { id, words: rest } = await asOperator(context, (client) => chooseBranch(client, words))
  if (isList) {
    refuseMore(rest, 0)
    const checkpoints = await asOperator(context, ({ branches }) => branches.checkpoints(id))
    const objects = checkpoints.map(({ madeAt, ...each }) => ({ ...each, made_at: madeAt }))
    return context.output.result({ session: id, checkpoints: objects }, checkpointLines(checkpoints))
  }
  if (restore !== undefined || remove !== undefined) refuseMore(rest, 0)
  if (restore !== undefined) {
    context.output.note(`What was changed in the branch since checkpoint ${restore} goes for good.`)
    confirm(context, 'Shall the branch go back to it?', 'the branch is as it was')
    return done(context, id, await asOperator(context, ({ branches }) => branches.restore(id, restore)))
  }
  if (remove !== undefined)
    return done(
      context,
      id,
      await asOperator(context, ({ branches }) => branches.removeCheckpoint(id, remove)),
    )
  const label = rest.join(' ')
  return done(context, id, await asOperator(context, ({ branches }) => branches.checkpoint(id, label)))
}

const ACTIONS: Readonly<Record<string, Action>> = Object.freeze({ list, diff, merge, undo, drop, checkpoint })

export const command: Command = {
  usage: [
    'branch list',
    'branch diff [SESSION] [PATH...] [--stat|--patch|--json]',
    'branch merge [SESSION] [PATH...] [--digest DIGEST] [--force PATH] [--with-special]',
    'branch undo [SESSION]',
    'branch drop [SESSION]',
    'branch checkpoint [SESSION] [LABEL] [--list|--restore NUMBER|--remove NUMBER]',
  ],
  options: {
    '--stat': 'diff: one line a file',
    '--patch': 'diff: what git apply takes',
    '--digest DIGEST': 'merge: of what was looked at before',
    '--force PATH...': 'merge: this one although the real file was changed since',
    '--with-special': 'merge: also setuid files, devices, FIFOs and sockets',
    '--list': 'checkpoint: list them',
    '--restore NUMBER': 'checkpoint: go back to that one',
    '--remove NUMBER': 'checkpoint: remove that one',
    ...TARGET_OPTION,
    ...CALLER_OPTIONS,
    ...LINK_OPTIONS,
  },
  examples: {
    'sass-edge branch list': 'what agents have changed and nobody has merged',
    'sass-edge branch diff': 'the changes of the only branch, deletions first',
    'sass-edge branch diff 65b58159 --patch src > p': 'as a patch, of one directory',
    'sass-edge branch merge 65b58159': 'shows it once more, asks, and merges it',
    'sass-edge branch merge 65b58159 src/main.c': 'merges one file; the rest stays in the branch',
    'sass-edge branch undo': 'takes the last merge back',
    'sass-edge branch drop 65b58159 --yes': 'forgets it; the real files were never touched',
    'sass-edge branch checkpoint 65b58159 builds': 'a state that one can go back to',
  },
  async run(context) {
    const { positionals, rest = [] } = context.arguments
    const [name = '', ...words] = positionals
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined
    if (action !== undefined) return action(context, [...words, ...rest])
    throw misuse('branch can list, diff, merge, undo, drop and checkpoint: see sass-edge branch --help.')
  },
}
