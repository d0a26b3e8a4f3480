/**
 * Environment variables whose value is a command or a program file to other programs: setting one runs it later.
 * From the manual pages of git, man, less, sudo, ssh, bash, perl, python and node, and of the tools named below.
 * @module
 */

import type { ShellWord } from '../shell/shell.ts'
import type { Assignment, Inner } from './inner.ts'
import { goesBy } from './names.ts'

const COMMANDS: ReadonlySet<string> = new Set(
  'CCACHE_PREFIX CCACHE_PREFIX_CPP CCACHE_COMPILER CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER PAGER MANPAGER GIT_PAGER SYSTEMD_PAGER BAT_PAGER AWS_PAGER EDITOR VISUAL FCEDIT GIT_EDITOR GIT_SEQUENCE_EDITOR SUDO_EDITOR SYSTEMD_EDITOR KUBE_EDITOR CRONTAB_EDITOR GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND SSH_ASKPASS SUDO_ASKPASS PROMPT_COMMAND LESSOPEN LESSCLOSE BROWSER RSYNC_RSH RSYNC_CONNECT_PROG CVS_RSH SVN_SSH SVN_EDITOR HGEDITOR HGMERGE TAR_RSH SHELL MAKESHELL CC CXX LD FC TERMINAL LUA_INIT KUBECTL_EXTERNAL_DIFF FZF_DEFAULT_COMMAND FZF_CTRL_T_COMMAND FZF_ALT_C_COMMAND PSQL_EDITOR PSQL_PAGER PERLDOC_PAGER DELTA_PAGER GH_PAGER GH_EDITOR GH_BROWSER GLAB_PAGER SENSIBLE_EDITOR DIFFPROG TERRAGRUNT_TFPATH TG_TF_PATH AUTOM4TE AUTOCONF AUTOHEADER ACLOCAL AUTOMAKE M4 RUSTDOC RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER R_BROWSER R_PDFVIEWER P4EDITOR P4DIFF P4MERGE CPP AR AS NM RANLIB STRIP OBJCOPY OBJDUMP HOSTCC HOSTCXX HOSTLD CC_FOR_BUILD CXX_FOR_BUILD CC_FOR_TARGET BUILD_CC F77 GCC GXX CARGO_BUILD_RUSTC CARGO_BUILD_RUSTC_WRAPPER CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTDOC RUSTC_LINKER CMAKE_C_COMPILER CMAKE_CXX_COMPILER CMAKE_LINKER CMAKE_AR LINKER NVCC SWIG PROTOC PKG_CONFIG PYTHON YACC LEX BISON FLEX'.split(
    ' ',
  ),
)
/** And those of which a part of the name is that of a machine: `CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER`. */
const COMMAND_NAME = /^CARGO_TARGET_[A-Z0-9_]{1,128}_(?:LINKER|RUNNER)$/

/** Options to a program, among which are some whose value is a command or a file of code. */
const OPTION_LISTS =
  /^(?:GOFLAGS|(?:HOST|BUILD_|CGO_|CMAKE_|NVCC_|NVCC|K|AM_)?(?:C|CXX|CPP|LD|AS|F|FC|OBJC)(?:_EXE_LINKER_|_SHARED_LINKER_)?_?FLAGS(?:_\w{1,64})?|LDLIBS|LIBS|EXTRA_(?:C|CXX|LD)FLAGS|RUSTFLAGS|RUSTDOCFLAGS|CARGO_BUILD_RUSTFLAGS|CARGO_TARGET_[A-Z0-9_]{1,128}_RUSTFLAGS|CARGO_ENCODED_RUSTFLAGS|MAVEN_OPTS|MAVEN_ARGS|GRADLE_OPTS|JAVA_OPTS|SBT_OPTS|ANT_OPTS|CATALINA_OPTS)$/
const COMMAND_OPTION =
  /-{1,2}(?:toolexec|exec|vettool|XX:OnOutOfMemoryError|XX:OnError)=(?:"([^"]*)"|'([^']*)'|([^"'\s]\S*))/g
const FILE_OPTION =
  /-{1,2}(?:javaagent:|agentpath:|Xbootclasspath\/[ap]:|Xbootclasspath:|init-script[= ]|overlay=|C ?linker=)([^\s=]+)/g

