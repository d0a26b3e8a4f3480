/**
 * Environment variables whose value is a command or a program file to other programs: setting one runs it later.
 * From the manual pages of git, man, less, sudo, ssh, bash, perl, python and node.
 * @module
 */
import type { Assignment, Inner } from './inner.ts'

const COMMANDS: ReadonlySet<string> = new Set(
  'PAGER MANPAGER GIT_PAGER SYSTEMD_PAGER BAT_PAGER AWS_PAGER EDITOR VISUAL FCEDIT GIT_EDITOR GIT_SEQUENCE_EDITOR SUDO_EDITOR SYSTEMD_EDITOR KUBE_EDITOR CRONTAB_EDITOR GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND SSH_ASKPASS SUDO_ASKPASS PROMPT_COMMAND LESSOPEN LESSCLOSE BROWSER RSYNC_RSH RSYNC_CONNECT_PROG CVS_RSH SVN_SSH SVN_EDITOR HGEDITOR HGMERGE TAR_RSH SHELL MAKESHELL CC CXX LD FC TERMINAL LUA_INIT'.split(
    ' ',
  ),
)
/** Expanded by the shell, and then a file that is run. */
const EXPANDED: ReadonlySet<string> = new Set(['BASH_ENV', 'ENV', 'PS0', 'PS1', 'PS2', 'PS4', 'ZDOTDIR'])
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
])

/** What setting `name` to `value` would run or read. */
export function environmentText(name: string, value: Assignment['value']): readonly Inner[] {
  if (COMMANDS.has(name)) {
    if (value.text === '' && value.opaque === undefined) return []
    // LESSOPEN begins with marks of its own.
    let { text } = value
    if (name.startsWith('LESS')) while (text.startsWith('|') || text.startsWith('-')) text = text.slice(1)
    return [{ kind: 'shell', word: { ...value, text }, via: `${name}=` }]
  }
  const inner: Inner[] = []
  if (EXPANDED.has(name) && (value.text.includes('$(') || value.text.includes('`'))) {
    inner.push({ kind: 'shell', word: { ...value, text: `: "${value.text}"` }, via: `${name}=` })
  }
  if (FILES.has(name)) {
    for (const file of value.text.split(/[: ]/, 64)) {
      if (file !== '') inner.push({ kind: 'path', word: { ...value, text: file }, use: 'read' })
    }
  }
  return inner
}
