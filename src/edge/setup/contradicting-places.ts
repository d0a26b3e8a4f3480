/**
 * Paths of a configuration that get into each other's way: two keys that name one file, directories that lie in each
 * other where they must not, branch roots that hold one another, directories in memory that no branch holds.
 * Judged as text; links are resolved by whoever uses them.
 * Rules: docs/configuration.md (what check finds beyond the file); docs/sandbox.md (branch roots).
 * @module
 */
import { isWithin, resolvePath } from '../../base/text/lexical-path.ts'
import { ALL_WORD, WORKSPACE_WORD } from '../../config/caller-fields.ts'
import type { Config } from '../../config/config.ts'
import { type Finding, fail, warn } from './finding.ts'

/** What the kernel shows there is no file of anybody. */
const NO_FILES: readonly string[] = ['/dev', '/proc', '/sys']
/** What the daemon itself keeps in its state directory, besides a workspace. */
const OWN_PLACES: readonly string[] = [
  'audit',
  'branches',
  'executions',
  'handoffs',
  'intent',
  'tls.key',
  'tls.crt',
  'facts',
  'policies',
]

function sameFiles(config: Config, configPath: string): readonly Finding[] {
  const { tls, policy, listen, audit, security } = config
  const named: readonly (readonly [string, string | null])[] = [
    ['', configPath],
    ['state_directory', config.state_directory],
    ['audit.directory', audit.directory],
    ['security.workspace_root', security.workspace_root],
    ['listen.admin_socket', listen.admin_socket],
    ['tls.key', tls.key],
    ['tls.certificate', tls.certificate],
    ['tls.client_ca', tls.client_ca],
    ['policy.rules_file', policy.rules_file],
  ]
  const first = new Map<string, string>()
  const found: Finding[] = []
  for (const [key, path] of named) {
    if (path === null) continue
    const other = first.get(path)
    if (other === undefined) first.set(path, key)
    else {
      const what = other === '' ? 'this configuration' : other
      found.push(fail(key, `is ${path}, and so is ${what}`, 'give each a place of its own'))
    }
  }
  return found
}

function workspaceFindings(config: Config): readonly Finding[] {
  const check = 'security.workspace_root'
  const { workspace_root: workspace } = config.security
  const state = config.state_directory
  const own = [config.audit.directory, ...OWN_PLACES.map((name) => `${state}/${name}`)]
  const around = own.find((place) => place !== workspace && isWithin(place, workspace))
  if (around !== undefined || own.some((place) => place === workspace && place !== config.audit.directory))
    return [
      fail(
        check,
        `${workspace} lies where the daemon keeps its own files`,
        `name a directory outside, like ${state}/workspace`,
      ),
    ]
  if (NO_FILES.some((place) => isWithin(place, workspace)))
    return [fail(check, `${workspace} is no place for files`, `name a directory like ${state}/workspace`)]
  const inside = (['state_directory', 'audit.directory'] as const).flatMap((key) => {
    const path = key === 'state_directory' ? state : config.audit.directory
    if (path === workspace || !isWithin(workspace, path)) return []
    // A directory that begins with a dot (.sass-edge) is kept apart on purpose; the daemon hides it from commands.
    const rest = workspace === '/' ? path.slice(1) : path.slice(workspace.length + 1)
    if (rest.startsWith('.')) return []
    return [
      fail(
        key,
        `${path} lies in security.workspace_root, among what agents work on`,
        'name a directory outside of the workspace',
      ),
    ]
  })
  return inside.slice(0, 1)
}

