/**
 * The names of what a tool may want, closed: what a manifest declares and what a configuration grants.
 * Rules: OpenStarry 05, section 4; docs/plans.md.
 * @module
 */

export const PERMISSION_NAMES = Object.freeze([
  'fs:read',
  'fs:write',
  'network:http',
  'shell:exec',
  'core:state:write',
] as const)
export type Permission = (typeof PERMISSION_NAMES)[number]

export function isPermission(text: string): text is Permission {
  return (PERMISSION_NAMES as readonly string[]).includes(text)
}