/** Code that a compiler or linker loads or starts; it is a program as any other. */
const PLUGIN_OPTION =
  /-{1,2}(?:fplugin=|wrapper[ ,]|fuse-ld=|specs=|load[ ,=]|B ?|Wl,-plugin[,=]|Wl,--plugin[,=]|Xclang -load -Xclang |C ?linker=|Zcodegen-backend=|Z ?codegen-backend=|C ?link-arg=-fuse-ld=|ld-path=)([^\s,'"=]{1,4096})/g

const WRAPPER_OPTION = /-wrapper[ ,=]\s{0,8}["']?([^\s"']{1,4096})/g

/** A trace is written to the file that such a variable names. */
const WRITTEN =
  /^(?:GIT_TRACE\w{0,64}|GIT_REDIRECT_STDOUT|GIT_REDIRECT_STDERR|SSLKEYLOGFILE|NODE_V8_COVERAGE|PYTHONPYCACHEPREFIX|GCOV_PREFIX|LLVM_PROFILE_FILE|LD_DEBUG_OUTPUT|COREHOST_TRACEFILE|DOTNET_DbgMiniDumpName|COMPlus_DbgMiniDumpName|DOTNET_EventPipeOutputPath|GST_DEBUG_FILE|GST_DEBUG_DUMP_DOT_DIR|NODE_REDIRECT_WARNINGS|NODE_COMPILE_CACHE|CCACHE_LOGFILE|SCCACHE_ERROR_LOG|MESA_LOG_FILE|VALGRIND_LOG|PYTHON_HISTORY|NODE_REPL_HISTORY|SQLITE_HISTORY|PSQL_HISTORY|MYSQL_HISTFILE|LESSHISTFILE|GDBHISTFILE|REDISCLI_HISTFILE|RLWRAP_HOME|COVERAGE_FILE|MOZ_LOG_FILE|G_DEBUG_FILE|CUDA_LOG_FILE|DBUS_SESSION_LOG|GOCACHE|GOMODCACHE|CARGO_TARGET_DIR|CCACHE_DIR|PIP_TARGET|PIP_CACHE_DIR|PIP_LOG|npm_config_(?:cache|prefix)|MALLOC_TRACE|TF_LOG_PATH|ANSIBLE_LOG_PATH|PYTEST_DEBUG_TEMPROOT)$/

/** Options in a variable, of which one names a file that is written: `FFREPORT=file=/x:level=32`, `ASAN_OPTIONS=log_path=/x`. */
const WRITTEN_WITHIN =
  /^(?:FFREPORT|\w{1,8}SAN_OPTIONS|VALGRIND_OPTS|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|MAVEN_OPTS|GRADLE_OPTS|SBT_OPTS|ANT_OPTS|JAVA_OPTS|NODE_OPTIONS|GOFLAGS|PYTEST_ADDOPTS|XRAY_OPTIONS|MALLOC_CONF)$/
const WRITTEN_PLACE =
  /(?:^|[\s:,=])(?:-{1,2}(?:[\w-]{0,32}(?:log|out|output|report|xml|html|basetemp|profile|trace|warnings|prof-dir|diagnostic-dir|directory)(?:-file)?|o)[= ]|-XX:(?:HeapDumpPath|ErrorFile|LogFile)=|-Xloggc:|(?:file|filename|log_path|log_dir|log_file|coverage_dir|stats_path)=)["']?((?:\/|~\/)[^\s:,;"']{1,1024})/g

function writtenWithin(name: string, value: Assignment['value']): readonly Inner[] {
  if (!WRITTEN_WITHIN.test(name) || !/[/~]/.test(value.text)) return []
  return [...value.text.matchAll(WRITTEN_PLACE)].map(
    ([, text = '']): Inner => ({ kind: 'path', word: { ...value, text }, use: 'write' }),
  )
}

/** Expanded by the shell, and then a file that is run. */
const EXPANDED: ReadonlySet<string> = new Set(['BASH_ENV', 'ENV', 'PS0', 'PS1', 'PS2', 'PS4', 'ZDOTDIR'])
const TRACED: readonly string[] = Object.freeze(['PS0', 'PS4'])
/** A file, or several, whose code is run in the program. */
const FILES: ReadonlySet<string> = new Set([
  'LD_PRELOAD',
  'LD_LIBRARY_PATH',
  'LD_AUDIT',
  'PYTHONSTARTUP',
  'PYTHONPATH',
  'PYTHONHOME',
  'NODE_PATH',
  'PERL5LIB',
  'PERLLIB',
  'RUBYLIB',
  'GCONV_PATH',
  'GIT_EXEC_PATH',
  'GIT_TEMPLATE_DIR',
  'GIT_CONFIG',
  'GIT_CONFIG_GLOBAL',
  'GIT_CONFIG_SYSTEM',
  'OPENSSL_CONF',
  'OPENSSL_ENGINES',
  'INPUTRC',
  'SCREENRC',
  'VIMINIT',
  'CLASSPATH',
  'BASH_ENV',
  'ENV',
  'ZDOTDIR',
  ...[
    'LUA_PATH LUA_CPATH PYTHONUSERBASE PYTHONPLATLIBDIR COMPILER_PATH GCC_EXEC_PREFIX LIBRARY_PATH LD_RUN_PATH',
    'PKG_CONFIG_PATH SSH_SK_PROVIDER APT_CONFIG PIP_CONFIG_FILE HGRCPATH RIPGREP_CONFIG_PATH XDG_CONFIG_HOME',
    'XDG_CONFIG_DIRS XDG_DATA_DIRS VK_ICD_FILENAMES VK_DRIVER_FILES VK_ADD_DRIVER_FILES VK_LAYER_PATH',
    'VK_ADD_LAYER_PATH CORECLR_PROFILER_PATH CORECLR_PROFILER_PATH_64 COR_PROFILER_PATH DOTNET_STARTUP_HOOKS',
    'DOTNET_ADDITIONAL_DEPS BUNDLE_GEMFILE COMPOSER_HOME NPM_CONFIG_USERCONFIG npm_config_userconfig',
    'NPM_CONFIG_GLOBALCONFIG npm_config_globalconfig LIBGL_DRIVERS_PATH GST_PLUGIN_PATH QT_PLUGIN_PATH',
    'QT_QPA_PLATFORM_PLUGIN_PATH GTK_PATH GIO_EXTRA_MODULES GIO_MODULE_DIR GDK_PIXBUF_MODULE_FILE',
    'MAGICK_CONFIGURE_PATH MAGICK_CODER_MODULE_PATH SASL_PATH LADSPA_PATH OCL_ICD_VENDORS LIBVA_DRIVERS_PATH',
    'VDPAU_DRIVER_PATH GOROOT JAVA_HOME DOTNET_ROOT M2_HOME MAVEN_HOME ANT_HOME GRADLE_HOME KOTLIN_HOME SCALA_HOME BAT_CONFIG_PATH LESSKEY LESSKEYIN LESSKEY_CONTENT FZF_DEFAULT_OPTS_FILE KAKOUNE_CONFIG_DIR MICRO_CONFIG_HOME HELIX_RUNTIME ZELLIJ_CONFIG_DIR ZELLIJ_CONFIG_FILE STARSHIP_CONFIG KITTY_CONFIG_DIRECTORY LF_CONFIG_HOME VIMRUNTIME MYVIMRC LG_CONFIG_FILE TIGRC_USER TIGRC_SYSTEM R_PROFILE R_PROFILE_USER R_ENVIRON_USER JULIA_LOAD_PATH TCLLIBPATH GUILE_LOAD_PATH',
    'EMACSLOADPATH OCAMLPATH CAML_LD_LIBRARY_PATH ERL_LIBS ANSIBLE_CONFIG ANSIBLE_LIBRARY TF_CLI_CONFIG_FILE',
    'WGETRC CURL_HOME GIT_SSH DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH VK_LAYER_SETTINGS_PATH',
  ].flatMap((names) => names.split(' ')),
])

/** Programs that everybody has are no files to look at. */
function isOwnProgram(text: string): boolean {
  return text.startsWith('/') && !/^\/(?:usr|bin|sbin)\//.test(text)
}

function optionTexts(name: string, value: Assignment['value']): readonly Inner[] {
  if (!OPTION_LISTS.test(name)) return []
  const commands = [...value.text.matchAll(COMMAND_OPTION)].flatMap(
    ([, double, single, bare]): readonly Inner[] => {
      const text = double ?? single ?? bare ?? ''
      return text === ''
        ? []
        : [{ kind: 'shell', word: { ...value, text }, via: `${name}=` }, ...programFile({ ...value, text })]
    },
  )
  // `-wrapper sh,-c,cmd`: an argv between commas.
  const wrappers = [...value.text.matchAll(WRAPPER_OPTION)].map(
    ([, text = '']): Inner => ({
      kind: 'argv',
      words: text.split(',', 64).map((part) => ({ ...value, text: part })),
      via: `${name}=`,
    }),
  )
  const files = [...value.text.matchAll(FILE_OPTION)].map(
    ([, text = '']): Inner => ({ kind: 'path', word: { ...value, text }, use: 'read' }),
  )
  const plugins = [...value.text.matchAll(PLUGIN_OPTION)].flatMap(([, text = '']): readonly Inner[] =>
    isOwnProgram(text) ? [{ kind: 'argv', words: [{ ...value, text }], via: `${name}=` }] : [],
  )
  return [...commands, ...wrappers, ...files, ...plugins]
}

/** The file that a command begins with. */
function programFile(value: Assignment['value']): readonly Inner[] {
  const text = value.text.trimStart().split(' ', 1)[0] ?? ''
  return isOwnProgram(text) ? [{ kind: 'path', word: { ...value, text }, use: 'read' }] : []
}

/** They take variables among their words: `make CC=x`, `cmake -DCMAKE_C_COMPILER=x`. */
const TAKES_SETTINGS: ReadonlySet<string> = new Set('make gmake bmake cmake configure meson scons'.split(' '))

export function takesSettings(names: readonly string[]): boolean {
  return goesBy(names, TAKES_SETTINGS)
}

/** `-DNAME:TYPE=VALUE` as `NAME=VALUE`; any other word as it is. */
export function bareSetting(word: ShellWord): ShellWord {
  return word.text.startsWith('-D')
    ? { ...word, text: word.text.slice(2).replace(/:[A-Z]{1,16}=/, '=') }
    : word
}

/** Variables that hold options of one program, which are read as if it had been given them. */
const OPTIONS_OF: ReadonlyMap<string, string> = new Map([
  ['FZF_DEFAULT_OPTS', 'fzf'],
  ['TAR_OPTIONS', 'tar'],
  ['BAT_OPTS', 'bat'],
  ['LESS', 'less'],
  ['ACK_OPTIONS', 'ack'],
  ['PYTEST_ADDOPTS', 'pytest'],
  ['CTAGS', 'ctags'],
  ['ZIPOPT', 'zip'],
  ['JQ_OPTS', 'jq'],
  ['NNN_OPTS', 'nnn'],
  ['SKIM_DEFAULT_OPTIONS', 'sk'],
  ['RSYNC_OPTIONS', 'rsync'],
  ['GTEST_OPTIONS', 'ctest'],
  ['VALGRIND_OPTS', 'valgrind'],
])

/** `LESS='+!cmd'`: what a pager is given to begin with. */
function pagerText(name: string, value: Assignment['value']): readonly Inner[] {
  const at = name === 'LESS' || name === 'MORE' ? value.text.indexOf('+!') : -1
  return at < 0
    ? []
    : [{ kind: 'shell', word: { ...value, text: value.text.slice(at + 2) }, via: `${name}=` }]
}

/** What setting `name` to `value` would run or read. */
export function environmentText(name: string, value: Assignment['value']): readonly Inner[] {
  if (WRITTEN.test(name))
    return value.text.startsWith('/') ? [{ kind: 'path', word: value, use: 'write' }] : []
  if (COMMANDS.has(name) || COMMAND_NAME.test(name)) {
    if (value.text === '' && value.opaque === undefined) return []
    // LESSOPEN begins with marks of its own.
    let { text } = value
    if (name.startsWith('LESS')) while (text.startsWith('|') || text.startsWith('-')) text = text.slice(1)
    return [{ kind: 'shell', word: { ...value, text }, via: `${name}=` }, ...programFile({ ...value, text })]
  }
  const program = OPTIONS_OF.get(name)
  if (program !== undefined && value.text.includes('-'))
    return [{ kind: 'shell', word: { ...value, text: `${program} ${value.text}` }, via: `${name}=` }]
  const inner: Inner[] = [
    ...optionTexts(name, value),
    ...pagerText(name, value),
    ...writtenWithin(name, value),
  ]
  if (EXPANDED.has(name) && (value.text.includes('$(') || value.text.includes('`'))) {
    inner.push({ kind: 'shell', word: { ...value, text: `: "${value.text}"` }, via: `${name}=` })
  }
  // It is expanded whenever a command is traced or run.
  if (TRACED.includes(name) && value.opaque === 'substitution') inner.push({ kind: 'opaque', opaque: 'eval' })
  if (FILES.has(name)) {
    for (const file of value.text.split(/[: ;,]/, 64)) {
      if (file !== '') inner.push({ kind: 'path', word: { ...value, text: file }, use: 'read' })
    }
  }
  return inner
}
