/**
 * Shell text to the simple commands as they would really run: quotes removed, known variables put in, substitutions
 * taken apart, loops and functions followed. What cannot be known says so, and what a shell could not read is `syntax`.
 * Rules: POSIX.1-2024 XCU 2, with what bash 5.2 and busybox ash add; where shells differ, what any of them would run.
 * @module
 */
import { startWork, type Work } from '../../work.ts'
import { parseText } from './parser.ts'
import { runCommand, runList } from './run.ts'
import { shownThroughout } from './shown.ts'
import { copyState, startState } from './state.ts'
import type { ShellContext, ShellScript } from './syntax.ts'
import { closeTraps, trapStates } from './traps.ts'
import { startWalk, type Where } from './walk.ts'

export type { ShellCommand, ShellContext, ShellRedirect, ShellScript, ShellWord } from './syntax.ts'

/** @throws WorkSpent where the text costs more than `work` has left */
export function parseShell(text: string, context: ShellContext, work: Work = startWork()): ShellScript {
  const { list, failure } = parseText(text, 0, work)
  const walk = startWalk(work, context.home)
  if (failure !== undefined) walk.opaque.add(failure)
  const state = startState(context, work)
  const where: Where = {
    pipeline: undefined,
    place: 0,
    isSubstitution: false,
    isTop: true,
    inherited: [],
    isForked: false,
    last: { place: 0 },
  }
  const outcome = runList(walk, list, state, where)
  const end = outcome.success ?? outcome.failure ?? walk.exited ?? state
  // Who calls these cannot be seen: a trap, a name put together, nobody.
  for (const body of walk.functions?.defined ?? []) {
    if (walk.functions?.called.has(body)) continue
    for (const entry of walk.functions?.trapped.has(body) ? trapStates(walk, end) : [copyState(end)]) {
      entry.positional = undefined
      runCommand(walk, body, entry, where)
    }
  }
  if (walk.traps.length > 0) closeTraps(walk, end)
  const opaque = walk.opaque.size === 0 ? [] : [...walk.opaque]
  const commands = opaque.length > 0 ? walk.commands : shownThroughout(walk.commands)
  return { commands, opaque }
}
