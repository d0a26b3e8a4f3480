/**
 * What only the whole request says of one of its commands, as a call of that command: a push to an address that the
 * line has named itself, packages that go to the machine because the line has entered no environment.
 * Rules: docs/policy.md, "Effective commands"; git-remote(1); Python Packaging User Guide, "Install packages in a
 * virtual environment using pip and venv".
 * @module
 */

import { isWithin } from '../../../base/lexical-path.ts'
import { goesBy } from './names.ts'
import type { Draft } from './pipeline.ts'

/** Said of a push to an address that the same request has given a name: nobody has looked at where that leads. */
const NEW_REMOTE = 'push:new-remote'
const REMOTE_ORDERS: ReadonlySet<string> = new Set(['add', 'set-url'])

function noteNewRemotes(drafts: readonly Draft[]): void {
  const isOf = (draft: Draft, order: string) => draft.names.includes('git') && draft.operands[0] === order
  const at = drafts.findIndex((draft) => isOf(draft, 'remote') && REMOTE_ORDERS.has(draft.operands[1] ?? ''))
  if (at === -1) return
  for (const draft of drafts.slice(at + 1))
    if (isOf(draft, 'push')) draft.calls = [...draft.calls, NEW_REMOTE]
}

/** Said of a `pip` that is of no environment: what it installs is there for every program of the user. */
const INSTALL_OUTSIDE = 'install:outside-environment'
/** Where the programs of the machine and of the user lie. */
const SHARED_PLACES: readonly string[] = Object.freeze(['/usr', '/bin', '/sbin', '/opt'])
const USER_PLACE = '/.local/bin/'
const ENTERING: ReadonlySet<string> = new Set(['activate', 'workon'])
const ENVIRONMENT_VARIABLES: ReadonlySet<string> = new Set(['PATH', 'VIRTUAL_ENV', 'PIP_TARGET'])
/** `poetry run`, `conda run`, `docker exec`: what they start sees other packages. */
const OTHER_SURROUNDINGS = / (?:run|exec|shell|develop)$/

function entersEnvironment({ names, operands }: Draft): boolean {
  if (names.some((name) => name === '.' || name === 'source'))
    return operands.some((file) => file.endsWith('/activate'))
  if (goesBy(names, ENTERING) || ENTERING.has(operands[0] ?? '')) return true
  return (
    names.includes('export') &&
    operands.some((word) => ENVIRONMENT_VARIABLES.has(word.split('=', 1)[0] ?? ''))
  )
}

function isShared(path: string | undefined): boolean {
  return (
    path === undefined || path.includes(USER_PLACE) || SHARED_PLACES.some((place) => isWithin(place, path))
  )
}

function noteInstalls(drafts: readonly Draft[]): void {
  if (!drafts.some(({ names }) => names.includes('pip'))) return
  for (const draft of drafts) {
    if (entersEnvironment(draft)) return
    if (!draft.names.includes('pip') || draft.operands[0] !== 'install' || !isShared(draft.path)) continue
    if (draft.assignments.some(({ name }) => ENVIRONMENT_VARIABLES.has(name))) continue
    if (draft.via.some((way) => OTHER_SURROUNDINGS.test(way))) continue
    draft.calls = [...draft.calls, INSTALL_OUTSIDE]
  }
}

/** Adds to each command what the request as a whole says of it. */
export function addRequestCalls(drafts: readonly Draft[]): void {
  noteNewRemotes(drafts)
  noteInstalls(drafts)
}