function branchFindings({ sandbox, security, state_directory: state }: Config): readonly Finding[] {
  const { branch_roots: roots, require, volatile, devices } = sandbox
  const found: Finding[] = roots.flatMap((root, index): readonly Finding[] => {
    const check = `sandbox.branch_roots[${index}]`
    if (NO_FILES.some((place) => isWithin(place, root)))
      return [fail(check, `${root} is no place for files`, 'take it out')]
    if (isWithin(state, root) && !isWithin(security.workspace_root, root))
      return [fail(check, `${root} lies in the state directory, which no command may change`, 'take it out')]
    const same = roots.indexOf(root)
    if (same < index) return [fail(check, `is the same as sandbox.branch_roots[${same}]`, 'take it out')]
    const around = roots.findIndex(
      (outer, place) => place !== index && outer !== root && isWithin(outer, root),
    )
    // What hides the state directory hides a workspace in it: that one is branched for itself.
    if (around === -1 || root === security.workspace_root) return []
    return [fail(check, `${root} lies in ${roots[around]}, which is branched already`, 'take it out')]
  })
  volatile.forEach((path, index) => {
    const check = `sandbox.volatile[${index}]`
    if (volatile.indexOf(path) < index)
      found.push(fail(check, `is the same as sandbox.volatile[${volatile.indexOf(path)}]`, 'take it out'))
    else if (!roots.some((root) => root !== path && isWithin(root, path)))
      found.push(
        fail(
          check,
          `${path} lies beneath no directory of sandbox.branch_roots`,
          'name a directory beneath one, or take it out',
        ),
      )
  })
  devices.forEach((path, index) => {
    const check = `sandbox.devices[${index}]`
    if (path === '/dev' || path === '/')
      found.push(
        fail(check, `${path} is every device, the disks among them`, 'name each, like "/dev/ttyUSB0"'),
      )
    else if (!isWithin('/dev', path))
      found.push(fail(check, `${path} does not lie in /dev`, 'name a device, like "/dev/ttyUSB0"'))
  })
  if (require === 'copy' && sandbox.copy_bytes === 0 && roots.length > 0)
    found.push(
      fail(
        'sandbox.copy_bytes',
        'is 0 while sandbox.require is "copy", so nothing can be copied and nothing runs',
        'write 268435456, the default',
      ),
    )
  if (require === 'copy' && roots.includes('/'))
    found.push(
      warn(
        'sandbox.branch_roots',
        'is the whole device while sandbox.require is "copy", which copies it for every session',
        'name the directories that are worked on',
      ),
    )
  if (require === 'none' && volatile.length > 0)
    found.push(warn('sandbox.volatile', 'means nothing while sandbox.require is "none"', 'empty it'))
  return found
}

/** Paths that decide, as they were written: to be read as they are meant. */
function writtenPaths(raw: unknown): readonly (readonly [check: string, path: string])[] {
  const found: (readonly [string, string])[] = []
  const at = (value: unknown, key: string) =>
    typeof value === 'object' && value !== null
      ? (value as Readonly<Record<string, unknown>>)[key]
      : undefined
  const list = (check: string, value: unknown) => {
    if (!Array.isArray(value)) return
    for (const [index, path] of value.entries())
      if (typeof path === 'string') found.push([`${check}[${index}]`, path])
  }
  const sets = at(raw, 'capabilities')
  if (typeof sets === 'object' && sets !== null)
    for (const [name, set] of Object.entries(sets))
      for (const key of ['allowed_paths', 'denied_paths']) list(`capabilities.${name}.${key}`, at(set, key))
  list('sandbox.branch_roots', at(at(raw, 'sandbox'), 'branch_roots'))
  return found
}

const NOT_NORMAL = /(?:^|\/)\.{1,2}(?:\/|$)|\/\//

function spellingFindings(raw: unknown, configPath: string): readonly Finding[] {
  const directory = configPath.slice(0, configPath.lastIndexOf('/'))
  return writtenPaths(raw).flatMap(([check, path]) => {
    if (path === '' || path === ALL_WORD || path === WORKSPACE_WORD || /[$~*]/.test(path)) return []
    const meant = resolvePath(directory, path)
    const remedy = `write "${meant}" if that is meant`
    if (NOT_NORMAL.test(path))
      return [fail(check, `"${path}" has an empty, . or .. part, and means ${meant}`, remedy)]
    if (path.startsWith('/')) return []
    return [
      fail(
        check,
        `"${path}" is relative, and means ${meant}, not a place in the workspace`,
        `${remedy}, or "${WORKSPACE_WORD}" for the workspace`,
      ),
    ]
  })
}

/** What of the paths cannot be meant so. `configPath`: absolute; `raw`: what stands there. */
export function findPlaceContradictions(
  config: Config,
  configPath: string,
  raw: unknown,
): readonly Finding[] {
  return [
    ...spellingFindings(raw, configPath),
    ...sameFiles(config, configPath),
    ...workspaceFindings(config),
    ...branchFindings(config),
  ]
}
