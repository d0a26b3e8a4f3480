/**
 * What the host, or somebody's tools on it, run or obey without being asked: read name by name along a path, so that it
 * takes time in proportion to the path. A name that begins with a dot is such a file unless it is known for harmless:
 * tools come up with new ones faster than any list follows.
 * Sources: systemd.unit(5), crontab(5), sudoers(5), ld.so(8), udev(7), sshd(8), bash(1), gitrepository-layout(5),
 * githooks(5), gitmodules(5), git-worktree(1); the lists of files that sandboxes of coding agents protect.
 * @module
 */
import type { BytePath } from '../files/paths.ts'

type Names = ReadonlySet<BytePath>
const namesOf = (text: string): Names => new Set(text.trim().split(/\s+/))

/** Obeyed wherever it lies, with all beneath it. */
const OBEYED: Names = namesOf(`
  .gitmodules .gitattributes .gitconfig .envrc .mcp.json .ripgreprc .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pypirc
  .vscode .idea .husky .githooks .devcontainer .devcontainer.json devcontainer.json .gitlab-ci.yml .pre-commit-config.yaml
  .lefthook.yml .lefthook.yaml lefthook.yml lefthook.yaml .vimrc .gvimrc .exrc .vim .nvimrc .nvim.lua .lvimrc .emacs
  .emacs.d .dir-locals.el .nanorc .zed .ycm_extra_conf.py .gdbinit .gdbearlyinit .lldbinit .cgdb .pdbrc .pdbrc.py
  .pythonrc.py sitecustomize.py usercustomize.py .irbrc .Rprofile .psqlrc .sqliterc .hg .hgrc rust-toolchain
  rust-toolchain.toml .bazelrc .condarc pip.conf .curlrc .wgetrc .mvn .bundle .mise.toml mise.toml init.gradle
  .ssh .sass-edge .kube .aws .docker .gnupg .azure .netrc .rhosts .shosts .forward .k5login .pgpass .my.cnf .screenrc
  .tmux.conf .git-credentials .claude .cursor .windsurf .codex .gemini .continue .clinerules .roo .kiro .agents .junie
  .opencode opencode.json .amazonq .trae .cursorrules .windsurfrules .goosehints
  .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc
  .cshrc .tcshrc .login .logout .xinitrc .xsession .xsessionrc .xprofile .inputrc .pam_environment
`)
/** The same, by a form: paths that Python adds at its start, workspaces of editors, instructions that agents follow. */
const OBEYED_FORM =
  /\.pth$|\.code-workspace$|^\.aider|^(?:CLAUDE(?:\.local)?|AGENTS?|GEMINI|CONVENTIONS|copilot-instructions)\.md$/i

/** Obeyed where it lies directly in such a directory. */
const OBEYED_IN: ReadonlyMap<BytePath, Names> = new Map([
  ['.cargo', namesOf('config config.toml credentials credentials.toml bin')],
  ['.local', namesOf('bin')],
  ['.yarn', namesOf('releases plugins')],
  ['.gradle', namesOf('init.gradle init.d gradle.properties')],
  ['.github', namesOf('workflows actions')],
  [
    'etc',
    namesOf(`
      profile bash.bashrc bashrc zshrc environment rc.local inittab crontab anacrontab fstab profile.d zsh init.d rc.d
      rc0.d rc1.d rc2.d rc3.d rc4.d rc5.d rc6.d rcS.d init cron.d cron.hourly cron.daily cron.weekly cron.monthly
      cron.allow cron.deny udev systemd xdg pam.d sudoers sudoers.d doas.conf passwd shadow group gshadow pam.conf
      polkit-1 ld.so.preload ld.so.conf ld.so.conf.d modprobe.d modules modules-load.d sysctl.conf sysctl.d ssh apt dpkg
      logrotate.d network NetworkManager dhcp update-motd.d bash_completion.d default kernel gitconfig dbus-1 sv acpi
    `),
  ],
])
/** Where the system's own parts are configured: in `lib`, `run` and `share`. */
const SYSTEM_PARTS: Names = namesOf('systemd udev dbus-1 polkit-1 environment.d tmpfiles.d binfmt.d')
const SHARE_OF_HOME: Names = namesOf('systemd applications bash-completion autostart')
const SPOOLS: Names = namesOf('cron at anacron')
/** On the device itself: whatever lies there is a program that is run, or a setting that is obeyed. */
const OBEYED_PLACES: readonly BytePath[] = [
  ...['/etc', '/usr/local/etc', '/boot', '/efi', '/bin', '/sbin', '/usr/bin', '/usr/sbin', '/usr/local/bin'],
  '/usr/local/sbin',
]

