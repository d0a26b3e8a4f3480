/**
 * The environment of a command, built from nothing: a fixed base, then what the request sets and the capability
 * allows. Variables that make a program load or run something never pass, whatever is allowed.
 * Rules: docs/configuration.md (allowed_env); the names are those that loaders, shells, interpreters, Git and the
 * C library document as ways to inject code or redirect lookups.
 * @module
 */

/** Exact names. */
const NEVER: ReadonlySet<string> = new Set([
  'BASHOPTS',
  'BASH_ENV',
  'BASH_LOADABLES_PATH',
  'BROWSER',
  'CDPATH',
  'CLASSPATH',
  'DOTNET_STARTUP_HOOKS',
  'EDITOR',
  'ENV',
  'FPATH',
  'GCONV_PATH',
  'GETCONF_DIR',
  'GLIBC_TUNABLES',
  'GLOBIGNORE',
  'HOSTALIASES',
  'IFS',
  'JAVA_TOOL_OPTIONS',
  'JDK_JAVA_OPTIONS',
  'LESSCLOSE',
  'LESSKEY',
  'LESSKEYIN',
  'LESSOPEN',
  'LOCALDOMAIN',
  'LOCPATH',
  'LUA_INIT',
  'MAKEFLAGS',
  'MANPAGER',
  'NIS_PATH',
  'NLSPATH',
  'NODE_EXTRA_CA_CERTS',
  'NODE_OPTIONS',
  'NODE_PATH',
  'NODE_REPL_EXTERNAL_MODULE',
  'OPENSSL_CONF',
  'OPENSSL_ENGINES',
  'OPENSSL_MODULES',
  'PAGER',
  'PERL5DB',
  'PERL5LIB',
  'PERL5OPT',
  'PERLLIB',
  'PROMPT_COMMAND',
  'PS4',
  'PYTHONBREAKPOINT',
  'PYTHONHOME',
  'PYTHONINSPECT',
  'PYTHONPATH',
  'PYTHONSTARTUP',
  'PYTHONUSERBASE',
  'RESOLV_HOST_CONF',
  'RES_OPTIONS',
  'RUBYLIB',
  'RUBYOPT',
  'SHELLOPTS',
  'SSH_ASKPASS',
  'SSLKEYLOGFILE',
  'SUDO_ASKPASS',
  'SYSTEMD_EDITOR',
  'SYSTEMD_PAGER',
  'TERMCAP',
  'TERMINFO',
  'TERMINFO_DIRS',
  'TERMPATH',
  'TZDIR',
  'VISUAL',
  'ZDOTDIR',
  '_JAVA_OPTIONS',
])

/** Beginnings of names: the dynamic loader, memory debugging, Git's hooks and commands, exported shell functions. */
const NEVER_BEGINNINGS: readonly string[] = [
  'LD_',
  'DYLD_',
  'MALLOC_',
  'GIT_',
  'BASH_FUNC_',
  'NPM_CONFIG_',
  'npm_config_',
  'RUSTC_',
  'CARGO_TARGET_',
]

/** Git variables that only name a person or a date. */
const GIT_HARMLESS: ReadonlySet<string> = new Set([
  'GIT_AUTHOR_DATE',
  'GIT_AUTHOR_EMAIL',
  'GIT_AUTHOR_NAME',
  'GIT_COMMITTER_DATE',
  'GIT_COMMITTER_EMAIL',
  'GIT_COMMITTER_NAME',
  'GIT_OPTIONAL_LOCKS',
  'GIT_TERMINAL_PROMPT',
])

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

/** True for a name that never passes. */
export function isDangerousVariable(name: string): boolean {
  if (GIT_HARMLESS.has(name)) return false
  return NEVER.has(name) || NEVER_BEGINNINGS.some((beginning) => name.startsWith(beginning))
}

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
