/**
 * Which environment variables make a program load code or configuration, run another program, or look elsewhere for what
 * it trusts: no request sets them, whatever it may set otherwise. Where a family of names is mostly such, its beginning is
 * here and what is harmless in it beside it, so that a new name of the family is closed.
 * Not here, and so a matter of `allowed_env`: PATH, TMPDIR, LANG and LC_*, TZ, TERM, proxies, credentials, CC and its kin,
 * JAVA_HOME, GOPATH, PKG_CONFIG_PATH, SSL_CERT_FILE, and whatever a project calls its own.
 * Sources: the manuals of the programs named; environ(7), ld.so(8), bash(1), git(1).
 * @module
 */

const names = (text: string): readonly string[] => text.trim().split(/\s+/)

/** Exact names, by what reads them. */
const NEVER: ReadonlySet<string> = new Set([
  // What the daemon sets itself: beneath HOME lies the configuration of nearly everything.
  ...names('HOME SHELL'),
  // The C library, resolvers and what programs of the system link with.
  ...names(
    'GCONV_PATH GETCONF_DIR GLIBC_TUNABLES HOSTALIASES LOCALDOMAIN LOCPATH NIS_PATH NLSPATH RESOLV_HOST_CONF',
  ),
  ...names(
    'RES_OPTIONS TERMCAP TERMINFO TERMINFO_DIRS TERMPATH TEXTDOMAINDIR TZDIR INPUTRC KRB5_CONFIG SASL_PATH',
  ),
  ...names(
    'SSLKEYLOGFILE GNUPGHOME GNUTLS_SYSTEM_PRIORITY_FILE PKCS11_MODULE_PATH LDAPCONF LDAPRC ODBCINI ODBCSYSINI',
  ),
  ...names('PGSERVICEFILE PGSYSCONFDIR PSQLRC MYSQL_HOME MYSQL_TEST_LOGIN_FILE'),
  // Shells.
  ...names(
    'BASHOPTS BASH_ENV BASH_LOADABLES_PATH CDPATH ENV FPATH GLOBIGNORE IFS PROMPT PROMPT_COMMAND PS0 PS1 PS2',
  ),
  ...names('PS3 PS4 RPROMPT SHELLOPTS ZDOTDIR'),
  // Editors, pagers, and programs with options of their own in a variable.
  ...names(
    'ACKRC BC_ENV_ARGS CURL_HOME DIFF_OPTIONS EXINIT EXRC GREP_OPTIONS GVIMINIT MAILCAPS MAILRC MANOPT MANPATH',
  ),
  ...names(
    'MANROFFOPT MORE MYVIMRC NETRC RIPGREP_CONFIG_PATH RSYNC_CONNECT_PROG SCREENRC SVN_SSH SYSTEMD_UNIT_PATH',
  ),
  ...names('TAR_OPTIONS UNZIP UNZIPOPT VIM VIMINIT VIMRUNTIME VISUAL WGETRC ZIPINFO ZIPINFOOPT ZIPOPT'),
  ...names('EMACSDATA EMACSLOADPATH EMACSPATH HGRCPATH HGMERGE'),
  // Interpreters and compilers.
  ...names(
    'APT_CONFIG AWKLIBPATH AWKPATH CAML_LD_LIBRARY_PATH CLASSPATH COMPILER_PATH CONDARC GCC_EXEC_PREFIX GHCRTS IRBRC',
  ),
  ...names(
    'GOAUTH GOENV GOFLAGS GOROOT GOTOOLCHAIN GOTOOLDIR GOVCS GOWORK GNUMAKEFLAGS M4PATH MAKEFILES MAKEFLAGS',
  ),
  ...names(
    'MATLABPATH MFLAGS OCAMLPATH OCAMLRUNPARAM PHPRC PHP_INI_SCAN_DIR RUSTC RUSTDOC RUSTDOCFLAGS RUSTFLAGS',
  ),
  ...names('TCLLIBPATH TCL_LIBRARY TK_LIBRARY TEXINPUTS IBM_JAVA_OPTIONS JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS'),
  ...names('_JAVA_OPTIONS ANT_ARGS ANT_HOME GRADLE_HOME GRADLE_USER_HOME M2_HOME MAVEN_ARGS MAVEN_CONFIG'),
  // Tools whose configuration names programs.
  ...names('AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE DOCKER_CONFIG KUBECONFIG TF_CLI_CONFIG_FILE NVM_DIR'),
  // Libraries that load plugins.
  ...names('ALSA_CONFIG_PATH ALSA_PLUGIN_DIR FREI0R_PATH GDAL_DRIVER_PATH HDF5_PLUGIN_PATH LADSPA_PATH'),
  ...names('LIBVA_DRIVERS_PATH OCL_ICD_VENDORS VDPAU_DRIVER_PATH'),
])