/** Begin with a dot and steer nothing: what is kept, left out or remembered. */
const HARMLESS: Names = namesOf(`
  .gitignore .gitkeep .keep .npmignore .dockerignore .prettierignore .eslintignore .editorconfig .mailmap .nvmrc
  .node-version .python-version .ruby-version .browserslistrc .clang-format .yamllint .package-lock.json
  .cache .venv .tox .nox .mypy_cache .pytest_cache .ruff_cache .hypothesis .ipynb_checkpoints .eggs .coverage .nyc_output
  .next .nuxt .svelte-kit .parcel-cache .turbo .npm .pnpm-store .pnpm .yarn .gradle .cargo .local .github .config .git
  .DS_Store .bash_history .zsh_history .python_history .node_repl_history .lesshst .viminfo .wget-hsts
  .sudo_as_admin_successful
`)
/** Others' files by the thousand: what they have of their own that begins with a dot is not obeyed there. */
const DEPENDENCIES: Names = namesOf(
  'node_modules site-packages vendor target __pycache__ .venv venv .tox .nox .cache',
)

/** In `.git`: what holds content, and says nothing of what is to be done. The rest is obeyed. */
const GIT_CONTENT: Names = namesOf(`
  objects refs logs lfs index index.lock packed-refs packed-refs.lock shallow description HEAD HEAD.lock ORIG_HEAD
  FETCH_HEAD MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD REBASE_HEAD MERGE_MSG MERGE_MODE MERGE_RR AUTO_MERGE SQUASH_MSG
  COMMIT_EDITMSG TAG_EDITMSG NOTES_EDITMSG gc.log gc.pid
`)
/** Lead git to another directory, or to what is configured there, wherever they lie. */
const GIT_LEADS: Names = namesOf('commondir config.worktree gitdir alternates')

/** What a directory is to the names in it. `GIT_PARTS`: each name is a repository beneath another one. */
type Place = 'tree' | 'dependencies' | 'git' | 'git parts' | 'git part' | 'git info' | 'git content'

/** What the name makes of this place, or that it is obeyed. */
function inGit(place: Place, name: BytePath): Place | 'obeyed' {
  if (GIT_LEADS.has(name)) return 'obeyed'
  switch (place) {
    case 'git parts':
      return 'git part'
    case 'git info':
      return name === 'attributes' ? 'obeyed' : 'git content'
    case 'git content':
      return 'git content'
    default:
      if (GIT_CONTENT.has(name)) return 'git content'
      if (name === 'info') return 'git info'
      return name === 'modules' || name === 'worktrees' ? 'git parts' : 'obeyed'
  }
}

function inTree(place: Place, parent: BytePath, name: BytePath): Place | 'obeyed' {
  if (OBEYED.has(name) || GIT_LEADS.has(name) || OBEYED_FORM.test(name)) return 'obeyed'
  if (OBEYED_IN.get(parent)?.has(name)) return 'obeyed'
  if (SYSTEM_PARTS.has(name) && (parent === 'lib' || parent === 'run' || parent === 'share')) return 'obeyed'
  if (SHARE_OF_HOME.has(name) && parent === 'share') return 'obeyed'
  if (SPOOLS.has(name) && parent === 'spool') return 'obeyed'
  if (parent === '.config') return 'obeyed'
  if (name === '.git') return 'git'
  if (DEPENDENCIES.has(name)) return 'dependencies'
  return place === 'tree' && name.startsWith('.') && !HARMLESS.has(name) ? 'obeyed' : place
}

/** What the names along a path make of what lies there. */
function isObeyedByName(path: BytePath): boolean {
  let place: Place = 'tree'
  let parent = ''
  for (const name of path.split('/')) {
    if (name === '') continue
    const next: Place | 'obeyed' =
      place === 'tree' || place === 'dependencies' ? inTree(place, parent, name) : inGit(place, name)
    if (next === 'obeyed') return true
    place = next
    parent = name
  }
  // A file of that name leads git elsewhere; a directory is a repository that was not there.
  return place === 'git'
}

/**
 * Whether the host runs or obeys what lies there: by where it lies on the device, and by its name in the branch. What the
 * root's own path is called says nothing.
 * @param root absolute, as bytes
 * @param path absolute, as bytes; beneath the root
 */
export function hostObeys(root: BytePath, path: BytePath): boolean {
  if (isObeyedByName(path.slice(root === '/' ? 0 : root.length))) return true
  if (OBEYED_PLACES.some((place) => path.startsWith(`${place}/`))) return true
  return isObeyedByName(path) && !isObeyedByName(`${root}/_`)
}
