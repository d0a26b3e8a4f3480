/**
 * Shell text to the simple commands as they would really run: quotes removed, known variables put in, substitutions
 * taken apart, loops and functions followed. What cannot be known says so, and what a shell could not read is `syntax`.
 * Rules: POSIX.1-2024 XCU 2, with what bash 5.2 and busybox ash add; where shells differ, what any of them would run.
 * @module
 */
import { startWork, type Work } from '../../work.ts'
import { parseText } from './parser.ts'
import { runCommand, runList } from './run.ts'
import { copyState, startState } from './state.ts'
import type { ShellContext, ShellScript } from './syntax.ts'
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
    inherited: [],
    isForked: false,
    last: { place: 0 },
  }
  const outcome = runList(walk, list, state, where)
  const end = outcome.success ?? outcome.failure ?? state
  // Who calls these cannot be seen: a name put together, nobody.
  for (const body of walk.functions?.defined ?? []) {
    if (walk.functions?.called.has(body)) continue
    const entry = copyState(end)
    entry.positional = undefined
    runCommand(walk, body, entry, where)
  }
  return { commands: walk.commands, opaque: [...walk.opaque] }
}
