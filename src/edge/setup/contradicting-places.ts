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

function* sameFiles(config: Config, configPath: string): Iterable<Finding> {
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

  for (const [key, path] of named) {
    if (path === null) continue
    const other = first.get(path)
    if (other === undefined) first.set(path, key)
    else {
      const what = other === '' ? 'this configuration' : other
      yield fail(key, `is ${path}, and so is ${what}`, 'give each a place of its own')
    }
  }
}

function* workspaceFindings(config: Config): Iterable<Finding> {
  const check = 'security.workspace_root'
  const { workspace_root: workspace } = config.security
  const state = config.state_directory
  const own = [config.audit.directory, ...OWN_PLACES.map((name) => `${state}/${name}`)]
  const around = own.find((place) => place !== workspace && isWithin(place, workspace))
  if (around !== undefined || own.some((place) => place === workspace && place !== config.audit.directory)) {
    const remedy = `name a directory outside, like ${state}/workspace`
    return void (yield fail(check, `${workspace} lies where the daemon keeps its own files`, remedy))
  }
  if (NO_FILES.some((place) => isWithin(place, workspace)))
    return void (yield fail(
      check,
      `${workspace} is no place for files`,
      `name a directory like ${state}/workspace`,
    ))
  for (const [key, path] of [
    ['state_directory', state],
    ['audit.directory', config.audit.directory],
  ] as const) {
    if (path === workspace || !isWithin(workspace, path)) continue
    // A directory that begins with a dot (.sass-edge) is kept apart on purpose; the daemon hides it from commands.
    const rest = workspace === '/' ? path.slice(1) : path.slice(workspace.length + 1)
    if (rest.startsWith('.')) continue
    return void (yield fail(
      key,
      `${path} lies in security.workspace_root, among what agents work on`,
      'name a directory outside of the workspace',
    ))
  }
}

function* branchFindings({ sandbox, security, state_directory: state }: Config): Iterable<Finding> {
  const { branch_roots: roots, require, volatile, devices } = sandbox
  for (const [index, root] of roots.entries()) {
    const same = roots.indexOf(root)
    const around = roots.findIndex(
      (outer, place) => place !== index && outer !== root && isWithin(outer, root),
    )
    const why = NO_FILES.some((place) => isWithin(place, root))
      ? `${root} is no place for files`
      : isWithin(state, root) && !isWithin(security.workspace_root, root)
        ? `${root} lies in the state directory, which no command may change`
        : same < index
          ? `is the same as sandbox.branch_roots[${same}]`
          : // What hides the state directory hides a workspace in it: that one is branched for itself.
            around !== -1 && root !== security.workspace_root
            ? `${root} lies in ${roots[around]}, which is branched already`
            : undefined
    if (why !== undefined) yield fail(`sandbox.branch_roots[${index}]`, why, 'take it out')
  }
  for (const [index, path] of volatile.entries()) {
    const check = `sandbox.volatile[${index}]`
    if (volatile.indexOf(path) < index)
      yield fail(check, `is the same as sandbox.volatile[${volatile.indexOf(path)}]`, 'take it out')
    else if (!roots.some((root) => root !== path && isWithin(root, path)))
      yield fail(
        check,
        `${path} lies beneath no directory of sandbox.branch_roots`,
        'name a directory beneath one, or take it out',
      )
  }
  for (const [index, path] of devices.entries()) {
    const check = `sandbox.devices[${index}]`
    if (path === '/dev' || path === '/')
      yield fail(check, `${path} is every device, the disks among them`, 'name each, like "/dev/ttyUSB0"')
    else if (!isWithin('/dev', path))
      yield fail(check, `${path} does not lie in /dev`, 'name a device, like "/dev/ttyUSB0"')
  }
  if (require === 'copy' && sandbox.copy_bytes === 0 && roots.length > 0)
    yield fail(
      'sandbox.copy_bytes',
      'is 0 while sandbox.require is "copy", so nothing can be copied and nothing runs',
      'write 268435456, the default',
    )
  if (require === 'copy' && roots.includes('/'))
    yield warn(
      'sandbox.branch_roots',
      'is the whole device while sandbox.require is "copy", which copies it for every session',
      'name the directories that are worked on',
    )
  if (require === 'none' && volatile.length > 0)
    yield warn('sandbox.volatile', 'means nothing while sandbox.require is "none"', 'empty it')
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

function* spellingFindings(raw: unknown, configPath: string): Iterable<Finding> {
  const directory = configPath.slice(0, configPath.lastIndexOf('/'))
  for (const [check, path] of writtenPaths(raw)) {
    if (path === '' || path === ALL_WORD || path === WORKSPACE_WORD || /[$~*]/.test(path)) continue
    const meant = resolvePath(directory, path)
    const remedy = `write "${meant}" if that is meant`
    if (NOT_NORMAL.test(path)) {
      yield fail(check, `"${path}" has an empty, . or .. part, and means ${meant}`, remedy)
      continue
    }
    if (path.startsWith('/')) continue
    yield fail(
      check,
      `"${path}" is relative, and means ${meant}, not a place in the workspace`,
      `${remedy}, or "${WORKSPACE_WORD}" for the workspace`,
    )
  }
}

/** What of the paths cannot be meant so. `configPath`: absolute; `raw`: what stands there. */
export function* findPlaceContradictions(
  config: Config,
  configPath: string,
  raw: unknown,
): Iterable<Finding> {
  yield* spellingFindings(raw, configPath)
  yield* sameFiles(config, configPath)
  yield* workspaceFindings(config)
  yield* branchFindings(config)
}
