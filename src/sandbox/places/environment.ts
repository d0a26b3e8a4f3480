/**
 * The environment of a command, built from nothing: a fixed base, then what the request sets and the capability
 * allows. Variables that make a program load or run something never pass, whatever is allowed (loading-variables.ts).
 * Rules: docs/configuration.md (allowed_env).
 * @module
 */
import { isDangerousVariable } from '../../base/loading-variables.ts'

export const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Caches of tools lie in memory and end with the session, by the variable that each tool reads; beneath /tmp. */
const CACHES: readonly (readonly [variable: string, directory: string])[] = [
  ['npm_config_cache', '.cache/npm'],
  ['YARN_CACHE_FOLDER', '.cache/yarn'],
  ['CARGO_HOME', '.cache/cargo'],
  ['PIP_CACHE_DIR', '.cache/pip'],
]
export const CACHE_DIRECTORIES: readonly string[] = CACHES.map(([, directory]) => directory)

export type EnvironmentBase = {
  readonly home: string
  readonly user: string
}

export type Environment =
  | { readonly ok: true; readonly variables: ReadonlyMap<string, string> }
  | { readonly ok: false; readonly problem: string }

function isAllowed(name: string, allowed: readonly string[]): boolean {
  return allowed.some((pattern) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name,
  )
}

/** POSIX: letters, digits and underscore, no digit first. Keeps `=` and control characters out of `NAME=value`. */
function isName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]{0,255}$/.test(name)
}

/**
 * The environment of one command, or what the request asks for in vain. `term` is TERM of a terminal. In a branch the
 * directories for temporary files and caches are the session's own; what a request sets goes before.
 */
export function buildEnvironment(
  base: EnvironmentBase,
  requested: ReadonlyMap<string, string> | undefined,
  allowed: readonly string[],
  term: string | undefined,
  isBranched = false,
): Environment {
  const variables = new Map<string, string>([
    ['PATH', DEFAULT_PATH],
    ['HOME', base.home],
    ['USER', base.user],
    ['LOGNAME', base.user],
    ['SHELL', '/bin/sh'],
    ['LANG', 'C.UTF-8'],
  ])
  if (isBranched) {
    variables.set('TMPDIR', '/tmp')
    for (const [variable, directory] of CACHES) variables.set(variable, `/tmp/${directory}`)
  }
  if (term !== undefined) variables.set('TERM', term)
  for (const [name, value] of requested ?? []) {
    if (!isName(name))
      return { ok: false, problem: 'env has a name that is not letters, digits and underscores' }
    if (isDangerousVariable(name))
      return { ok: false, problem: `env.${name} never passes: it can make a program load something else` }
    if (!isAllowed(name, allowed))
      return { ok: false, problem: `env.${name} is not in allowed_env of the caller's capability` }
    variables.set(name, value)
  }
  return { ok: true, variables }
}
