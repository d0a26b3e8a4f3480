/**
 * What a human has to look at twice: files that the host runs or obeys without being asked, and rights that outlive the
 * branch.
 * Sources: systemd.unit(5), crontab(5), sudoers(5), ld.so(8), udev(7), sshd(8), githooks(5), gitmodules(5), bash(1); the
 * list of files that sandboxes of coding agents protect.
 * @module
 */

import { isAccessList } from '../files/attributes-text.ts'
import type { FileFacts, Flag } from '../files/changes.ts'
import { type BytePath, bytePath, namePath, parentPath } from '../files/paths.ts'

/** Matched against the absolute path. Names of directories stand for all beneath. */
const RUNS_ON_HOST: readonly RegExp[] = [
  // Version control, editors and tools that run what a repository tells them to.
  /\/\.git\/(?:hooks|config|config\.worktree|info\/attributes|modules\/.*\/(?:hooks|config))(?:\/|$)/,
  /\/\.git$|\/\.(?:gitmodules|gitattributes|gitconfig|envrc|mcp\.json|ripgreprc|npmrc|yarnrc|yarnrc\.yml|pypirc)$/,
  /\/\.(?:vscode|idea|husky|githooks|devcontainer|github\/workflows|gitlab-ci\.yml)(?:\/|$)/,
  /\/\.config\/(?:git|autostart|systemd|fish|environment\.d|nvim|pip|containers|direnv)(?:\/|$)/,
  /\/\.(?:pre-commit-config\.yaml|lefthook\.ya?ml|vimrc|gvimrc|exrc|vim|nvimrc|emacs|emacs\.d|dir-locals\.el|nanorc)(?:\/|$)/,
  /\/(?:\.gdbinit|\.gdbearlyinit|\.lldbinit|\.cgdb|\.pdbrc|\.pythonrc\.py|sitecustomize\.py|usercustomize\.py|\.irbrc|\.Rprofile)(?:\/|$)/,
  /\/(?:\.cargo\/(?:config|config\.toml|credentials(?:\.toml)?)|rust-toolchain(?:\.toml)?|\.bazelrc|\.condarc|pip\.conf|\.curlrc|\.wgetrc)$/,
  /\/[^/]+\.pth$/,
  // Whom it trusts, and by which keys it is somebody elsewhere.
  /\/\.(?:sass-edge|kube|aws|docker|gnupg|azure)(?:\/|$)|\/\.(?:netrc|rhosts|shosts|forward|k5login|pgpass|my\.cnf|screenrc|tmux\.conf|git-credentials)$/,
  // Instructions that agents of a person follow.
  /\/(?:CLAUDE(?:\.local)?|AGENTS?|GEMINI|CONVENTIONS|copilot-instructions)\.md$/i,
  /\/\.(?:claude|cursor|windsurf|codex|gemini|continue|aider[^/]*|clinerules|roo|kiro|agents|junie)(?:\/|$)|\/\.(?:cursorrules|windsurfrules|goosehints)$/,
  // Shells and logins.
  /\/\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout)$/,
  /\/\.(?:kshrc|cshrc|tcshrc|login|logout|xinitrc|xsession|xsessionrc|xprofile|inputrc|pam_environment)$/,
  /\/\.ssh\/(?:authorized_keys2?|config|rc|environment)$/,
  /\/etc\/(?:profile|bash\.bashrc|bashrc|zshrc|environment|rc\.local|inittab|crontab|anacrontab|fstab)$/,
  /\/etc\/(?:profile\.d|zsh|init\.d|rc\d?\.d|rcS\.d|init|cron\.[a-z]+|udev|systemd|xdg\/autostart|pam\.d)(?:\/|$)/,
  /\/etc\/(?:sudoers|sudoers\.d|doas\.conf|passwd|shadow|group|gshadow|pam\.conf|polkit-1)(?:\/|$)/,
  /\/etc\/(?:ld\.so\.preload|ld\.so\.conf|ld\.so\.conf\.d|modprobe\.d|modules|modules-load\.d|sysctl\.conf|sysctl\.d)(?:\/|$)/,
  /\/etc\/(?:ssh|apt\/apt\.conf\.d|dpkg|logrotate\.d|network\/if-[a-z-]+\.d|NetworkManager\/dispatcher\.d|dhcp)(?:\/|$)/,
  /\/(?:usr\/lib|usr\/local\/lib|lib|run|usr\/local\/share|usr\/share)\/(?:systemd|udev|dbus-1|polkit-1|environment\.d|tmpfiles\.d|binfmt\.d)(?:\/|$)/,
  /\/var\/spool\/(?:cron|at|anacron)(?:\/|$)/,
  /\/(?:boot|efi)\//,
]

