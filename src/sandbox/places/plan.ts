/**
 * From a request to what would be run: argv, environment, working directory and the very file, resolved before the
 * decision so that the decision is about what will really happen. Nothing is started here.
 * Rules: docs/protocol.md, section 3 (ExecuteRequest); the payload gate has its own file.
 * @module
 */

import { resolvePath } from '../../base/text/lexical-path.ts'
import type { SpawnPlan } from '../../ports.ts'
import type { ExecuteRequest } from '../../wire/messages.ts'
import { buildEnvironment, DEFAULT_PATH, type EnvironmentBase } from './environment.ts'
import type { FoundPin, FoundProgram, ProgramFinder } from './found-program.ts'
import type { Place } from './place.ts'

export type Planner = {
  /** Looks at the device itself; a session's place has its own. */
  readonly finder: ProgramFinder
  /** Absolute, its symbolic links resolved. */
  readonly workspaceRoot: string
  readonly base: EnvironmentBase
}

export type Planned = {
  readonly plan: SpawnPlan
  readonly program: FoundProgram | undefined
  /** Of a program that is pinned. */
  readonly pin: FoundPin | undefined
}

export type PlanResult =
  | { readonly ok: true; readonly planned: Planned }
  | { readonly ok: false; readonly problem: string }

/** What was not found when it was decided about is not found when it is started either, whatever is there by then. */
const NOT_THERE = '/proc/self/fd/none'
const DEFAULT_TERM = 'xterm-256color'
const TERM_PATTERN = /^[A-Za-z0-9._+-]{1,64}$/

/**
 * `argv` is the request's, or what its payload held. `allowedEnv` is the caller's capability's. `pins`: real paths of
 * programs whose content is to be looked at. `place`: where it will run; undefined: as the daemon itself.
 */
export function makePlan(
  planner: Planner,
  place: Place | undefined,
  request: ExecuteRequest,
  argv: readonly string[],
  allowedEnv: readonly string[],
  pins: Readonly<Record<string, string>>,
): PlanResult {
  const command = argv[0]
  if (command === undefined || command === '') return { ok: false, problem: 'command is missing' }
  const { pty } = request
  if (pty !== undefined && (pty.rows === 0 || pty.cols === 0))
    return { ok: false, problem: 'pty.rows and pty.cols must be at least 1' }
  const term = pty === undefined ? undefined : (pty.term ?? DEFAULT_TERM)
  if (term !== undefined && !TERM_PATTERN.test(term))
    return { ok: false, problem: 'pty.term is no name of a terminal' }
  const user = place?.user
  const environment = buildEnvironment(
    user === undefined ? planner.base : { home: user.home, user: user.name },
    request.env,
    allowedEnv,
    term,
    place?.namespaces !== undefined,
  )
  if (!environment.ok) return environment
  const finder = place?.finder ?? planner.finder
  const cwd =
    request.cwd === undefined
      ? planner.workspaceRoot
      : finder.realDirectory(resolvePath(planner.workspaceRoot, request.cwd))
  const program = finder.find(command, cwd, environment.variables.get('PATH') ?? DEFAULT_PATH)
  const isPinned = program !== undefined && Object.hasOwn(pins, program.realPath)
  const pin = isPinned ? finder.pin(program.realPath) : undefined
  return {
    ok: true,
    planned: {
      program,
      pin,
      plan: {
        // A pinned program is started from where it really lies: that is the file that was looked at.
        file: isPinned ? program.realPath : (program?.path ?? NOT_THERE),
        argv,
        environment: [...environment.variables].map(([name, value]) => `${name}=${value}`),
        cwd,
        stdin: request.stdin ? 'pipe' : 'none',
        terminal: pty === undefined ? undefined : { rows: pty.rows, columns: pty.cols },
        pinned: pin,
        keepsBackground: request.keep_background,
        namespaces: place?.namespaces,
        group: place?.group,
        runAs: place?.user,
        rootDescriptor: place?.namespaces === undefined ? undefined : place.rootDescriptor,
      },
    },
  }
}
