/**
 * What a command would be, exactly: the action that the decision is about and that the warrant is bound to. The daemon
 * and `sass-edge policy explain` make it here, so that what is explained is what would be decided.
 * Rules: docs/responses.md, section on warrants.
 * @module
 */
import type { ExecuteAction } from '../../defense/facts.ts'
import type { Place } from '../../sandbox/places/place.ts'
import type { Planned } from '../../sandbox/places/plan.ts'
import type { ExecuteRequest } from '../../wire/messages.ts'

/** The smallest of what the capability and the quota allow and the request asks for; undefined: no limit. */
export function smallest(...limits: readonly (number | null | undefined)[]): number | undefined {
  let least: number | undefined
  for (const limit of limits)
    if (limit !== null && limit !== undefined && (least === undefined || limit < least)) least = limit
  return least
}

/** `id` is hexadecimal. Limits are what holds after all bounds; undefined: none. `place`: where it would run. */
export function executeAction(
  { program, pin, plan }: Planned,
  request: Pick<ExecuteRequest, 'env'>,
  id: string,
  timeout: number | undefined,
  outputBytes: number | undefined,
  place?: Pick<Place, 'branch' | 'confinement' | 'level'>,
): ExecuteAction {
  // In the order of RFC 8785, so that the warrant's digest need not sort them.
  return {
    argv: plan.argv,
    cwd: plan.cwd,
    environment: request.env === undefined ? [] : [...request.env].map(([name, value]) => `${name}=${value}`),
    executable:
      program === undefined
        ? null
        : {
            device: program.device,
            inode: program.inode,
            path: program.realPath,
            sha256: pin?.sha256 ?? null,
          },
    executionId: id,
    kind: 'execute',
    outputBytes: outputBytes ?? null,
    ...(place === undefined
      ? {}
      : {
          place: {
            branch: place.branch,
            confinement: place.confinement,
            keepsBackground: plan.keepsBackground === true,
            level: place.level,
          },
        }),
    stdin: plan.stdin === 'pipe',
    terminal: plan.terminal !== undefined,
    timeoutSeconds: timeout ?? null,
  }
}