/** What git looks for to take a directory for a repository, and what it obeys in one. */
const MAKES_REPOSITORY: readonly BytePath[] = ['HEAD', 'objects', 'refs']
const OBEYED_IN_REPOSITORY: ReadonlySet<BytePath> = new Set([
  ...['HEAD', 'config', 'config.worktree', 'commondir', 'gitdir', 'hooks', 'info', 'modules'],
])

const SETUID = 0o4000
const SETGID = 0o2000
const WORLD_WRITE = 0o002
const STICKY = 0o1000
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\x00-\x1f\x7f]/
const FILE_CAPABILITY = 'security.capability'

/** True for a directory that git takes for a repository, whatever it is called: it obeys what is configured in it. */
export function isRepository(has: (name: BytePath) => boolean): boolean {
  return MAKES_REPOSITORY.every(has)
}

/** True for what git obeys in one of these repositories. */
export function isObeyed(repositories: ReadonlySet<BytePath>, path: BytePath): boolean {
  if (repositories.size === 0) return false
  for (let at = path; at !== ''; at = parentPath(at))
    if (OBEYED_IN_REPOSITORY.has(namePath(at)) && repositories.has(parentPath(at))) return true
  return false
}

/** True where a link in `directory` (absolute) with this target leads out of `root` by its text. */
function leaves(root: BytePath, directory: BytePath, target: BytePath): boolean {
  const parts = target.startsWith('/') ? [] : directory.split('/').filter((part) => part !== '')
  for (const part of target.split('/')) {
    if (part === '' || part === '.') continue
    if (part === '..') parts.pop()
    else parts.push(part)
  }
  const path = `/${parts.join('/')}`
  return root !== '/' && path !== root && !path.startsWith(`${root}/`)
}

/**
 * @param root absolute, as bytes
 * @param path absolute, as bytes
 */
export function flagsOf(
  root: BytePath,
  path: BytePath,
  after: FileFacts | undefined,
  attributes: Iterable<string>,
): Flag[] {
  const flags: Flag[] = []
  if (after !== undefined) {
    const { type, mode } = after
    if (type !== 'symlink') {
      if (type === 'file' && (mode & SETUID) !== 0) flags.push('setuid')
      if ((mode & SETGID) !== 0) flags.push('setgid')
      if ((mode & WORLD_WRITE) !== 0 && !(type === 'directory' && (mode & STICKY) !== 0))
        flags.push('world_writable')
    }
    if (type === 'fifo') flags.push('fifo')
    if (type === 'socket') flags.push('socket')
    if (type === 'character' || type === 'block') flags.push('device')
    const directory = path.slice(0, path.lastIndexOf('/'))
    if (after.target !== undefined && leaves(root, directory, bytePath(after.target)))
      flags.push('leaves_root')
  }
  const gained = [...attributes]
  if (gained.includes(FILE_CAPABILITY)) flags.push('file_capability')
  if (gained.some(isAccessList)) flags.push('access_list')
  if (CONTROL.test(path)) flags.push('control_characters')
  // By where it lies on the device, and by its name in the branch: what the root's own path is called says nothing.
  const own = path.slice(root === '/' ? 0 : root.length)
  const isMeant = (pattern: RegExp): boolean =>
    pattern.test(own) || (pattern.test(path) && !pattern.test(`${root}/_`))
  if (RUNS_ON_HOST.some(isMeant)) flags.push('runs_on_host')
  return flags
}
