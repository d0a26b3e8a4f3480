/**
 * What each permission of a tool asks of whoever runs it: the tools of a tier. A permission that the configuration does
 * not grant keeps the tool from being loaded: it then does not exist.
 * Rules: OpenStarry 05, section 4; docs/plans.md.
 * @module
 */
import type { Permission } from '../../base/permission-name.ts'
import type { Tool } from '../../base/tool-name.ts'

export const PERMISSION_TOOLS: Readonly<Record<Permission, Tool>> = Object.freeze({
  'fs:read': 'Read',
  'fs:write': 'Write',
  'network:http': 'WebFetch',
  'shell:exec': 'Bash',
  // The daemon's own files are no tool's, whatever is granted; what it keeps of others is changed by commands alone.
  'core:state:write': 'Bash',
})

/** Those that are wanted and not granted, in the order in which they are wanted. */
export function missingPermissions(
  wanted: readonly Permission[],
  granted: readonly string[],
): readonly Permission[] {
  return wanted.filter((permission) => !granted.includes(permission))
}
