/**
 * A transfer of a file as the command that would do the same: what the rules, the list of secrets and the protected
 * places say of that command holds for the transfer too, so that no rule is evaded by moving a file instead.
 * Rules: docs/responses.md, section 1 (capability, specifics, 13Policy).
 * @module
 */
import type { Action, ExecuteAction, FileAction } from './facts.ts'

export function isFileAction(action: Action | undefined): action is FileAction {
  return action?.kind === 'upload' || action?.kind === 'download'
}

/** Both where it says that it is and where it really is. */
function pathsOf({ path, real }: FileAction): readonly string[] {
  return path === real ? [path] : [path, real]
}

function argvOf(action: FileAction): readonly string[] {
  const paths = pathsOf(action)
  if (action.kind === 'download') return ['cat', ...paths]
  switch (action.what) {
    case 'file':
      return ['tee', ...paths]
    case 'directory':
      return ['mkdir', '-p', ...paths]
    case 'link':
      return ['ln', '-s', action.target ?? '', ...paths.slice(-1)]
  }
}

/** Never run: only looked at. */
export function commandOf(action: FileAction): ExecuteAction {
  return {
    kind: 'execute',
    executionId: '',
    argv: argvOf(action),
    executable: null,
    cwd: '/',
    environment: [],
    terminal: false,
    stdin: action.kind === 'upload',
    timeoutSeconds: null,
    outputBytes: null,
  }
}

/** What would be run, or the command that a transfer is like; undefined: neither. */
export function judgedCommand(action: Action | undefined): ExecuteAction | undefined {
  if (action?.kind === 'execute') return action
  return isFileAction(action) ? commandOf(action) : undefined
}