/** Beginnings of names. */
const NEVER_BEGINNINGS: readonly string[] = [
  // The dynamic loader, memory debugging, functions that shells export, the message bus, directories of configuration.
  ...names('LD_ DYLD_ MALLOC_ BASH_FUNC_ DBUS_ OPENSSL_ XDG_'),
  // Interpreters.
  ...names(
    'BUNDLE_ BUN_ COMPlus_ CORECLR_ DENO_ DOTNET_ ELIXIR_ ERL_ GEM_ GHC_ GUILE_ JULIA_ LUA_ MIX_ MONO_ NODE_',
  ),
  ...names('OCTAVE_ PERL PYTHON RUBY R_'),
  // Builds, packages and where they come from.
  ...names(
    'ANSIBLE_ CARGO CMAKE_ COREPACK_ GIT_ HOMEBREW_ NPM_CONFIG_ npm_config_ PDM_ PIP_ POETRY_ RUSTC_ RUSTUP_',
  ),
  ...names('TF_CLI_ TF_PLUGIN_ UV_ YARN_'),
  // Editors and pagers, and libraries with modules.
  ...names('FZF_ LESS NVIM_ FONTCONFIG_ GDK_ GIO_ GST_ GTK_ LIBGL_ MAGICK_ QML QT_ VK_'),
]

/** What programs call the program that they start for something, and its options. */
const NEVER_ENDINGS: readonly string[] = names(
  'ASKPASS BROWSER EDITOR PAGER SAN_OPTIONS _OPTS _RSH _SSH_COMMAND',
)

/** Of these families, what only names a person, a date, a number, a place in a cache or a way to print. */
const HARMLESS: ReadonlySet<string> = new Set([
  ...names(
    'GIT_AUTHOR_DATE GIT_AUTHOR_EMAIL GIT_AUTHOR_NAME GIT_COMMITTER_DATE GIT_COMMITTER_EMAIL GIT_COMMITTER_NAME',
  ),
  ...names('GIT_OPTIONAL_LOCKS GIT_TERMINAL_PROMPT NODE_ENV NODE_NO_WARNINGS NODE_DISABLE_COLORS'),
  ...names(
    'PYTHONDONTWRITEBYTECODE PYTHONFAULTHANDLER PYTHONHASHSEED PYTHONIOENCODING PYTHONUNBUFFERED PYTHONUTF8',
  ),
  ...names(
    'PIP_CACHE_DIR PIP_DISABLE_PIP_VERSION_CHECK PIP_NO_CACHE_DIR PIP_NO_INPUT UV_CACHE_DIR YARN_CACHE_FOLDER',
  ),
  ...names(
    'CARGO_INCREMENTAL CARGO_NET_OFFLINE CARGO_TERM_COLOR CMAKE_BUILD_PARALLEL_LEVEL CMAKE_BUILD_TYPE',
  ),
  ...names('DOTNET_CLI_TELEMETRY_OPTOUT DOTNET_NOLOGO JULIA_NUM_THREADS LESSCHARSET MIX_ENV'),
])

/** True for a name that never passes. */
export function isDangerousVariable(name: string): boolean {
  if (HARMLESS.has(name)) return false
  return (
    NEVER.has(name) ||
    NEVER_BEGINNINGS.some((beginning) => name.startsWith(beginning)) ||
    NEVER_ENDINGS.some((ending) => name.endsWith(ending))
  )
}
