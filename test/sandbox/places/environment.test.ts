/**
 * The environment of a command: a fixed base, what is asked for and allowed, and what never passes.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { isDangerousVariable } from '../../../src/base/loading-variables.ts'
import { buildEnvironment, CACHE_DIRECTORIES, DEFAULT_PATH } from '../../../src/sandbox/places/environment.ts'

const BASE = { home: '/home/u', user: 'u' }
const build = (requested: Record<string, string>, allowed: readonly string[] = ['*'], term?: string) =>
  buildEnvironment(BASE, new Map(Object.entries(requested)), allowed, term)
const variablesOf = (result: ReturnType<typeof build>) =>
  result.ok ? Object.fromEntries(result.variables) : result.problem

t.test('without a wish there is the fixed base, and nothing of the daemon’s own environment', (t) => {
  t.strictSame(variablesOf(buildEnvironment(BASE, undefined, [], undefined)), {
    PATH: DEFAULT_PATH,
    HOME: '/home/u',
    USER: 'u',
    LOGNAME: 'u',
    SHELL: '/bin/sh',
    LANG: 'C.UTF-8',
  })
  t.match(variablesOf(build({}, [], 'xterm')), { TERM: 'xterm' })
  t.ok(DEFAULT_PATH.split(':').every((directory) => directory.startsWith('/')))
  t.end()
})

t.test('a variable passes when its name is listed, a beginning with a star is, or a star alone', (t) => {
  t.match(variablesOf(build({ A: '1', B_C: '' }, ['A', 'B_*'])), { A: '1', B_C: '' })
  t.match(variablesOf(build({ ANY: 'x', PATH: '/opt', LANG: 'de' })), { ANY: 'x', PATH: '/opt', LANG: 'de' })
  for (const [name, allowed] of [
    ['A', []],
    ['AB', ['A']],
    ['A', ['AB']],
    ['B', ['B_*']],
    ['a', ['A']],
  ] as const) {
    t.match(build({ [name]: '1' }, allowed), { ok: false, problem: `env.${name} is not in allowed_env` })
  }
  t.end()
})

t.test('what makes a program load or run something else never passes, whatever is allowed', (t) => {
  const names = [
    ...['LD_PRELOAD', 'LD_LIBRARY_PATH', 'LD_AUDIT', 'LD_anything', 'DYLD_INSERT_LIBRARIES', 'GCONV_PATH'],
    ...['BASH_ENV', 'ENV', 'IFS', 'PS4', 'PROMPT_COMMAND', 'SHELLOPTS', 'BASH_FUNC_ls%%', 'ZDOTDIR'],
    ...[
      'NODE_OPTIONS',
      'PYTHONPATH',
      'PYTHONSTARTUP',
      'PERL5OPT',
      'RUBYOPT',
      'JAVA_TOOL_OPTIONS',
      'LUA_INIT',
    ],
    ...['GIT_SSH_COMMAND', 'GIT_EXEC_PATH', 'GIT_CONFIG_COUNT', 'GIT_EDITOR', 'PAGER', 'EDITOR', 'LESSOPEN'],
    ...['OPENSSL_CONF', 'SSLKEYLOGFILE', 'GLIBC_TUNABLES', 'MALLOC_CHECK_', 'npm_config_script_shell'],
    ...[
      'TERMINFO',
      'HOSTALIASES',
      'RES_OPTIONS',
      'TZDIR',
      'RUSTC_WRAPPER',
      'MAKEFLAGS',
      'SSH_ASKPASS',
      'PYTHONBREAKPOINT',
    ],
    ...['HOME', 'SHELL', 'EXINIT', 'VIMINIT', 'VIM', 'NVIM_APPNAME', 'XDG_CONFIG_HOME', 'XDG_CONFIG_DIRS'],
    ...['XDG_DATA_DIRS', 'JULIA_LOAD_PATH', 'JULIA_PROJECT', 'PERL5LIB', 'PERL5SHELL', 'RUBYLIB', 'GEM_PATH'],
    ...[
      'LUA_PATH',
      'LUA_CPATH_5_4',
      'R_PROFILE',
      'R_PROFILE_USER',
      'R_LIBS',
      'PHPRC',
      'GOFLAGS',
      'GOTOOLCHAIN',
    ],
    ...[
      'GIT_CONFIG_GLOBAL',
      'GIT_CONFIG_KEY_0',
      'LESS',
      'MANPAGER',
      'AWS_PAGER',
      'KUBE_EDITOR',
      'GH_BROWSER',
    ],
    ...[
      'TAR_OPTIONS',
      'RSYNC_RSH',
      'CVS_RSH',
      'MAVEN_OPTS',
      'KUBECONFIG',
      'DOCKER_CONFIG',
      'AWS_CONFIG_FILE',
    ],
    ...[
      'DBUS_SESSION_BUS_ADDRESS',
      'GTK_MODULES',
      'QT_PLUGIN_PATH',
      'GNUPGHOME',
      'INPUTRC',
      'CMAKE_TOOLCHAIN_FILE',
    ],
    ...[
      'PYTHONWARNINGS',
      'PIP_INDEX_URL',
      'YARN_RC_FILENAME',
      'NODE_TLS_REJECT_UNAUTHORIZED',
      'ASAN_OPTIONS',
    ],
    ...[
      'DOTNET_STARTUP_HOOKS',
      'CORECLR_PROFILER_PATH',
      'ERL_FLAGS',
      'AWKPATH',
      'RIPGREP_CONFIG_PATH',
      'WGETRC',
    ],
  ]
  for (const name of names) {
    t.ok(isDangerousVariable(name), name)
    for (const allowed of [['*'], [name], [`${name.slice(0, 3)}*`]])
      t.notOk(build({ [name]: 'x' }, allowed).ok)
  }
  for (const name of [
    'GIT_AUTHOR_NAME',
    'GIT_COMMITTER_DATE',
    'GIT_TERMINAL_PROMPT',
    'LANG',
    'TZ',
    'MY_LD_PRELOAD',
    ...[
      'PATH',
      'TMPDIR',
      'LC_ALL',
      'HTTPS_PROXY',
      'CC',
      'CFLAGS',
      'JAVA_HOME',
      'GOPATH',
      'GOOS',
      'VIRTUAL_ENV',
    ],
    ...[
      'NODE_ENV',
      'PYTHONUNBUFFERED',
      'PIP_CACHE_DIR',
      'YARN_CACHE_FOLDER',
      'CARGO_TERM_COLOR',
      'CI',
      'DEBUG',
    ],
    ...[
      'PKG_CONFIG_PATH',
      'SSL_CERT_FILE',
      'AWS_ACCESS_KEY_ID',
      'TF_VAR_name',
      'JULIA_NUM_THREADS',
      'EDITORIAL',
    ],
  ])
    t.notOk(isDangerousVariable(name), name)
  t.end()
})

t.test('a name that is no name is refused before anything else', (t) => {
  for (const name of ['', '1A', 'A B', 'A=B', 'A\nB', 'Ä', 'A-B', '__proto__ ', 'A'.repeat(257)]) {
    t.match(
      build({ [name]: 'x' }),
      { ok: false, problem: /letters, digits and underscores/ },
      JSON.stringify(name).slice(0, 20),
    )
  }
  t.ok(build({ A1_: 'x' }).ok)
  t.end()
})

t.test(
  'whatever is asked for, what comes out is the base and what was allowed, and one name has one value',
  (t) => {
    const name = fc.oneof(
      fc.constantFrom('PATH', 'LD_PRELOAD', 'A', 'TERM', 'ENV'),
      fc.string({ maxLength: 8 }),
    )
    fc.assert(
      fc.property(
        fc.dictionary(name, fc.string()),
        fc.array(fc.constantFrom('*', 'A', 'P*'), { maxLength: 2 }),
        (wish, allowed) => {
          const result = build(wish, allowed)
          if (!result.ok) return result.problem.startsWith('env')
          return [...result.variables].every(
            ([key, value]) =>
              /^[A-Za-z_][A-Za-z0-9_]*$/.test(key) &&
              (!Object.hasOwn(wish, key) || (wish[key] === value && !isDangerousVariable(key))),
          )
        },
      ),
      { numRuns: 500 },
    )
    t.pass('for every one of them')
    t.end()
  },
)

t.test(
  'in a branch temporary files and caches of tools lie in memory, unless the request says where (SS-47)',
  (t) => {
    const plain = buildEnvironment(BASE, undefined, ['*'], undefined)
    const branched = buildEnvironment(BASE, undefined, ['*'], undefined, true)
    const asked = buildEnvironment(BASE, new Map([['TMPDIR', '/srv/tmp']]), ['*'], undefined, true)
    if (!plain.ok || !branched.ok || !asked.ok) throw new Error('all of them can be had')
    t.notOk(plain.variables.has('TMPDIR'))
    t.equal(branched.variables.get('TMPDIR'), '/tmp')
    for (const name of ['npm_config_cache', 'YARN_CACHE_FOLDER', 'CARGO_HOME', 'PIP_CACHE_DIR']) {
      const value = branched.variables.get(name) ?? ''
      t.match(value, /^\/tmp\/.+/, name)
      t.ok(CACHE_DIRECTORIES.includes(value.slice('/tmp/'.length)), 'it is made with the session')
    }
    t.equal(asked.variables.get('TMPDIR'), '/srv/tmp')
    t.end()
  },
)
